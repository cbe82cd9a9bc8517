/* SPDX-License-Identifier: MIT
 * What ends with a task: deferred calls and task-local values. */
#include <stdlib.h>
#include <unistd.h>

#include "resources.h"
#include "runs.h"
#include "trace.h"

static void defer(void (*fn)(void *), void *arg)
{
	must_msg(bide_defer(fn, arg) == 0, "bide_defer: %s", strerror(errno));
}

/* ---- deferred calls: semantics 33, 59 ------------------------------------------------------------------- */

static __attribute__((noinline)) void *end_by(const char *way)
{
	defer(note_arg, "third");
	if (strcmp(way, "return") == 0)
		return "value";
	if (strcmp(way, "exit") == 0)
		bide_exit("value");
	if (strcmp(way, "fail") == 0)
		return bide_fail(EIO);
	must(bide_sleep(BIDE_NEVER) < 0);
	return strcmp(way, "cancel") == 0 ? NULL : "value";
}

static void *end_with_defers(void *arg)
{
	defer(note_arg, "first");
	defer(note_arg, "second");
	return end_by(arg);
}

static const struct {
	char *way;
	int err;
} ways[] = { { "return", 0 }, { "exit", 0 }, { "fail", EIO }, { "cancel", ECANCELED }, { "cancel, value", 0 } };

VIRTUAL_TEST(deferred_calls_run_last_first_however_the_task_ends)
{
	bide_task *task = must_spawn(end_with_defers, ways[_i].way);
	settle();
	if (strncmp(ways[_i].way, "cancel", 6) == 0)
		ck_assert_int_eq(bide_cancel(task, NULL), 0);
	bide_result result = must_join(task);
	note("joined"); /* a joiner sees the outcome after them */
	expect_notes("third second first joined");
	ck_assert_int_eq(result.err, ways[_i].err);
	ck_assert_int_eq(result.value != NULL, ways[_i].err == 0);
}

static void sleep_and_write(void *arg)
{
	must_msg(bide_sleep(BIDE_SEC) == 0, "a deferred call is not shielded: %s", strerror(errno));
	must(bide_checkpoint() == 0);
	must(bide_write(*(int *)arg, "bye", 3) == 3);
	note("said goodbye@%lld", (long long)(bide_now() / BIDE_SEC));
}

static void *be_canceled_with_a_goodbye(void *arg)
{
	defer(sleep_and_write, arg);
	ck_fails(bide_sleep(BIDE_NEVER), ECANCELED);
	return NULL;
}

/* semantics 59 */
VIRTUAL_TEST(deferred_calls_may_suspend_while_the_task_is_canceled)
{
	int fds[2];
	char text[4] = "";
	ck_assert_int_eq(pipe(fds), 0);
	bide_task *task = must_spawn(be_canceled_with_a_goodbye, &fds[1]);
	settle();
	ck_assert_int_eq(bide_cancel(task, NULL), 0);
	settle();
	ck_assert_int_eq(bide_cancel(task, "once more"), 0); /* it has not ended, and is not disturbed */
	ck_assert_int_eq(must_join(task).err, ECANCELED);
	expect_notes("said goodbye@1");
	ck_assert_int_eq(bide_read(fds[0], text, 3), 3);
	ck_assert_str_eq(text, "bye");
	ck_fails(bide_cancel(task, NULL), ESRCH);
	bide_close(fds[0]);
	bide_close(fds[1]);
}

static void defer_more(void *arg)
{
	note("outer");
	defer(note_arg, arg);
}

static void *defer_that_defers(void *arg)
{
	defer(note_arg, "earliest");
	defer(defer_more, arg);
	return NULL;
}

VIRTUAL_TEST(a_deferred_call_may_defer)
{
	must_end_well(must_spawn(defer_that_defers, "inner"));
	expect_notes("outer inner earliest");
}

static void exit_again(void *arg)
{
	note("exits");
	bide_exit(arg);
}

static void *exit_in_a_defer(void *arg)
{
	defer(note_arg, "still run");
	defer(exit_again, arg);
	return "first";
}

VIRTUAL_TEST(exit_in_a_deferred_call_runs_the_rest_of_them)
{
	bide_result result = must_join(must_spawn(exit_in_a_defer, "second"));
	ck_assert_int_eq(result.err, 0);
	ck_assert_str_eq(result.value, "second");
	expect_notes("exits still run");
}

static void fail_in_vain(void *arg)
{
	(void)arg;
	bide_fail(EDOM);
	bide_cancel(bide_self(), NULL);
	must(bide_sleep(1) == 0);
}

static void *fail_before_its_defers(void *arg)
{
	defer(fail_in_vain, NULL);
	return arg ? arg : bide_fail(EIO);
}

VIRTUAL_TEST(the_outcome_is_what_the_body_returned_whatever_deferred_calls_do)
{
	ck_assert_int_eq(must_join(must_spawn(fail_before_its_defers, NULL)).err, EIO);
	ck_assert_str_eq(must_end_well(must_spawn(fail_before_its_defers, "v")), "v");
}

static void *take_defers_back(void *arg)
{
	(void)arg;
	ck_fails(bide_undefer(true), ENOENT);
	defer(note_arg, "a");
	defer(note_arg, "b");
	defer(note_arg, "c");
	defer(note_arg, "d");
	ck_assert_int_eq(bide_undefer(true), 0);
	expect_notes("d");
	ck_assert_int_eq(bide_undefer(false), 0);
	expect_notes("d");
	ck_assert_int_eq(bide_undefer(true), 0);
	expect_notes("d b");
	return NULL;
}

VIRTUAL_TEST(a_deferred_call_is_taken_back_and_run_or_not)
{
	must_end_well(must_spawn(take_defers_back, NULL));
	expect_notes("d b a");
}

static void *main_with_defers(void *arg)
{
	defer(note_arg, "deferred");
	return arg;
}

START_TEST(main_has_deferred_calls_like_any_task)
{
	ck_assert_str_eq(run_virtual(main_with_defers, "v"), "v");
	expect_notes("deferred");
}
END_TEST

/* ---- task-local values: semantics 34 ---------------------------------------------------------------------- */

static void note_drop(void *value)
{
	note("drop:%s", (const char *)value);
}

static const bide_key plain, dropping = { .drop = note_drop }, another = { .drop = note_drop };
static const bide_key inherited = { .drop = note_drop, .flags = BIDE_KEY_INHERIT };

static void set(const bide_key *key, const char *value)
{
	must(bide_local_set(key, (void *)(uintptr_t)value) == 0);
}

VIRTUAL_TEST(a_value_is_there_until_it_is_replaced)
{
	ck_assert_ptr_null(bide_local_get(&plain));
	set(&plain, "a");
	set(&another, "b");
	ck_assert_str_eq(bide_local_get(&plain), "a");
	ck_assert_str_eq(bide_local_get(&another), "b");
	set(&another, "c"); /* the one replaced is not dropped */
	ck_assert_str_eq(bide_local_get(&another), "c");
	expect_notes("");
	set(&another, NULL);
	ck_assert_ptr_null(bide_local_get(&another));
	ck_assert_ptr_null(bide_local_get(NULL));
}

START_TEST(outside_a_task_there_are_no_values)
{
	ck_assert_ptr_null(bide_local_get(&plain));
	ck_fails(bide_local_set(&plain, "x"), EPERM);
}
END_TEST

static void note_value(void *arg)
{
	note("%s:%s", (char *)arg, bide_local_get(&dropping) ? (char *)bide_local_get(&dropping) : "none");
}

static void *set_many(void *arg)
{
	defer(note_value, "deferred");
	set(&dropping, "x");
	set(&another, NULL);
	set(&plain, "undropped");
	return arg;
}

VIRTUAL_TEST(values_are_dropped_once_after_the_deferred_calls_if_not_null)
{
	must_end_well(must_spawn(set_many, NULL));
	expect_notes("deferred:x drop:x");
}

static void *keep_a_value(void *arg)
{
	must(!bide_local_get(&dropping));
	set(&dropping, arg);
	for (int i = 0; i < 10; i++) {
		must(bide_yield() == 0);
		must(bide_local_get(&dropping) == arg);
	}
	return NULL;
}

ORDERED_TEST(each_task_has_values_of_its_own)
{
	bide_task *a = must_spawn(keep_a_value, "a"), *b = must_spawn(keep_a_value, "b");
	must_end_well(a);
	must_end_well(b);
	expect_notes("drop:a drop:b");
	ck_assert_ptr_null(bide_local_get(&dropping));
}

static void *look_at_the_inherited(void *arg)
{
	must(!bide_local_get(&dropping));
	note("child:%s", (char *)bide_local_get(&inherited));
	if (arg)
		set(&inherited, arg);
	return NULL;
}

ORDERED_TEST(an_inherited_value_is_not_dropped_by_the_child_unless_it_set_its_own)
{
	set(&inherited, "from above");
	set(&dropping, "private");
	bide_task *a = must_spawn(look_at_the_inherited, NULL), *b = must_spawn(look_at_the_inherited, "own");
	set(&inherited, "later"); /* a child has what its spawner had when it was spawned */
	must_end_well(a);
	must_end_well(b);
	expect_notes("child:from above child:from above drop:own");
}

static void spawn_in_a_callback(void *arg)
{
	*(bide_task **)arg = must_spawn(nothing, NULL);
	must(!bide_local_get(&inherited));
}

/* Only a task hands on; and a task canceled before its first run drops nothing. */
VIRTUAL_TEST(inheriting_leaves_nothing_behind)
{
	bide_task *task = NULL, *canceled;
	set(&inherited, "mine");
	must(bide_call_soon(spawn_in_a_callback, &task) == 0);
	settle();
	must_end_well(task);
	canceled = must_spawn(look_at_the_inherited, NULL);
	ck_assert_int_eq(bide_cancel(canceled, NULL), 0);
	ck_assert_int_eq(must_join(canceled).err, ECANCELED);
	expect_notes("");
}

static int rounds_left;
static void set_again(void *value);
static const bide_key persistent = { .drop = set_again };

static void set_again(void *value)
{
	note("round");
	if (--rounds_left > 0)
		set(&persistent, value);
}

static void *set_a_persistent_one(void *arg)
{
	set(&persistent, arg);
	return NULL;
}

VIRTUAL_TEST(a_value_set_by_a_drop_is_dropped_in_a_further_round)
{
	rounds_left = 3;
	must_end_well(must_spawn(set_a_persistent_one, "x"));
	expect_notes("round round round");
}

static void defer_in_a_drop(void *value)
{
	note("drop");
	defer(note_arg, value);
}

static const bide_key deferring = { .drop = defer_in_a_drop };

static void *set_one_whose_drop_defers(void *arg)
{
	set(&deferring, arg);
	return NULL;
}

/* bide/task.h: a deferred call runs when the task ends, "however it ends" */
VIRTUAL_TEST(a_call_deferred_by_a_drop_runs_too)
{
	must_end_well(must_spawn(set_one_whose_drop_defers, "deferred"));
	expect_notes("drop deferred");
}

static void sleep_in_a_drop(void *value)
{
	must_msg(bide_sleep(BIDE_SEC) == 0, "a drop is not shielded");
	note_arg_at(value);
}

static const bide_key sleepy = { .drop = sleep_in_a_drop };

static void *be_canceled_with_a_sleepy_value(void *arg)
{
	set(&sleepy, arg);
	must(bide_sleep(BIDE_NEVER) < 0);
	return NULL;
}

VIRTUAL_TEST(drops_are_shielded_as_deferred_calls_are)
{
	bide_task *task = must_spawn(be_canceled_with_a_sleepy_value, "dropped");
	settle();
	ck_assert_int_eq(bide_cancel(task, NULL), 0);
	must_join(task);
	expect_notes("dropped@1");
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static const bide_key keys[50] = { { .drop = NULL } };

static void *much_that_ends(void *arg)
{
	for (int i = 0; i < 50; i++) {
		must(bide_local_set(&keys[i], arg) == 0);
		defer(i % 2 ? (void (*)(void *))free : note_value, i % 2 ? malloc(10) : (void *)"");
	}
	if (arg)
		must(bide_sleep(BIDE_NEVER) < 0);
	return NULL;
}

static void *leave_much_unfinished(void *arg)
{
	must_end_well(must_spawn(much_that_ends, NULL));
	must_spawn(much_that_ends, "x");
	pass(1);
	return arg;
}

START_TEST(what_ended_gives_its_memory_back)
{
	run_virtual_in_order(leave_much_unfinished, NULL);
}
END_TEST

static void never_called(void *arg)
{
	(void)arg;
	ck_abort_msg("called in a task that is never resumed");
}

static const bide_key never_dropped = { .drop = never_called };

static void hold_out(void *arg)
{
	(void)arg;
	for (;;)
		must(bide_sleep(BIDE_SEC) == 0); /* shielded, so no cancel ends it */
}

static void *ignore_everything(void *arg)
{
	set(&never_dropped, "x");
	defer(never_called, NULL);
	defer(hold_out, NULL);
	return arg;
}

static void *leave_one_that_ignores(void *arg)
{
	must_spawn(ignore_everything, NULL);
	pass(1);
	return arg;
}

/* semantics 8: it is never resumed, so nothing of it is called, but its memory goes */
START_TEST(a_task_given_up_calls_nothing_and_leaks_nothing)
{
	struct counting counting;
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	counting_init(&counting, true);
	config.allocator = &counting.allocator;
	ck_fails(bide_run(leave_one_that_ignores, NULL, &config, NULL), EBUSY);
	ck_assert_int_eq(reports.count[BIDE_REPORT_LEFTOVER], 1);
	ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_LEFTOVER], "; spawned at "));
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

enum {
	MANY = 20 /* more than any call has room for on its stack */
};

static void *hold_out_at_its_end(void *arg)
{
	defer(hold_out, NULL);
	return arg;
}

static void gather_many(void)
{
	bide_task *tasks[MANY];
	for (int i = 0; i < MANY; i++)
		tasks[i] = must_spawn(forever_sleeper, NULL);
	bide_task_attr stubborn = { .size = sizeof stubborn, .flags = BIDE_START_ALWAYS };
	must(tasks[0] = bide_spawn_with(ignore_everything, NULL, &stubborn));
	bide_gather(tasks, MANY, NULL, BIDE_FAIL_FAST);
}

static void race_many(void)
{
	bide_fn *fns[MANY];
	for (int i = 0; i < MANY; i++)
		fns[i] = i ? hold_out_at_its_end : forever_sleeper;
	bide_race(fns, NULL, MANY, 0, NULL);
}

static void wait_for_many(void)
{
	static bide_future never;
	bide_future *futures[MANY];
	bide_future_init(&never, NULL);
	for (int i = 0; i < MANY; i++)
		futures[i] = &never;
	bide_wait(futures, MANY, BIDE_WAIT_ALL);
}

static void select_of_many(void)
{
	bide_case cases[MANY];
	for (int i = 0; i < MANY; i++)
		cases[i] = (bide_case){ .op = BIDE_CASE_TIME, .deadline = BIDE_NEVER };
	bide_select(cases, MANY, 0);
}

static void own_many(void)
{
	bide_group group;
	must(bide_group_enter(&group, 0, BIDE_COLLECT) == 0);
	for (int i = 0; i < MANY; i++)
		must(bide_group_spawn(&group, i % 2 ? nothing : forever_sleeper, NULL, NULL));
	bide_group_leave(&group);
}

static void (*const calls_of_many[])(void) = { gather_many, race_many, wait_for_many, select_of_many, own_many };

static void *call_in_a_shield(void *arg)
{
	bide_scope shield;
	defer(never_called, NULL);
	must(bide_scope_enter(&shield, BIDE_NEVER, BIDE_SHIELD) == 0);
	(*(void (*const *)(void))arg)();
	hold_out(NULL);
	return NULL;
}

static void *leave_one_in_a_call(void *arg)
{
	must_spawn(call_in_a_shield, arg);
	pass(1);
	return arg;
}

/* Statement 8: nor does the call it is in. */
START_TEST(a_task_given_up_in_a_call_that_took_memory_leaks_none)
{
	struct counting counting;
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	counting_init(&counting, true);
	config.allocator = &counting.allocator;
	ck_fails(bide_run(leave_one_in_a_call, (void *)(uintptr_t)&calls_of_many[_i], &config, NULL), EBUSY);
	ck_assert_int_ge(reports.count[BIDE_REPORT_LEFTOVER], 1);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

static void *run_out_of_memory(void *arg)
{
	(void)arg;
	ck_assert_int_eq(bide_fault("malloc:ENOMEM"), 0);
	ck_fails(bide_defer(never_called, NULL), ENOMEM);
	ck_fails(bide_local_set(&never_dropped, "x"), ENOMEM);
	ck_assert_ptr_null(bide_local_get(&never_dropped));
	ck_fails(bide_undefer(true), ENOENT);
	ck_fails(bide_call_soon(never_called, NULL), ENOMEM);
	bide_fault(NULL);
	defer(note_arg, "later");
	return NULL;
}

VIRTUAL_TEST(without_memory_nothing_is_deferred_or_set)
{
	must_end_well(must_spawn(run_out_of_memory, NULL));
	expect_notes("later");
}

int main(void)
{
	return SUITE("ending",
	    TABLE(deferred_calls_run_last_first_however_the_task_ends, ways),
	    TEST(deferred_calls_may_suspend_while_the_task_is_canceled),
	    TEST(a_deferred_call_may_defer),
	    TEST(exit_in_a_deferred_call_runs_the_rest_of_them),
	    TEST(the_outcome_is_what_the_body_returned_whatever_deferred_calls_do),
	    TEST(a_deferred_call_is_taken_back_and_run_or_not),
	    TEST(main_has_deferred_calls_like_any_task),
	    TEST(a_value_is_there_until_it_is_replaced),
	    TEST(outside_a_task_there_are_no_values),
	    TEST(values_are_dropped_once_after_the_deferred_calls_if_not_null),
	    TEST(each_task_has_values_of_its_own),
	    TEST(an_inherited_value_is_not_dropped_by_the_child_unless_it_set_its_own),
	    TEST(inheriting_leaves_nothing_behind),
	    TEST(a_value_set_by_a_drop_is_dropped_in_a_further_round),
	    TEST(a_call_deferred_by_a_drop_runs_too),
	    TEST(drops_are_shielded_as_deferred_calls_are),
	    TEST(what_ended_gives_its_memory_back),
	    TEST(a_task_given_up_calls_nothing_and_leaks_nothing),
	    TABLE(a_task_given_up_in_a_call_that_took_memory_leaks_none, calls_of_many),
	    TEST(without_memory_nothing_is_deferred_or_set));
}
