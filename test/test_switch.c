/* SPDX-License-Identifier: MIT
 * The switch as tasks and coroutines use it: what the compiler and the C library count on holds across
 * every suspending call. Scenarios A1, A3, A4, A8, A15, A16. test_context.c is about the bare switch.
 * valgrind: skip (its processor has no flush to zero, and computes with another precision) */
#include <fenv.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backtrace.h"
#include "context.h"
#include "registers.h"
#include "runs.h"
#include "suite.h"

/* ---- ways to suspend and come back ------------------------------------------------------------- */

static void yield_task(void *coro, void *unused)
{
	(void)coro;
	(void)unused;
	must(bide_yield() == 0);
}

static void sleep_a_turn(void *coro, void *unused)
{
	(void)coro;
	(void)unused;
	must(bide_sleep(0) == 0);
}

static void park_task(void *coro, void *unused)
{
	(void)coro;
	(void)unused;
	must(bide_sleep(1) == 0);
}

static void yield_coro(void *coro, void *unused)
{
	(void)coro;
	(void)unused;
	bide_coro_yield(NULL);
}

static void resume_coro(void *coro, void *unused)
{
	(void)unused;
	must(bide_coro_resume(coro, NULL, NULL) == 1);
}

typedef void suspend_fn(void *coro, void *unused);

static const struct {
	const char *name;
	suspend_fn *suspend;
	int rounds;
} ways[] = {
	{ "yield", yield_task, 1000000 },
	{ "sleep(0)", sleep_a_turn, 100000 },
	{ "park", park_task, 100000 },
};

/* ---- A1 ---------------------------------------------------------------------------------------- */

struct holder {
	suspend_fn *suspend;
	void *coro;
	uint64_t seed;
	int rounds;
};

static void *hold_registers(void *arg)
{
	const struct holder *holder = arg;
	uint64_t in[REGISTERS_MAX], out[REGISTERS_MAX];
	for (int i = 0; i < registers_count; i++)
		in[i] = holder->seed + (uint64_t)i * 0x0101010101010101u;
	for (int round = 0; round < holder->rounds; round++) {
		registers_call(holder->suspend, holder->coro, NULL, in, out);
		for (int i = 0; i < registers_count; i++)
			must_msg(in[i] == out[i], "%s is %#jx, and was %#jx", registers_names[i],
			    (uintmax_t)out[i], (uintmax_t)in[i]);
	}
	return NULL;
}

static void *hold_in_two_tasks(void *arg)
{
	const int way = *(int *)arg;
	const int rounds = suite_scaled_down(ways[way].rounds / 2, 1000);
	struct holder a = { ways[way].suspend, NULL, 0x1111111111111111u, rounds };
	struct holder b = { ways[way].suspend, NULL, 0x2222222222222222u, rounds };
	bide_task *first = must_spawn(hold_registers, &a), *second = must_spawn(hold_registers, &b);
	must_end_well(first);
	must_end_well(second);
	return NULL;
}

START_TEST(a_task_finds_its_registers_again) /* A1 */
{
	run_virtual(hold_in_two_tasks, &_i);
}
END_TEST

START_TEST(a_coroutine_and_its_resumer_find_their_registers_again) /* A1 */
{
	const int rounds = suite_scaled_down(500000, 1000);
	struct holder inside = { yield_coro, NULL, 0x3333333333333333u, rounds + 1 };
	bide_coro *coro = bide_coro_new(hold_registers, &inside, 0);
	must(coro);
	struct holder outside = { resume_coro, coro, 0x4444444444444444u, rounds };
	hold_registers(&outside);
	must(bide_coro_close(coro) == 0);
}
END_TEST

/* ---- A3 ---------------------------------------------------------------------------------------- */

struct computer {
	suspend_fn *suspend;
	int mode;
};

static bool computes_in(int mode)
{
	return float_control() == float_modes[mode].control;
}

static void *compute_in_coro(void *arg)
{
	const int mode = *(int *)arg;
	must(computes_in(0));
	float_set_control(float_modes[mode].control);
	for (;;) {
		bide_yield();
		must(computes_in(mode));
		if (bide_coro_yield(NULL))
			return NULL;
		must(computes_in(mode));
	}
}

static void *compute_in_mode(void *arg)
{
	const struct computer *computer = arg;
	int inner = (computer->mode + 1) % float_mode_count;
	bide_coro *coro = bide_coro_new(compute_in_coro, &inner, 0);
	must(computes_in(0));
	float_set_control(float_modes[computer->mode].control);
	for (int round = 0; round < 20; round++) {
		computer->suspend(NULL, NULL);
		must_msg(computes_in(computer->mode), "%s was lost", float_modes[computer->mode].name);
		must(bide_coro_resume(coro, NULL, NULL) == 1);
		must_msg(computes_in(computer->mode), "%s was lost to a coroutine",
		    float_modes[computer->mode].name);
	}
	must(bide_coro_resume(coro, coro, NULL) == 0);
	must(bide_coro_close(coro) == 0);
	must(computes_in(computer->mode));
	return NULL;
}

static void *spawn_computers(void *arg)
{
	struct computer computers[16];
	bide_task *tasks[16];
	for (int i = 0; i < float_mode_count; i++) {
		computers[i] = (struct computer){ ways[*(int *)arg].suspend, i };
		float_set_control(float_modes[i].control); /* a child does not begin with this */
		tasks[i] = must_spawn(compute_in_mode, &computers[i]);
	}
	float_set_control(float_modes[1].control);
	for (int i = 0; i < float_mode_count; i++) {
		must_end_well(tasks[i]);
		must(computes_in(1));
	}
	return NULL;
}

START_TEST(each_task_and_coroutine_has_its_own_floating_point_control) /* A3 */
{
	run_virtual(spawn_computers, &_i);
	must_msg(computes_in(0), "the run left its floating-point control behind");
}
END_TEST

/* A call, so that the compiler does not move the division over a change of mode. */
static __attribute__((noinline)) double a_third(void)
{
	static volatile double one = 1, three = 3;
	double quotient = one / three;
	__asm__ volatile("" : : "m"(quotient) : "memory");
	return quotient;
}

static void *round_down(void *arg)
{
	must(fegetround() == FE_TONEAREST);
	fesetround(FE_DOWNWARD);
	double third = a_third();
	bide_yield();
	must(fegetround() == FE_DOWNWARD);
	must(a_third() == third);
	return arg;
}

static void *round_up(void *arg)
{
	fesetround(FE_UPWARD);
	double third = a_third();
	bide_task *task = must_spawn(round_down, NULL);
	bide_yield();
	must(fegetround() == FE_UPWARD);
	must(a_third() == third);
	must_end_well(task);
	must(fegetround() == FE_UPWARD);
	must(a_third() == third);
	return arg;
}

START_TEST(arithmetic_is_rounded_as_each_task_asked) /* A3 */
{
	run_virtual(round_up, NULL);
	must(fegetround() == FE_TONEAREST);
}
END_TEST

/* ---- A4 ---------------------------------------------------------------------------------------- */

static bool is_aligned(const void *pointer, uintptr_t alignment)
{
	/* The compiler knows how it has aligned the object, if the stack is right. */
	__asm__("" : "+r"(pointer));
	return (uintptr_t)pointer % alignment == 0;
}

static void *use_aligned_locals(void *arg)
{
	_Alignas(16) char at16[16];
	_Alignas(32) char at32[32];
	_Alignas(64) char at64[64];
	char text[64];
	at16[0] = at32[0] = at64[0] = 0;
	for (int round = 0; round < 2; round++) {
		must(is_aligned(at16, 16) && is_aligned(at32, 32) && is_aligned(at64, 64));
		must(snprintf(text, sizeof text, "%.2f", 0.5) == 4 && strcmp(text, "0.50") == 0);
		bide_yield();
	}
	return arg;
}

static size_t least_stack_size(void)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	for (attr.stack_size = BIDE_STACK_MIN;; attr.stack_size += 1024) {
		bide_task *task = bide_spawn_with(nothing, NULL, &attr);
		if (task) {
			must_end_well(task);
			return attr.stack_size;
		}
		must(errno == EINVAL);
		must(attr.stack_size < 1 << 20);
	}
}

static void *spawn_on_every_size(void *arg)
{
	const bool is_own = *(int *)arg;
	const size_t least = least_stack_size();
	static char memory[1 << 20];
	for (size_t extra = 0; extra <= 4096; extra++) {
		bide_task_attr attr = BIDE_TASK_ATTR_INIT;
		attr.stack_size = least + extra;
		if (is_own)
			attr.stack = memory + extra % 67;
		bide_task *task = bide_spawn_with(use_aligned_locals, &attr, &attr);
		must_msg(task, "a stack of %zu bytes: %s", attr.stack_size, strerror(errno));
		must(must_end_well(task) == &attr);
	}
	return NULL;
}

START_TEST(the_stack_is_aligned_whatever_its_size) /* A4: from the pool, and the caller's own */
{
	run_virtual(spawn_on_every_size, &_i);
}
END_TEST

/* ---- A8 ---------------------------------------------------------------------------------------- */

static void check_backtrace(void)
{
	struct backtrace trace;
	backtrace_take(&trace);
	must_msg(trace.has_ended, "the backtrace failed after %d frames", trace.count);
	must_msg(trace.count >= 6 && trace.count <= 12, "%d frames", trace.count);
	must(backtrace_is_in(&trace, trace.count - 1, context_entry));
}

static __attribute__((noinline)) void call_deep(int depth, suspend_fn *suspend)
{
	if (depth > 0) {
		call_deep(depth - 1, suspend);
	} else {
		check_backtrace();
		suspend(NULL, NULL);
		check_backtrace();
	}
	__asm__ volatile(""); /* not a tail call */
}

static void *look_back_in_coro(void *arg)
{
	call_deep(4, yield_coro);
	call_deep(4, yield_task);
	return arg;
}

static void *look_back(void *arg)
{
	call_deep(4, ways[*(int *)arg].suspend);
	bide_coro *coro = bide_coro_new(look_back_in_coro, NULL, 0);
	must(bide_coro_resume(coro, NULL, NULL) == 1);
	must(bide_coro_resume(coro, NULL, NULL) == 0);
	must(bide_coro_close(coro) == 0);
	return NULL;
}

static void *spawn_look_back(void *arg)
{
	bide_task *tasks[2] = { must_spawn(look_back, arg), must_spawn(look_back, arg) };
	must_end_well(tasks[0]);
	must_end_well(tasks[1]);
	return look_back(arg);
}

START_TEST(a_backtrace_ends_at_the_entry_of_the_task) /* A8 */
{
	run_virtual(spawn_look_back, &_i);
}
END_TEST

/* ---- A15 --------------------------------------------------------------------------------------- */

static int pipe_fds[2];

static void read_blocked(void *coro, void *unused)
{
	char byte;
	(void)coro;
	(void)unused;
	must(bide_read(pipe_fds[0], &byte, 1) == 1);
}

static void feed_and_yield(void *coro, void *unused)
{
	(void)coro;
	(void)unused;
	must(write(pipe_fds[1], "x", 1) == 1);
	must(bide_yield() == 0);
}

static const struct {
	const char *name;
	suspend_fn *mine, *other;
} errno_cases[] = {
	{ "yield", yield_task, yield_task },
	{ "sleep(0)", sleep_a_turn, yield_task },
	{ "park", park_task, yield_task },
	{ "read", read_blocked, feed_and_yield },
};

struct errno_keeper {
	suspend_fn *suspend;
	int value;
};

static void *keep_errno(void *arg)
{
	const struct errno_keeper *keeper = arg;
	for (int round = 0; round < 50; round++) {
		int *place = &errno;
		pid_t thread = gettid();
		errno = keeper->value;
		keeper->suspend(NULL, NULL);
		must_msg(errno == keeper->value, "errno is %d, and was %d", errno, keeper->value);
		must(place == &errno);
		must(thread == gettid());
	}
	return NULL;
}

static void *keep_two_errnos(void *arg)
{
	const int way = *(int *)arg;
	struct errno_keeper a = { errno_cases[way].mine, 11 }, b = { errno_cases[way].other, 22 };
	must(pipe(pipe_fds) == 0);
	bide_task *first = must_spawn(keep_errno, &a), *second = must_spawn(keep_errno, &b);
	errno = 33;
	must_end_well(first);
	must_end_well(second);
	must(errno == 33);
	must(bide_close(pipe_fds[0]) == 0 && bide_close(pipe_fds[1]) == 0);
	return NULL;
}

START_TEST(errno_belongs_to_the_task) /* A15 */
{
	run_real(keep_two_errnos, &_i);
}
END_TEST

/* ---- A16 --------------------------------------------------------------------------------------- */

static void *join_three(void *arg)
{
	bide_task *tasks[3];
	for (intptr_t i = 0; i < 3; i++)
		tasks[i] = must_spawn(nothing, (void *)(i + 1));
	for (intptr_t i = 0; i < 3; i++)
		must(must_end_well(tasks[i]) == (void *)(i + 1));
	return arg;
}

START_TEST(returning_ends_only_the_task) /* A16 */
{
	must(run_real(join_three, &pipe_fds) == &pipe_fds);
}
END_TEST

START_TEST(returning_ends_only_the_coroutine) /* A16 */
{
	void *out = NULL;
	bide_coro *coro = bide_coro_new(nothing, &out, 0);
	must(bide_coro_resume(coro, NULL, &out) == 0);
	must(out == &out);
	must(bide_coro_state(coro) == BIDE_CORO_CLOSED);
	ck_fails(bide_coro_resume(coro, NULL, NULL), ESRCH);
	must(bide_coro_close(coro) == 0);
}
END_TEST

int main(void)
{
	return SUITE_EXACT("switch",
	    TABLE(a_task_finds_its_registers_again, ways),
	    TEST(a_coroutine_and_its_resumer_find_their_registers_again),
	    TABLE(each_task_and_coroutine_has_its_own_floating_point_control, ways),
	    TEST(arithmetic_is_rounded_as_each_task_asked),
	    LOOP(the_stack_is_aligned_whatever_its_size, 0, 2),
	    TABLE(a_backtrace_ends_at_the_entry_of_the_task, ways),
	    TABLE(errno_belongs_to_the_task, errno_cases),
	    TEST(returning_ends_only_the_task),
	    TEST(returning_ends_only_the_coroutine));
}
