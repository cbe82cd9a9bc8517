/* SPDX-License-Identifier: MIT
 * Once: bide/sync.h. */
#include "elsewhere.h"
#include "runs.h"
#include "trace.h"

static void cancel(bide_task *task)
{
	must_msg(bide_cancel(task, NULL) == 0, "bide_cancel: %s", strerror(errno));
}

static bide_once once;
static int calls, under_way, failures_left;

static void fresh(int failures)
{
	memset(&once, 0, sizeof once);
	calls = under_way = 0;
	failures_left = failures;
}

/* Takes a second; fails as often as it is to, or when it is canceled. */
static int initialize(void *arg)
{
	calls++;
	must(under_way++ == 0);
	int status = bide_sleep(BIDE_SEC);
	under_way--;
	if (status < 0)
		return -1;
	if (failures_left-- > 0) {
		errno = EIO;
		return -1;
	}
	if (arg)
		*(int *)arg += 1;
	errno = ENOENT; /* of no consequence */
	return 0;
}

static void *run_and_note(void *arg)
{
	int status = bide_once_run(&once, initialize, NULL);
	note("%s%s@%d", (char *)arg, status == 0 ? "" : errno == EIO ? ":failed" : errno == ECANCELED ? ":canceled" :
	    errno == ETIMEDOUT ? ":late" : "?", (int)(bide_now() / BIDE_SEC));
	return NULL;
}

ORDERED_TEST(one_calls_it_and_the_others_wait_until_it_has_succeeded)
{
	fresh(0);
	must_spawn(run_and_note, "a");
	must_spawn(run_and_note, "b");
	must_spawn(run_and_note, "c");
	pass(3 * BIDE_SEC);
	expect_notes("a@1 b@1 c@1");
	ck_assert_int_eq(calls, 1);
	undisturbed();
	uint64_t turn = loop_current->ready.turn;
	int ran = 0;
	ck_assert_int_eq(bide_once_run(&once, initialize, &ran), 0);
	ck_assert_int_eq(ran, 0);
	ck_assert_uint_eq(loop_current->ready.turn, turn);
}

ORDERED_TEST(when_it_fails_its_caller_is_told_and_the_next_in_line_calls_it)
{
	fresh(2);
	must_spawn(run_and_note, "a");
	must_spawn(run_and_note, "b");
	must_spawn(run_and_note, "c");
	must_spawn(run_and_note, "d");
	pass(10 * BIDE_SEC);
	expect_notes("a:failed@1 b:failed@2 c@3 d@3");
	ck_assert_int_eq(calls, 3);
}

VIRTUAL_TEST(after_a_failure_with_nobody_waiting_the_next_call_tries_again)
{
	fresh(1);
	int ran = 0;
	ck_fails(bide_once_run(&once, initialize, &ran), EIO);
	ck_assert_int_eq(bide_once_run(&once, initialize, &ran), 0);
	ck_assert_int_eq(ran, 1);
}

/* The one that calls it, one that waits, and one that was chosen to be the next. */
ORDERED_TEST(a_canceled_one_leaves_the_rest_to_the_others)
{
	fresh(0);
	bide_task *a = must_spawn(run_and_note, "a"), *b = must_spawn(run_and_note, "b");
	must_spawn(run_and_note, "c");
	must_spawn(run_and_note, "d");
	settle();
	cancel(_i == 1 ? b : a);
	if (_i == 2) {
		while (bide_task_state(a) != BIDE_TASK_DONE) /* it fails, and b is the next */
			must(bide_yield() == 0);
		ck_assert_int_eq(calls, 1);
		cancel(b); /* calls it all the same, with the cancel pending */
	}
	pass(10 * BIDE_SEC);
	static const char *const expected[] = { "a:canceled@0 b@1 c@1 d@1", "b:canceled@0 a@1 c@1 d@1",
		"a:canceled@0 b:canceled@0 c@1 d@1" };
	expect_notes(expected[_i]);
	static const int expected_calls[] = { 2, 1, 3 };
	ck_assert_int_eq(calls, expected_calls[_i]);
}

static int run_inside(void *arg)
{
	(void)arg;
	return bide_once_run(&once, run_inside, NULL);
}

static int negative(void *arg)
{
	(void)arg;
	errno = ERANGE;
	return -7;
}

static int call_run(void) { return bide_once_run(&once, initialize, NULL); }

ORDERED_TEST(misuse_fails_and_changes_nothing)
{
	fresh(0);
	ck_fails(bide_once_run(NULL, initialize, NULL), EINVAL);
	ck_fails(bide_once_run(&once, NULL, NULL), EINVAL);
	ck_fails(bide_once_run(&once, run_inside, NULL), EDEADLK);
	ck_fails(bide_once_run(&once, negative, NULL), ERANGE);
	cancel(bide_self());
	ck_fails(call_run(), ECANCELED);
	ck_assert_int_eq(calls, 0);
	ck_assert_int_eq(bide_uncancel(), 0);
	ck_assert_int_eq(errno_in_callback(call_run), EPERM);
	ck_assert_int_eq(errno_on_plain_thread(call_run), EPERM);
	must_spawn(run_and_note, "a");
	settle();
	ck_assert_int_eq(errno_in_other_loop(call_run), EPERM); /* with nobody in line */
	must_spawn(run_and_note, "b");
	settle();
	ck_assert_int_eq(errno_in_other_loop(call_run), EPERM);
	pass(5 * BIDE_SEC);
	expect_notes("a@1 b@1");
	ck_assert_int_eq(calls, 1);
}

int main(void)
{
	return SUITE("once",
	    TEST(one_calls_it_and_the_others_wait_until_it_has_succeeded),
	    TEST(when_it_fails_its_caller_is_told_and_the_next_in_line_calls_it),
	    TEST(after_a_failure_with_nobody_waiting_the_next_call_tries_again),
	    LOOP(a_canceled_one_leaves_the_rest_to_the_others, 0, 3),
	    TEST(misuse_fails_and_changes_nothing));
}
