/* SPDX-License-Identifier: MIT
 * Futures and their callbacks: bide/future.h. Semantics 96 to 108, scenarios C9, H4, H6. */
#include <pthread.h>
#include <stdlib.h>

#include "await/record.h"
#include "base/random.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

static const char *word(int err)
{
	return err == ECANCELED ? "ECANCELED" : err == EPIPE ? "EPIPE" : err == ETIMEDOUT ? "ETIMEDOUT" : err == EIO ? "EIO"
	    : err ? "other" : "-";
}

/* A task that awaits and notes "name:value" or "name:!errno". */
struct waiter {
	const char *name;
	bide_future *future;
};

static void *await_and_note(void *arg)
{
	struct waiter *waiter = arg;
	bide_result result = { NULL, -1 };
	if (bide_await(waiter->future, &result) < 0)
		note("%s!%s", waiter->name, word(errno));
	else
		note("%s:%s", waiter->name, result.err ? word(result.err) : (char *)result.value);
	return NULL;
}

static bide_task *spawn_waiter(struct waiter *waiter, const char *name, bide_future *future)
{
	*waiter = (struct waiter){ name, future };
	return must_spawn(await_and_note, waiter);
}

static void note_future(bide_future *future, void *arg)
{
	bide_result result = { NULL, -1 };
	must(bide_future_done(future));
	must(!bide_self());
	must(bide_future_get(future, &result) == 0);
	note("%s", (char *)arg);
}

/* ---- results -------------------------------------------------------------------------------------------- */

/* semantics 96; scenario H4 */
VIRTUAL_TEST(the_first_result_is_kept)
{
	bide_future future = { { 0 } };
	bide_result result = { NULL, -1 };
	ck_assert(!bide_future_done(&future));
	if (_i == 0)
		ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	if (_i == 1)
		ck_assert_int_eq(bide_future_fail(&future, EIO), 0);
	if (_i == 2)
		ck_assert_int_eq(bide_future_cancel(&future), 0);
	ck_assert(bide_future_done(&future));
	ck_fails(bide_future_set(&future, "w"), EALREADY);
	ck_fails(bide_future_fail(&future, EPERM), EALREADY);
	ck_fails(bide_future_cancel(&future), EALREADY);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(bide_future_get(&future, &result), 0);
		ck_assert_int_eq(result.err, _i == 0 ? 0 : _i == 1 ? EIO : ECANCELED);
		ck_assert_ptr_eq(result.value, _i == 0 ? "v" : NULL);
		result.err = -1;
		ck_assert_int_eq(bide_await(&future, &result), 0);
		ck_assert_int_eq(result.err, _i == 0 ? 0 : _i == 1 ? EIO : ECANCELED);
	}
	ck_assert_int_eq(bide_future_get(&future, NULL), 0);
	ck_assert_int_eq(bide_await(&future, NULL), 0);
	ck_assert_int_eq(bide_future_destroy(&future), 0);
}

/* semantics 97 */
VIRTUAL_TEST(a_result_is_not_to_be_had_before_it_is_there)
{
	bide_future future = { { 0 } };
	bide_result result = { &result, 77 };
	ck_fails(bide_future_get(&future, &result), EINPROGRESS);
	ck_assert(result.value == &result && result.err == 77);
	ck_assert_int_eq(bide_future_set(&future, NULL), 0);
	ck_assert_int_eq(bide_future_get(&future, &result), 0);
	ck_assert(!result.value && result.err == 0);
}

/* semantics 103 */
VIRTUAL_TEST(waiters_of_a_canceled_future_get_that_as_its_result)
{
	bide_future future = { { 0 } };
	struct waiter a;
	spawn_waiter(&a, "a", &future);
	settle();
	ck_assert_int_eq(bide_future_cancel(&future), 0);
	settle();
	ck_fails(bide_future_set(&future, "v"), EALREADY);
	expect_notes("a:ECANCELED");
}

/* scenario H4: nobody is there to take it */
VIRTUAL_TEST(a_result_whose_waiters_are_gone_is_fine)
{
	bide_future future = { { 0 } };
	struct waiter a;
	bide_task *task = spawn_waiter(&a, "a", &future);
	settle();
	must(bide_cancel(task, NULL) == 0);
	must_join(task);
	ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	ck_assert_int_eq(bide_future_destroy(&future), 0);
	expect_notes("a!ECANCELED");
}

/* ---- order ---------------------------------------------------------------------------------------------- */

/* semantics 98 */
VIRTUAL_TEST(callbacks_run_in_a_later_turn_in_their_order)
{
	bide_future future = { { 0 } };
	ck_assert_int_eq(bide_on_done(&future, note_future, "cb1"), 0);
	ck_assert_int_eq(bide_on_done(&future, note_future, "cb2"), 0);
	ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	note("after-set");
	must(bide_yield() == 0);
	expect_notes("after-set cb1 cb2");
}

/* semantics 99: also after what was scheduled otherwise */
VIRTUAL_TEST(a_callback_of_a_done_future_runs_next_turn_after_those_scheduled)
{
	bide_future future = { { 0 } };
	ck_assert_int_eq(bide_on_done(&future, note_future, "first"), 0);
	ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	must(bide_call_soon(note_arg, "soon") == 0);
	ck_assert_int_eq(bide_on_done(&future, note_future, "late"), 0);
	must(bide_yield() == 0);
	expect_notes("first soon late");
}

static void add_another(bide_future *future, void *arg)
{
	note("%s@%d", (char *)arg, (int)loop_current->ready.turn);
	must(bide_on_done(future, note_future, "added") == 0);
	must(bide_call_soon(note_arg, "soon") == 0);
}

/* semantics 100 */
VIRTUAL_TEST(a_callback_added_by_a_callback_runs_one_turn_later_once)
{
	bide_future future = { { 0 } };
	char expected[64];
	ck_assert_int_eq(bide_on_done(&future, add_another, "adder"), 0);
	ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	snprintf(expected, sizeof expected, "adder@%d", (int)loop_current->ready.turn + 1);
	must(bide_yield() == 0);
	expect_notes(expected);
	settle();
	strcat(expected, " added soon");
	expect_notes(expected);
}

/* semantics 102 */
ORDERED_TEST(waiters_and_callbacks_share_one_line)
{
	bide_future future = { { 0 } };
	struct waiter a, b, c;
	spawn_waiter(&a, "a", &future);
	settle();
	ck_assert_int_eq(bide_on_done(&future, note_future, "1"), 0);
	spawn_waiter(&b, "b", &future);
	settle();
	ck_assert_int_eq(bide_on_done(&future, note_future, "2"), 0);
	spawn_waiter(&c, "c", &future);
	settle();
	ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	expect_notes("");
	must(bide_yield() == 0);
	expect_notes("a:v 1 b:v 2 c:v");
}

/* semantics 101 */
VIRTUAL_TEST(a_callback_taken_back_never_runs_even_if_it_was_due)
{
	bide_future future = { { 0 } };
	ck_assert_int_eq(bide_off_done(&future, note_future, "x"), 0);
	static char x[] = "x", y[] = "y";
	ck_assert_int_eq(bide_on_done(&future, note_future, x), 0);
	ck_assert_int_eq(bide_on_done(&future, note_future, y), 0);
	ck_assert_int_eq(bide_on_done(&future, note_future, x), 0);
	ck_assert_int_eq(bide_off_done(&future, note_future, x), 1);
	ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	if (_i) {
		ck_assert_int_eq(bide_off_done(&future, note_future, x), 1);
		ck_assert_int_eq(bide_off_done(&future, note_future, x), 0);
	}
	settle();
	expect_notes(_i ? "y" : "y x"); /* the first registration of x was the one taken back */
	ck_assert_int_eq(bide_off_done(&future, note_future, y), 0);
}

/* scenario H6 */
static bide_future *other_future, *heap_future;
static char victim_name[] = "victim";

static void *note_task(void *arg)
{
	note_arg(arg);
	return NULL;
}

static void spawn_one(bide_future *future, void *arg)
{
	(void)future;
	must_spawn(note_task, arg);
}

static void reenter(bide_future *future, void *arg)
{
	note_arg(arg);
	must(bide_off_done(future, note_future, victim_name) == 1);
	must(bide_on_done(future, note_future, "never") == 0); /* dropped with the future */
	must(bide_on_done(other_future, spawn_one, "spawned") == 0);
	must(bide_future_destroy(future) == 0);
	free(future);
	heap_future = NULL;
	must(bide_future_set(other_future, NULL) == 0);
}

VIRTUAL_TEST(callbacks_may_call_anything)
{
	bide_future other = { { 0 } };
	other_future = &other;
	heap_future = calloc(1, sizeof *heap_future);
	ck_assert_int_eq(bide_on_done(heap_future, reenter, "reenter"), 0);
	ck_assert_int_eq(bide_on_done(heap_future, note_future, victim_name), 0);
	ck_assert_int_eq(bide_future_set(heap_future, "v"), 0);
	settle();
	ck_assert_ptr_null(heap_future);
	expect_notes("reenter spawned");
}

/* ---- waiting -------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(a_future_that_is_done_is_awaited_without_parking)
{
	bide_future future = { { 0 } };
	bide_result result;
	ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	undisturbed();
	uint64_t turn = loop_current->ready.turn;
	must_spawn(nothing, NULL);
	ck_assert_int_eq(bide_await(&future, &result), 0);
	ck_assert_str_eq(result.value, "v");
	ck_assert_uint_eq(loop_current->ready.turn, turn);
}

/* semantics 56 */
VIRTUAL_TEST(a_canceled_waiter_leaves_the_future_and_the_others_alone)
{
	bide_future future = { { 0 } };
	struct waiter a, b;
	bide_task *first = spawn_waiter(&a, "a", &future);
	spawn_waiter(&b, "b", &future);
	settle();
	must(bide_cancel(first, NULL) == 0);
	settle();
	ck_assert(!bide_future_done(&future));
	expect_notes("a!ECANCELED");
	ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	settle();
	expect_notes("a!ECANCELED b:v");
}

/* semantics 42, and the other way round: 41 */
VIRTUAL_TEST(of_a_cancel_and_a_result_in_one_turn_the_first_wins_and_nothing_is_lost)
{
	bide_future future = { { 0 } };
	bide_result result;
	struct waiter a;
	bide_task *task = spawn_waiter(&a, "a", &future);
	settle();
	if (_i)
		ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	must(bide_cancel(task, NULL) == 0);
	if (!_i)
		ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	must_join(task);
	expect_notes(_i ? "a:v" : "a!ECANCELED");
	ck_assert_int_eq(bide_future_get(&future, &result), 0);
	ck_assert_str_eq(result.value, "v");
}

/* scenario E12; both orders are in test_wake_pairs.c */
VIRTUAL_TEST(a_deadline_that_came_first_leaves_the_result_in_the_future)
{
	bide_future future = { { 0 } };
	bide_result result = { NULL, 0 };
	bide_scope scope;
	ck_assert_int_eq(bide_scope_enter(&scope, bide_after(BIDE_SEC), 0), 0);
	ck_fails(bide_await(&future, &result), ETIMEDOUT);
	ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	ck_fails(bide_await(&future, &result), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	ck_assert_int_eq(bide_await(&future, &result), 0);
	ck_assert_str_eq(result.value, "v");
}

/* The future's owner may destroy it right after the set: the waiter has its result. */
ORDERED_TEST(a_waiter_has_its_result_though_the_future_is_destroyed_in_the_same_turn)
{
	bide_future *future = calloc(1, sizeof *future);
	struct waiter a, b;
	spawn_waiter(&a, "a", future);
	spawn_waiter(&b, "b", future);
	settle();
	ck_assert_int_eq(bide_future_set(future, "v"), 0);
	ck_assert_int_eq(bide_future_destroy(future), 0);
	memset(future, 0xa5, sizeof *future);
	free(future);
	settle();
	expect_notes("a:v b:v");
}

/* A call that never blocks lets others run now and then: what it waits for may be gone by then. */
static bide_future *shared;

static void *destroy_shared(void *arg)
{
	must(bide_future_destroy(shared) == 0);
	memset(shared, 0, sizeof *shared);
	must(bide_future_set(shared, "second life") == 0);
	return arg;
}

ORDERED_TEST(a_future_is_looked_at_after_others_have_run_not_before)
{
	bide_future future = { { 0 } }, done = { { 0 } };
	bide_result result = { NULL, -1 };
	shared = &future;
	ck_assert_int_eq(bide_future_set(&done, NULL), 0);
	must_spawn(destroy_shared, NULL);
	loop_current->budget = 1; /* the next call lets it run */
	ck_assert_int_eq(bide_await(&future, &result), 0);
	ck_assert_str_eq(result.value, "second life");
}

/* ---- destruction ---------------------------------------------------------------------------------------- */

/* semantics 105 */
ORDERED_TEST(a_destroyed_future_forgets_its_callbacks_and_wakes_its_waiters)
{
	bide_future future = { { 0 } };
	struct waiter a, b;
	spawn_waiter(&a, "a", &future);
	spawn_waiter(&b, "b", &future);
	settle();
	ck_assert_int_eq(bide_on_done(&future, note_future, "cb"), 0);
	if (_i)
		ck_assert_int_eq(bide_future_set(&future, "v"), 0); /* the callback is in the ready queue */
	ck_assert_int_eq(bide_future_destroy(&future), 0);
	memset(&future, 0xa5, sizeof future);
	settle();
	expect_notes(_i ? "a:v b:v" : "a!EPIPE b!EPIPE");
}

VIRTUAL_TEST(a_destroyed_future_is_ready_for_another_life)
{
	bide_future future = { { 0 } };
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(bide_future_set(&future, "v"), 0);
		ck_assert_int_eq(bide_future_destroy(&future), 0);
		ck_assert(!bide_future_done(&future));
		ck_assert_int_eq(bide_future_init(&future, NULL), 0);
	}
}

static int drops;

static void count_drop(void *value)
{
	must(strcmp(value, "v") == 0);
	drops++;
}

enum { SET, GET, AWAIT, AWAIT_BEFORE, CANCELED_BEFORE, FAIL, WAIT_ONLY, NEVER_SET, SELECTED, HOWS };

/* semantics 108 */
VIRTUAL_TEST(a_value_is_dropped_once_unless_it_was_taken)
{
	bide_future future;
	struct waiter a;
	bide_task *task = NULL;
	drops = 0;
	ck_assert_int_eq(bide_future_init(&future, count_drop), 0);
	if (_i == AWAIT_BEFORE || _i == CANCELED_BEFORE) {
		task = spawn_waiter(&a, "a", &future);
		settle();
	}
	if (_i == CANCELED_BEFORE)
		must(bide_cancel(task, NULL) == 0);
	if (_i == FAIL)
		ck_assert_int_eq(bide_future_cancel(&future), 0);
	else if (_i != NEVER_SET)
		ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	if (_i == GET)
		ck_assert_int_eq(bide_future_get(&future, NULL), 0);
	if (_i == AWAIT)
		ck_assert_int_eq(bide_await(&future, NULL), 0);
	if (_i == WAIT_ONLY) {
		bide_future *all[] = { &future };
		ck_assert_int_eq(bide_wait(all, 1, BIDE_WAIT_ALL), 1);
	}
	if (_i == SELECTED) {
		bide_case c = { .op = BIDE_CASE_FUTURE, .future = &future };
		ck_assert_int_eq(bide_select(&c, 1, BIDE_TRY), 0);
	}
	ck_assert_int_eq(bide_future_destroy(&future), 0);
	ck_assert_int_eq(bide_future_destroy(&future), 0);
	settle();
	ck_assert_int_eq(drops, _i == SET || _i == CANCELED_BEFORE || _i == WAIT_ONLY);
}

/* ---- failures nobody read ------------------------------------------------------------------------------- */

static void *fail_unread(void *arg)
{
	bide_future future = { { 0 } };
	int how = *(int *)arg;
	if (how == 2)
		must(bide_future_cancel(&future) == 0);
	else
		must(bide_future_fail(&future, EIO) == 0);
	if (how == 1)
		must(bide_future_get(&future, NULL) == 0);
	must(bide_future_destroy(&future) == 0);
	return NULL;
}

START_TEST(a_failure_nobody_read_is_reported_once)
{
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	ck_assert_int_eq(bide_run(fail_unread, &_i, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_FAILURE], _i == 0);
	if (_i == 0)
		ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_FAILURE], "Input/output error"));
}
END_TEST

/* ---- the completion of a task --------------------------------------------------------------------------- */

static void *value_after_a_second(void *arg)
{
	return bide_sleep(BIDE_SEC) == 0 ? arg : bide_fail(errno);
}

static void *fail_after_a_second(void *arg)
{
	(void)arg;
	return bide_sleep(BIDE_SEC) == 0 ? bide_fail(EIO) : NULL;
}

VIRTUAL_TEST(the_completion_of_a_task_is_a_future)
{
	bide_task *task = must_spawn(value_after_a_second, "v");
	bide_future *future = bide_task_future(task);
	bide_result result = { NULL, -1 };
	struct waiter a;
	ck_assert_ptr_nonnull(future);
	ck_fails(bide_future_get(future, NULL), EINPROGRESS);
	spawn_waiter(&a, "a", future);
	ck_assert_int_eq(bide_await(future, &result), 0);
	ck_assert_str_eq(result.value, "v");
	settle();
	expect_notes("a:v");
	ck_assert_int_eq(bide_future_get(future, &result), 0);
	ck_assert_int_eq(bide_await(future, NULL), 0);
	ck_assert_str_eq(must_end_well(task), "v"); /* the handle was still good */
	ck_fails_null(bide_task_future(task), ESRCH);
	ck_fails_null(bide_task_future(NULL), EINVAL);
}

VIRTUAL_TEST(a_tasks_own_future_is_neither_set_nor_destroyed)
{
	bide_task *task = must_spawn(value_after_a_second, "v");
	bide_future *future = bide_task_future(task);
	for (int i = 0; i < 2; i++) {
		ck_fails(bide_future_set(future, NULL), EINVAL);
		ck_fails(bide_future_fail(future, EIO), EINVAL);
		ck_fails(bide_future_cancel(future), EINVAL);
		ck_fails(bide_future_destroy(future), EINVAL);
		ck_assert_int_eq(bide_await(future, NULL), 0);
	}
	ck_assert_str_eq(must_end_well(task), "v");
}

static void *await_main(void *arg)
{
	ck_fails(bide_await(bide_task_future(arg), NULL), EDEADLK);
	ck_fails(bide_await(bide_task_future(bide_self()), NULL), EDEADLK);
	return arg;
}

VIRTUAL_TEST(awaiting_a_task_that_waits_for_the_caller_is_refused)
{
	bide_task *task = must_spawn(await_main, bide_self());
	if (_i)
		ck_assert_int_eq(bide_await(bide_task_future(task), NULL), 0);
	must_end_well(task);
}

/* The task's record lasts until its callbacks have run, also when nobody has its handle. */
VIRTUAL_TEST(callbacks_of_a_tasks_end_run_also_when_it_is_detached)
{
	bide_task *task = must_spawn(nothing, "v");
	bide_future *future = bide_task_future(task);
	ck_assert_int_eq(bide_on_done(future, note_future, "cb1"), 0);
	ck_assert_int_eq(bide_on_done(future, note_future, "cb2"), 0);
	ck_assert_int_eq(bide_on_done(future, note_future, "cb3"), 0);
	ck_assert_int_eq(bide_off_done(future, note_future, "cb3"), 1);
	if (_i)
		must_end_well(task);
	else
		ck_assert_int_eq(bide_detach(task), 0);
	settle();
	expect_notes("cb1 cb2");
	ck_fails_null(bide_task_future(task), ESRCH);
	ck_assert_uint_eq(loop_current->tasks.live, 1);
}

static void *read_failure(void *arg)
{
	bide_task *task = must_spawn(fail_after_a_second, NULL);
	bide_future *future = bide_task_future(task);
	bide_case c = { .op = BIDE_CASE_FUTURE, .future = future };
	switch (*(int *)arg) {
	case 0: break;
	case 1: must(bide_await(future, NULL) == 0); break;
	case 2: must(bide_select(&c, 1, 0) == 0 && c.result.err == EIO); break;
	case 3: must(bide_wait(&future, 1, BIDE_WAIT_ALL) == 1); break;
	case 4: must(bide_wait(&future, 1, BIDE_WAIT_ALL) == 1 && bide_future_get(future, NULL) == 0); break;
	}
	must(bide_detach(task) == 0);
	pass(2 * BIDE_SEC);
	return NULL;
}

START_TEST(a_tasks_failure_is_read_by_whoever_takes_it_from_its_future)
{
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	ck_assert_int_eq(bide_run(read_failure, &_i, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_FAILURE], _i == 0 || _i == 3);
}
END_TEST

/* ---- bad input ------------------------------------------------------------------------------------------ */

static bide_future foreign;

static void *use_foreign(void *arg)
{
	bide_future *const all[] = { &foreign };
	bide_case c = { .op = BIDE_CASE_FUTURE, .future = &foreign };
	if (arg) { /* in a loop of its own */
		ck_fails(bide_await(&foreign, NULL), EPERM);
		ck_fails(bide_wait(all, 1, BIDE_WAIT_ALL), EPERM);
		ck_fails(bide_select(&c, 1, BIDE_TRY), EPERM);
	}
	ck_fails(bide_future_set(&foreign, NULL), EPERM);
	ck_fails(bide_future_fail(&foreign, EIO), EPERM);
	ck_fails(bide_future_cancel(&foreign), EPERM);
	ck_fails(bide_future_get(&foreign, NULL), EPERM);
	ck_fails(bide_future_destroy(&foreign), EPERM);
	ck_fails(bide_on_done(&foreign, note_future, NULL), EPERM);
	ck_fails(bide_off_done(&foreign, note_future, NULL), EPERM);
	return "refused";
}

static void *thread_with_loop(void *arg)
{
	return arg ? run_virtual(use_foreign, "x") : use_foreign(NULL);
}

/* semantics 106, 107 */
VIRTUAL_TEST(another_thread_or_loop_is_refused)
{
	pthread_t thread;
	void *result;
	struct waiter a;
	memset(&foreign, 0, sizeof foreign);
	bide_task *task = spawn_waiter(&a, "a", &foreign);
	settle();
	must(pthread_create(&thread, NULL, thread_with_loop, _i ? "x" : NULL) == 0 && pthread_join(thread, &result) == 0);
	ck_assert_str_eq(result, "refused");
	ck_assert_int_eq(bide_future_set(&foreign, "v"), 0);
	must_join(task);
	expect_notes("a:v");
}

static void await_in_a_callback(void *arg)
{
	bide_future *future = arg;
	ck_fails(bide_await(future, NULL), EPERM);
	ck_assert_int_eq(bide_future_set(future, "from a callback"), 0);
}

VIRTUAL_TEST(a_callback_may_set_but_not_await)
{
	bide_future future = { { 0 } };
	bide_result result;
	must(bide_call_soon(await_in_a_callback, &future) == 0);
	ck_assert_int_eq(bide_await(&future, &result), 0);
	ck_assert_str_eq(result.value, "from a callback");
}

VIRTUAL_TEST(nulls_and_nonsense_are_refused)
{
	bide_future future = { { 0 } };
	ck_fails(bide_future_init(NULL, NULL), EINVAL);
	ck_fails(bide_future_destroy(NULL), EINVAL);
	ck_fails(bide_future_set(NULL, NULL), EINVAL);
	ck_fails(bide_future_fail(NULL, EIO), EINVAL);
	ck_fails(bide_future_cancel(NULL), EINVAL);
	ck_fails(bide_future_fail(&future, 0), EINVAL);
	ck_fails(bide_future_fail(&future, -1), EINVAL);
	ck_fails(bide_future_get(NULL, NULL), EINVAL);
	ck_fails(bide_await(NULL, NULL), EINVAL);
	ck_fails(bide_on_done(NULL, note_future, NULL), EINVAL);
	ck_fails(bide_on_done(&future, NULL, NULL), EINVAL);
	ck_fails(bide_off_done(NULL, note_future, NULL), EINVAL);
	ck_fails(bide_off_done(&future, NULL, NULL), EINVAL);
	ck_assert(!bide_future_done(NULL));
	ck_assert(!bide_future_done(&future));
}

START_TEST(outside_a_loop_a_future_is_only_made_and_forgotten)
{
	bide_future future = { { 0 } };
	ck_assert_int_eq(bide_future_init(&future, NULL), 0);
	ck_assert(!bide_future_done(&future));
	ck_fails(bide_future_set(&future, NULL), EPERM);
	ck_fails(bide_await(&future, NULL), EPERM);
	ck_fails(bide_future_get(&future, NULL), EPERM);
	ck_fails(bide_on_done(&future, note_future, NULL), EPERM);
	ck_fails_null(bide_task_future((bide_task *)&future), EPERM);
	ck_assert_int_eq(bide_future_destroy(&future), 0);
}
END_TEST

/* ---- memory --------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(without_memory_only_callbacks_are_refused)
{
	bide_future future = { { 0 } };
	bide_result result;
	bide_task *task = must_spawn(value_after_a_second, "v");
	pass(0);
	ck_assert_int_eq(bide_fault("malloc:ENOMEM"), 0);
	ck_fails(bide_on_done(&future, note_future, "cb"), ENOMEM);
	ck_fails(bide_on_done(bide_task_future(task), note_future, "cb"), ENOMEM);
	ck_assert_int_eq(bide_await(bide_task_future(task), NULL), 0);
	ck_assert_int_eq(bide_future_set(&future, "v"), 0);
	ck_assert_int_eq(bide_await(&future, &result), 0);
	ck_assert_int_eq(bide_off_done(&future, note_future, "cb"), 0);
	bide_fault(NULL);
	must_end_well(task);
	settle();
	expect_notes("");
}

static bide_future left[3];

static void *leave_callbacks_behind(void *arg)
{
	memset(left, 0, sizeof left);
	must(bide_on_done(&left[0], note_future, "pending") == 0);
	must(bide_on_done(&left[1], note_future, "due") == 0);
	must(bide_on_done(bide_task_future(bide_self()), note_future, "main's") == 0);
	must(bide_on_done(bide_task_future(must_spawn(forever_sleeper, NULL)), note_future, "child's") == 0);
	must(bide_future_set(&left[1], NULL) == 0);
	return arg;
}

static void *use_a_future_of_the_last_run(void *arg)
{
	ck_fails(bide_future_set(&left[0], NULL), EPERM);
	ck_fails(bide_future_destroy(&left[0]), EPERM);
	must(bide_future_init(&left[0], NULL) == 0);
	must(bide_future_set(&left[0], NULL) == 0);
	return arg;
}

START_TEST(a_run_that_ends_gives_the_memory_of_all_callbacks_back)
{
	struct counting counting;
	bide_config config = BIDE_CONFIG_INIT;
	counting_init(&counting, true);
	config.flags = BIDE_VIRTUAL_CLOCK;
	config.allocator = &counting.allocator;
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(bide_run(leave_callbacks_behind, NULL, &config, NULL), 0);
		ck_assert(counting_is_balanced(&counting));
		ck_assert_int_eq(bide_run(use_a_future_of_the_last_run, NULL, &config, NULL), 0);
		ck_assert(counting_is_balanced(&counting));
	}
}
END_TEST

/* ---- at random ------------------------------------------------------------------------------------------ */

/* semantics 56, 102 over many: whoever is not canceled gets the value */
static int got, canceled;

static void *await_and_count(void *arg)
{
	bide_result result;
	if (bide_await(arg, &result) == 0)
		got += result.err == 0 && strcmp(result.value, "v") == 0;
	else
		canceled += errno == ECANCELED;
	return NULL;
}

VIRTUAL_TEST(waiters_canceled_at_random_leave_the_others_their_result)
{
	struct random random = { 42 };
	for (int round = 0; round < suite_scaled_down(300, 30); round++) {
		bide_future future = { { 0 } };
		bide_task *tasks[20];
		int canceled_before = 0;
		got = canceled = 0;
		for (int i = 0; i < 20; i++)
			tasks[i] = must_spawn(await_and_count, &future);
		settle();
		for (int i = 0; i < 20; i++)
			if (random_below(&random, 2) && ++canceled_before)
				must(bide_cancel(tasks[i], NULL) == 0);
		must(bide_future_set(&future, "v") == 0);
		for (int i = 0; i < 20; i++)
			if (random_below(&random, 3) == 0)
				must(bide_cancel(tasks[i], NULL) == 0); /* too late */
		for (int i = 0; i < 20; i++)
			must_join(tasks[i]);
		must_msg(canceled == canceled_before && got == 20 - canceled, "%d + %d of %d", got, canceled, canceled_before);
	}
}

int main(void)
{
	return SUITE("future",
	    LOOP(the_first_result_is_kept, 0, 3),
	    TEST(a_result_is_not_to_be_had_before_it_is_there),
	    TEST(waiters_of_a_canceled_future_get_that_as_its_result),
	    TEST(a_result_whose_waiters_are_gone_is_fine),
	    TEST(callbacks_run_in_a_later_turn_in_their_order),
	    TEST(a_callback_of_a_done_future_runs_next_turn_after_those_scheduled),
	    TEST(a_callback_added_by_a_callback_runs_one_turn_later_once),
	    TEST(waiters_and_callbacks_share_one_line),
	    LOOP(a_callback_taken_back_never_runs_even_if_it_was_due, 0, 2),
	    TEST(callbacks_may_call_anything),
	    TEST(a_future_that_is_done_is_awaited_without_parking),
	    TEST(a_canceled_waiter_leaves_the_future_and_the_others_alone),
	    LOOP(of_a_cancel_and_a_result_in_one_turn_the_first_wins_and_nothing_is_lost, 0, 2),
	    TEST(a_deadline_that_came_first_leaves_the_result_in_the_future),
	    TEST(a_waiter_has_its_result_though_the_future_is_destroyed_in_the_same_turn),
	    TEST(a_future_is_looked_at_after_others_have_run_not_before),
	    LOOP(a_destroyed_future_forgets_its_callbacks_and_wakes_its_waiters, 0, 2),
	    TEST(a_destroyed_future_is_ready_for_another_life),
	    LOOP(a_value_is_dropped_once_unless_it_was_taken, 0, HOWS),
	    LOOP(a_failure_nobody_read_is_reported_once, 0, 3),
	    TEST(the_completion_of_a_task_is_a_future),
	    TEST(a_tasks_own_future_is_neither_set_nor_destroyed),
	    LOOP(awaiting_a_task_that_waits_for_the_caller_is_refused, 0, 2),
	    LOOP(callbacks_of_a_tasks_end_run_also_when_it_is_detached, 0, 2),
	    LOOP(a_tasks_failure_is_read_by_whoever_takes_it_from_its_future, 0, 5),
	    LOOP(another_thread_or_loop_is_refused, 0, 2),
	    TEST(a_callback_may_set_but_not_await),
	    TEST(nulls_and_nonsense_are_refused),
	    TEST(outside_a_loop_a_future_is_only_made_and_forgotten),
	    TEST(without_memory_only_callbacks_are_refused),
	    TEST(a_run_that_ends_gives_the_memory_of_all_callbacks_back),
	    TEST(waiters_canceled_at_random_leave_the_others_their_result));
}
