/* SPDX-License-Identifier: MIT
 * stack/frames.h: backtraces of flows of control that run, that a signal interrupts, and that are suspended. Statement
 * 189: the dump's backtraces. */
#include <signal.h>
#include <stdlib.h>

#include "await/tower.h"
#include "base/modules.h"
#include "base/place.h"
#include "runs.h"
#include "stack/frames.h"

#define DEEP 64

struct trace {
	int count;
	uintptr_t pcs[DEEP];
};

/* Whether a frame of this function is there, from `from` on; where it is, or -1. */
static int find(const struct trace *trace, const char *function, int from)
{
	char place[PLACE_SIZE];
	size_t length = strlen(function);
	for (int i = from; i < trace->count; i++)
		if (strncmp(place_of(trace->pcs[i], place), function, length) == 0 && place[length] == ' ')
			return i;
	return -1;
}

static void must_name_in_order(const struct trace *trace, const char *const *functions)
{
	char place[PLACE_SIZE];
	int at = -1;
	for (; *functions; functions++) {
		int next = find(trace, *functions, at + 1);
		for (int i = 0; next < 0 && i < trace->count; i++)
			fprintf(stderr, "%d %s\n", i, place_of(trace->pcs[i], place));
		must_msg(next >= 0, "%s is not there, or not there", *functions);
		at = next;
	}
}

static void of_context(struct trace *trace, const struct context *context, const struct stack *stack)
{
	trace->count = frames_suspended(context, stack, trace->pcs, DEEP);
}

static void of_task(struct trace *trace, bide_task *handle)
{
	const struct task *task = &handle_resolve(handle)->task;
	of_context(trace, &task->strand.context, &task->stack);
}

#define STAYS_A_CALL __asm__ volatile("")

/* ---- parked ---------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void inner(void)
{
	bide_sleep(BIDE_SEC);
	STAYS_A_CALL;
}

static __attribute__((noinline)) void middle(size_t size)
{
	volatile char *room = __builtin_alloca(size); /* needs a frame pointer */
	room[0] = 1;
	inner();
	room[size - 1] = 1;
}

static void *outer(void *arg)
{
	middle(200 + (size_t)arg % 100);
	return arg;
}

static const char *const whole[] = { "inner", "middle", "outer", "context_entry", NULL };

VIRTUAL_TEST(a_parked_task_is_walked_from_its_call_to_its_first_function)
{
	struct trace trace;
	bide_task *task = must_spawn(outer, &task);
	settle();
	of_task(&trace, task);
	must_name_in_order(&trace, whole);
	must(find(&trace, "context_entry", 0) == trace.count - 1);
	must_end_well(task);
}

static void *yielder(void *arg)
{
	while (!*(volatile bool *)arg)
		must(bide_yield() == 0);
	return arg;
}

VIRTUAL_TEST(so_is_one_that_has_yielded)
{
	struct trace trace;
	bool stop = false;
	bide_task *task = must_spawn(yielder, &stop);
	must(bide_yield() == 0);
	of_task(&trace, task);
	must_name_in_order(&trace, (const char *const[]){ "yielder", "context_entry", NULL });
	stop = true;
	must_end_well(task);
}

/* A sanitizer has reasons to object to some of it. */
static __attribute__((noinline, no_sanitize("address", "thread"))) bool copy_or_compare(char *copy,
    const volatile char *stack, size_t size, bool compares)
{
	bool is_equal = true;
	for (size_t i = 0; i < size; i++) {
		is_equal &= copy[i] == stack[i];
		copy[i] = stack[i];
	}
	return is_equal || !compares;
}

/* Below the stack pointer as well as above it; but memcheck wants nobody to look there. */
VIRTUAL_TEST(what_is_walked_is_not_written_to)
{
	struct trace trace;
	bide_task *task = must_spawn(outer, &task);
	settle();
	const struct stack *stack = &handle_resolve(task)->task.stack;
	const char *low = suite_is_under("valgrind") ? handle_resolve(task)->task.strand.context.sp : stack->low;
	size_t size = (size_t)(stack->high - low);
	char *before = calloc(size, 1);
	must(before && copy_or_compare(before, low, size, false));
	of_task(&trace, task);
	must(copy_or_compare(before, low, size, true));
	free(before);
	must_end_well(task);
}

VIRTUAL_TEST(no_more_is_written_than_there_is_room_for)
{
	bide_task *task = must_spawn(outer, &task);
	settle();
	const struct task *record = &handle_resolve(task)->task;
	for (int max = 0; max < 4; max++) {
		uintptr_t pcs[5] = { 7, 7, 7, 7, 7 };
		must(frames_suspended(&record->strand.context, &record->stack, pcs, max) == max);
		must(frames_here(pcs, max) == max);
		for (int i = max; i < 5; i++)
			must(pcs[i] == 7);
	}
	must_end_well(task);
}

/* A stack that ends elsewhere is not left. */
VIRTUAL_TEST(a_walk_stays_on_its_stack)
{
	struct trace whole_trace, part;
	bide_task *task = must_spawn(outer, &task);
	settle();
	const struct task *record = &handle_resolve(task)->task;
	struct stack shorter = record->stack;
	shorter.high = (char *)record->strand.context.sp + 64;
	of_task(&whole_trace, task);
	of_context(&part, &record->strand.context, &shorter);
	must(part.count >= 1 && part.count < whole_trace.count);
	for (int i = 0; i < part.count; i++)
		must(part.pcs[i] == whole_trace.pcs[i]);
	must_end_well(task);
}

/* ---- towers ---------------------------------------------------------------------------------------- */

static __attribute__((noinline)) void *upper_body(void *arg)
{
	inner();
	STAYS_A_CALL;
	return arg;
}

static __attribute__((noinline)) void *lower_body(void *arg)
{
	bide_coro *coro = bide_coro_new(upper_body, arg, 0);
	must(coro && bide_coro_resume(coro, NULL, NULL) == 0 && bide_coro_close(coro) == 0);
	return arg;
}

static void *tower_body(void *arg)
{
	bide_coro *coro = bide_coro_new(lower_body, arg, 0);
	must(coro && bide_coro_resume(coro, NULL, NULL) == 0 && bide_coro_close(coro) == 0);
	return arg;
}

struct storeys {
	struct trace traces[3];
	int count;
};

static void note_storey(const struct stack *stack, struct leave_point left, struct bide_coro *coro, void *arg)
{
	struct storeys *storeys = arg;
	struct context context = { .sp = left.sp, .fp = left.frame, .resume = left.resume };
	must(storeys->count < 3 && !coro == (storeys->count == 2));
	of_context(&storeys->traces[storeys->count++], &context, stack);
}

VIRTUAL_TEST(every_storey_of_a_tower_is_walked)
{
	struct storeys storeys = { .count = 0 };
	bide_task *task = must_spawn(tower_body, NULL);
	settle();
	tower_of_task(handle_resolve(task), note_storey, &storeys);
	must(storeys.count == 3);
	must_name_in_order(&storeys.traces[0], (const char *const[]){ "inner", "upper_body", "context_entry", NULL });
	must_name_in_order(&storeys.traces[1], (const char *const[]){ "lower_body", "context_entry", NULL });
	must_name_in_order(&storeys.traces[2], (const char *const[]){ "tower_body", "context_entry", NULL });
	must(find(&storeys.traces[0], "lower_body", 0) < 0 && find(&storeys.traces[1], "tower_body", 0) < 0);
	must_end_well(task);
}

/* ---- here, and what a signal interrupts --------------------------------------------------------------- */

static __attribute__((noinline)) void take_here(struct trace *trace)
{
	trace->count = frames_here(trace->pcs, DEEP);
	STAYS_A_CALL;
}

static void *take_in_task(void *arg)
{
	take_here(arg);
	STAYS_A_CALL;
	return arg;
}

VIRTUAL_TEST(the_running_one_is_walked_from_the_caller_on)
{
	struct trace trace;
	must_end_well(must_spawn(take_in_task, &trace));
	must_name_in_order(&trace, (const char *const[]){ "take_here", "take_in_task", "context_entry", NULL });
	must(find(&trace, "take_here", 0) == 0 && find(&trace, "context_entry", 0) == trace.count - 1);
}

static struct trace in_handler, in_code;
static volatile sig_atomic_t handled;

static void handler(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	in_handler.count = frames_here(in_handler.pcs, DEEP);
	in_code.count = frames_interrupted(context, in_code.pcs, DEEP);
	handled = 1;
}

static __attribute__((noinline)) void get_struck(void)
{
	handled = 0;
	raise(SIGUSR1);
	while (!handled)
		continue;
	STAYS_A_CALL;
}

static void *struck(void *arg)
{
	get_struck();
	STAYS_A_CALL;
	return arg;
}

VIRTUAL_TEST(what_a_signal_has_interrupted_is_walked_without_the_handler)
{
	static const char *const functions[] = { "get_struck", "struck", "context_entry", NULL };
	static char alternate[65536];
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate }, old_stack;
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | (_i ? SA_ONSTACK : 0) }, old;
	sigemptyset(&action.sa_mask);
	frames_prepare();
	must(sigaltstack(&stack, &old_stack) == 0 && sigaction(SIGUSR1, &action, &old) == 0);
	must_end_well(must_spawn(struck, NULL));
	must(sigaction(SIGUSR1, &old, NULL) == 0 && sigaltstack(&old_stack, NULL) == 0);
	must(find(&in_handler, "handler", 0) == 0);
	must_name_in_order(&in_handler, functions);
	must(find(&in_code, "handler", 0) < 0);
	must_name_in_order(&in_code, functions);
}

int main(void)
{
	modules_note();
	return SUITE("frames", TEST(a_parked_task_is_walked_from_its_call_to_its_first_function),
	    TEST(so_is_one_that_has_yielded), TEST(what_is_walked_is_not_written_to),
	    TEST(no_more_is_written_than_there_is_room_for), TEST(a_walk_stays_on_its_stack),
	    TEST(every_storey_of_a_tower_is_walked), TEST(the_running_one_is_walked_from_the_caller_on),
	    LOOP(what_a_signal_has_interrupted_is_walked_without_the_handler, 0, 2));
}
