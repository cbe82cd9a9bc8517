/* SPDX-License-Identifier: MIT
 * bide_wait(): several futures, owning none: bide/combine.h. Semantics 115, 116. */
#include <stdlib.h>

#include "await/record.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

enum { COUNT = 20 };
static bide_future futures[COUNT];
static bide_future *all[COUNT];

static void begin(void)
{
	memset(futures, 0, sizeof futures);
	for (int i = 0; i < COUNT; i++)
		all[i] = &futures[i];
}

static void set(int index)
{
	must(bide_future_set(all[index], NULL) == 0);
}

struct wait_call {
	int count, mode;
	int result, err;
};

static void *call_wait(void *arg)
{
	struct wait_call *call = arg;
	call->result = -2;
	call->result = bide_wait(all, call->count, call->mode);
	call->err = call->result < 0 ? errno : 0;
	return NULL;
}

static bide_task *start(struct wait_call *call, int count, int mode)
{
	*call = (struct wait_call){ .count = count, .mode = mode };
	bide_task *task = must_spawn(call_wait, call);
	settle();
	return task;
}

/* Counts above 16 take memory. */
static const int counts[] = { 1, 3, 16, 17, COUNT };

VIRTUAL_TEST(all_are_waited_for)
{
	struct wait_call call;
	begin();
	bide_task *task = start(&call, counts[_i], BIDE_WAIT_ALL);
	for (int i = counts[_i] - 1; i >= 0; i--) {
		ck_assert_int_eq(call.result, -2);
		set(i);
		must(bide_yield() == 0);
	}
	must_end_well(task);
	ck_assert_int_eq(call.result, counts[_i]);
}

/* semantics 115 */
VIRTUAL_TEST(the_first_that_is_done_ends_it_and_the_rest_is_left_alone)
{
	struct wait_call call;
	begin();
	bide_task *task = start(&call, counts[_i], BIDE_WAIT_FIRST_DONE);
	set(counts[_i] - 1);
	must_end_well(task);
	ck_assert_int_eq(call.result, 1);
	for (int i = 0; i < COUNT; i++)
		ck_assert(list_is_empty(&((struct future *)all[i])->queue));
	for (int i = 0; i < counts[_i] - 1; i++) {
		ck_assert(!bide_future_done(all[i]));
		set(i);
	}
}

/* Whatever is done by the time it returns is counted. */
VIRTUAL_TEST(those_that_are_done_in_the_same_turn_are_counted_too)
{
	struct wait_call call;
	begin();
	bide_task *task = start(&call, 5, BIDE_WAIT_FIRST_DONE);
	set(1);
	set(3);
	must(bide_future_fail(all[4], EIO) == 0);
	must_end_well(task);
	ck_assert_int_eq(call.result, 3);
	bide_future_get(all[4], NULL);
}

/* semantics 115 */
VIRTUAL_TEST(the_first_failure_ends_it_and_neither_successes_nor_cancels_do)
{
	struct wait_call call;
	begin();
	bide_task *task = start(&call, 4, BIDE_WAIT_FIRST_FAILED);
	set(0);
	must(bide_future_cancel(all[1]) == 0);
	settle();
	ck_assert_int_eq(call.result, -2);
	if (_i)
		must(bide_future_fail(all[3], EIO) == 0);
	else
		set(3);
	settle();
	ck_assert_int_eq(call.result, _i ? 3 : -2);
	if (!_i)
		set(2);
	must_end_well(task);
	ck_assert_int_eq(call.result, _i ? 3 : 4);
	bide_future_get(all[3], NULL);
}

VIRTUAL_TEST(what_is_done_already_counts_at_once)
{
	begin();
	undisturbed();
	uint64_t turn = loop_current->ready.turn;
	ck_assert_int_eq(bide_wait(NULL, 0, BIDE_WAIT_ALL), 0);
	ck_assert_int_eq(bide_wait(all, 0, BIDE_WAIT_FIRST_DONE), 0);
	set(1);
	ck_assert_int_eq(bide_wait(all, 3, BIDE_WAIT_FIRST_DONE), 1);
	must(bide_future_fail(all[0], EIO) == 0);
	ck_assert_int_eq(bide_wait(all, 3, BIDE_WAIT_FIRST_FAILED), 2);
	set(2);
	ck_assert_int_eq(bide_wait(all, 3, BIDE_WAIT_ALL), 3);
	ck_assert_uint_eq(loop_current->ready.turn, turn);
	bide_future_get(all[0], NULL);
}

/* semantics 116 */
VIRTUAL_TEST(a_deadline_ends_it_and_nothing_is_canceled)
{
	bide_scope scope;
	bide_time delay = BIDE_SEC;
	begin();
	bide_task *task = must_spawn(sleeper, &delay);
	all[0] = bide_task_future(task);
	set(1);
	must(bide_scope_enter(&scope, bide_after(10 * BIDE_MSEC), 0) == 0);
	ck_fails(bide_wait(all, 3, BIDE_WAIT_ALL), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	ck_assert(!bide_future_done(all[0]) && bide_future_done(all[1]) && !bide_future_done(all[2]));
	must_end_well(task);
	ck_assert(bide_now() == BIDE_SEC);
}

VIRTUAL_TEST(a_canceled_caller_leaves_what_it_waits_for_alone)
{
	struct wait_call call;
	begin();
	bide_task *task = start(&call, counts[_i], BIDE_WAIT_ALL);
	must(bide_cancel(task, NULL) == 0);
	set(0); /* in the same turn */
	must_join(task);
	ck_assert_int_eq(call.result, -1);
	ck_assert_int_eq(call.err, ECANCELED);
	for (int i = 0; i < counts[_i]; i++)
		ck_assert(list_is_empty(&((struct future *)all[i])->queue));
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(bide_wait(all, 1, BIDE_WAIT_ALL), ECANCELED); /* on entry, though it is done */
	must(bide_uncancel() == 0);
	ck_assert_int_eq(bide_wait(all, 1, BIDE_WAIT_ALL), 1);
}

VIRTUAL_TEST(a_future_destroyed_meanwhile_ends_it)
{
	struct wait_call call;
	begin();
	bide_task *task = start(&call, 3, _i);
	must(bide_future_destroy(all[1]) == 0);
	memset(all[1], 0xa5, sizeof *all[1]);
	must_end_well(task);
	ck_assert_int_eq(call.result, -1);
	ck_assert_int_eq(call.err, EPIPE);
}

/* Nothing that has been told is looked at again: its memory may be gone. */
VIRTUAL_TEST(a_future_may_go_as_soon_as_it_is_done)
{
	struct wait_call call;
	begin();
	bide_future *heap = calloc(1, sizeof *heap);
	all[0] = heap;
	bide_task *task = start(&call, 2, BIDE_WAIT_ALL);
	set(0);
	must(bide_future_destroy(heap) == 0);
	memset(heap, 0xa5, sizeof *heap);
	free(heap);
	settle();
	ck_assert_int_eq(call.result, -2);
	set(1);
	must_end_well(task);
	ck_assert_int_eq(call.result, 2);
}

VIRTUAL_TEST(after_the_wake_a_future_that_is_destroyed_does_not_matter)
{
	struct wait_call call;
	begin();
	bide_future *heap = calloc(1, sizeof *heap);
	all[1] = heap;
	bide_task *task = start(&call, 2, BIDE_WAIT_FIRST_DONE);
	set(0);
	must(bide_future_destroy(heap) == 0);
	memset(heap, 0xa5, sizeof *heap);
	free(heap);
	must_end_well(task);
	ck_assert_int_eq(call.result, 1);
}

VIRTUAL_TEST(the_same_future_twice_counts_twice)
{
	struct wait_call call;
	begin();
	all[1] = all[0];
	bide_task *task = start(&call, 2, BIDE_WAIT_ALL);
	set(0);
	must_end_well(task);
	ck_assert_int_eq(call.result, 2);
}

VIRTUAL_TEST(tasks_are_waited_for_by_their_futures)
{
	static bide_time delays[] = { 3 * BIDE_SEC, 1 * BIDE_SEC, 2 * BIDE_SEC };
	bide_task *tasks[3];
	begin();
	for (int i = 0; i < 3; i++) {
		tasks[i] = must_spawn(sleeper, &delays[i]);
		all[i] = bide_task_future(tasks[i]);
	}
	ck_assert_int_eq(bide_wait(all, 3, BIDE_WAIT_FIRST_DONE), 1);
	ck_assert(bide_now() == BIDE_SEC && bide_future_done(all[1]));
	ck_assert_int_eq(bide_wait(all, 3, BIDE_WAIT_ALL), 3);
	ck_assert(bide_now() == 3 * BIDE_SEC);
	for (int i = 0; i < 3; i++)
		must_end_well(tasks[i]);
}

VIRTUAL_TEST(nonsense_is_refused)
{
	begin();
	ck_fails(bide_wait(all, -1, BIDE_WAIT_ALL), EINVAL);
	ck_fails(bide_wait(NULL, 1, BIDE_WAIT_ALL), EINVAL);
	ck_fails(bide_wait(all, 1, -1), EINVAL);
	ck_fails(bide_wait(all, 1, 3), EINVAL);
	set(0);
	all[1] = NULL;
	ck_fails(bide_wait(all, 2, BIDE_WAIT_FIRST_DONE), EINVAL);
}

START_TEST(outside_a_task_nobody_waits)
{
	begin();
	ck_fails(bide_wait(all, 1, BIDE_WAIT_ALL), EPERM);
}
END_TEST

VIRTUAL_TEST(more_than_sixteen_need_memory)
{
	begin();
	ck_assert_int_eq(bide_fault("malloc:ENOMEM"), 0);
	ck_fails(bide_wait(all, 17, BIDE_WAIT_ALL), ENOMEM);
	set(0);
	ck_assert_int_eq(bide_wait(all, 16, BIDE_WAIT_FIRST_DONE), 1);
	bide_fault(NULL);
	ck_assert_int_eq(bide_wait(all, 17, BIDE_WAIT_FIRST_DONE), 1);
}

static void *wait_for_nothing(void *arg)
{
	begin();
	ck_fails(bide_wait(all, *(int *)arg, BIDE_WAIT_ALL), EDEADLK);
	return NULL;
}

START_TEST(what_can_never_be_done_is_a_deadlock)
{
	struct reports reports = { { 0 }, { "" } };
	struct counting counting;
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	counting_init(&counting, true);
	config.allocator = &counting.allocator;
	ck_fails(bide_run(wait_for_nothing, (void *)&counts[_i], &config, NULL), EDEADLK);
	ck_assert_int_eq(reports.count[BIDE_REPORT_DEADLOCK], 1);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

int main(void)
{
	return SUITE("wait",
	    TABLE(all_are_waited_for, counts),
	    TABLE(the_first_that_is_done_ends_it_and_the_rest_is_left_alone, counts),
	    TEST(those_that_are_done_in_the_same_turn_are_counted_too),
	    LOOP(the_first_failure_ends_it_and_neither_successes_nor_cancels_do, 0, 2),
	    TEST(what_is_done_already_counts_at_once),
	    TEST(a_deadline_ends_it_and_nothing_is_canceled),
	    TABLE(a_canceled_caller_leaves_what_it_waits_for_alone, counts),
	    LOOP(a_future_destroyed_meanwhile_ends_it, 0, 3),
	    TEST(a_future_may_go_as_soon_as_it_is_done),
	    TEST(after_the_wake_a_future_that_is_destroyed_does_not_matter),
	    TEST(the_same_future_twice_counts_twice),
	    TEST(tasks_are_waited_for_by_their_futures),
	    TEST(nonsense_is_refused),
	    TEST(outside_a_task_nobody_waits),
	    TEST(more_than_sixteen_need_memory),
	    TABLE(what_can_never_be_done_is_a_deadlock, counts));
}
