/* SPDX-License-Identifier: MIT
 * The condition: bide/sync.h. Semantics 53, 146, 148, 152; scenarios E4, G9. */
#include <stdlib.h>

#include "elsewhere.h"
#include "runs.h"
#include "trace.h"

static void cancel(bide_task *task)
{
	must_msg(bide_cancel(task, NULL) == 0, "bide_cancel: %s", strerror(errno));
}

static bide_mutex mutex;
static bide_cond cond;
static struct reports reports;

static void fresh(void)
{
	memset(&mutex, 0, sizeof mutex);
	memset(&cond, 0, sizeof cond);
}

static void lock(void)
{
	must_msg(bide_mutex_lock(&mutex) == 0, "bide_mutex_lock: %s", strerror(errno));
}

static void unlock(void)
{
	must_msg(bide_mutex_unlock(&mutex) == 0, "bide_mutex_unlock: %s", strerror(errno));
}

static const char *outcome(int status)
{
	if (status == 0)
		return "ok";
	return errno == ECANCELED ? "canceled" : errno == ETIMEDOUT ? "late" : errno == EOWNERDEAD ? "heir" : strerror(errno);
}

/* Waits once, and holds the mutex again whatever came of it. */
static void *wait_and_note(void *arg)
{
	lock();
	int status = bide_cond_wait(&cond, &mutex);
	note("%s:%s", (char *)arg, outcome(status));
	ck_fails(bide_mutex_trylock(&mutex), EDEADLK);
	unlock();
	return NULL;
}

static bide_task *spawn_waiters(bide_task *tasks[], const char *names)
{
	static char texts[8][2];
	for (int i = 0; names[i]; i++) {
		texts[i][0] = names[i];
		tasks[i] = must_spawn(wait_and_note, texts[i]);
	}
	settle();
	return tasks[0];
}

/* ---- signals -------------------------------------------------------------------------------------------- */

/* semantics 148 */
ORDERED_TEST(signal_wakes_the_n_longest_waiting_and_broadcast_all)
{
	bide_task *tasks[5];
	fresh();
	spawn_waiters(tasks, "abcde");
	ck_assert_int_eq(bide_cond_signal(&cond, 0), 0);
	settle();
	expect_notes("");
	ck_assert_int_eq(bide_cond_signal(&cond, 1), 0);
	settle();
	expect_notes("a:ok");
	ck_assert_int_eq(bide_cond_signal(&cond, 2), 0);
	settle();
	expect_notes("a:ok b:ok c:ok");
	if (_i == 0)
		ck_assert_int_eq(bide_cond_broadcast(&cond), 0);
	else
		ck_assert_int_eq(bide_cond_signal(&cond, 100), 0); /* fewer are there */
	settle();
	expect_notes("a:ok b:ok c:ok d:ok e:ok");
}

/* scenario G9 */
VIRTUAL_TEST(a_signal_with_nobody_waiting_is_gone)
{
	bide_task *tasks[1];
	fresh();
	ck_assert_int_eq(bide_cond_signal(&cond, 3), 0);
	ck_assert_int_eq(bide_cond_broadcast(&cond), 0);
	spawn_waiters(tasks, "a");
	expect_notes("");
	ck_assert_int_eq(bide_cond_signal(&cond, 1), 0);
	settle();
	expect_notes("a:ok");
}

ORDERED_TEST(those_signaled_stand_in_the_mutexs_line_with_the_others)
{
	bide_task *tasks[2];
	fresh();
	spawn_waiters(tasks, "ab");
	lock();
	ck_assert_int_eq(bide_cond_signal(&cond, 1), 0);
	bide_task *third = must_spawn(wait_and_note, "c"); /* wants the mutex, after a and before b */
	settle();
	ck_assert_int_eq(bide_cond_signal(&cond, 1), 0);
	note("main");
	unlock();
	settle();
	expect_notes("main a:ok b:ok"); /* c waits now */
	ck_assert_int_eq(bide_cond_signal(&cond, 1), 0);
	must_join(third);
	expect_notes("main a:ok b:ok c:ok");
}

static int make_signal(void)
{
	return bide_cond_signal(&cond, 1);
}

static int make_broadcast(void)
{
	return bide_cond_broadcast(&cond);
}

ORDERED_TEST(callbacks_may_signal)
{
	bide_task *tasks[3];
	fresh();
	spawn_waiters(tasks, "abc");
	ck_assert_int_eq(errno_in_callback(make_signal), 0);
	expect_notes("a:ok");
	ck_assert_int_eq(errno_in_callback(make_broadcast), 0);
	expect_notes("a:ok b:ok c:ok");
}

ORDERED_TEST(after_a_broadcast_the_condition_may_be_destroyed_and_freed)
{
	static bide_cond *own;
	bide_task *tasks[3];
	fresh();
	spawn_waiters(tasks, "abc");
	own = &cond;
	lock();
	ck_fails(bide_cond_destroy(own), EBUSY);
	cancel(tasks[1]); /* woken and not returned yet: it does not look at the condition again either */
	ck_assert_int_eq(bide_cond_broadcast(own), 0);
	ck_assert_int_eq(bide_cond_destroy(own), 0);
	memset(own, 0x5a, sizeof *own);
	unlock();
	settle();
	for (size_t i = 0; i < sizeof *own; i++)
		must(((unsigned char *)own)[i] == 0x5a);
	expect_notes("a:ok c:ok b:canceled");
}

/* ---- cancels: scenario E4 ------------------------------------------------------------------------------------ */

/* Signal and cancel in one turn, in both orders, with the mutex free and held. */
ORDERED_TEST(a_signal_is_taken_or_goes_to_the_next)
{
	bide_task *tasks[2];
	bool signal_first = _i & 1, is_held = _i & 2;
	fresh();
	spawn_waiters(tasks, "ab");
	if (is_held)
		lock();
	if (signal_first)
		must(bide_cond_signal(&cond, 1) == 0);
	cancel(tasks[0]);
	if (!signal_first)
		must(bide_cond_signal(&cond, 1) == 0);
	if (is_held) {
		settle();
		unlock();
	}
	settle();
	expect_notes(signal_first ? "a:ok" : "b:ok a:canceled"); /* b had the mutex before a wanted it back */
	if (signal_first) { /* b still waits */
		must(bide_cond_signal(&cond, 1) == 0);
		settle();
	}
	must_join(tasks[0]);
	must_join(tasks[1]);
	ck_assert_int_eq(bide_cond_destroy(&cond), 0);
	ck_assert_int_eq(bide_mutex_destroy(&mutex), 0);
}

/* semantics 146 */
VIRTUAL_TEST(a_canceled_waiter_returns_only_when_it_holds_the_mutex_again)
{
	bide_task *tasks[1];
	fresh();
	spawn_waiters(tasks, "a");
	lock();
	cancel(tasks[0]);
	settle();
	cancel(tasks[0]);
	settle();
	expect_notes("");
	ck_fails(bide_mutex_destroy(&mutex), EBUSY);
	unlock();
	ck_fails(bide_mutex_trylock(&mutex), EBUSY);
	settle();
	expect_notes("a:canceled");
}

static void *wait_for_a_second(void *arg)
{
	bide_scope scope = { { 0 } };
	must(bide_scope_enter(&scope, bide_after(BIDE_SEC), 0) == 0);
	lock();
	int status = bide_cond_wait(&cond, &mutex);
	note("%s:%s@%d", (char *)arg, outcome(status), (int)(bide_now() / BIDE_SEC));
	unlock();
	must((bide_scope_leave(&scope) < 0) == (status < 0 && !bide_canceling()));
	return NULL;
}

VIRTUAL_TEST(a_waiter_whose_time_is_over_holds_the_mutex_too)
{
	fresh();
	must_spawn(wait_for_a_second, "a");
	settle();
	lock();
	pass(3 * BIDE_SEC);
	unlock();
	settle();
	expect_notes("a:late@3");
}

static void *lock_and_note(void *arg)
{
	lock();
	note("%s", (char *)arg);
	unlock();
	return NULL;
}

VIRTUAL_TEST(a_waiter_that_wants_the_mutex_back_keeps_its_place_whatever_else_comes)
{
	fresh();
	bide_task *task = must_spawn(wait_for_a_second, "a");
	settle();
	lock();
	pass(2 * BIDE_SEC);
	must_spawn(lock_and_note, "b");
	settle();
	cancel(task); /* besides: its errno is another one now */
	settle();
	unlock();
	settle();
	expect_notes("a:late@2 b");
}

/* A signal in time, and the mutex only after the deadline: the signal was taken. */
VIRTUAL_TEST(a_signal_that_came_in_time_counts_though_the_mutex_comes_late)
{
	fresh();
	must_spawn(wait_for_a_second, "a");
	settle();
	lock();
	must(bide_cond_signal(&cond, 1) == 0);
	pass(3 * BIDE_SEC);
	unlock();
	settle();
	expect_notes("a:ok@3");
}

/* semantics 53 */
VIRTUAL_TEST(with_a_cancel_pending_the_mutex_is_held_throughout_and_no_signal_taken)
{
	bide_task *tasks[1];
	fresh();
	lock();
	cancel(bide_self());
	ck_fails(bide_cond_wait(&cond, &mutex), ECANCELED);
	ck_fails(bide_mutex_trylock(&mutex), EDEADLK);
	ck_assert_int_eq(bide_cond_signal(&cond, 1), 0);
	ck_assert_int_eq(bide_uncancel(), 0);
	unlock();
	spawn_waiters(tasks, "a"); /* waits: that signal is gone */
	expect_notes("");
	must(bide_cond_signal(&cond, 1) == 0);
	settle();
	expect_notes("a:ok");
}

/* ---- owners that end ---------------------------------------------------------------------------------------------- */

static void *lock_and_end(void *arg)
{
	lock();
	if (arg)
		pass(BIDE_SEC);
	return NULL;
}

/* The owner ends before, or while, the waiter wants the mutex back: by a signal, or by a cancel. */
static void *let_the_owner_die(void *arg)
{
	bide_task *tasks[1];
	bool by_signal = *(int *)arg & 1, dies_first = *(int *)arg & 2;
	spawn_waiters(tasks, "a");
	bide_task *owner = must_spawn(lock_and_end, dies_first ? NULL : "sleeps");
	settle();
	if (by_signal)
		must(bide_cond_signal(&cond, 1) == 0);
	else
		cancel(tasks[0]);
	must_join(owner);
	must_join(tasks[0]);
	lock(); /* told once */
	unlock();
	must(bide_mutex_destroy(&mutex) == 0);
	return arg;
}

START_TEST(a_waiter_is_told_that_the_owner_of_the_mutex_ended)
{
	fresh();
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	bide_result result;
	ck_assert_int_eq(bide_run(let_the_owner_die, &_i, &config, &result), 0);
	ck_assert_int_eq(result.err, 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_OWNER_DEAD], 1);
	expect_notes("a:heir");
}
END_TEST

/* ---- misuse ----------------------------------------------------------------------------------------------------------- */

static int call_wait(void) { return bide_cond_wait(&cond, &mutex); }
static int call_destroy(void) { return bide_cond_destroy(&cond); }

static void *wait_without_the_mutex(void *arg)
{
	ck_fails(call_wait(), EPERM);
	return arg;
}

/* semantics 146, 152 */
VIRTUAL_TEST(misuse_fails_and_changes_nothing)
{
	bide_task *tasks[1];
	fresh();
	ck_fails(bide_cond_wait(NULL, &mutex), EINVAL);
	ck_fails(bide_cond_wait(&cond, NULL), EINVAL);
	ck_fails(bide_cond_signal(NULL, 1), EINVAL);
	ck_fails(bide_cond_signal(&cond, -1), EINVAL);
	ck_fails(bide_cond_broadcast(NULL), EINVAL);
	ck_fails(bide_cond_destroy(NULL), EINVAL);
	ck_fails(call_wait(), EPERM); /* nobody holds the mutex */
	lock();
	must_end_well(must_spawn(wait_without_the_mutex, NULL));
	ck_assert_int_eq(errno_in_callback(call_wait), EPERM);
	ck_assert_int_eq(errno_on_plain_thread(call_wait), EPERM);
	unlock();
	spawn_waiters(tasks, "a");
	ck_fails(call_destroy(), EBUSY);
	ck_fails(bide_mutex_destroy(&mutex), EBUSY); /* a will be back */
	ck_assert_int_eq(errno_on_plain_thread(make_signal), EPERM);
	ck_assert_int_eq(errno_in_other_loop(make_signal), EPERM);
	ck_assert_int_eq(errno_in_other_loop(make_broadcast), EPERM);
	settle();
	expect_notes("");
	ck_assert_int_eq(make_signal(), 0);
	settle();
	expect_notes("a:ok");
	ck_assert_int_eq(call_destroy(), 0);
	ck_assert_int_eq(bide_mutex_destroy(&mutex), 0);
}

static void *wait_until_deadlock(void *arg)
{
	lock();
	ck_fails(bide_cond_wait(&cond, &mutex), EDEADLK);
	unlock(); /* it holds it, here too */
	return arg;
}

START_TEST(a_waiter_that_nobody_will_signal_is_told)
{
	char expected[80];
	fresh();
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	ck_fails(bide_run(wait_until_deadlock, NULL, &config, NULL), EDEADLK);
	snprintf(expected, sizeof expected, "\"main\" waits for condition %p", (void *)&cond);
	ck_assert_msg(strstr(reports.text[BIDE_REPORT_DEADLOCK], expected), "%s", reports.text[BIDE_REPORT_DEADLOCK]);
}
END_TEST

int main(void)
{
	return SUITE("cond",
	    LOOP(signal_wakes_the_n_longest_waiting_and_broadcast_all, 0, 2),
	    TEST(a_signal_with_nobody_waiting_is_gone),
	    TEST(those_signaled_stand_in_the_mutexs_line_with_the_others),
	    TEST(callbacks_may_signal),
	    TEST(after_a_broadcast_the_condition_may_be_destroyed_and_freed),
	    LOOP(a_signal_is_taken_or_goes_to_the_next, 0, 4),
	    TEST(a_canceled_waiter_returns_only_when_it_holds_the_mutex_again),
	    TEST(a_waiter_whose_time_is_over_holds_the_mutex_too),
	    TEST(a_waiter_that_wants_the_mutex_back_keeps_its_place_whatever_else_comes),
	    TEST(a_signal_that_came_in_time_counts_though_the_mutex_comes_late),
	    TEST(with_a_cancel_pending_the_mutex_is_held_throughout_and_no_signal_taken),
	    LOOP(a_waiter_is_told_that_the_owner_of_the_mutex_ended, 0, 4),
	    TEST(misuse_fails_and_changes_nothing),
	    TEST(a_waiter_that_nobody_will_signal_is_told));
}
