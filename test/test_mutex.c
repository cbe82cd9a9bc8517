/* SPDX-License-Identifier: MIT
 * The mutex: bide/sync.h. Semantics 64, 135 to 138, 152; scenarios E2, E17, G1, G2. */
#include <stdlib.h>

#include "await/record.h"
#include "base/random.h"
#include "elsewhere.h"
#include "runs.h"
#include "trace.h"

static bide_mutex mutex, two[2];
static struct reports reports;

static void cancel(bide_task *task)
{
	must_msg(bide_cancel(task, NULL) == 0, "bide_cancel: %s", strerror(errno));
}

static void lock(void)
{
	must_msg(bide_mutex_lock(&mutex) == 0, "bide_mutex_lock: %s", strerror(errno));
}

static void unlock(void)
{
	must_msg(bide_mutex_unlock(&mutex) == 0, "bide_mutex_unlock: %s", strerror(errno));
}

static void fresh(void)
{
	memset(&mutex, 0, sizeof mutex);
}

/* Notes that it holds the lock, or why not, and gives it up in the same turn. */
static void *lock_note_unlock(void *arg)
{
	if (bide_mutex_lock(&mutex) < 0) {
		note("%s:%s", (char *)arg, errno == ECANCELED ? "canceled" : errno == ETIMEDOUT ? "late" : strerror(errno));
		return NULL;
	}
	note("%s", (char *)arg);
	unlock();
	return NULL;
}

static void *lock_for_a_second(void *arg)
{
	lock();
	pass(BIDE_SEC);
	unlock();
	return arg;
}

/* ---- order ------------------------------------------------------------------------------------------- */

ORDERED_TEST(who_comes_first_is_served_first)
{
	fresh();
	lock();
	static char *names[] = { "a", "b", "c", "d" };
	for (int i = 0; i < 4; i++)
		must_spawn(lock_note_unlock, names[i]);
	settle();
	note("main");
	unlock();
	ck_fails(bide_mutex_trylock(&mutex), EBUSY); /* handed over already */
	settle();
	expect_notes("main a b c d");
	ck_assert_int_eq(bide_mutex_destroy(&mutex), 0);
}

static int rounds, rounds_until_served;

static void *lock_again_and_again(void *arg)
{
	for (rounds = 1; rounds <= 10; rounds++) {
		lock();
		if (rounds == 1)
			must(bide_yield() == 0); /* the other one comes */
		unlock();
	}
	return arg;
}

static void *lock_once(void *arg)
{
	lock();
	rounds_until_served = rounds;
	unlock();
	return arg;
}

/* scenario G1 */
VIRTUAL_TEST(who_unlocks_and_locks_again_at_once_does_not_starve_a_waiter)
{
	fresh();
	bide_task *greedy = must_spawn(lock_again_and_again, NULL), *waiter = must_spawn(lock_once, NULL);
	must_end_well(greedy);
	must_end_well(waiter);
	ck_assert_int_le(rounds_until_served, 2);
}

#define CROWD 1000

static int served[CROWD], served_count;

static void *lock_and_tell(void *arg)
{
	if (bide_mutex_lock(&mutex) < 0)
		return NULL;
	served[served_count++] = (int)(intptr_t)arg;
	unlock();
	return NULL;
}

/* scenario G1: with random cancels, before and between the hand-overs */
ORDERED_TEST(the_order_of_waking_is_the_order_of_waiting)
{
	static bide_task *tasks[CROWD];
	bool canceled[CROWD] = { false };
	struct random random = { (uint64_t)_i + 1 };
	fresh();
	served_count = 0;
	lock();
	for (intptr_t i = 0; i < CROWD; i++)
		tasks[i] = must_spawn(lock_and_tell, (void *)i);
	settle();
	for (int i = 0; i < CROWD / 3; i++) {
		size_t victim = random_below(&random, CROWD);
		canceled[victim] = bide_cancel(tasks[victim], NULL) == 0;
	}
	unlock();
	for (int i = 0; i < CROWD; i++)
		must_join(tasks[i]);
	int next = 0;
	for (int i = 0; i < CROWD; i++)
		if (!canceled[i])
			must(next < served_count && served[next++] == i);
	ck_assert_int_eq(next, served_count);
	ck_assert_int_lt(served_count, CROWD);
	ck_assert_int_eq(bide_mutex_trylock(&mutex), 0);
	unlock();
}

static int unlocked;

static void *lock_in_the_chain(void *arg)
{
	lock();
	int before = ++unlocked;
	unlock();
	must(unlocked == before); /* nobody ran inside of unlock */
	return arg;
}

/* issue 5, point 3 */
VIRTUAL_TEST(a_hundred_thousand_waiters_unlock_in_a_chain_without_nesting)
{
	int crowd = suite_is_native() ? 100000 : 5000; /* ThreadSanitizer has room for 8,000 */
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.stack_size = bide_stack_min() + 16384;
	attr.flags = BIDE_DETACHED;
	fresh();
	unlocked = 0;
	lock();
	for (int i = 0; i < crowd; i++) {
		if (!bide_spawn_with(lock_in_the_chain, NULL, &attr)) {
			ck_assert_int_eq(errno, ENOMEM); /* this machine's limits */
			crowd = i;
		}
	}
	ck_assert_int_gt(crowd, 1000);
	settle();
	unlock();
	settle();
	ck_assert_int_eq(unlocked, crowd);
}

/* ---- cancels ------------------------------------------------------------------------------------------- */

/* semantics 136; scenario E2 */
ORDERED_TEST(a_waiter_that_is_canceled_leaves_and_the_next_one_gets_the_lock)
{
	fresh();
	lock();
	bide_task *first = must_spawn(lock_note_unlock, "first");
	must_spawn(lock_note_unlock, "second");
	settle();
	if (_i == 0) { /* in one turn, in both orders */
		cancel(first);
		unlock();
	} else {
		unlock();
		cancel(first);
	}
	settle();
	expect_notes(_i == 0 ? "first:canceled second" : "first second");
	ck_assert_int_eq(bide_mutex_trylock(&mutex), 0);
	unlock();
}

static void *lock_and_keep_though_canceled(void *arg)
{
	must(bide_mutex_lock(&mutex) == 0); /* the result wins */
	must(bide_canceling() == 1);
	ck_fails(bide_yield(), ECANCELED); /* and the cancel is pending */
	ck_fails(bide_mutex_lock(&mutex), ECANCELED);
	ck_fails(bide_mutex_trylock(&mutex), EDEADLK); /* it owns it */
	unlock(); /* no cancellation point */
	return arg;
}

/* semantics 137 */
VIRTUAL_TEST(a_lock_that_was_handed_over_stays_with_a_task_that_is_canceled_then)
{
	fresh();
	lock();
	bide_task *task = must_spawn(lock_and_keep_though_canceled, "x");
	settle();
	unlock();
	cancel(task);
	ck_fails(bide_mutex_trylock(&mutex), EBUSY);
	must_end_well(task);
	ck_assert_int_eq(bide_mutex_destroy(&mutex), 0);
}

/* semantics 39, 40 */
VIRTUAL_TEST(with_a_cancel_pending_lock_takes_nothing)
{
	fresh();
	cancel(bide_self());
	ck_fails(bide_mutex_lock(&mutex), ECANCELED);
	ck_assert_int_eq(bide_mutex_trylock(&mutex), 0); /* it was free; and this one does not suspend */
	unlock();
	ck_assert_int_eq(bide_uncancel(), 0);
}

static void *lock_within_half_a_second(void *arg)
{
	bide_scope scope = { { 0 } };
	must(bide_scope_enter(&scope, bide_after(BIDE_SEC / 2), 0) == 0);
	lock_note_unlock(arg);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	return NULL;
}

ORDERED_TEST(a_deadline_ends_the_wait_and_the_line_moves_up)
{
	fresh();
	bide_task *holder = must_spawn(lock_for_a_second, NULL);
	settle();
	must_spawn(lock_within_half_a_second, "a");
	must_spawn(lock_note_unlock, "b");
	must_end_well(holder);
	settle();
	expect_notes("a:late b");
}

/* ---- owners that end: semantics 64, 138; scenario E17 ----------------------------------------------------- */

enum { BY_RETURN, BY_EXIT, BY_CANCEL, BY_FAILING, WAYS };

static void *end_holding(void *arg)
{
	int way = *(int *)arg;
	memset(two, 0, sizeof two);
	must(bide_mutex_lock(&two[0]) == 0); /* had and given up: not told of */
	lock();
	must(bide_mutex_unlock(&two[0]) == 0);
	int status = bide_sleep(BIDE_SEC);
	must((status < 0) == (way == BY_CANCEL));
	if (way == BY_EXIT)
		bide_exit("x");
	return way == BY_FAILING ? bide_fail(EIO) : NULL;
}

static void *inherit(void *arg)
{
	ck_fails(bide_mutex_lock(&mutex), EOWNERDEAD);
	ck_fails(bide_mutex_lock(&mutex), EDEADLK); /* it holds it */
	note("%s", (char *)arg);
	unlock();
	return NULL;
}

static void *let_an_owner_die(void *arg)
{
	int way = *(int *)arg % WAYS;
	bool has_waiters = *(int *)arg >= WAYS;
	bide_task *owner = must_spawn_named("owner", end_holding, &way);
	settle();
	if (has_waiters) {
		must_spawn(inherit, "heir");
		must_spawn(lock_note_unlock, "next"); /* told once: all is well for the one behind */
	}
	settle();
	if (way == BY_CANCEL)
		cancel(owner);
	must_join(owner);
	settle();
	if (!has_waiters) {
		ck_fails(bide_mutex_trylock(&mutex), EOWNERDEAD);
		unlock();
		lock();
		unlock();
	}
	return arg;
}

START_TEST(the_next_one_is_told_that_the_owner_ended_and_holds_the_lock)
{
	char expected[80];
	fresh();
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	bide_result result;
	ck_assert_int_eq(bide_run(let_an_owner_die, &_i, &config, &result), 0);
	ck_assert_int_eq(result.err, 0);
	expect_notes(_i >= WAYS ? "heir next" : "");
	ck_assert_int_eq(reports.count[BIDE_REPORT_OWNER_DEAD], 1);
	snprintf(expected, sizeof expected, "task 2 \"owner\" ended while holding mutex %p", (void *)&mutex);
	ck_assert_ptr_eq(strstr(reports.text[BIDE_REPORT_OWNER_DEAD], expected), reports.text[BIDE_REPORT_OWNER_DEAD]);
	ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_OWNER_DEAD], "; spawned at ")); /* scenario E17 */
	ck_assert_int_eq(reports.count[BIDE_REPORT_MISUSE], 0);
}
END_TEST

static void *end_holding_two(void *arg)
{
	must(bide_mutex_lock(&mutex) == 0 && bide_mutex_lock(&two[0]) == 0 && bide_mutex_lock(&two[1]) == 0);
	unlock();
	pass(BIDE_SEC);
	return arg;
}

static void *inherit_one(void *arg)
{
	ck_fails(bide_mutex_lock(arg), EOWNERDEAD);
	must(bide_mutex_unlock(arg) == 0);
	note("heir");
	return arg;
}

static void *let_an_owner_of_two_die(void *arg)
{
	memset(two, 0, sizeof two);
	must_spawn(end_holding_two, NULL);
	settle();
	bide_task *heirs[2] = { must_spawn(inherit_one, &two[1]), must_spawn(inherit_one, &two[0]) };
	must_end_well(heirs[0]);
	must_end_well(heirs[1]);
	return arg;
}

START_TEST(all_locks_of_an_owner_are_passed_on)
{
	fresh();
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	ck_assert_int_eq(bide_run(let_an_owner_of_two_die, NULL, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_OWNER_DEAD], 1);
	ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_OWNER_DEAD], "ended while holding 2 mutexes"));
}
END_TEST

static void unlock_it(void *arg)
{
	must(bide_mutex_unlock(arg) == 0);
}

static void *unlock_in_a_defer(void *arg)
{
	lock();
	must(bide_defer(unlock_it, &mutex) == 0);
	bide_exit(arg);
}

static void *leave_it_to_a_defer(void *arg)
{
	must_end_well(must_spawn(unlock_in_a_defer, "x"));
	lock();
	unlock();
	return arg;
}

START_TEST(a_deferred_unlock_comes_before_the_end)
{
	fresh();
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	ck_assert_int_eq(bide_run(leave_it_to_a_defer, NULL, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_OWNER_DEAD], 0);
}
END_TEST

static void *lock_and_end(void *arg)
{
	lock();
	return arg;
}

static void *look_like_the_owner(void *arg)
{
	/* Its record is the one of the owner that ended: it is not taken for it. */
	ck_fails(bide_mutex_unlock(&mutex), EPERM);
	ck_fails(bide_mutex_lock(&mutex), EOWNERDEAD);
	unlock();
	return arg;
}

static void *reuse_the_record(void *arg)
{
	bide_task *task = must_spawn(lock_and_end, NULL);
	struct await_task *record = handle_resolve(task);
	must_end_well(task);
	task = must_spawn(look_like_the_owner, NULL);
	must(handle_resolve(task) == record);
	must_end_well(task);
	return arg;
}

START_TEST(a_task_is_not_taken_for_the_owner_whose_record_it_got)
{
	fresh();
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	ck_assert_int_eq(bide_run(reuse_the_record, NULL, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_OWNER_DEAD], 1);
}
END_TEST

static void *main_that_ends_holding(void *arg)
{
	lock();
	must_spawn(inherit_one, &mutex);
	settle();
	return arg;
}

/* main is a task as others; what it leaves is told before the others are canceled */
START_TEST(main_that_ends_holding_a_lock_is_told_too)
{
	fresh();
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	ck_assert_int_eq(bide_run(main_that_ends_holding, NULL, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_OWNER_DEAD], 1);
	ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_OWNER_DEAD], "\"main\" ended while holding mutex"));
	expect_notes("heir");
}
END_TEST

/* ---- misuse: semantics 135, 152; scenario G2 ------------------------------------------------------------------ */

static int call_lock(void) { return bide_mutex_lock(&mutex); }
static int call_trylock(void) { return bide_mutex_trylock(&mutex); }
static int call_unlock(void) { return bide_mutex_unlock(&mutex); }
static int call_destroy(void) { return bide_mutex_destroy(&mutex); }

static void *misuse_from_another_task(void *arg)
{
	ck_fails(call_unlock(), EPERM);
	ck_fails(call_trylock(), EBUSY);
	ck_fails(call_destroy(), EBUSY);
	return arg;
}

VIRTUAL_TEST(misuse_fails_and_changes_nothing)
{
	fresh();
	ck_fails(bide_mutex_lock(NULL), EINVAL);
	ck_fails(bide_mutex_trylock(NULL), EINVAL);
	ck_fails(bide_mutex_unlock(NULL), EINVAL);
	ck_fails(bide_mutex_destroy(NULL), EINVAL);
	ck_fails(call_unlock(), EPERM); /* nobody holds it */
	lock();
	ck_fails(call_lock(), EDEADLK);
	ck_fails(call_trylock(), EDEADLK);
	ck_fails(call_destroy(), EBUSY);
	must_end_well(must_spawn(misuse_from_another_task, NULL));
	ck_assert_int_eq(errno_in_callback(call_lock), EPERM);
	ck_assert_int_eq(errno_in_callback(call_trylock), EPERM);
	ck_assert_int_eq(errno_in_callback(call_unlock), EPERM);
	ck_assert_int_eq(errno_on_plain_thread(call_lock), EPERM);
	ck_assert_int_eq(errno_on_plain_thread(call_unlock), EPERM);
	ck_assert_int_eq(errno_in_other_loop(call_lock), EPERM);
	ck_assert_int_eq(errno_in_other_loop(call_trylock), EPERM);
	ck_assert_int_eq(errno_in_other_loop(call_unlock), EPERM);
	bide_task *waiter = must_spawn(lock_note_unlock, "waiter");
	settle();
	ck_fails(call_destroy(), EBUSY);
	ck_assert_int_eq(errno_in_other_loop(call_trylock), EPERM);
	unlock();
	must_end_well(waiter);
	expect_notes("waiter");
	ck_fails(call_unlock(), EPERM); /* it was mine once */
	ck_assert_int_eq(call_destroy(), 0);
	static const bide_mutex zero;
	ck_assert_mem_eq(&mutex, &zero, sizeof zero);
}

static void *misuse_all(void *arg)
{
	lock();
	ck_fails(call_lock(), EDEADLK);
	must_end_well(must_spawn_named("other", misuse_from_another_task, NULL));
	unlock();
	return arg;
}

/* issue 5, point 2 */
START_TEST(in_debug_misuse_is_reported_with_object_holder_and_task)
{
	char expected[160];
	fresh();
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK | (_i ? BIDE_DEBUG : 0), &reports);
	ck_assert_int_eq(bide_run(misuse_all, NULL, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_MISUSE], _i ? 3 : 0);
	snprintf(expected, sizeof expected, "task 2 \"other\" destroys mutex %p, held by task 1 \"main\": %s", (void *)&mutex,
	    strerror(EBUSY));
	ck_assert_str_eq(reports.text[BIDE_REPORT_MISUSE], _i ? expected : "");
}
END_TEST

/* ---- deadlock ---------------------------------------------------------------------------------------------------- */

static void *hold_and_wait(void *arg)
{
	bide_mutex *mine = arg, *theirs = mine == two ? &two[1] : &two[0];
	must(bide_mutex_lock(mine) == 0 && bide_yield() == 0);
	ck_fails(bide_mutex_lock(theirs), EDEADLK);
	must(bide_mutex_unlock(mine) == 0);
	return NULL;
}

static void *deadly_embrace(void *arg)
{
	memset(two, 0, sizeof two);
	bide_task *alice = must_spawn_named("alice", hold_and_wait, &two[0]), *bob = must_spawn_named("bob", hold_and_wait, &two[1]);
	ck_fails(bide_join(alice, NULL), EDEADLK);
	must_end_well(alice);
	must_end_well(bob);
	must(bide_mutex_destroy(&two[0]) == 0 && bide_mutex_destroy(&two[1]) == 0);
	return arg;
}

/* semantics 9: what each waits for, and who holds it */
START_TEST(a_deadlock_report_names_the_locks_and_who_holds_them)
{
	char expected[120];
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	bide_result result;
	ck_fails(bide_run(deadly_embrace, NULL, &config, &result), EDEADLK);
	ck_assert_int_eq(result.err, 0);
	const char *text = reports.text[BIDE_REPORT_DEADLOCK];
	snprintf(expected, sizeof expected, "\"alice\" waits for mutex %p, held by task 3 \"bob\"", (void *)&two[1]);
	ck_assert_msg(strstr(text, expected), "%s", text);
	snprintf(expected, sizeof expected, "\"bob\" waits for mutex %p, held by task 2 \"alice\"", (void *)&two[0]);
	ck_assert_msg(strstr(text, expected), "%s", text);
}
END_TEST

int main(void)
{
	return SUITE("mutex",
	    TEST(who_comes_first_is_served_first),
	    TEST(who_unlocks_and_locks_again_at_once_does_not_starve_a_waiter),
	    LOOP(the_order_of_waking_is_the_order_of_waiting, 0, 5),
	    TEST(a_hundred_thousand_waiters_unlock_in_a_chain_without_nesting),
	    LOOP(a_waiter_that_is_canceled_leaves_and_the_next_one_gets_the_lock, 0, 2),
	    TEST(a_lock_that_was_handed_over_stays_with_a_task_that_is_canceled_then),
	    TEST(with_a_cancel_pending_lock_takes_nothing),
	    TEST(a_deadline_ends_the_wait_and_the_line_moves_up),
	    LOOP(the_next_one_is_told_that_the_owner_ended_and_holds_the_lock, 0, 2 * WAYS),
	    TEST(all_locks_of_an_owner_are_passed_on),
	    TEST(a_deferred_unlock_comes_before_the_end),
	    TEST(a_task_is_not_taken_for_the_owner_whose_record_it_got),
	    TEST(main_that_ends_holding_a_lock_is_told_too),
	    TEST(misuse_fails_and_changes_nothing),
	    LOOP(in_debug_misuse_is_reported_with_object_holder_and_task, 0, 2),
	    TEST(a_deadlock_report_names_the_locks_and_who_holds_them));
}
