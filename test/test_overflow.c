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

#include "death.h"
#include "resources.h"
#include "runs.h"

#define KIB ((size_t)1024)
#define NAMED "bide: stack overflow in "

/* ---- going too deep ------------------------------------------------------------------------------- */

/* Volatile, so that no compiler sees that it does not end, or that frames are not needed. */
static int (*volatile deeper)(int);

static __attribute__((noinline)) int with_small_frames(int depth)
{
	volatile char frame[256];
	frame[depth & 255] = (char)depth;
	return deeper(depth + 1) + frame[0];
}

/* Without stack clash protection, this steps over 8 KiB at a time, and touches the near end only. */
static __attribute__((noinline)) int with_large_frames(int depth)
{
	volatile char frame[8192];
	frame[sizeof frame - 1] = (char)depth;
	return deeper(depth + 1) + frame[sizeof frame - 1];
}

/* One frame, larger than stack and guard together, and used from its low end; the compiler is told not to
 * help. The first guard it meets is that of the stack below. */
#if defined(__clang__) || !defined(__GNUC__)
#define UNPROTECTED
#else
#define UNPROTECTED __attribute__((optimize("no-stack-clash-protection")))
#endif

static __attribute__((noinline)) UNPROTECTED int with_one_huge_frame(int depth)
{
	volatile char frame[(STACK_SIZE_DEFAULT + STACK_GUARD_SIZE) * 3 / 2];
	for (size_t i = 0; i < sizeof frame; i += 1024)
		frame[i] = (char)depth;
	return frame[1024];
}

static void overflow(void)
{
	deeper(0);
}

static void *overflowing(void *arg)
{
	overflow();
	return arg;
}

static void *in_a_coroutine(void *arg)
{
	bide_coro *coro = bide_coro_new(overflowing, arg, 0);
	bide_coro_resume(coro, NULL, NULL);
	return NULL;
}

static void *in_a_coroutine_of_a_coroutine(void *arg)
{
	bide_coro *coro = bide_coro_new(in_a_coroutine, arg, 0);
	bide_coro_resume(coro, NULL, NULL);
	return NULL;
}

/* ---- a process that will die ------------------------------------------------------------------------ */

struct victim {
	bide_fn *body;
	int (*frames)(int);
	size_t stack_size; /* 0: the default */
	unsigned flags;    /* of the run */
	bool is_on_a_thread;
	int parked;        /* tasks beside it */
	const bide_allocator *allocator;
};

static void *park(void *arg)
{
	bide_sleep(BIDE_NEVER);
	return arg;
}

static void *spawn_victim(void *arg)
{
	const struct victim *victim = arg;
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	for (int i = 0; i < victim->parked; i++)
		bide_spawn(park, NULL);
	bide_yield();
	attr.name = "the victim";
	attr.stack_size = victim->stack_size;
	bide_join(bide_spawn_with(victim->body, NULL, &attr), NULL);
	return NULL;
}

static void *run_victim(void *arg)
{
	const struct victim *victim = arg;
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = victim->flags;
	config.allocator = victim->allocator;
	deeper = victim->frames ? victim->frames : with_small_frames;
	bide_run(spawn_victim, arg, &config, NULL);
	return NULL;
}

static void die(void *arg)
{
	const struct victim *victim = arg;
	pthread_t thread;
	if (!victim->is_on_a_thread) {
		run_victim(arg);
		return;
	}
	pthread_create(&thread, NULL, run_victim, arg);
	pthread_join(thread, NULL);
}

/* Dies, and an emulator's own line about it is not kept. */
static struct death death_by(void (*fn)(void *), void *arg)
{
	struct death death = death_of(fn, arg);
	char *emulator = strstr(death.text, "qemu: uncaught target signal");
	if (emulator)
		*emulator = '\0';
	return death;
}

static int lines_in(const char *text)
{
	int lines = 0;
	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* The line is complete, and the only one. */
static void check_line(const struct death *death, const char *who, const char *raise)
{
	ck_assert_msg(died_of_access(death), "signal %d, exit status %d: %s", death->signal,
	    death->exit_status, death->text);
	ck_assert_msg(strncmp(death->text, NAMED, strlen(NAMED)) == 0, "%s", death->text);
	ck_assert_msg(strstr(death->text, who), "%s", death->text);
	ck_assert_msg(strstr(death->text, raise), "%s", death->text);
	ck_assert_int_eq(lines_in(death->text), 1);
	ck_assert_int_eq(death->text[strlen(death->text) - 1], '\n');
}

static void check_named(const struct death *death)
{
	check_line(death, "task 2 \"the victim\" (spawned at ", "bide_task_attr.stack_size");
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

static void *nothing_much(void *arg)
{
	return arg;
}

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
	deeper = with_small_frames;
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
	deeper = with_small_frames;
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
	bide_run(nothing_much, arg, NULL, NULL);
	return NULL;
}

static void run_many(void *arg)
{
	pthread_t threads[9];
	deeper = with_small_frames;
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
static char *low_end;
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
	return bide_join(bide_spawn(nothing_much, NULL), NULL) + frame[1];
}

static void find_low_end(const bide_stack_range *range, void *arg)
{
	(void)arg;
	if (range->task == bide_self())
		low_end = range->low;
}

static void *nearly_full(void *arg)
{
	bide_stack_each(find_low_end, NULL);
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
	struct victim victim = { .body = nearly_full };
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = BIDE_DEBUG;
	config.report = print_report;
	left_over = *(size_t *)arg;
	deeper = until_nearly_full;
	bide_run(spawn_victim, &victim, &config, NULL);
}

/* Room for the switch itself and no more: in an ordinary build it gets through, and the report is
 * complete although the stack has no room for it. Where frames are larger it may die instead: named. */
START_TEST(a_nearly_full_stack_is_reported_without_using_it)
{
	size_t left = suite_is_native() ? 200 : 700;
	char expected[64];
	struct death death = death_by(run_nearly_full, &left);
	snprintf(expected, sizeof expected, "report %d: ", BIDE_REPORT_STACK);
	if (died_of_access(&death)) {
		ck_assert_msg(strstr(death.text, NAMED), "%s", death.text);
		return;
	}
	ck_assert_int_eq(death.signal, 0);
	ck_assert_msg(strncmp(death.text, expected, strlen(expected)) == 0, "%s", death.text);
	ck_assert_ptr_nonnull(strstr(death.text, "task 2 \"the victim\" has only "));
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
		bide_detach(bide_spawn(nothing_much, NULL));
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
	deeper = with_small_frames;
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

static volatile int *volatile nowhere;

static void *touch_nothing_of_ours(void *arg)
{
	(void)arg;
	*nowhere = 1;
	return NULL;
}

/* Into the guard, but by a wild pointer, with plenty of stack left. */
static void *touch_a_guard(void *arg)
{
	bide_stack_each(find_low_end, NULL);
	*(volatile char *)(low_end - 100) = 1;
	return arg;
}

static void *trap(void *arg)
{
	raise(SIGSEGV);
	return arg;
}

static bide_fn *const other_faults[] = { touch_nothing_of_ours, touch_a_guard, trap };

/* memcheck makes an exit status of its own of a wild access that it saw. */
static bool is_seen_by_memcheck(bide_fn *body)
{
	return body == touch_nothing_of_ours && suite_is_under("valgrind");
}

START_TEST(another_fault_is_not_taken_for_an_overflow)
{
	if (is_seen_by_memcheck(other_faults[_i]))
		return;
	struct victim victim = { .body = other_faults[_i] };
	nowhere = (int *)8;
	struct death death = death_by(die, &victim);
	ck_assert_int_eq(death.signal, SIGSEGV);
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

/* ---- the host's handlers -------------------------------------------------------------------------------------- */

static void say(const char *text)
{
	ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
	(void)ignored;
}

static bool is_blocked(int number)
{
	sigset_t mask;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	return sigismember(&mask, number);
}

static void host_with_info(int number, siginfo_t *info, void *context)
{
	say(info->si_signo == number && info->si_addr && context ? "info " : "no info ");
	say(is_blocked(SIGUSR2) ? "masked " : "unmasked ");
	say(is_blocked(number) ? "blocked\n" : "open\n");
	_exit(42);
}

struct host {
	int flags;
	const char *said;
	bide_fn *body;
};

static const struct host hosts[] = {
	{ SA_SIGINFO, "info masked blocked\n", overflowing },
	{ SA_SIGINFO | SA_NODEFER, "info masked open\n", overflowing },
	{ SA_SIGINFO | SA_ONSTACK, "info masked blocked\n", overflowing },
	{ SA_SIGINFO, "info masked blocked\n", touch_nothing_of_ours },
};

static void die_with_host(void *arg)
{
	const struct host *host = arg;
	struct sigaction action = { .sa_sigaction = host_with_info, .sa_flags = host->flags };
	struct victim victim = { .body = host->body };
	sigaddset(&action.sa_mask, SIGUSR2);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	nowhere = (int *)8;
	die(&victim);
}

START_TEST(the_host_s_handler_is_called_as_it_was_installed)
{
	const struct host *host = &hosts[_i];
	if (is_seen_by_memcheck(host->body))
		return;
	struct death death = death_by(die_with_host, (void *)(uintptr_t)host);
	bool is_ours = host->body == overflowing;
	ck_assert_int_eq(death.signal, 0);
	ck_assert_int_eq(death.exit_status, 42);
	ck_assert_int_eq(strncmp(death.text, NAMED, strlen(NAMED)) == 0, is_ours);
	ck_assert_msg(strcmp(is_ours ? strchr(death.text, '\n') + 1 : death.text, host->said) == 0, "%s", death.text);
}
END_TEST

/* One that mends the fault and returns, as a garbage collector or an interpreter does. */
static char *mended;
static int mendings;

static void mend(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	if ((char *)info->si_addr != mended)
		_exit(1);
	mendings++;
	mprotect(mended, 1, PROT_READ | PROT_WRITE);
}

static void *touch_what_is_mended(void *arg)
{
	mprotect(mended, 1, PROT_NONE);
	*mended = 1;
	mprotect(mended, 1, PROT_NONE);
	bide_yield();
	*mended = 2;
	return arg;
}

START_TEST(a_handler_of_the_host_s_that_mends_faults_goes_on_doing_so)
{
	struct sigaction action = { .sa_sigaction = mend, .sa_flags = SA_SIGINFO }, old;
	if (suite_is_under("valgrind"))
		return; /* which has an opinion of its own about such an access */
	mended = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mendings = 0;
	ck_assert_int_eq(sigaction(SIGSEGV, &action, &old), 0);
	run_real(touch_what_is_mended, NULL);
	ck_assert_int_eq(mendings, 2);
	ck_assert_int_eq(*mended, 2);
	sigaction(SIGSEGV, &old, NULL);
	munmap(mended, (size_t)sysconf(_SC_PAGESIZE));
}
END_TEST

/* SA_RESETHAND: the second time takes the default action. */
static void say_once(int number)
{
	(void)number;
	say("once\n");
}

static void die_the_second_time(void *arg)
{
	struct sigaction action = { .sa_handler = say_once, .sa_flags = (int)SA_RESETHAND };
	struct victim victim = { .body = touch_nothing_of_ours };
	(void)arg;
	sigaction(SIGSEGV, &action, NULL);
	nowhere = (int *)8;
	die(&victim);
}

START_TEST(a_handler_for_once_is_called_once)
{
	if (is_seen_by_memcheck(touch_nothing_of_ours))
		return;
	struct death death = death_by(die_the_second_time, NULL);
	ck_assert_int_eq(death.signal, SIGSEGV);
	ck_assert_str_eq(death.text, "once\n");
}
END_TEST

static void *raise_and_go_on(void *arg)
{
	raise(SIGSEGV);
	raise(SIGBUS);
	return arg;
}

START_TEST(a_signal_that_is_sent_and_ignored_stays_ignored)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old_segv, old_bus;
	sigaction(SIGSEGV, &ignore, &old_segv);
	sigaction(SIGBUS, &ignore, &old_bus);
	ck_assert_ptr_eq(run_real(raise_and_go_on, &ignore), &ignore);
	sigaction(SIGSEGV, &old_segv, NULL);
	sigaction(SIGBUS, &old_bus, NULL);
}
END_TEST

/* A handler of the host's, put over ours during the run, that chains to ours, which in a later run
 * chains to what it finds: that very handler. */
static struct sigaction found_by_host;
static int calls_of_host;

static void chain_to_found(int number, siginfo_t *info, void *context)
{
	if (++calls_of_host > 3) {
		say("round and round\n");
		_exit(9);
	}
	if (found_by_host.sa_flags & SA_SIGINFO)
		found_by_host.sa_sigaction(number, info, context);
	else
		signal(number, SIG_DFL);
}

static void *install_over_ours(void *arg)
{
	struct sigaction action = { .sa_sigaction = chain_to_found, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	sigaction(SIGSEGV, &action, &found_by_host);
	return arg;
}

static void die_in_a_circle(void *arg)
{
	struct victim victim = { .body = overflowing };
	bide_run(install_over_ours, arg, NULL, NULL);
	die(&victim);
}

START_TEST(handlers_that_chain_to_each_other_come_to_an_end)
{
	struct death death = death_by(die_in_a_circle, NULL);
	ck_assert_int_eq(death.signal, SIGSEGV);
	ck_assert_ptr_null(strstr(death.text, "round and round"));
	ck_assert_msg(strncmp(death.text, NAMED, strlen(NAMED)) == 0, "%s", death.text);
}
END_TEST

/* ---- as it was before -------------------------------------------------------------------------------------- */

struct settings {
	struct sigaction segv, bus, usr1, pipe, child;
	stack_t alternate;
	sigset_t mask;
};

static struct settings settings(void)
{
	struct settings now;
	memset(&now, 0, sizeof now);
	sigaction(SIGSEGV, NULL, &now.segv);
	sigaction(SIGBUS, NULL, &now.bus);
	sigaction(SIGUSR1, NULL, &now.usr1);
	sigaction(SIGPIPE, NULL, &now.pipe);
	sigaction(SIGCHLD, NULL, &now.child);
	sigaltstack(NULL, &now.alternate);
	pthread_sigmask(SIG_BLOCK, NULL, &now.mask);
	return now;
}

static bool same_mask(const sigset_t *a, const sigset_t *b)
{
	for (int number = 1; number <= 64; number++)
		if (sigismember(a, number) != sigismember(b, number))
			return false;
	return true;
}

/* A C library may add a flag of its own whenever it installs something. */
static bool same_action(const struct sigaction *a, const struct sigaction *b)
{
	int known = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART | SA_NOCLDSTOP | (int)SA_RESETHAND;
	return a->sa_handler == b->sa_handler && ((a->sa_flags ^ b->sa_flags) & known) == 0 &&
	    same_mask(&a->sa_mask, &b->sa_mask);
}

/* The place of one that is disabled means nothing. */
static bool same_alternate(const stack_t *a, const stack_t *b)
{
	return a->ss_flags == b->ss_flags &&
	    (a->ss_flags & SS_DISABLE || (a->ss_sp == b->ss_sp && a->ss_size == b->ss_size));
}

static void check_same(const struct settings *a, const struct settings *b)
{
	ck_assert(same_action(&a->segv, &b->segv) && same_action(&a->bus, &b->bus));
	ck_assert(same_action(&a->usr1, &b->usr1) && same_action(&a->pipe, &b->pipe));
	ck_assert(same_action(&a->child, &b->child));
	ck_assert(same_alternate(&a->alternate, &b->alternate));
	ck_assert(same_mask(&a->mask, &b->mask));
}

static void *check_inside(void *arg)
{
	const struct settings *before = arg;
	struct settings inside = settings();
	ck_assert(!same_action(&before->segv, &inside.segv) && !same_action(&before->bus, &inside.bus));
	ck_assert(same_action(&before->usr1, &inside.usr1) && same_action(&before->child, &inside.child));
	ck_assert(!(inside.alternate.ss_flags & SS_DISABLE));
	ck_assert(same_mask(&before->mask, &inside.mask));
	if (!(before->alternate.ss_flags & SS_DISABLE))
		ck_assert_ptr_eq(before->alternate.ss_sp, inside.alternate.ss_sp);
	return NULL;
}

static char host_alternate[65536];

/* _i bit 0: the host has handlers; bit 1: an alternate stack; bit 2: a mask. */
START_TEST(handlers_alternate_stack_and_mask_are_as_before)
{
	struct settings original = settings();
	struct sigaction action = { .sa_sigaction = mend, .sa_flags = SA_SIGINFO | SA_RESTART };
	stack_t alternate = { .ss_sp = host_alternate, .ss_size = sizeof host_alternate };
	stack_t none = { .ss_flags = SS_DISABLE };
	sigset_t some;
	sigaddset(&action.sa_mask, SIGHUP);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	if (_i & 1)
		ck_assert_int_eq(sigaction(SIGSEGV, &action, NULL) | sigaction(SIGBUS, &action, NULL), 0);
	ck_assert_int_eq(sigaltstack(_i & 2 ? &alternate : &none, NULL), 0);
	if (_i & 4)
		pthread_sigmask(SIG_BLOCK, &some, NULL);
	struct settings before = settings();
	for (int i = 0; i < 3; i++)
		run_real(check_inside, &before);
	struct settings after = settings();
	check_same(&before, &after);
	sigaction(SIGSEGV, &original.segv, NULL);
	sigaction(SIGBUS, &original.bus, NULL);
	sigaltstack(&original.alternate, NULL);
	pthread_sigmask(SIG_SETMASK, &original.mask, NULL);
}
END_TEST

static void *check_untouched(void *arg)
{
	struct settings inside = settings();
	check_same(arg, &inside);
	return NULL;
}

START_TEST(without_signals_nothing_is_changed_even_inside)
{
	struct settings before = settings();
	run_with(BIDE_NO_SIGNALS, check_untouched, &before);
}
END_TEST

static void *change_inside(void *arg)
{
	struct sigaction action = { .sa_sigaction = host_with_info, .sa_flags = SA_SIGINFO };
	stack_t alternate = { .ss_sp = host_alternate, .ss_size = sizeof host_alternate };
	sigaction(SIGSEGV, &action, NULL);
	sigaltstack(&alternate, NULL);
	return arg;
}

START_TEST(what_the_host_changed_meanwhile_stays)
{
	struct settings original = settings();
	run_real(change_inside, NULL);
	struct settings after = settings();
	ck_assert(after.segv.sa_sigaction == host_with_info);
	ck_assert(same_action(&after.bus, &original.bus));
	ck_assert_ptr_eq(after.alternate.ss_sp, host_alternate);
	sigaction(SIGSEGV, &original.segv, NULL);
	sigaltstack(&original.alternate, NULL);
}
END_TEST

/* The last of several loops puts the handlers back, whichever it is, and no thread touches another's
 * alternate stack. */
static pthread_barrier_t all_run;

static void *meet(void *arg)
{
	struct settings inside = settings();
	pthread_barrier_wait(&all_run);
	ck_assert(inside.segv.sa_flags & SA_ONSTACK);
	bide_sleep((bide_time)(uintptr_t)arg * BIDE_MSEC);
	return NULL;
}

static void *run_and_compare(void *arg)
{
	struct settings before = settings();
	bide_run(meet, arg, NULL, NULL);
	struct settings after = settings();
	return (void *)(uintptr_t)same_alternate(&before.alternate, &after.alternate);
}

START_TEST(the_last_loop_puts_back_what_the_first_one_found)
{
	struct settings before = settings();
	pthread_t threads[6];
	pthread_barrier_init(&all_run, NULL, 6);
	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, run_and_compare, (void *)(uintptr_t)((i * 5) % 7));
	for (int i = 0; i < 6; i++) {
		void *is_same;
		pthread_join(threads[i], &is_same);
		ck_assert_ptr_nonnull(is_same);
	}
	struct settings after = settings();
	check_same(&before, &after);
	pthread_barrier_destroy(&all_run);
}
END_TEST

static const char *const failures[] = { "sigaltstack:EINVAL@1", "sigaltstack:EPERM@2", "mmap:ENOMEM@1",
	"sigaction:EINVAL@1", "sigaction:EINVAL@2", "sigaction:EINVAL@3", "sigaction:EINVAL@4" };

START_TEST(what_cannot_be_installed_is_an_error_and_nothing_is_changed)
{
	stack_t none = { .ss_flags = SS_DISABLE };
	struct settings original = settings();
	sigaltstack(&none, NULL);
	struct settings before = settings();
	int mappings = count_mappings();
	ck_assert_int_eq(bide_fault(failures[_i]), 0);
	ck_assert_int_eq(bide_run(nothing_much, NULL, NULL, NULL), -1);
	ck_assert(errno == EINVAL || errno == EPERM || errno == ENOMEM);
	bide_fault(NULL);
	struct settings after = settings();
	check_same(&before, &after);
	if (suite_is_native())
		ck_assert_int_le(count_mappings(), mappings + 2);
	run_real(nothing_much, NULL);
	sigaltstack(&original.alternate, NULL);
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
	    TEST(without_signals_it_dies_silently_and_nothing_is_installed),
	    TABLE(the_host_s_handler_is_called_as_it_was_installed, hosts),
	    TEST(a_handler_of_the_host_s_that_mends_faults_goes_on_doing_so),
	    TEST(a_handler_for_once_is_called_once),
	    TEST(a_signal_that_is_sent_and_ignored_stays_ignored),
	    TEST(handlers_that_chain_to_each_other_come_to_an_end),
	    LOOP(handlers_alternate_stack_and_mask_are_as_before, 0, 8),
	    TEST(without_signals_nothing_is_changed_even_inside),
	    TEST(what_the_host_changed_meanwhile_stays),
	    TEST(the_last_loop_puts_back_what_the_first_one_found),
	    TABLE(what_cannot_be_installed_is_an_error_and_nothing_is_changed, failures));
}
