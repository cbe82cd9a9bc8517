/* SPDX-License-Identifier: MIT
 * bide_race(): bide/combine.h. Semantics 121. */
#include "await/record.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

#define MS BIDE_MSEC

/* A runner notes when it starts and how it ends. */
struct runner {
	const char *name;
	bide_time delay;
	int err;
	bide_time stubborn;
	bool has_value_after_cancel;
	bool cancels_itself;
};

static int running;

static void *run(void *arg)
{
	struct runner *runner = arg;
	bide_scope shield;
	running++;
	note("%s@%d", runner->name, (int)(bide_now() / MS));
	if (runner->cancels_itself)
		must(bide_cancel(bide_self(), NULL) == 0);
	int status = bide_sleep(runner->delay);
	if (status < 0 && runner->stubborn) {
		must(bide_scope_enter(&shield, BIDE_NEVER, BIDE_SHIELD) == 0);
		pass(runner->stubborn);
		must(bide_scope_leave(&shield) == 0);
	}
	running--;
	if (status < 0 && runner->has_value_after_cancel)
		return "late";
	note("%s%s%d", runner->name, status < 0 ? "x" : runner->err ? "!" : "=", (int)(bide_now() / MS));
	return status < 0 ? bide_fail(ECANCELED) : runner->err ? bide_fail(runner->err) : (void *)(uintptr_t)runner->name;
}

static bide_fn *const fns[20] = { run, run, run, run, run, run, run, run, run, run, run, run, run, run, run, run, run,
	run, run, run };
static struct runner runners[20];
static void *args[20];

static int race(int count, bide_time stagger, bide_result *winner)
{
	for (int i = 0; i < count; i++)
		args[i] = &runners[i];
	running = 0;
	int index = bide_race(fns, args, count, stagger, winner);
	must(running == 0);
	must(loop_current->tasks.live == 1 || !bide_self());
	return index;
}

/* ---- the stagger: semantics 121 ------------------------------------------------------------------------- */

VIRTUAL_TEST(a_failure_starts_the_next_before_the_stagger_is_over)
{
	bide_result winner = { NULL, -1 };
	runners[0] = (struct runner){ .name = "a", .delay = 5 * MS, .err = EIO };
	runners[1] = (struct runner){ .name = "b", .delay = 100 * MS };
	runners[2] = (struct runner){ .name = "c", .delay = 50 * MS };
	ck_assert_int_eq(race(3, 20 * MS, &winner), 2);
	ck_assert_str_eq(winner.value, "c");
	ck_assert_int_eq(winner.err, 0);
	expect_notes("a@0 a!5 b@5 c@25 c=75 bx75");
}

ORDERED_TEST(the_next_one_starts_after_the_stagger)
{
	bide_result winner = { NULL, -1 };
	runners[0] = (struct runner){ .name = "a", .delay = 70 * MS };
	runners[1] = (struct runner){ .name = "b", .delay = 100 * MS };
	runners[2] = (struct runner){ .name = "c", .delay = 100 * MS };
	runners[3] = (struct runner){ .name = "d", .delay = 1 };
	ck_assert_int_eq(race(4, 30 * MS, &winner), 0);
	ck_assert_str_eq(winner.value, "a");
	expect_notes("a@0 b@30 c@60 a=70 bx70 cx70");
}

/* "As soon as that one fails": one started earlier does not count. */
VIRTUAL_TEST(only_the_failure_of_the_latest_starts_the_next)
{
	runners[0] = (struct runner){ .name = "a", .delay = 25 * MS, .err = EIO };
	runners[1] = (struct runner){ .name = "b", .delay = 15 * MS, .err = EIO };
	runners[2] = (struct runner){ .name = "c", .delay = 5 * MS };
	ck_assert_int_eq(race(3, 20 * MS, NULL), 2);
	expect_notes("a@0 b@20 a!25 b!35 c@35 c=40");
}

ORDERED_TEST(without_a_stagger_all_start_at_once)
{
	runners[0] = (struct runner){ .name = "a", .delay = 30 * MS };
	runners[1] = (struct runner){ .name = "b", .delay = 10 * MS };
	runners[2] = (struct runner){ .name = "c", .delay = 20 * MS };
	ck_assert_int_eq(race(3, 0, NULL), 1);
	expect_notes("a@0 b@0 c@0 b=10 ax10 cx10");
}

VIRTUAL_TEST(with_an_endless_stagger_the_next_starts_only_after_a_failure)
{
	runners[0] = (struct runner){ .name = "a", .delay = 30 * MS, .err = EIO };
	runners[1] = (struct runner){ .name = "b", .delay = 10 * MS, .cancels_itself = true };
	runners[2] = (struct runner){ .name = "c", .delay = 20 * MS };
	ck_assert_int_eq(race(3, BIDE_NEVER, NULL), 2);
	expect_notes("a@0 a!30 b@30 bx30 c@30 c=50");
}

VIRTUAL_TEST(a_winner_in_the_first_turn_keeps_the_others_from_starting)
{
	runners[0] = (struct runner){ .name = "a", .delay = 0 };
	runners[1] = (struct runner){ .name = "b", .delay = 0 };
	ck_assert_int_eq(race(2, 1, NULL), 0);
	expect_notes("a@0 a=0");
}

/* ---- the end -------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(losers_are_waited_for)
{
	bide_result winner;
	runners[0] = (struct runner){ .name = "a", .delay = BIDE_SEC, .stubborn = 50 * MS };
	runners[1] = (struct runner){ .name = "b", .delay = 10 * MS };
	runners[2] = (struct runner){ .name = "c", .delay = BIDE_SEC, .has_value_after_cancel = true };
	ck_assert_int_eq(race(3, 0, &winner), 1);
	ck_assert_str_eq(winner.value, "b"); /* whatever they answer */
	ck_assert(bide_now() == 60 * MS);
}

VIRTUAL_TEST(if_all_fail_the_last_failure_is_told)
{
	bide_result winner = { &winner, 77 };
	runners[0] = (struct runner){ .name = "a", .delay = 30 * MS, .err = EIO };
	runners[1] = (struct runner){ .name = "b", .delay = 10 * MS, .err = EPERM };
	runners[2] = (struct runner){ .name = "c", .delay = 20 * MS, .err = ENOENT };
	ck_fails(race(3, 0, &winner), EIO);
	ck_assert(winner.value == &winner && winner.err == 77);
	runners[0].cancels_itself = runners[1].cancels_itself = runners[2].cancels_itself = true;
	ck_fails(race(3, 0, NULL), ECANCELED);
}

struct race_call {
	int result, err;
};

static void *call_race(void *arg)
{
	struct race_call *call = arg;
	call->result = bide_race(fns, args, 3, 20 * MS, NULL);
	call->err = errno;
	must(running == 0);
	return NULL;
}

VIRTUAL_TEST(a_canceled_caller_ends_the_race)
{
	struct race_call call = { 0 };
	runners[0] = (struct runner){ .name = "a", .delay = BIDE_SEC, .stubborn = 30 * MS };
	runners[1] = (struct runner){ .name = "b", .delay = BIDE_SEC };
	for (int i = 0; i < 3; i++)
		args[i] = &runners[i];
	running = 0;
	bide_task *task = must_spawn(call_race, &call);
	pass(25 * MS);
	must(bide_cancel(task, NULL) == 0);
	must_join(task);
	ck_assert(call.result == -1 && call.err == ECANCELED);
	ck_assert(bide_now() == 55 * MS);
	expect_notes("a@0 b@20 bx25 ax55");
}

/* A value is a value, also when it comes after a cancel: statement 80 says it of wait_for. */
VIRTUAL_TEST(one_that_answers_the_cancel_of_the_caller_with_a_value_has_won)
{
	bide_result winner = { NULL, -1 };
	bide_scope scope;
	runners[0] = (struct runner){ .name = "a", .delay = BIDE_SEC };
	runners[1] = (struct runner){ .name = "b", .delay = BIDE_SEC, .stubborn = 30 * MS, .has_value_after_cancel = true };
	must(bide_scope_enter(&scope, bide_after(25 * MS), 0) == 0);
	ck_assert_int_eq(race(2, 20 * MS, &winner), 1);
	ck_assert_str_eq(winner.value, "late");
	ck_assert(winner.err == 0 && bide_now() == 55 * MS);
	if (_i) /* the deadline is pending still, for the next call */
		ck_fails(bide_sleep(1), ETIMEDOUT);
	ck_assert_int_eq(bide_scope_leave(&scope), _i ? -1 : 0); /* by itself no call failed */
}

VIRTUAL_TEST(entered_with_a_cancel_pending_it_starts_nobody)
{
	runners[0] = (struct runner){ .name = "a", .delay = 1 };
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(race(1, 0, NULL), ECANCELED);
	must(bide_uncancel() == 0);
	settle();
	expect_notes("");
}

ORDERED_TEST(a_deadline_ends_the_race)
{
	bide_scope scope;
	runners[0] = (struct runner){ .name = "a", .delay = BIDE_SEC };
	runners[1] = (struct runner){ .name = "b", .delay = BIDE_SEC };
	must(bide_scope_enter(&scope, bide_after(25 * MS), 0) == 0);
	ck_fails(race(2, 20 * MS, NULL), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	expect_notes("a@0 b@20 ax25 bx25");
}

static void *take_null(void *arg)
{
	must(!arg);
	return "null";
}

ORDERED_TEST(arguments_may_be_left_out)
{
	bide_fn *const two[] = { take_null, take_null };
	bide_result winner;
	ck_assert_int_eq(bide_race(two, NULL, 2, 0, &winner), 0);
	ck_assert_str_eq(winner.value, "null");
}

VIRTUAL_TEST(nonsense_is_refused)
{
	bide_fn *const gap[] = { run, NULL };
	ck_fails(bide_race(NULL, args, 1, 0, NULL), EINVAL);
	ck_fails(bide_race(fns, args, 0, 0, NULL), EINVAL);
	ck_fails(bide_race(fns, args, -1, 0, NULL), EINVAL);
	ck_fails(bide_race(fns, args, 1, -1, NULL), EINVAL);
	ck_fails(bide_race(gap, args, 2, 0, NULL), EINVAL);
	settle();
	expect_notes("");
}

START_TEST(outside_a_task_nobody_races)
{
	ck_fails(bide_race(fns, args, 1, 0, NULL), EPERM);
}
END_TEST

VIRTUAL_TEST(more_than_sixteen_run_too)
{
	for (int i = 0; i < 20; i++)
		runners[i] = (struct runner){ .name = "r", .delay = (100 - i) * MS };
	ck_assert_int_eq(race(20, 0, NULL), 19);
	ck_assert(bide_now() == 81 * MS);
}

static void *race_without_memory(void *arg)
{
	int count = *(int *)arg;
	for (int i = 0; i < count; i++) {
		runners[i] = (struct runner){ .name = "a", .delay = (i + 1) * MS };
		args[i] = &runners[i];
	}
	running = 0;
	for (int at = 1; at < 200; at++) {
		char spec[40];
		snprintf(spec, sizeof spec, "malloc:ENOMEM@%d", at);
		must(bide_fault(spec) == 0);
		int index = bide_race(fns, args, count, 0, NULL);
		int err = errno;
		bide_fault(NULL);
		forget_notes();
		must(running == 0 && loop_current->tasks.live == 1);
		must_msg(index == 0 || (index < 0 && err == ENOMEM), "%d: %d %s", at, index, strerror(err));
		if (at == 1 && count > 16)
			must(index < 0); /* room for the runners is asked for first */
	}
	return NULL;
}

START_TEST(without_memory_the_race_is_refused_or_goes_on_with_fewer)
{
	struct reports reports = { { 0 }, { "" } };
	struct counting counting;
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	bide_result result;
	int count = _i ? 20 : 3;
	counting_init(&counting, true);
	config.allocator = &counting.allocator;
	ck_assert_int_eq(bide_run(race_without_memory, &count, &config, &result), 0);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

int main(void)
{
	return SUITE("race",
	    TEST(a_failure_starts_the_next_before_the_stagger_is_over),
	    TEST(the_next_one_starts_after_the_stagger),
	    TEST(only_the_failure_of_the_latest_starts_the_next),
	    TEST(without_a_stagger_all_start_at_once),
	    TEST(with_an_endless_stagger_the_next_starts_only_after_a_failure),
	    TEST(a_winner_in_the_first_turn_keeps_the_others_from_starting),
	    TEST(losers_are_waited_for),
	    TEST(if_all_fail_the_last_failure_is_told),
	    TEST(a_canceled_caller_ends_the_race),
	    LOOP(one_that_answers_the_cancel_of_the_caller_with_a_value_has_won, 0, 2),
	    TEST(entered_with_a_cancel_pending_it_starts_nobody),
	    TEST(a_deadline_ends_the_race),
	    TEST(arguments_may_be_left_out),
	    TEST(nonsense_is_refused),
	    TEST(outside_a_task_nobody_races),
	    TEST(more_than_sixteen_run_too),
	    LOOP(without_memory_the_race_is_refused_or_goes_on_with_fewer, 0, 2));
}
