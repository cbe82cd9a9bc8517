/* SPDX-License-Identifier: MIT
 * The barrier: bide/sync.h. Semantics 150, 152. */
#include "elsewhere.h"
#include "runs.h"
#include "trace.h"

static void cancel(bide_task *task)
{
	must_msg(bide_cancel(task, NULL) == 0, "bide_cancel: %s", strerror(errno));
}

static bide_barrier barrier;

static void *arrive_and_note(void *arg)
{
	int place = bide_barrier_wait(&barrier);
	if (place >= 0)
		note("%s%d", (char *)arg, place);
	else
		note("%s:%s", (char *)arg, errno == ECANCELED ? "canceled" : errno == EPIPE ? "aborted" :
		    errno == ETIMEDOUT ? "late" : "?");
	return NULL;
}

static bide_task *arrive(const char *name)
{
	bide_task *task = must_spawn(arrive_and_note, (void *)(uintptr_t)name);
	settle();
	return task;
}

static void fresh(unsigned n)
{
	must(bide_barrier_init(&barrier, n) == 0);
}

/* semantics 150 */
ORDERED_TEST(the_third_arrival_frees_all_and_each_has_its_place)
{
	fresh(3);
	for (int generation = 0; generation < 3; generation++) { /* it starts over */
		arrive("a");
		arrive("b");
		expect_notes("");
		arrive("c");
		expect_notes("c2 a0 b1");
		forget_notes();
	}
	ck_assert_int_eq(bide_barrier_destroy(&barrier), 0);
}

VIRTUAL_TEST(a_barrier_for_one_holds_nobody_up)
{
	fresh(1);
	ck_assert_int_eq(bide_barrier_wait(&barrier), 0);
	ck_assert_int_eq(bide_barrier_wait(&barrier), 0);
}

/* In the same turn, and after it has returned. */
ORDERED_TEST(a_canceled_waiter_does_not_count_as_arrived)
{
	bool has_returned = _i & 1;
	fresh(3);
	for (int generation = 0; generation < 3; generation++) {
		arrive("a");
		bide_task *canceled = arrive("b");
		cancel(canceled);
		if (has_returned)
			settle();
		arrive("c");
		expect_notes("b:canceled");
		arrive("d");
		expect_notes("b:canceled d2 a0 c1");
		forget_notes();
	}
}

static void *arrive_for_a_second(void *arg)
{
	bide_scope scope = { { 0 } };
	must(bide_scope_enter(&scope, bide_after(BIDE_SEC), 0) == 0);
	arrive_and_note(arg);
	must(bide_scope_leave(&scope) < 0);
	return NULL;
}

VIRTUAL_TEST(a_waiter_whose_time_is_over_does_not_count)
{
	fresh(2);
	must_spawn(arrive_for_a_second, "a");
	pass(2 * BIDE_SEC);
	arrive("b");
	expect_notes("a:late");
	arrive("c");
	expect_notes("a:late c1 b0");
}

ORDERED_TEST(all_may_be_canceled_at_once_and_the_next_ones_start_over)
{
	bide_task *tasks[9];
	fresh(10);
	for (int i = 0; i < 9; i++)
		tasks[i] = arrive("x");
	for (int i = 0; i < 9; i++)
		cancel(tasks[i]);
	for (int i = 0; i < 9; i++) /* before those have run */
		tasks[i] = must_spawn(arrive_and_note, "y");
	settle();
	ck_assert_int_eq((int)strlen(notes()), 9 * (int)strlen("x:canceled ") - 1);
	forget_notes();
	ck_assert_int_eq(bide_barrier_wait(&barrier), 9);
	settle();
	expect_notes("y0 y1 y2 y3 y4 y5 y6 y7 y8");
}

VIRTUAL_TEST(one_that_was_freed_and_canceled_then_keeps_its_place)
{
	fresh(2);
	bide_task *task = arrive("a");
	ck_assert_int_eq(bide_barrier_wait(&barrier), 1);
	cancel(task);
	settle();
	expect_notes("a0");
	cancel(bide_self());
	ck_fails(bide_barrier_wait(&barrier), ECANCELED);
	ck_assert_int_eq(bide_uncancel(), 0);
	arrive("b"); /* main did not arrive */
	expect_notes("a0");
	arrive("c");
	expect_notes("a0 c1 b0");
}

ORDERED_TEST(after_an_abort_all_fail_until_it_is_initialized_anew)
{
	fresh(3);
	arrive("a");
	bide_task *canceled = arrive("b");
	cancel(canceled);
	ck_assert_int_eq(bide_barrier_abort(&barrier), 0);
	ck_assert_int_eq(bide_barrier_abort(&barrier), 0);
	ck_fails(bide_barrier_wait(&barrier), EPIPE);
	settle();
	expect_notes("b:canceled a:aborted");
	forget_notes();
	fresh(2);
	arrive("c");
	arrive("d");
	expect_notes("d1 c0");
}

static int call_wait(void) { return bide_barrier_wait(&barrier); }
static int call_abort(void) { return bide_barrier_abort(&barrier); }
static int call_destroy(void) { return bide_barrier_destroy(&barrier); }

/* semantics 152 */
VIRTUAL_TEST(misuse_fails_and_changes_nothing)
{
	memset(&barrier, 0, sizeof barrier);
	ck_fails(call_wait(), EINVAL); /* not initialized */
	ck_fails(bide_barrier_init(&barrier, 0), EINVAL);
	ck_fails(bide_barrier_init(NULL, 1), EINVAL);
	ck_fails(bide_barrier_wait(NULL), EINVAL);
	ck_fails(bide_barrier_abort(NULL), EINVAL);
	ck_fails(bide_barrier_destroy(NULL), EINVAL);
	fresh(2);
	ck_assert_int_eq(errno_on_plain_thread(call_wait), EPERM);
	ck_assert_int_eq(errno_in_callback(call_wait), EPERM);
	arrive("a");
	ck_fails(call_destroy(), EBUSY);
	ck_assert_int_eq(errno_in_other_loop(call_wait), EPERM);
	ck_assert_int_eq(errno_in_other_loop(call_abort), EPERM);
	expect_notes("");
	ck_assert_int_eq(errno_in_callback(call_abort), 0);
	settle();
	expect_notes("a:aborted");
	ck_assert_int_eq(call_destroy(), 0);
	ck_fails(call_wait(), EINVAL);
}

/* As in a loop of steps: the last one of a step destroys it while the others have not run yet. */
VIRTUAL_TEST(once_all_are_freed_it_may_be_destroyed)
{
	fresh(2);
	arrive("a");
	ck_assert_int_eq(bide_barrier_wait(&barrier), 1);
	ck_assert_int_eq(call_destroy(), 0);
	memset(&barrier, 0x5a, sizeof barrier);
	settle();
	expect_notes("a0");
	for (size_t i = 0; i < sizeof barrier; i++)
		must(((unsigned char *)&barrier)[i] == 0x5a);
}

int main(void)
{
	return SUITE("barrier",
	    TEST(the_third_arrival_frees_all_and_each_has_its_place),
	    TEST(a_barrier_for_one_holds_nobody_up),
	    LOOP(a_canceled_waiter_does_not_count_as_arrived, 0, 2),
	    TEST(a_waiter_whose_time_is_over_does_not_count),
	    TEST(all_may_be_canceled_at_once_and_the_next_ones_start_over),
	    TEST(one_that_was_freed_and_canceled_then_keeps_its_place),
	    TEST(after_an_abort_all_fail_until_it_is_initialized_anew),
	    TEST(misuse_fails_and_changes_nothing),
	    TEST(once_all_are_freed_it_may_be_destroyed));
}
