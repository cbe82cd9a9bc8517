/* SPDX-License-Identifier: MIT
 * The semaphore: bide/sync.h. Semantics 139 to 145, 152; scenarios E2, E13, G1. */
#include <limits.h>
#include <stdlib.h>

#include "base/random.h"
#include "elsewhere.h"
#include "runs.h"
#include "trace.h"

static void cancel(bide_task *task)
{
	must_msg(bide_cancel(task, NULL) == 0, "bide_cancel: %s", strerror(errno));
}

static bide_sem sem;

static void fresh(int value, int max)
{
	must(bide_sem_init(&sem, value, max) == 0);
}

struct request {
	const char *name;
	int n;
	bide_time timeout; /* 0: none */
};

/* Notes how it ended; keeps the permits. */
static void *acquire_and_note(void *arg)
{
	const struct request *request = arg;
	bide_scope scope = { { 0 } };
	if (request->timeout)
		must(bide_scope_enter(&scope, bide_after(request->timeout), 0) == 0);
	int status = bide_sem_acquire(&sem, request->n);
	note("%s%s", request->name, status == 0 ? "" : errno == ECANCELED ? ":canceled" : errno == ETIMEDOUT ? ":late" : "?");
	if (request->timeout)
		must((bide_scope_leave(&scope) < 0) == (status < 0));
	return NULL;
}

static bide_task *ask(const struct request *request)
{
	bide_task *task = must_spawn(acquire_and_note, (void *)(uintptr_t)request);
	settle();
	return task;
}

static const struct request a1 = { "a", 1, 0 }, b1 = { "b", 1, 0 }, c1 = { "c", 1, 0 }, big = { "big", 3, 0 },
	big_for_a_second = { "big", 3, BIDE_SEC };

/* ---- order ------------------------------------------------------------------------------------------------ */

VIRTUAL_TEST(all_zero_is_a_semaphore_of_value_0_without_limit)
{
	memset(&sem, 0, sizeof sem);
	ck_assert_int_eq(bide_sem_value(&sem), 0);
	ask(&a1);
	expect_notes("");
	ck_assert_int_eq(bide_sem_release(&sem, INT_MAX), 0);
	settle();
	expect_notes("a");
	ck_assert_int_eq(bide_sem_value(&sem), INT_MAX - 1);
}

/* semantics 143 */
VIRTUAL_TEST(a_big_request_at_the_head_is_not_overtaken_by_small_ones)
{
	fresh(2, 0);
	ask(&big);
	ask(&a1);
	expect_notes("");
	ck_fails(bide_sem_tryacquire(&sem, 1), EAGAIN); /* others wait */
	ck_assert_int_eq(bide_sem_value(&sem), 2);
	ck_assert_int_eq(bide_sem_release(&sem, 1), 0);
	settle();
	expect_notes("big");
	ck_assert_int_eq(bide_sem_release(&sem, 1), 0);
	settle();
	expect_notes("big a");
	ck_assert_int_eq(bide_sem_value(&sem), 0);
}

ORDERED_TEST(one_release_serves_as_many_as_it_can)
{
	fresh(0, 0);
	ask(&a1);
	ask(&b1);
	ask(&big);
	ask(&c1);
	ck_assert_int_eq(bide_sem_release(&sem, 4), 0);
	settle();
	expect_notes("a b");
	ck_assert_int_eq(bide_sem_value(&sem), 2);
	ck_assert_int_eq(bide_sem_release(&sem, 2), 0);
	settle();
	expect_notes("a b big c");
}

/* The head of the line leaves: those it held up move up, without a further release. */
ORDERED_TEST(when_a_big_request_leaves_the_small_ones_move_up)
{
	fresh(2, 0);
	bide_task *head = ask(_i == 0 ? &big : &big_for_a_second);
	ask(&a1);
	ask(&b1);
	ask(&c1);
	expect_notes("");
	if (_i == 0)
		cancel(head);
	else
		pass(2 * BIDE_SEC);
	settle();
	expect_notes(_i == 0 ? "big:canceled a b" : "big:late a b");
	ck_assert_int_eq(bide_sem_value(&sem), 0);
	ck_assert_int_eq(bide_sem_release(&sem, 1), 0);
	settle();
	expect_notes(_i == 0 ? "big:canceled a b c" : "big:late a b c");
}

static bool a_thief_ran;

static void *try_to_steal(void *arg)
{
	ck_fails(bide_sem_tryacquire(&sem, 1), EAGAIN);
	ck_assert_int_eq(bide_sem_value(&sem), 0);
	a_thief_ran = true;
	return arg;
}

static void *acquire_after_the_thief(void *arg)
{
	must(bide_sem_acquire(&sem, 1) == 0);
	must(a_thief_ran);
	return arg;
}

/* semantics 139 */
ORDERED_TEST(nobody_takes_what_was_given_to_a_waiter_that_has_not_run_yet)
{
	fresh(0, 1);
	a_thief_ran = false;
	bide_task *thief = must_spawn(try_to_steal, NULL);
	bide_task *waiter = must_spawn(acquire_after_the_thief, NULL);
	(void)thief;
	settle();
	a_thief_ran = false;
	thief = must_spawn(try_to_steal, NULL); /* ready before the waiter is */
	ck_assert_int_eq(bide_sem_release(&sem, 1), 0);
	ck_assert_int_eq(bide_sem_value(&sem), 0);
	must_end_well(waiter);
	ck_assert_int_eq(bide_sem_value(&sem), 0);
}

#define CROWD 1000

static int served[CROWD], served_count;

static void *acquire_and_tell(void *arg)
{
	if (bide_sem_acquire(&sem, 1) == 0)
		served[served_count++] = (int)(intptr_t)arg;
	return NULL;
}

/* scenario G1 */
ORDERED_TEST(the_order_of_waking_is_the_order_of_waiting)
{
	static bide_task *tasks[CROWD];
	bool canceled[CROWD] = { false };
	struct random random = { (uint64_t)_i + 1 };
	int given = 0;
	fresh(0, 0);
	served_count = 0;
	for (intptr_t i = 0; i < CROWD; i++)
		tasks[i] = must_spawn(acquire_and_tell, (void *)i);
	settle();
	while (given < CROWD) {
		size_t victim = random_below(&random, CROWD);
		int before = bide_task_state(tasks[victim]) == BIDE_TASK_SUSPENDED;
		if (before) { /* not served yet */
			cancel(tasks[victim]);
			canceled[victim] = true;
		}
		given++;
		must(bide_sem_release(&sem, 1) == 0);
		if (random_below(&random, 3) == 0)
			must(bide_yield() == 0);
	}
	settle();
	int next = 0;
	for (int i = 0; i < CROWD; i++)
		if (!canceled[i])
			must(next < served_count && served[next++] == i);
	ck_assert_int_eq(next, served_count);
	ck_assert_int_eq(served_count + bide_sem_value(&sem), given);
}

static void *job_of_a_second(void *arg)
{
	must(bide_sem_acquire(&sem, 1) == 0);
	note("%d", (int)(bide_now() / BIDE_SEC));
	pass(BIDE_SEC);
	must(bide_sem_release(&sem, 1) == 0);
	return arg;
}

/* semantics 145, and the golden trace */
VIRTUAL_TEST(two_permits_and_five_jobs_of_a_second)
{
	fresh(2, 2);
	bide_task *tasks[5];
	for (int i = 0; i < 5; i++)
		tasks[i] = must_spawn(job_of_a_second, NULL);
	for (int i = 0; i < 5; i++)
		must_join(tasks[i]);
	expect_notes("0 0 1 1 2");
	ck_assert(bide_now() == 3 * BIDE_SEC);
	ck_assert_int_eq(bide_sem_value(&sem), 2);
}

/* ---- cancels ----------------------------------------------------------------------------------------------------- */

/* semantics 140, 141; scenario E2 */
ORDERED_TEST(a_permit_goes_to_the_canceled_waiter_or_to_the_next_never_to_nobody)
{
	fresh(0, 0);
	bide_task *first = ask(&a1);
	ask(&b1);
	if (_i == 0) {
		cancel(first);
		must(bide_sem_release(&sem, 1) == 0);
		settle();
		expect_notes("a:canceled b");
	} else {
		must(bide_sem_release(&sem, 1) == 0);
		cancel(first);
		settle();
		expect_notes("a");
		must(bide_sem_release(&sem, 1) == 0);
		settle();
		expect_notes("a b");
	}
	ck_assert_int_eq(bide_sem_value(&sem), 0);
}

VIRTUAL_TEST(with_a_cancel_pending_acquire_takes_nothing)
{
	fresh(3, 0);
	cancel(bide_self());
	ck_fails(bide_sem_acquire(&sem, 1), ECANCELED);
	ck_assert_int_eq(bide_sem_value(&sem), 3);
	ck_assert_int_eq(bide_sem_tryacquire(&sem, 2), 0);
	ck_assert_int_eq(bide_sem_release(&sem, 2), 0);
	ck_assert_int_eq(bide_uncancel(), 0);
}

static int saw_cancel, got_permit;

static void *use_the_pool(void *arg)
{
	bool was_canceled = false;
	if (bide_sem_acquire(&sem, 1) < 0) {
		must(errno == ECANCELED);
		saw_cancel++;
		return arg;
	}
	got_permit++;
	if (bide_yield() < 0) {
		must(errno == ECANCELED);
		was_canceled = true;
	}
	saw_cancel += was_canceled;
	must(bide_sem_release(&sem, 1) == 0);
	return arg;
}

/* scenario E13: a pool of one, a thousand that want it, cancels at the hand-over */
VIRTUAL_TEST(every_cancel_is_seen_once_and_the_pool_is_whole_at_the_end)
{
	static bide_task *tasks[CROWD];
	struct random random = { (uint64_t)_i + 1 };
	int cancels = 0;
	bool is_canceled[CROWD] = { false };
	fresh(1, 1);
	saw_cancel = got_permit = 0;
	for (int i = 0; i < CROWD; i++)
		tasks[i] = must_spawn(use_the_pool, "x");
	must(bide_yield() == 0);
	for (;;) {
		int alive = 0;
		for (int i = 0; i < CROWD; i++)
			alive += bide_task_state(tasks[i]) != BIDE_TASK_DONE;
		if (alive == 0)
			break;
		size_t victim = random_below(&random, CROWD);
		/* One that has done its last suspending call is not to be counted. */
		if (!is_canceled[victim] && bide_task_state(tasks[victim]) == BIDE_TASK_SUSPENDED) {
			cancel(tasks[victim]);
			is_canceled[victim] = true;
			cancels++;
		}
		must(bide_yield() == 0);
	}
	ck_assert_int_eq(saw_cancel, cancels);
	ck_assert_int_gt(cancels, 10);
	ck_assert_int_eq(bide_sem_value(&sem), 1);
	for (int i = 0; i < CROWD; i++)
		must_join(tasks[i]);
}

/* ---- bounds and misuse: semantics 144, 152 --------------------------------------------------------------------------- */

static const struct {
	int value, max, err;
} inits[] = { { 0, 0, 0 }, { 5, 0, 0 }, { 5, 5, 0 }, { INT_MAX, INT_MAX, 0 }, { -1, 0, EINVAL }, { 0, -1, EINVAL },
	{ 6, 5, EINVAL } };

VIRTUAL_TEST(init_checks_value_and_limit)
{
	if (inits[_i].err)
		ck_fails(bide_sem_init(&sem, inits[_i].value, inits[_i].max), inits[_i].err);
	else
		ck_assert_int_eq(bide_sem_init(&sem, inits[_i].value, inits[_i].max), 0);
	ck_fails(bide_sem_init(NULL, 0, 0), EINVAL);
}

VIRTUAL_TEST(the_value_never_exceeds_its_limit)
{
	fresh(4, 5);
	ck_fails(bide_sem_release(&sem, 2), EOVERFLOW);
	ck_assert_int_eq(bide_sem_value(&sem), 4);
	ck_assert_int_eq(bide_sem_release(&sem, 1), 0);
	ck_fails(bide_sem_release(&sem, 1), EOVERFLOW);
	ck_fails(bide_sem_release(&sem, INT_MAX), EOVERFLOW);
	fresh(INT_MAX - 1, 0);
	ck_fails(bide_sem_release(&sem, 2), EOVERFLOW);
	ck_assert_int_eq(bide_sem_release(&sem, 1), 0);
	ck_fails(bide_sem_release(&sem, 1), EOVERFLOW);
	ck_assert_int_eq(bide_sem_value(&sem), INT_MAX);
	fresh(2, 3);
	bide_task *waiter = ask(&big);
	ck_fails(bide_sem_release(&sem, 2), EOVERFLOW); /* with somebody waiting too */
	ck_assert_int_eq(bide_sem_release(&sem, 1), 0);
	must_join(waiter);
	ck_assert_int_eq(bide_sem_value(&sem), 0);
}

static int call_acquire(void) { return bide_sem_acquire(&sem, 1); }
static int call_tryacquire(void) { return bide_sem_tryacquire(&sem, 1); }
static int call_release(void) { return bide_sem_release(&sem, 1); }
static int call_destroy(void) { return bide_sem_destroy(&sem); }

VIRTUAL_TEST(misuse_fails_and_changes_nothing)
{
	fresh(0, 3);
	ck_fails(bide_sem_acquire(NULL, 1), EINVAL);
	ck_fails(bide_sem_tryacquire(NULL, 1), EINVAL);
	ck_fails(bide_sem_release(NULL, 1), EINVAL);
	ck_fails(bide_sem_value(NULL), EINVAL);
	ck_fails(bide_sem_destroy(NULL), EINVAL);
	for (int n = -1; n <= 0; n++) {
		ck_fails(bide_sem_acquire(&sem, n), EINVAL);
		ck_fails(bide_sem_tryacquire(&sem, n), EINVAL);
		ck_fails(bide_sem_release(&sem, n), EINVAL);
	}
	ck_fails(bide_sem_acquire(&sem, 4), EINVAL); /* more than there can ever be */
	ck_fails(bide_sem_tryacquire(&sem, 4), EINVAL);
	ck_fails(bide_sem_tryacquire(&sem, 1), EAGAIN);
	ck_assert_int_eq(errno_in_callback(call_acquire), EPERM);
	ck_assert_int_eq(errno_in_callback(call_release), 0);
	ck_assert_int_eq(errno_in_callback(call_tryacquire), 0);
	ck_assert_int_eq(errno_on_plain_thread(call_acquire), EPERM);
	ck_assert_int_eq(errno_on_plain_thread(call_release), EPERM);
	bide_task *waiter = ask(&a1);
	ck_fails(call_destroy(), EBUSY);
	ck_assert_int_eq(errno_in_other_loop(call_acquire), EPERM);
	ck_assert_int_eq(errno_in_other_loop(call_release), EPERM);
	ck_assert_int_eq(errno_in_other_loop(call_tryacquire), EPERM);
	ck_assert_int_eq(bide_sem_value(&sem), 0);
	cancel(waiter);
	ck_fails(call_destroy(), EBUSY); /* it has not returned, and will look whether it held others up */
	must_join(waiter);
	expect_notes("a:canceled");
	ck_assert_int_eq(call_destroy(), 0);
	static const bide_sem zero;
	ck_assert_mem_eq(&sem, &zero, sizeof zero);
}

/* One that was served does not look at the semaphore again. */
ORDERED_TEST(a_semaphore_may_be_destroyed_when_its_waiters_have_been_served)
{
	fresh(0, 0);
	bide_task *a = ask(&a1), *b = ask(&b1);
	must(bide_sem_release(&sem, 2) == 0);
	ck_assert_int_eq(call_destroy(), 0);
	memset(&sem, 0x5a, sizeof sem);
	must_join(a);
	must_join(b);
	for (size_t i = 0; i < sizeof sem; i++)
		must(((unsigned char *)&sem)[i] == 0x5a);
	expect_notes("a b");
}

int main(void)
{
	return SUITE("sem",
	    TEST(all_zero_is_a_semaphore_of_value_0_without_limit),
	    TEST(a_big_request_at_the_head_is_not_overtaken_by_small_ones),
	    TEST(one_release_serves_as_many_as_it_can),
	    LOOP(when_a_big_request_leaves_the_small_ones_move_up, 0, 2),
	    TEST(nobody_takes_what_was_given_to_a_waiter_that_has_not_run_yet),
	    LOOP(the_order_of_waking_is_the_order_of_waiting, 0, 5),
	    TEST(two_permits_and_five_jobs_of_a_second),
	    LOOP(a_permit_goes_to_the_canceled_waiter_or_to_the_next_never_to_nobody, 0, 2),
	    TEST(with_a_cancel_pending_acquire_takes_nothing),
	    LOOP(every_cancel_is_seen_once_and_the_pool_is_whole_at_the_end, 0, 5),
	    TABLE(init_checks_value_and_limit, inits),
	    TEST(the_value_never_exceeds_its_limit),
	    TEST(misuse_fails_and_changes_nothing),
	    TEST(a_semaphore_may_be_destroyed_when_its_waiters_have_been_served));
}
