/* SPDX-License-Identifier: MIT
 * stack/overflow.h: an overflow is caught, named and fatal; every other fault is none of our business.
 * What dies does so in a child process; what it wrote to stderr is looked at. */
#include "stack/overflow.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "victim.h"

#define KIB ((size_t)1024)

/* ---- going too deep ------------------------------------------------------------------------------- */

/* Without stack clash protection, this steps over 8 KiB at a time, and touches the near end only. */
static __attribute__((noinline)) int with_large_frames(int depth)
{
	volatile char frame[8192];
	frame[sizeof frame - 1] = (char)depth;
	return deeper(depth + 1) + frame[sizeof frame - 1];
}

/* One frame, larger than stack and guard together, and used from its low end; the compiler is told not to
 * help. The first guard it meets is that of the stack below. */
static __attribute__((noinline)) UNPROTECTED int with_one_huge_frame(int depth)
{
	volatile char frame[(STACK_SIZE_DEFAULT + STACK_GUARD_SIZE) * 3 / 2];
	for (size_t i = 0; i < sizeof frame; i += 1024)
		frame[i] = (char)depth;
	return frame[1024];
}

/* ---- scenario B1, statement 36 --------------------------------------------------------------------- */

static const size_t sizes[] = { 0, STACK_SIZE_MIN, 16 * KIB, 64 * KIB, 1024 * KIB, 5 * 1024 * KIB };

START_TEST(an_overflow_ends_the_process_and_names_the_task)
{
	struct victim victim = { .body = overflowing, .stack_size = sizes[_i] };
	if (victim.stack_size && victim.stack_size < bide_stack_min())
		victim.stack_size = bide_stack_min();
	struct death death = death_by(die, &victim);
	check_named(&death);
}
END_TEST

/* The range, the size and the address are those of the stack: they are read back. */
START_TEST(the_line_tells_the_stack_its_size_and_the_address)
{
	struct victim victim = { .body = overflowing, .stack_size = 100 * KIB };
	struct death death = death_by(die, &victim);
	unsigned long address, low, high, size;
	const char *text = strstr(death.text, ": address ");
	ck_assert_ptr_nonnull(text);
	int read = sscanf(text, ": address %lx is below its stack %lx-%lx (%lu bytes)", &address, &low, &high,
	    &size);
	ck_assert_int_eq(read, 4);
	ck_assert_uint_eq(high - low, size);
	ck_assert_uint_ge(size, 100 * KIB);
	ck_assert_uint_le(size, 112 * KIB + 8 * KIB);
	ck_assert_uint_lt(address, low);
	ck_assert_uint_ge(address, low - STACK_GUARD_SIZE);
	ck_assert_ptr_nonnull(strstr(death.text, "in the function at "));
}
END_TEST

/* "program+0x1234" is what addr2line takes: without the program's name there would be an address of
 * this one run only. */
START_TEST(the_spawn_site_is_told_so_that_tools_find_it)
{
	struct victim victim = { .body = overflowing };
	struct death death = death_by(die, &victim);
	const char *site = strstr(death.text, "(spawned at ");
	ck_assert_ptr_nonnull(site);
	ck_assert_msg(strstr(site, "test_overflow+0x") == site + strlen("(spawned at "), "%s", death.text);
}
END_TEST

START_TEST(large_frames_do_not_step_over_the_guard)
{
	struct victim victim = { .body = overflowing, .frames = with_large_frames };
	struct death death = death_by(die, &victim);
	check_named(&death);
}
END_TEST

/* By then it has damaged a neighbour: what -fstack-clash-protection is for. But it is named. */
START_TEST(a_frame_that_steps_over_the_guard_is_named_if_it_faults_at_all)
{
	struct victim victim = { .body = overflowing, .frames = with_one_huge_frame, .parked = 3 };
	if (suite_is_hostile())
		return; /* each stack is a slab of its own there: below its guard lies nothing of the pool */
	struct death death = death_by(die, &victim);
	check_line(&death, "task 5 \"the victim\"", "bide_task_attr.stack_size");
}
END_TEST

START_TEST(both_kinds_of_guard_name_the_overflow)
{
	struct victim victim = { .body = overflowing };
	ck_assert_int_eq(bide_fault("madvise:EINVAL"), 0);
	struct death death = death_by(die, &victim);
	check_named(&death);
}
END_TEST

START_TEST(it_is_found_among_thousands)
{
	int parked = suite_scaled_down(5000, 200);
	struct victim victim = { .body = overflowing, .parked = parked };
	char who[64];
	struct death death = death_by(die, &victim);
	snprintf(who, sizeof who, "task %d \"the victim\"", parked + 2);
	check_line(&death, who, "bide_task_attr.stack_size");
}
END_TEST

START_TEST(the_stacks_of_coroutines_are_named_too)
{
	struct victim victim = { .body = _i ? in_a_coroutine_of_a_coroutine : in_a_coroutine };
	struct death death = death_by(die, &victim);
	check_line(&death, "a coroutine of task 2 \"the victim\"", "stack_size of bide_coro_new()");
}
END_TEST

/* Below a coroutine that has yielded, the task's own stack overflows. */
static void *yields_once(void *arg)
{
	bide_coro_yield(arg);
	return NULL;
}

static void *own_stack_beside_a_coroutine(void *arg)
{
	bide_coro *coro = bide_coro_new(yields_once, arg, 0);
	bide_coro_resume(coro, NULL, NULL);
	overflow();
	return NULL;
}

START_TEST(a_suspended_coroutine_is_not_taken_for_the_victim)
{
	struct victim victim = { .body = own_stack_beside_a_coroutine };
	struct death death = death_by(die, &victim);
	check_named(&death);
}
END_TEST

/* A coroutine outside tasks, on a thread that is inside no loop, while another thread is: there is no
 * alternate stack, so the process dies without the line; but it dies. */
static void *stay(void *arg)
{
	atomic_store((atomic_bool *)arg, true);
	bide_sleep(3600 * BIDE_SEC);
	return NULL;
}

static void *stay_in_a_run(void *arg)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_run(stay, arg, &config, NULL);
	return NULL;
}

static void overflow_a_bare_coroutine(void *arg)
{
	static atomic_bool runs;
	pthread_t thread;
	if (*(bool *)arg) {
		pthread_create(&thread, NULL, stay_in_a_run, &runs);
		while (!atomic_load(&runs))
			usleep(1000);
	}
	bide_coro_resume(bide_coro_new(overflowing, NULL, 0), NULL, NULL);
}

START_TEST(a_bare_coroutine_outside_any_loop_dies_all_the_same)
{
	bool beside_a_loop = _i;
	struct death death = death_by(overflow_a_bare_coroutine, &beside_a_loop);
	ck_assert(died_of_access(&death));
}
END_TEST

/* A run begun inside a bare coroutine: the thread's own tower is searched as well. */
static void *overflow_below_the_loop(void *arg)
{
	(void)arg;
	return NULL;
}

static void callback_overflows(void *arg)
{
	(void)arg;
	overflow();
}

static void *arm_the_callback(void *arg)
{
	bide_call_soon(callback_overflows, arg);
	bide_sleep(BIDE_NEVER);
	return overflow_below_the_loop(arg);
}

static void *run_in_a_coroutine(void *arg)
{
	bide_run(arm_the_callback, arg, NULL, NULL);
	return NULL;
}

static void loop_on_a_coroutine(void *arg)
{
	bide_coro_resume(bide_coro_new(run_in_a_coroutine, arg, 0), NULL, NULL);
}

START_TEST(a_loop_that_stands_on_a_coroutine_is_named)
{
	struct death death = death_by(loop_on_a_coroutine, NULL);
	check_line(&death, "a coroutine: address", "stack_size of bide_coro_new()");
}
END_TEST

/* ---- scenario B2: threads -------------------------------------------------------------------------- */

START_TEST(also_on_another_thread)
{
	struct victim victim = { .body = overflowing, .is_on_a_thread = true };
	struct death death = death_by(die, &victim);
	check_named(&death);
}
END_TEST

/* Several loops at once; the one whose task overflows is neither the first nor the last to begin, and
 * others have ended before. */
static void *overflow_later(void *arg)
{
	bide_sleep(20 * BIDE_MSEC);
	if (arg)
		overflow();
	bide_sleep(3600 * BIDE_SEC);
	return NULL;
}

static void *run_one_of_many(void *arg)
{
	bide_run(overflow_later, arg, NULL, NULL);
	return NULL;
}

static void *run_short(void *arg)
{
	bide_run(nothing, arg, NULL, NULL);
	return NULL;
}

static void run_many(void *arg)
{
	pthread_t threads[9];
	for (int i = 0; i < 9; i++)
		pthread_create(&threads[i], NULL, i % 3 == 2 ? run_short : run_one_of_many, i == 4 ? arg : NULL);
	for (int i = 0; i < 9; i++)
		pthread_join(threads[i], NULL);
}

START_TEST(with_several_loops_at_once_it_is_the_right_one)
{
	int one = 1;
	struct death death = death_by(run_many, &one);
	check_line(&death, "task 1 \"main\"", "bide_task_attr.stack_size");
}
END_TEST

/* ---- scenario B3: the report needs nothing of the stack ------------------------------------------------- */

/* Goes down until `left` bytes are left above the low end, then calls the library there. */
static size_t left_over;

static __attribute__((noinline)) int until_nearly_full(int depth)
{
	volatile char frame[64];
	frame[depth & 63] = (char)depth;
	if ((size_t)((char *)__builtin_frame_address(0) - low_end) > left_over + 200)
		return deeper(depth + 1) + frame[0];
	for (int i = 0; i < 3; i++)
		bide_yield();
	bide_sleep(BIDE_MSEC);
	return bide_join(bide_spawn(nothing, NULL), NULL) + frame[1];
}

static void *nearly_full(void *arg)
{
	find_low_end();
	deeper(0);
	bide_sleep(BIDE_MSEC);
	return arg;
}

static void print_report(int kind, const char *text, void *arg)
{
	char line[1200];
	(void)arg;
	int length = snprintf(line, sizeof line, "report %d: %s\n", kind, text);
	ck_assert_int_eq(write(STDERR_FILENO, line, (size_t)length), length);
}

static void run_nearly_full(void *arg)
{
	struct victim victim = { .body = nearly_full, .frames = until_nearly_full, .flags = BIDE_DEBUG,
		.report = print_report };
	left_over = *(size_t *)arg;
	die(&victim);
}

/* Room for the switch itself and no more: in an ordinary build it gets through, and the report is
 * complete although the stack has no room for it. Where frames are larger it may die instead: named. */
START_TEST(a_nearly_full_stack_is_reported_without_using_it)
{
	size_t left = suite_is_native() ? 200 : 700;
	char expected[64];
	struct death death = death_by(run_nearly_full, &left);
	snprintf(expected, sizeof expected, "report %d: task 2 \"the victim\" has only ", BIDE_REPORT_STACK);
	if (died_of_access(&death)) {
		ck_assert_msg(strstr(death.text, NAMED), "%s", death.text);
		return;
	}
	ck_assert_int_eq(death.signal, 0);
	ck_assert_msg(strncmp(death.text, expected, strlen(expected)) == 0, "%s", death.text);
	ck_assert_ptr_nonnull(strstr(death.text, "raise its stack_size\n"));
	ck_assert_int_eq(lines_in(death.text), 1); /* once, however often it parks there */
}
END_TEST

/* The fault is in the middle of the library: in a spawn, in a switch, wherever the end of the stack happens
 * to be. It is always named, and always the right task. */
static __attribute__((noinline)) int with_calls(int depth)
{
	volatile char frame[16];
	frame[depth & 15] = (char)depth;
	if (depth % 7 == 0)
		bide_yield();
	if (depth % 31 == 0)
		bide_detach(bide_spawn(nothing, NULL));
	return deeper(depth + 1) + frame[0];
}

START_TEST(wherever_in_the_library_it_happens)
{
	struct victim victim = { .body = overflowing, .frames = with_calls, .stack_size = 16 * KIB + 512 * (size_t)_i,
		.parked = 3 };
	struct death death = death_by(die, &victim);
	check_line(&death, "task 5 \"the victim\"", "bide_task_attr.stack_size");
}
END_TEST

/* ---- no room for a signal's frame ---------------------------------------------------------------------- */

static __attribute__((noinline)) int until_a_signal_is_too_much(int depth)
{
	volatile char frame[64];
	frame[depth & 63] = (char)depth;
	if ((size_t)((char *)__builtin_frame_address(0) - low_end) > 1400)
		return deeper(depth + 1) + frame[0];
	return raise(SIGUSR1) + frame[1];
}

static void on_usr1(int number)
{
	(void)number;
}

static void die_of_a_signal(void *arg)
{
	struct victim victim = { .body = nearly_full, .frames = until_a_signal_is_too_much };
	signal(SIGUSR1, on_usr1);
	raise(SIGUSR1); /* so that the dynamic linker has no work left, which needs as much */
	(void)arg;
	die(&victim);
}

START_TEST(a_stack_without_room_for_a_signal_is_named)
{
	if (!suite_is_native())
		return; /* an emulator makes its own frames, and sanitizers catch signals first */
	struct death death = death_by(die_of_a_signal, NULL);
	check_named(&death);
	ck_assert_msg(strstr(death.text, "no room for a signal's frame"), "%s", death.text);
}
END_TEST

/* ---- neighbours are whole ------------------------------------------------------------------------------ */

#define NEIGHBOURS 40
#define PATTERN_SIZE 2048

static unsigned char *patterns[NEIGHBOURS];
static unsigned char *heap_block;
static _Atomic int pattern_count;

static void *neighbour(void *arg)
{
	unsigned char pattern[PATTERN_SIZE];
	int index = pattern_count++;
	memset(pattern, index + 1, sizeof pattern);
	patterns[index] = pattern;
	bide_sleep(BIDE_NEVER);
	return arg;
}

static bool is_filled(const unsigned char *block, int with)
{
	for (size_t i = 0; i < PATTERN_SIZE; i++)
		if (block[i] != with)
			return false;
	return true;
}

/* The host's handler, to which ours chains. */
static void look_at_neighbours(int number)
{
	bool whole = is_filled(heap_block, 0x77);
	for (int i = 0; i < pattern_count; i++)
		whole &= is_filled(patterns[i], i + 1);
	const char *said = whole ? "neighbours are whole\n" : "neighbours are DAMAGED\n";
	ssize_t ignored = write(STDERR_FILENO, said, strlen(said));
	(void)ignored;
	signal(number, SIG_DFL);
}

static void *among_neighbours(void *arg)
{
	for (int i = 0; i < NEIGHBOURS / 2; i++)
		bide_spawn(neighbour, NULL);
	bide_yield();
	bide_task *victim = bide_spawn(overflowing, arg);
	for (int i = 0; i < NEIGHBOURS / 2; i++)
		bide_spawn(neighbour, NULL);
	heap_block = malloc(PATTERN_SIZE);
	memset(heap_block, 0x77, PATTERN_SIZE);
	bide_join(victim, NULL);
	return NULL;
}

static void die_among_neighbours(void *arg)
{
	signal(SIGSEGV, look_at_neighbours);
	signal(SIGBUS, look_at_neighbours);
	bide_run(among_neighbours, arg, NULL, NULL);
}

START_TEST(neighbours_on_both_sides_and_the_heap_are_not_touched)
{
	struct death death = death_by(die_among_neighbours, NULL);
	ck_assert(died_of_access(&death));
	ck_assert_msg(strncmp(death.text, NAMED, strlen(NAMED)) == 0, "%s", death.text);
	ck_assert_msg(strstr(death.text, "\nneighbours are whole\n"), "%s", death.text);
}
END_TEST

/* ---- stacks that are not the pool's ----------------------------------------------------------------------- */

static void *guarded_alloc(size_t size, void *ctx)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(void)ctx;
	if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) < 0)
		return NULL;
	return memory + page;
}

static void guarded_free(void *memory, size_t size, void *ctx)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	(void)ctx;
	munmap((char *)memory - page, size + page);
}

START_TEST(a_guard_of_the_host_s_own_hooks_is_named_too)
{
	bide_allocator hooks = { .stack_alloc = guarded_alloc, .stack_free = guarded_free };
	struct victim victim = { .body = overflowing, .allocator = &hooks };
	struct death death = death_by(die, &victim);
	check_named(&death);
}
END_TEST

/* ---- what it leaves alone ---------------------------------------------------------------------------------- */

/* Into the guard, but by a wild pointer, with plenty of stack left. */
static void *touch_a_guard(void *arg)
{
	find_low_end();
	*(volatile char *)(low_end - 100) = 1;
	return arg;
}

static void *trap(void *arg)
{
	raise(SIGSEGV);
	return arg;
}

static void *give_up(void *arg)
{
	abort();
	return arg;
}

static const struct other_fault {
	bide_fn *body;
	int signal;
} other_faults[] = { { touch_nothing_of_ours, SIGSEGV }, { touch_a_guard, SIGSEGV }, { trap, SIGSEGV },
	{ give_up, SIGABRT } };

START_TEST(another_fault_is_not_taken_for_an_overflow)
{
	const struct other_fault *fault = &other_faults[_i];
	if (is_seen_by_memcheck(fault->body))
		return;
	struct victim victim = { .body = fault->body };
	struct death death = death_by(die, &victim);
	ck_assert_int_eq(death.signal, fault->signal);
	ck_assert_str_eq(death.text, "");
}
END_TEST

START_TEST(without_signals_it_dies_silently_and_nothing_is_installed)
{
	struct victim victim = { .body = overflowing, .flags = BIDE_NO_SIGNALS };
	struct death death = death_by(die, &victim);
	ck_assert(died_of_access(&death));
	ck_assert_msg(!strstr(death.text, NAMED), "%s", death.text);
}
END_TEST

int main(void)
{
	return SUITE("overflow",
	    TABLE(an_overflow_ends_the_process_and_names_the_task, sizes),
	    TEST(the_line_tells_the_stack_its_size_and_the_address),
	    TEST(the_spawn_site_is_told_so_that_tools_find_it),
	    TEST(large_frames_do_not_step_over_the_guard),
	    TEST(a_frame_that_steps_over_the_guard_is_named_if_it_faults_at_all),
	    TEST(both_kinds_of_guard_name_the_overflow),
	    TEST(it_is_found_among_thousands),
	    LOOP(the_stacks_of_coroutines_are_named_too, 0, 2),
	    TEST(a_suspended_coroutine_is_not_taken_for_the_victim),
	    LOOP(a_bare_coroutine_outside_any_loop_dies_all_the_same, 0, 2),
	    TEST(a_loop_that_stands_on_a_coroutine_is_named),
	    TEST(also_on_another_thread),
	    TEST(with_several_loops_at_once_it_is_the_right_one),
	    TEST(a_nearly_full_stack_is_reported_without_using_it),
	    LOOP(wherever_in_the_library_it_happens, 0, 16),
	    TEST(a_stack_without_room_for_a_signal_is_named),
	    TEST(neighbours_on_both_sides_and_the_heap_are_not_touched),
	    TEST(a_guard_of_the_host_s_own_hooks_is_named_too),
	    TABLE(another_fault_is_not_taken_for_an_overflow, other_faults),
	    TEST(without_signals_it_dies_silently_and_nothing_is_installed));
}
