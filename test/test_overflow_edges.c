/* SPDX-License-Identifier: MIT
 * stack/overflow.h, by somebody who wants to break it: frames of every width, overflows at exact places, wild
 * pointers into the guards of others, signal handlers that go too deep, two threads at once. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stack/stack.h"
#include "victim.h"

#define KIB ((size_t)1024)

/* ---- frames of every width: statement 36 -------------------------------------------------------------- */

/* Each touches its far end alone: what does not touch its pages on the way down has to meet the guard by
 * the guard's width. Half of those that are wider than a guard would step over it. */
#define FRAMES_OF(size)                                                                                                \
	static __attribute__((noinline)) int frames_of_##size(int depth)                                                   \
	{                                                                                                                  \
		volatile char frame[size];                                                                                     \
		frame[sizeof frame - 1] = (char)depth;                                                                         \
		return deeper(depth + 1) + frame[sizeof frame - 1];                                                            \
	}

FRAMES_OF(4000)
FRAMES_OF(4096)
FRAMES_OF(12288)
FRAMES_OF(16384)
FRAMES_OF(20000)
FRAMES_OF(40000)
FRAMES_OF(63000)
FRAMES_OF(66000)
FRAMES_OF(100000)
FRAMES_OF(1048576)

static int (*const frames[])(int) = { frames_of_4000, frames_of_4096, frames_of_12288, frames_of_16384,
	frames_of_20000, frames_of_40000, frames_of_63000, frames_of_66000, frames_of_100000, frames_of_1048576 };

START_TEST(frames_of_any_width_meet_the_guard)
{
	struct victim victim = { .body = overflowing, .frames = frames[_i] };
	struct death death = death_by(die, &victim);
	check_named(&death);
	ck_assert_msg(!strstr(death.text, "stepped over"), "%s", death.text);
}
END_TEST

static __attribute__((noinline)) int alloca_a_mebibyte(int depth)
{
	volatile char *frame = __builtin_alloca(1024 * KIB + (size_t)depth);
	frame[0] = 1;
	return frame[0];
}

START_TEST(an_alloca_of_a_mebibyte_meets_the_guard)
{
	struct victim victim = { .body = overflowing, .frames = alloca_a_mebibyte };
	struct death death = death_by(die, &victim);
	check_named(&death);
	ck_assert_msg(!strstr(death.text, "stepped over"), "%s", death.text);
}
END_TEST

/* ---- at exact places ------------------------------------------------------------------------------------- */

/* The stack pointer comes to the low end, and so many bytes further: in the guard's uppermost byte, at the edges
 * of its pages, at its own low end. */
static size_t further;

static __attribute__((noinline)) int down_to_the_low_end(int depth)
{
	volatile char *here = __builtin_frame_address(0);
	size_t room = (size_t)(here - low_end);
	volatile char *frame = __builtin_alloca(room + further + (size_t)depth);
	frame[0] = 1;
	low_end[-(long)further] = 1;
	return frame[0];
}

static void *down_by_exactly(void *arg)
{
	find_low_end();
	deeper(0);
	return arg;
}

static const size_t beyond[] = { 1, 2, 8, 16, 64, 128, 4080, 4095, 4096, 4097, 8192, 12288, STACK_GUARD_SIZE - 4096,
	STACK_GUARD_SIZE - 1024 };

START_TEST(an_overflow_by_one_byte_or_to_the_edge_of_a_page_is_named)
{
	struct victim victim = { .body = down_by_exactly, .frames = down_to_the_low_end };
	further = beyond[_i];
	struct death death = death_by(die, &victim);
	check_named(&death);
}
END_TEST

/* ---- a frame that was not checked, into its own guard ------------------------------------------------------ */

/* The stack pointer goes far below the guard without a touch, and the first touch is in the guard: a frame of
 * code that was compiled without stack clash protection, filled from its upper end. AddressSanitizer would write
 * to its lower end first. */
static __attribute__((noinline, no_sanitize("address"))) UNPROTECTED int with_a_frame_filled_from_above(int depth)
{
	volatile char frame[STACK_SIZE_DEFAULT + STACK_GUARD_SIZE + 64 * 1024];
	for (size_t i = sizeof frame; i-- > 0;)
		frame[i] = (char)depth;
	return frame[1024];
}

START_TEST(a_huge_frame_filled_from_above_is_named_as_any_other)
{
	struct victim victim = { .body = overflowing, .frames = with_a_frame_filled_from_above, .parked = 4 };
	struct death death = death_by(die, &victim);
	check_line(&death, "task 6 \"the victim\" (spawned at ", "bide_task_attr.stack_size");
	ck_assert_msg(!strstr(death.text, "stepped over"), "%s", death.text);
}
END_TEST

/* ---- wild pointers into guards ------------------------------------------------------------------------------ */

/* Among parked tasks above and below, of which the stacks are known: a wild pointer into the guard of another
 * task's stack is no overflow, whether the one whose pointer it is lies above or below. */
#define OTHERS 12

static char *other_lows[OTHERS];
static int other_count;

static void note_other(const bide_stack_range *range, void *arg)
{
	(void)arg;
	if (range->task && range->task != bide_self() && other_count < OTHERS)
		other_lows[other_count++] = range->low;
}

struct wild {
	bool is_above;    /* the guard is that of a stack above, else below, the one that runs */
	long offset;      /* from that stack's low end */
	bool in_callback; /* on the loop's own stack */
};

static const struct wild *wild;

static void touch_the_guard(void *arg)
{
	char *here = __builtin_frame_address(0);
	(void)arg;
	for (int i = 0; i < other_count; i++) {
		if (wild->in_callback || (other_lows[i] > here) == wild->is_above)
			*(volatile char *)(other_lows[i] + wild->offset) = 1;
	}
	say("nothing to touch\n");
}

static void *touch_others(void *arg)
{
	for (int i = 0; i < OTHERS / 2; i++)
		bide_spawn(forever_sleeper, NULL);
	bide_settle();
	bide_stack_each(note_other, NULL);
	if (!wild->in_callback) {
		touch_the_guard(arg);
		return NULL;
	}
	bide_call_soon(touch_the_guard, arg);
	bide_sleep(BIDE_NEVER);
	return NULL;
}

static const struct wild wilds[] = { { true, -1, false }, { true, -8, false }, { true, -4096, false },
	{ true, 1 - (long)STACK_GUARD_SIZE, false }, { false, -1, false }, { false, -4096, false }, { false, -1, true },
	{ false, -5000, true } };

static void die_of_a_wild_pointer(void *arg)
{
	struct victim victim = { .body = touch_others, .parked = OTHERS / 2 };
	wild = arg;
	die(&victim);
}

START_TEST(a_wild_pointer_into_the_guard_of_another_is_no_overflow)
{
	struct death death = death_by(die_of_a_wild_pointer, (void *)(uintptr_t)&wilds[_i]);
	ck_assert(died_of_access(&death));
	ck_assert_str_eq(death.text, "");
}
END_TEST

/* On a thread whose own stack lies below the stacks of its tasks: no place on it is below a guard by accident. */
static void *run_on_given_stack(void *arg)
{
	die_of_a_wild_pointer(arg);
	return NULL;
}

static void die_on_a_low_thread(void *arg)
{
	static char low_stack[2048 * 1024] __attribute__((aligned(65536)));
	pthread_attr_t attr;
	pthread_t thread;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, low_stack, sizeof low_stack);
	pthread_create(&thread, &attr, run_on_given_stack, arg);
	pthread_join(thread, NULL);
}

START_TEST(not_even_from_a_thread_s_stack_that_lies_below_all_of_them)
{
	static const struct wild from_below = { true, -1, true };
	struct death death = death_by(die_on_a_low_thread, (void *)(uintptr_t)&from_below);
	ck_assert(died_of_access(&death));
	ck_assert_str_eq(death.text, "");
}
END_TEST

/* ---- the loop's own stack --------------------------------------------------------------------------------------- */

/* A callback of the loop that goes too deep is on the thread's own stack, which is the host's business: its handler
 * gets the fault, and nobody is accused. */
static void call_too_deep(void *arg)
{
	(void)arg;
	overflow();
}

static void *arm_the_callback(void *arg)
{
	bide_call_soon(call_too_deep, arg);
	bide_sleep(BIDE_NEVER);
	return NULL;
}

static void *run_with_parked(void *arg)
{
	struct victim victim = { .body = arm_the_callback, .parked = 20 };
	die(&victim);
	return arg;
}

static void host_says(int number)
{
	say(number == SIGSEGV || number == SIGBUS ? "the host's\n" : "another signal\n");
	_exit(42);
}

static void die_on_the_loop_s_stack(void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	if (*(bool *)arg) {
		signal(SIGSEGV, host_says);
		signal(SIGBUS, host_says);
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * KIB);
	pthread_create(&thread, &attr, run_with_parked, NULL);
	pthread_join(thread, NULL);
}

START_TEST(an_overflow_of_the_loop_s_own_stack_is_the_host_s)
{
	bool has_handler = _i;
	if (has_handler && suite_is_under("valgrind"))
		return; /* memcheck takes what the thread holds at the exit for lost */
	struct death death = death_by(die_on_the_loop_s_stack, &has_handler);
	ck_assert_str_eq(death.text, has_handler ? "the host's\n" : "");
	ck_assert(has_handler ? death.exit_status == 42 : died_of_access(&death));
}
END_TEST

/* ---- signal handlers ------------------------------------------------------------------------------------------- */

static void go_too_deep(int number)
{
	(void)number;
	overflow();
}

static void *strike(void *arg)
{
	raise(SIGUSR1);
	return arg;
}

static void die_in_a_handler(void *arg)
{
	struct victim victim = { .body = strike };
	struct sigaction action = { .sa_handler = go_too_deep, .sa_flags = *(int *)arg };
	sigaction(SIGUSR1, &action, NULL);
	die(&victim);
}

START_TEST(a_signal_handler_that_goes_too_deep_on_a_task_s_stack_is_named)
{
	int flags = _i ? SA_NODEFER : 0;
	if (suite_is_for("thread"))
		return; /* ThreadSanitizer calls handlers with every signal blocked: the kernel ends the process */
	struct death death = death_by(die_in_a_handler, &flags);
	check_named(&death);
}
END_TEST

/* On the alternate stack, which is guarded too: the process dies, and no task is accused. */
START_TEST(one_that_goes_too_deep_on_the_alternate_stack_dies_too)
{
	int flags = SA_ONSTACK;
	struct death death = death_by(die_in_a_handler, &flags);
	ck_assert(died_of_access(&death));
	ck_assert_msg(!strstr(death.text, NAMED), "%s", death.text);
}
END_TEST

/* ---- other memory, other runs ----------------------------------------------------------------------------------- */

/* On memory of the caller's, under which the caller has put a guard. */
static void *on_own_memory(void *arg)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *own = mmap(NULL, 33 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	mprotect(own, page, PROT_NONE);
	attr.stack = own + page;
	attr.stack_size = 32 * page;
	attr.name = "on its own memory";
	bide_join(bide_spawn_with(overflowing, arg, &attr), NULL);
	return NULL;
}

static void die_on_own_memory(void *arg)
{
	bide_run(on_own_memory, arg, NULL, NULL);
}

START_TEST(a_guard_that_the_caller_has_made_is_named_too)
{
	struct death death = death_by(die_on_own_memory, NULL);
	check_line(&death, "task 2 \"on its own memory\"", "bide_task_attr.stack_size");
}
END_TEST

/* The handlers were taken out and put in again. */
static void die_in_the_third_run(void *arg)
{
	struct victim victim = { .body = overflowing, .is_on_a_thread = *(bool *)arg };
	bide_run(nothing, NULL, NULL, NULL);
	bide_run(nothing, NULL, NULL, NULL);
	die(&victim);
}

START_TEST(a_later_run_of_the_process_is_watched_as_the_first)
{
	bool is_on_a_thread = _i;
	struct death death = death_by(die_in_the_third_run, &is_on_a_thread);
	check_named(&death);
}
END_TEST

/* ---- two at once ------------------------------------------------------------------------------------------------- */

/* Each overflow of each thread begins at the same moment: whatever comes out is whole lines, one at least. */
#define AT_ONCE 4

static pthread_barrier_t all_there;

static void *overflow_together(void *arg)
{
	pthread_barrier_wait(&all_there);
	overflow();
	return arg;
}

static void *run_together(void *arg)
{
	struct victim victim = { .body = overflow_together };
	die(&victim);
	return arg;
}

static void die_together(void *arg)
{
	pthread_t threads[AT_ONCE];
	(void)arg;
	pthread_barrier_init(&all_there, NULL, AT_ONCE);
	for (int i = 0; i < AT_ONCE; i++)
		pthread_create(&threads[i], NULL, run_together, NULL);
	for (int i = 0; i < AT_ONCE; i++)
		pthread_join(threads[i], NULL);
}

START_TEST(threads_that_overflow_at_once_leave_whole_lines)
{
	struct death death = death_by(die_together, NULL);
	ck_assert(died_of_access(&death));
	ck_assert_int_ge(lines_in(death.text), 1);
	ck_assert_msg(lines_in(death.text) <= AT_ONCE, "%s", death.text);
	for (char *line = death.text, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		ck_assert_msg(end && strncmp(line, NAMED "task 2 \"the victim\"", strlen(NAMED "task 2 \"the victim\"")) == 0,
		    "%s", death.text);
		*end = '\0';
		ck_assert_msg(strstr(line, "bide_config.stack_size"), "%s", line);
	}
}
END_TEST

int main(void)
{
	return SUITE("overflow_edges",
	    TABLE(frames_of_any_width_meet_the_guard, frames),
	    TEST(an_alloca_of_a_mebibyte_meets_the_guard),
	    TABLE(an_overflow_by_one_byte_or_to_the_edge_of_a_page_is_named, beyond),
	    TEST(a_huge_frame_filled_from_above_is_named_as_any_other),
	    TABLE(a_wild_pointer_into_the_guard_of_another_is_no_overflow, wilds),
	    TEST(not_even_from_a_thread_s_stack_that_lies_below_all_of_them),
	    LOOP(an_overflow_of_the_loop_s_own_stack_is_the_host_s, 0, 2),
	    LOOP(a_signal_handler_that_goes_too_deep_on_a_task_s_stack_is_named, 0, 2),
	    TEST(one_that_goes_too_deep_on_the_alternate_stack_dies_too),
	    TEST(a_guard_that_the_caller_has_made_is_named_too),
	    LOOP(a_later_run_of_the_process_is_watched_as_the_first, 0, 2),
	    LOOP(threads_that_overflow_at_once_leave_whole_lines, 0, 5));
}
