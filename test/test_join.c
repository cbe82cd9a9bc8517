/* SPDX-License-Identifier: MIT
 * Joining, and what becomes of outcomes that nobody joins for: bide/task.h. */
#include <stdlib.h>

#include "await/record.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

static void *fail_with_eio(void *arg)
{
	(void)arg;
	return bide_fail(EIO);
}

static void *value_after_a_second(void *arg)
{
	return bide_sleep(BIDE_SEC) == 0 ? arg : bide_fail(errno);
}

/* ---- outcomes ------------------------------------------------------------------------------------------ */

/* semantics 20 */
VIRTUAL_TEST(join_gives_the_very_pointer_that_was_returned)
{
	int value;
	bide_result result = { NULL, -1 };
	ck_assert_int_eq(bide_join(must_spawn(value_after_a_second, &value), &result), 0);
	ck_assert_int_eq(result.err, 0);
	ck_assert_ptr_eq(result.value, &value);
	ck_assert(bide_now() == BIDE_SEC);
}

/* semantics 21 */
VIRTUAL_TEST(join_of_a_finished_task_does_not_suspend)
{
	bide_task *task = must_spawn(nothing, "x");
	settle();
	must_spawn(nothing, NULL); /* somebody who could run */
	undisturbed();
	uint64_t turn = loop_current->ready.turn;
	ck_assert_str_eq(must_end_well(task), "x");
	ck_assert_uint_eq(loop_current->ready.turn, turn);
}

/* semantics 23 */
VIRTUAL_TEST(a_failed_task_is_joined_well_with_its_errno_and_no_value)
{
	bide_result result = must_join(must_spawn(fail_with_eio, NULL));
	ck_assert_int_eq(result.err, EIO);
	ck_assert_ptr_null(result.value);
}

VIRTUAL_TEST(the_outcome_need_not_be_asked_for)
{
	bide_task *task = must_spawn(nothing, "x");
	ck_assert_int_eq(bide_join(task, NULL), 0);
	ck_fails(bide_join(task, NULL), ESRCH);
}

struct joiner {
	bide_task *task;
	const char *name;
	int count;
};

static void *join_and_note(void *arg)
{
	struct joiner *joiner = arg;
	bide_result result = { NULL, -1 };
	int status = bide_join(joiner->task, &result);
	note("%s:%d:%d:%s", joiner->name, status, status ? errno : result.err, result.value ? (char *)result.value : "-");
	return NULL;
}

/* semantics 22; scenario C11 */
ORDERED_TEST(several_joiners_get_the_same_outcome_in_the_order_they_came)
{
	static struct joiner joiners[3] = { { .name = "a" }, { .name = "b" }, { .name = "c" } };
	bide_task *task = must_spawn(_i ? fail_with_eio : value_after_a_second, "v");
	for (int i = 0; i < 3; i++) {
		joiners[i].task = task;
		must_spawn(join_and_note, &joiners[i]);
	}
	if (_i) /* a fourth, that was there first: the failing one has ended when the others come */
		must(bide_join(task, NULL) == 0);
	pass(2 * BIDE_SEC);
	expect_notes(_i ? "a:0:5:- b:0:5:- c:0:5:-" : "a:0:0:v b:0:0:v c:0:0:v");
	ck_fails(bide_join(task, NULL), ESRCH);
}

/* A joiner that was canceled is out; the other one gets the outcome. */
VIRTUAL_TEST(a_joiner_that_leaves_does_not_disturb_the_others)
{
	static struct joiner a = { .name = "a" }, b = { .name = "b" };
	a.task = b.task = must_spawn(value_after_a_second, "v");
	bide_task *first = must_spawn(join_and_note, &a);
	must_spawn(join_and_note, &b);
	settle();
	ck_assert_int_eq(bide_cancel(first, NULL), 0);
	pass(2 * BIDE_SEC);
	char expected[64];
	snprintf(expected, sizeof expected, "a:-1:%d:- b:0:0:v", ECANCELED);
	expect_notes(expected);
}

/* ---- cancels ------------------------------------------------------------------------------------------- */

/* semantics 24: the task's end, and the joiner's own trouble, do not look alike */
VIRTUAL_TEST(a_joined_task_that_was_canceled_is_an_outcome_not_an_error)
{
	bide_task *task = must_spawn(forever_sleeper, NULL);
	settle();
	ck_assert_int_eq(bide_cancel(task, NULL), 0);
	bide_result result = { &result, -1 };
	ck_assert_int_eq(bide_join(task, &result), 0);
	ck_assert_int_eq(result.err, ECANCELED);
	ck_assert_ptr_null(result.value);
}

static void *join_canceled_and_again(void *arg)
{
	bide_result result = { &result, 77 };
	ck_fails(bide_join(arg, &result), ECANCELED);
	must(result.value == &result && result.err == 77); /* untouched */
	ck_fails(bide_join(arg, &result), ECANCELED);
	must(bide_uncancel() == 0);
	return must_end_well(arg);
}

/* semantics 24, 55 */
VIRTUAL_TEST(canceling_the_joiner_leaves_the_joined_task_running_and_joinable)
{
	bide_task *task = must_spawn(value_after_a_second, "v"), *joiner = must_spawn(join_canceled_and_again, task);
	settle();
	ck_assert_int_eq(bide_cancel(joiner, NULL), 0);
	ck_assert_str_eq(must_end_well(joiner), "v");
	ck_assert(bide_now() == BIDE_SEC);
}

/* semantics 39, 40: a cancel that is there on entry, and the outcome too */
VIRTUAL_TEST(a_canceled_join_of_a_finished_task_takes_nothing)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.flags = BIDE_START_ALWAYS;
	bide_task *task = must_spawn(nothing, "v");
	bide_task *joiner = bide_spawn_with(join_canceled_and_again, task, &attr);
	ck_assert_int_eq(bide_cancel(joiner, NULL), 0);
	ck_assert_str_eq(must_end_well(joiner), "v");
}

/* ---- circles: semantics 25, 26 ---------------------------------------------------------------------------- */

VIRTUAL_TEST(a_task_cannot_join_itself)
{
	ck_fails(bide_join(bide_self(), NULL), EDEADLK);
	bide_result untouched = { &untouched, 77 };
	ck_fails(bide_join(bide_self(), &untouched), EDEADLK);
	ck_assert_int_eq(untouched.err, 77);
}

#define RING 10

static bide_task *ring[RING];
static int ring_size;

static void *join_the_next(void *arg)
{
	int i = *(int *)arg;
	bide_result result = { NULL, -1 };
	if (bide_join(ring[(i + 1) % ring_size], &result) < 0) {
		note("%d:%s", i, errno == EDEADLK ? "closes" : "?");
		return "broken";
	}
	note("%d:%d:%s", i, result.err, (char *)result.value);
	return "joined";
}

ORDERED_TEST(the_join_that_closes_a_circle_fails_and_the_others_go_on)
{
	static int numbers[RING];
	char expected[256] = "";
	ring_size = _i;
	for (int i = 0; i < _i; i++) {
		numbers[i] = i;
		ring[i] = must_spawn(join_the_next, &numbers[i]);
		ck_assert_ptr_nonnull(bide_task_ref(ring[i]));
	}
	settle();
	/* The last one closes it and ends; the one before gets its outcome, and so on back to the first. */
	for (int i = _i - 1; i >= 0; i--)
		snprintf(expected + strlen(expected), 32, i == _i - 1 ? "%d:closes" : i == _i - 2 ? " %d:0:broken" : " %d:0:joined", i);
	expect_notes(expected);
	for (int i = 0; i < _i; i++)
		bide_task_unref(ring[i]);
}

VIRTUAL_TEST(a_long_chain_of_joins_is_no_circle)
{
	enum { LENGTH = 200 };
	static struct joiner chain[LENGTH];
	bide_task *last = must_spawn(value_after_a_second, "v");
	for (int i = 0; i < LENGTH; i++) {
		chain[i] = (struct joiner){ last, "j", 0 };
		last = must_spawn(join_and_note, &chain[i]);
	}
	must_end_well(last);
	ck_assert(bide_now() == BIDE_SEC);
	ck_assert_ptr_null(strstr(notes(), ":-1:"));
}

static void *join_main(void *arg)
{
	settle();
	ck_fails(bide_join(arg, NULL), EDEADLK);
	return "refused";
}

VIRTUAL_TEST(a_child_cannot_join_the_parent_that_joins_it)
{
	ck_assert_str_eq(must_end_well(must_spawn(join_main, bide_self())), "refused");
}

static bide_task *main_task;

static void *join_main_well(void *arg)
{
	bide_result result = { NULL, -1 };
	(void)arg;
	must(bide_join(main_task, &result) == 0);
	note("%d:%s", result.err, (char *)result.value);
	return NULL;
}

static void *main_that_is_joined(void *arg)
{
	main_task = bide_self();
	must_spawn(join_main_well, NULL);
	settle();
	return arg;
}

/* It was woken with the outcome before main's end canceled it. */
START_TEST(main_can_be_joined_like_any_task)
{
	ck_assert_str_eq(run_virtual(main_that_is_joined, "value"), "value");
	expect_notes("0:value");
}
END_TEST

/* ---- outcomes that nobody reads: semantics 29, 31 ------------------------------------------------------------ */

static void detach(bide_task *task) { must(bide_detach(task) == 0); }
static void join(bide_task *task) { must_join(task); }
static void leave_alone(bide_task *task) { (void)task; }
static void detach_after_the_end(bide_task *task) { pass(2 * BIDE_SEC); must(bide_detach(task) == 0); }
static void cancel_and_detach(bide_task *task) { settle(); must(bide_cancel(task, NULL) == 0); must(bide_detach(task) == 0); }
static void ref_and_drop(bide_task *task)
{
	must(bide_task_ref(task) != NULL && bide_detach(task) == 0);
	pass(2 * BIDE_SEC);
	must_msg(bide_task_state(task) == BIDE_TASK_DONE, "the reference keeps it");
	note("held");
	bide_task_unref(task);
}
static void ref_join_and_drop(bide_task *task)
{
	must(bide_task_ref(task) != NULL);
	must_join(task);
	bide_task_unref(task);
}

static void *fail_after_a_second(void *arg)
{
	(void)arg;
	return bide_fail(bide_sleep(BIDE_SEC) == 0 ? EIO : errno);
}

static const struct {
	bide_fn *body;
	void (*treat)(bide_task *task);
	int failures; /* reports */
} unread[] = {
	{ fail_after_a_second, detach, 1 },
	{ fail_after_a_second, detach_after_the_end, 1 },
	{ fail_after_a_second, ref_and_drop, 1 },
	{ fail_with_eio, leave_alone, 1 },
	{ fail_after_a_second, join, 0 },
	{ fail_after_a_second, ref_join_and_drop, 0 },
	{ fail_after_a_second, cancel_and_detach, 0 }, /* ended by its cancel: no failure */
	{ value_after_a_second, detach, 0 },
	{ value_after_a_second, leave_alone, 0 },
};

static void *treat_a_failing_task(void *arg)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.name = "culprit";
	bide_task *task = bide_spawn_with(unread[*(int *)arg].body, NULL, &attr);
	must(task);
	unread[*(int *)arg].treat(task);
	pass(2 * BIDE_SEC);
	return NULL;
}

START_TEST(a_failure_that_nobody_read_is_reported_once_with_name_and_errno)
{
	struct reports reports = { { 0 }, { "" } };
	struct counting counting;
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	counting_init(&counting, false);
	config.allocator = &counting.allocator;
	ck_assert_int_eq(bide_run(treat_a_failing_task, &_i, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_FAILURE], unread[_i].failures);
	if (unread[_i].failures) {
		ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_FAILURE], "\"culprit\""));
		ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_FAILURE], "errno 5"));
		ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_FAILURE], "; spawned at "));
	}
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

/* bide/loop.h: main's failure is in out->err and nowhere else */
START_TEST(the_failure_of_main_is_not_reported)
{
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	bide_result result;
	ck_assert_int_eq(bide_run(fail_with_eio, NULL, &config, &result), 0);
	ck_assert_int_eq(result.err, EIO);
	ck_fails(bide_run(fail_with_eio, NULL, &config, NULL), EIO);
	ck_assert_int_eq(reports.count[BIDE_REPORT_FAILURE], 0);
}
END_TEST

static int forgotten_line;

static void *leave_unjoined(void *arg)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	(void)arg;
	attr.name = "forgotten";
	forgotten_line = __LINE__ + 1;
	must(bide_spawn_with(nothing, NULL, &attr));
	attr.name = "joined";
	must_end_well(bide_spawn_with(nothing, NULL, &attr));
	attr.name = "detached";
	attr.flags = BIDE_DETACHED;
	must(bide_spawn_with(nothing, NULL, &attr));
	must(bide_detach(must_spawn(nothing, NULL)) == 0);
	pass(1);
	return NULL;
}

/* Statement 29: its name and creation line. */
START_TEST(a_task_that_was_never_joined_is_freed_and_reported_in_debug_mode_only)
{
	struct reports reports = { { 0 }, { "" } };
	struct counting counting;
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK | (_i == 1 ? BIDE_DEBUG : 0u), &reports);
	counting_init(&counting, false);
	config.allocator = &counting.allocator;
	if (_i == 2)
		setenv("BIDE_DEBUG", "1", 1);
	ck_assert_int_eq(bide_run(leave_unjoined, NULL, &config, NULL), 0);
	unsetenv("BIDE_DEBUG");
	ck_assert_int_eq(reports.count[BIDE_REPORT_LEAK], _i ? 1 : 0);
	if (_i) {
		char site[80];
		snprintf(site, sizeof site, "; spawned at leave_unjoined (test_join.c:%d)", forgotten_line);
		ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_LEAK], "\"forgotten\""));
		ck_assert_msg(strstr(reports.text[BIDE_REPORT_LEAK], site), "%s", reports.text[BIDE_REPORT_LEAK]);
	}
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

/* ---- many: scenario C11 ------------------------------------------------------------------------------------ */

static void *leave_a_pattern(void *arg)
{
	volatile char pattern[4096];
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (char)(uintptr_t)arg;
	if ((uintptr_t)arg % 16 == 0)
		must(bide_yield() == 0);
	for (size_t i = 0; i < sizeof pattern; i += 64)
		must(pattern[i] == (char)(uintptr_t)arg);
	return arg;
}

ORDERED_TEST(a_hundred_thousand_are_spawned_and_joined_on_few_stacks)
{
	uintptr_t count = (uintptr_t)suite_scaled_down(100000, 5000);
	const char *lowest = NULL, *highest = NULL;
	for (uintptr_t i = 0; i < count; i++) {
		bide_task *task = must_spawn(leave_a_pattern, (void *)i);
		must(bide_yield() == 0);
		if (i % 16 == 0) {
			const char *low = handle_resolve(task)->task.stack.low;
			lowest = !lowest || low < lowest ? low : lowest;
			highest = !highest || low > highest ? low : highest;
		}
		must(must_end_well(task) == (void *)i);
	}
	ck_assert_ptr_nonnull(lowest);
	if (!suite_is_hostile()) /* where each stack is mapped anew */
		ck_assert_int_le(highest - lowest, 1024 * 1024);
	ck_assert_uint_eq(loop_current->tasks.live, 1);
}

int main(void)
{
	return SUITE("join",
	    TEST(join_gives_the_very_pointer_that_was_returned),
	    TEST(join_of_a_finished_task_does_not_suspend),
	    TEST(a_failed_task_is_joined_well_with_its_errno_and_no_value),
	    TEST(the_outcome_need_not_be_asked_for),
	    LOOP(several_joiners_get_the_same_outcome_in_the_order_they_came, 0, 2),
	    TEST(a_joiner_that_leaves_does_not_disturb_the_others),
	    TEST(a_joined_task_that_was_canceled_is_an_outcome_not_an_error),
	    TEST(canceling_the_joiner_leaves_the_joined_task_running_and_joinable),
	    TEST(a_canceled_join_of_a_finished_task_takes_nothing),
	    TEST(a_task_cannot_join_itself),
	    LOOP(the_join_that_closes_a_circle_fails_and_the_others_go_on, 2, RING + 1),
	    TEST(a_long_chain_of_joins_is_no_circle),
	    TEST(a_child_cannot_join_the_parent_that_joins_it),
	    TEST(main_can_be_joined_like_any_task),
	    TABLE(a_failure_that_nobody_read_is_reported_once_with_name_and_errno, unread),
	    TEST(the_failure_of_main_is_not_reported),
	    LOOP(a_task_that_was_never_joined_is_freed_and_reported_in_debug_mode_only, 0, 3),
	    TEST(a_hundred_thousand_are_spawned_and_joined_on_few_stacks));
}
