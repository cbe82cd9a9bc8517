/* SPDX-License-Identifier: MIT
 * Owning calls over tasks: bide_gather() and bide_wait_for(): bide/combine.h. Semantics 52, 79 to 81, 109 to 114. */
#include "await/record.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

#define MS BIDE_MSEC

/* A job ends after `delay`, with a value or an errno; when it is canceled it goes on for `stubborn`, and then
 * fails with ECANCELED, or ends with `answer`. */
struct job {
	const char *name;
	bide_time delay;
	int err;
	bide_time stubborn;
	const char *answer;
	bool has_begun, has_ended;
};

static void *work(void *arg)
{
	struct job *job = arg;
	bide_scope shield;
	job->has_begun = true;
	if (bide_sleep(job->delay) == 0) {
		job->has_ended = true;
		return job->err ? bide_fail(job->err) : (void *)(uintptr_t)job->name;
	}
	if (job->stubborn) {
		must(bide_scope_enter(&shield, BIDE_NEVER, BIDE_SHIELD) == 0);
		pass(job->stubborn);
		must(bide_scope_leave(&shield) == 0);
	}
	job->has_ended = true;
	return job->answer ? (void *)(uintptr_t)job->answer : bide_fail(errno = ECANCELED);
}

static struct job jobs[20];
static bide_task *tasks[20];
static bide_result results[20];

static void start_jobs(int count)
{
	for (int i = 0; i < 20; i++)
		results[i] = (bide_result){ &results, 77 };
	for (int i = 0; i < count; i++) {
		jobs[i].has_begun = jobs[i].has_ended = false;
		tasks[i] = must_spawn(work, &jobs[i]);
	}
}

static void expect_all_ended(int count)
{
	for (int i = 0; i < count; i++) {
		must(jobs[i].has_ended || !jobs[i].has_begun);
		ck_fails(bide_join(tasks[i], NULL), ESRCH); /* the handles were given back */
	}
	ck_assert_uint_eq(loop_current->tasks.live, 1);
}

/* ---- gather --------------------------------------------------------------------------------------------- */

/* semantics 109 */
VIRTUAL_TEST(results_are_in_the_order_of_the_arguments)
{
	jobs[0] = (struct job){ .name = "a", .delay = 3 * MS };
	jobs[1] = (struct job){ .name = "b", .delay = 1 * MS };
	jobs[2] = (struct job){ .name = "c", .delay = 2 * MS };
	start_jobs(3);
	ck_assert_int_eq(bide_gather(tasks, 3, results, _i ? BIDE_FAIL_FAST : 0), 0);
	ck_assert(bide_now() == 3 * MS);
	for (int i = 0; i < 3; i++)
		ck_assert(results[i].err == 0 && results[i].value == jobs[i].name);
	expect_all_ended(3);
}

/* semantics 110 */
VIRTUAL_TEST(none_is_done_at_once_and_the_same_twice_fills_both)
{
	uint64_t turn = loop_current->ready.turn;
	ck_assert_int_eq(bide_gather(NULL, 0, NULL, 0), 0);
	ck_assert_uint_eq(loop_current->ready.turn, turn);
	jobs[0] = (struct job){ .name = "a", .delay = _i };
	start_jobs(1);
	if (_i)
		pass(2);
	tasks[1] = tasks[0];
	ck_assert_int_eq(bide_gather(tasks, 2, results, 0), 0);
	ck_assert(results[0].value == jobs[0].name && results[1].value == jobs[0].name);
	expect_all_ended(1);
}

/* semantics 111 */
VIRTUAL_TEST(a_failure_waits_for_the_others_and_the_first_in_time_is_told)
{
	jobs[0] = (struct job){ .name = "a", .delay = 30 * MS, .err = EIO };
	jobs[1] = (struct job){ .name = "b", .delay = 10 * MS, .err = EPERM };
	jobs[2] = (struct job){ .name = "c", .delay = 20 * MS };
	start_jobs(3);
	if (_i)
		pass(5 * _i * MS); /* some have, or all have, failed before the call */
	ck_fails(bide_gather(tasks, 3, results, 0), EPERM);
	ck_assert(bide_now() == (_i > 6 ? 5 * _i : 30) * MS);
	ck_assert(results[0].err == EIO && results[1].err == EPERM && results[2].value == jobs[2].name);
	expect_all_ended(3);
}

/* semantics 112 */
VIRTUAL_TEST(failing_fast_cancels_the_others_and_waits_for_them)
{
	jobs[0] = (struct job){ .name = "a", .delay = BIDE_SEC, .stubborn = 50 * MS };
	jobs[1] = (struct job){ .name = "b", .delay = 10 * MS, .err = EPERM };
	jobs[2] = (struct job){ .name = "c", .delay = BIDE_SEC, .answer = "answer" };
	jobs[3] = (struct job){ .name = "d", .delay = 1 * MS };
	start_jobs(4);
	ck_fails(bide_gather(tasks, 4, results, BIDE_FAIL_FAST), EPERM);
	ck_assert(bide_now() == 60 * MS);
	ck_assert(results[0].err == ECANCELED && results[1].err == EPERM && results[3].value == jobs[3].name);
	ck_assert_str_eq(results[2].value, "answer");
	expect_all_ended(4);
}

VIRTUAL_TEST(failing_fast_counts_a_failure_that_was_there_before)
{
	jobs[0] = (struct job){ .delay = BIDE_SEC };
	jobs[1] = (struct job){ .delay = 0, .err = EPERM };
	start_jobs(2);
	pass(10 * MS);
	ck_fails(bide_gather(tasks, 2, results, BIDE_FAIL_FAST), EPERM);
	ck_assert(bide_now() == 10 * MS);
	expect_all_ended(2);
}

struct gather_call {
	int count, result, err;
	bool has_returned;
};

static void *call_gather(void *arg)
{
	struct gather_call *call = arg;
	call->result = bide_gather(tasks, call->count, results, 0);
	call->err = errno;
	for (int i = 0; i < call->count; i++)
		must(jobs[i].has_ended || !jobs[i].has_begun);
	call->has_returned = true;
	return NULL;
}

/* semantics 113 */
VIRTUAL_TEST(a_canceled_caller_takes_its_tasks_with_it)
{
	struct gather_call call = { .count = 3 };
	jobs[0] = (struct job){ .name = "a", .delay = BIDE_SEC, .stubborn = 50 * MS };
	jobs[1] = (struct job){ .name = "b", .delay = BIDE_SEC };
	jobs[2] = (struct job){ .name = "c", .delay = 1 * MS };
	start_jobs(3);
	bide_task *task = must_spawn(call_gather, &call);
	pass(10 * MS);
	for (int i = 0; i <= _i; i++)
		must(bide_cancel(task, NULL) == 0);
	pass(10 * MS);
	ck_assert(!call.has_returned);
	if (_i)
		must(bide_cancel(task, NULL) == 0); /* again: nothing changes */
	must_join(task);
	ck_assert(bide_now() == 60 * MS);
	ck_assert(call.result == -1 && call.err == ECANCELED);
	ck_assert(results[0].err == ECANCELED && results[1].err == ECANCELED && results[2].value == jobs[2].name);
	expect_all_ended(3);
}

/* semantics 52 */
VIRTUAL_TEST(entered_with_a_cancel_pending_it_ends_what_it_owns_first)
{
	jobs[0] = (struct job){ .name = "a", .delay = BIDE_SEC, .stubborn = 50 * MS };
	jobs[1] = (struct job){ .name = "b", .delay = BIDE_SEC };
	jobs[2] = (struct job){ .name = "never begun", .delay = BIDE_SEC };
	start_jobs(2);
	pass(10 * MS);
	tasks[2] = must_spawn(work, &jobs[2]);
	jobs[2].has_begun = false;
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(bide_gather(tasks, 3, results, 0), ECANCELED);
	ck_assert(bide_now() == 60 * MS);
	ck_assert(!jobs[2].has_begun);
	must(bide_uncancel() == 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(results[i].err, ECANCELED);
	expect_all_ended(3);
}

VIRTUAL_TEST(a_deadline_takes_its_tasks_with_it)
{
	bide_scope scope;
	jobs[0] = (struct job){ .name = "a", .delay = BIDE_SEC, .stubborn = 50 * MS };
	jobs[1] = (struct job){ .name = "b", .delay = 5 * MS };
	start_jobs(2);
	must(bide_scope_enter(&scope, bide_after(10 * MS), 0) == 0);
	ck_fails(bide_gather(tasks, 2, results, 0), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	ck_assert(bide_now() == 60 * MS);
	ck_assert(results[0].err == ECANCELED && results[1].value == jobs[1].name);
	expect_all_ended(2);
}

VIRTUAL_TEST(in_a_shield_a_cancel_waits_until_the_tasks_have_ended)
{
	bide_scope shield;
	jobs[0] = (struct job){ .name = "a", .delay = 20 * MS };
	start_jobs(1);
	must(bide_scope_enter(&shield, BIDE_NEVER, BIDE_SHIELD) == 0);
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_assert_int_eq(bide_gather(tasks, 1, results, 0), 0);
	ck_assert(results[0].value == jobs[0].name);
	must(bide_scope_leave(&shield) == 0);
	ck_fails(bide_checkpoint(), ECANCELED);
	must(bide_uncancel() == 0);
}

/* semantics 114 */
VIRTUAL_TEST(a_task_canceled_by_somebody_else_is_no_failure)
{
	struct gather_call call = { .count = 2 };
	jobs[0] = (struct job){ .name = "a", .delay = BIDE_SEC };
	jobs[1] = (struct job){ .name = "b", .delay = 20 * MS };
	start_jobs(2);
	bide_task *task = must_spawn(call_gather, &call);
	pass(10 * MS);
	must(bide_cancel(tasks[0], NULL) == 0);
	must_end_well(task);
	ck_assert_int_eq(call.result, 0);
	ck_assert(bide_now() == 20 * MS);
	ck_assert(results[0].err == ECANCELED && results[1].value == jobs[1].name);
}

VIRTUAL_TEST(another_one_may_join_what_is_gathered)
{
	struct gather_call call = { .count = 1 };
	jobs[0] = (struct job){ .name = "a", .delay = 20 * MS };
	start_jobs(1);
	bide_task *task = must_spawn(call_gather, &call);
	settle();
	ck_assert_str_eq(must_end_well(tasks[0]), "a");
	must_end_well(task);
	ck_assert(call.result == 0 && results[0].value == jobs[0].name);
}

static void *gather_or_join_main(void *arg)
{
	bide_task *main_task[] = { arg };
	settle(); /* main waits for us */
	ck_fails(bide_gather(main_task, 1, NULL, 0), EDEADLK);
	ck_fails(bide_wait_for(arg, 1, NULL), EDEADLK);
	return NULL;
}

VIRTUAL_TEST(a_caller_that_is_waited_for_is_refused)
{
	bide_task *self[] = { bide_self() };
	ck_fails(bide_gather(self, 1, NULL, 0), EDEADLK);
	ck_fails(bide_wait_for(self[0], 1, NULL), EDEADLK);
	must_end_well(must_spawn(gather_or_join_main, self[0]));
}

VIRTUAL_TEST(nonsense_is_refused_and_nothing_is_done)
{
	jobs[0] = (struct job){ .name = "a", .delay = 20 * MS };
	start_jobs(1);
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.flags = BIDE_DETACHED;
	ck_fails(bide_gather(tasks, -1, NULL, 0), EINVAL);
	ck_fails(bide_gather(NULL, 1, NULL, 0), EINVAL);
	ck_fails(bide_gather(tasks, 1, NULL, 2), EINVAL);
	tasks[1] = NULL;
	ck_fails(bide_gather(tasks, 2, NULL, 0), EINVAL);
	ck_fails(bide_wait_for(NULL, 1, NULL), EINVAL);
	tasks[1] = bide_spawn_with(nothing, NULL, &attr);
	ck_fails(bide_gather(tasks, 2, NULL, 0), EINVAL);
	ck_fails(bide_wait_for(tasks[1], 1, NULL), EINVAL);
	tasks[1] = must_spawn(nothing, NULL);
	must_end_well(tasks[1]);
	ck_fails(bide_gather(tasks, 2, NULL, 0), ESRCH);
	ck_fails(bide_wait_for(tasks[1], 1, NULL), ESRCH);
	ck_assert_str_eq(must_end_well(tasks[0]), "a"); /* it ran on, its handle still good */
}

START_TEST(outside_a_task_nobody_gathers)
{
	ck_fails(bide_gather(NULL, 0, NULL, 0), EPERM);
	ck_fails(bide_wait_for(NULL, 0, NULL), EPERM);
}
END_TEST

VIRTUAL_TEST(more_than_sixteen_need_memory)
{
	for (int i = 0; i < 17; i++)
		jobs[i] = (struct job){ .name = "a", .delay = i * MS };
	start_jobs(17);
	settle();
	ck_assert_int_eq(bide_fault("malloc:ENOMEM@1"), 0);
	ck_fails(bide_gather(tasks, 17, results, 0), ENOMEM);
	bide_fault(NULL);
	ck_assert_int_eq(results[0].err, 77);
	ck_assert_int_eq(bide_gather(tasks, 17, results, 0), 0);
	ck_assert(bide_now() == 16 * MS);
	for (int i = 0; i < 17; i++)
		ck_assert(results[i].value == jobs[i].name);
	expect_all_ended(17);
}

/* ---- wait_for ------------------------------------------------------------------------------------------- */

/* semantics 79 */
VIRTUAL_TEST(a_slow_task_is_canceled_and_waited_for)
{
	jobs[0] = (struct job){ .name = "a", .delay = BIDE_SEC, .stubborn = 30 * MS };
	start_jobs(1);
	ck_fails(bide_wait_for(tasks[0], 50 * MS, &results[0]), ETIMEDOUT);
	ck_assert(bide_now() == 80 * MS);
	expect_all_ended(1);
	pass(1); /* the caller itself was not interrupted */
}

VIRTUAL_TEST(a_task_that_is_in_time_gives_its_outcome)
{
	jobs[0] = (struct job){ .name = "a", .delay = 20 * MS, .err = _i == 1 ? EIO : 0 };
	start_jobs(1);
	if (_i == 2)
		must(bide_cancel(tasks[0], NULL) == 0);
	ck_assert_int_eq(bide_wait_for(tasks[0], _i == 3 ? BIDE_NEVER : 50 * MS, &results[0]), 0);
	ck_assert_int_eq(results[0].err, _i == 1 ? EIO : _i == 2 ? ECANCELED : 0);
	ck_assert_uint_eq(loop_current->timers.heap.count, 0);
	expect_all_ended(1);
}

/* semantics 80 */
VIRTUAL_TEST(a_task_that_answers_its_cancel_gives_that_answer)
{
	jobs[0] = (struct job){ .name = "a", .delay = BIDE_SEC, .answer = "answer" };
	start_jobs(1);
	ck_assert_int_eq(bide_wait_for(tasks[0], 50 * MS, &results[0]), 0);
	ck_assert(results[0].err == 0);
	ck_assert_str_eq(results[0].value, "answer");
	ck_assert(bide_now() == 50 * MS);
}

/* The scope whose deadline it was has made no call fail. */
VIRTUAL_TEST(a_deadline_that_is_answered_with_a_value_is_nobody_s_failure)
{
	bide_scope scope;
	jobs[0] = (struct job){ .name = "a", .delay = BIDE_SEC, .answer = "answer" };
	start_jobs(1);
	must(bide_scope_enter(&scope, bide_after(50 * MS), 0) == 0);
	ck_assert_int_eq(bide_wait_for(tasks[0], BIDE_NEVER, &results[0]), 0);
	ck_assert_str_eq(results[0].value, "answer");
	ck_assert_int_eq(bide_scope_leave(&scope), 0);
	ck_assert(bide_scope_expired(&scope));
}

/* semantics 81 */
VIRTUAL_TEST(with_no_time_a_task_that_is_done_gives_its_outcome_and_one_not_begun_never_begins)
{
	bide_time timeout = _i % 2 ? -BIDE_SEC : 0;
	jobs[0] = (struct job){ .name = "a", .delay = 0 };
	start_jobs(1);
	if (_i >= 2)
		pass(MS);
	if (_i >= 2) {
		ck_assert_int_eq(bide_wait_for(tasks[0], timeout, &results[0]), 0);
		ck_assert_str_eq(results[0].value, "a");
	} else {
		ck_fails(bide_wait_for(tasks[0], timeout, &results[0]), ETIMEDOUT);
		ck_assert(!jobs[0].has_begun);
	}
	expect_all_ended(1);
}

static void *call_wait_for(void *arg)
{
	struct gather_call *call = arg;
	call->result = bide_wait_for(tasks[0], BIDE_SEC, results);
	call->err = errno;
	must(jobs[0].has_ended);
	return NULL;
}

VIRTUAL_TEST(a_canceled_caller_takes_the_task_with_it)
{
	struct gather_call call = { .count = 1 };
	jobs[0] = (struct job){ .name = "a", .delay = 2 * BIDE_SEC, .stubborn = 30 * MS, .answer = _i ? "answer" : NULL };
	start_jobs(1);
	bide_task *task = must_spawn(call_wait_for, &call);
	pass(10 * MS);
	must(bide_cancel(task, NULL) == 0);
	must_join(task);
	ck_assert(bide_now() == 40 * MS);
	ck_assert_int_eq(call.result, _i ? 0 : -1);
	if (_i)
		ck_assert_str_eq(results[0].value, "answer");
	else
		ck_assert_int_eq(call.err, ECANCELED);
	expect_all_ended(1);
}

/* Also when there is no time at all: the cancel of the caller is the outermost reason. */
VIRTUAL_TEST(entered_with_a_cancel_pending_it_ends_the_task_and_fails_by_the_cancel)
{
	jobs[0] = (struct job){ .name = "a", .delay = BIDE_SEC, .stubborn = 30 * MS };
	start_jobs(1);
	pass(10 * MS);
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(bide_wait_for(tasks[0], _i ? 0 : BIDE_SEC, NULL), ECANCELED);
	ck_assert(bide_now() == 40 * MS);
	must(bide_uncancel() == 0);
	expect_all_ended(1);
}

VIRTUAL_TEST(of_its_own_timeout_and_a_scopes_deadline_the_earlier_counts)
{
	bide_scope scope;
	jobs[0] = (struct job){ .name = "a", .delay = BIDE_SEC };
	start_jobs(1);
	must(bide_scope_enter(&scope, bide_after((_i ? 20 : 80) * MS), 0) == 0);
	ck_fails(bide_wait_for(tasks[0], 50 * MS, NULL), ETIMEDOUT);
	ck_assert(bide_now() == (_i ? 20 : 50) * MS);
	if (_i)
		ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	else
		ck_assert_int_eq(bide_scope_leave(&scope), 0); /* not its doing */
}

static void *call_wait_for_shortly(void *arg)
{
	(void)arg;
	ck_fails(bide_wait_for(tasks[0], 50 * MS, NULL), ETIMEDOUT);
	must(jobs[0].has_ended && bide_now() == 80 * MS);
	ck_fails(bide_checkpoint(), ECANCELED);
	return "v";
}

VIRTUAL_TEST(a_cancel_that_comes_while_it_waits_for_the_end_changes_nothing)
{
	jobs[0] = (struct job){ .name = "a", .delay = BIDE_SEC, .stubborn = 30 * MS };
	start_jobs(1);
	bide_task *task = must_spawn(call_wait_for_shortly, NULL);
	pass(60 * MS);
	must(bide_cancel(task, NULL) == 0);
	ck_assert_str_eq(must_end_well(task), "v");
	expect_all_ended(1);
}

static void *gather_what_never_ends(void *arg)
{
	bide_future future = { { 0 } };
	(void)arg;
	tasks[0] = must_spawn(forever_sleeper, NULL);
	ck_fails(bide_gather(tasks, 1, results, 0), EDEADLK);
	ck_fails(bide_await(&future, NULL), EDEADLK);
	return NULL;
}

START_TEST(tasks_that_can_never_end_are_a_deadlock)
{
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	ck_fails(bide_run(gather_what_never_ends, NULL, &config, NULL), EDEADLK);
	ck_assert_int_eq(results[0].err, EDEADLK);
}
END_TEST

int main(void)
{
	return SUITE("gather",
	    LOOP(results_are_in_the_order_of_the_arguments, 0, 2),
	    LOOP(none_is_done_at_once_and_the_same_twice_fills_both, 0, 2),
	    LOOP(a_failure_waits_for_the_others_and_the_first_in_time_is_told, 0, 9),
	    TEST(failing_fast_cancels_the_others_and_waits_for_them),
	    TEST(failing_fast_counts_a_failure_that_was_there_before),
	    LOOP(a_canceled_caller_takes_its_tasks_with_it, 0, 2),
	    TEST(entered_with_a_cancel_pending_it_ends_what_it_owns_first),
	    TEST(a_deadline_takes_its_tasks_with_it),
	    TEST(in_a_shield_a_cancel_waits_until_the_tasks_have_ended),
	    TEST(a_task_canceled_by_somebody_else_is_no_failure),
	    TEST(another_one_may_join_what_is_gathered),
	    TEST(a_caller_that_is_waited_for_is_refused),
	    TEST(nonsense_is_refused_and_nothing_is_done),
	    TEST(outside_a_task_nobody_gathers),
	    TEST(more_than_sixteen_need_memory),
	    TEST(a_slow_task_is_canceled_and_waited_for),
	    LOOP(a_task_that_is_in_time_gives_its_outcome, 0, 4),
	    TEST(a_task_that_answers_its_cancel_gives_that_answer),
	    TEST(a_deadline_that_is_answered_with_a_value_is_nobody_s_failure),
	    LOOP(with_no_time_a_task_that_is_done_gives_its_outcome_and_one_not_begun_never_begins, 0, 4),
	    LOOP(a_canceled_caller_takes_the_task_with_it, 0, 2),
	    LOOP(entered_with_a_cancel_pending_it_ends_the_task_and_fails_by_the_cancel, 0, 2),
	    LOOP(of_its_own_timeout_and_a_scopes_deadline_the_earlier_counts, 0, 2),
	    TEST(a_cancel_that_comes_while_it_waits_for_the_end_changes_nothing),
	    TEST(tasks_that_can_never_end_are_a_deadlock));
}
