/* SPDX-License-Identifier: MIT
 * Mutexes of the system in tasks: bide_os_mutex_lock() of bide/sync.h. Scenario G3: one that is held while its
 * task waits is told, and so is who would have stopped the loop at it. */
#include <pthread.h>
#include <stdatomic.h>

#include "elsewhere.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct reports reports;

static int lock_it(void) { return bide_os_mutex_lock(&mutex); }
static int unlock_it(void) { return bide_os_mutex_unlock(&mutex); }
static int lock_and_unlock(void) { return lock_it() == 0 ? unlock_it() : -1; }

static void run_in_debug(bide_fn *main_fn, void *arg, int expected)
{
	struct counting counting;
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK | BIDE_DEBUG, &reports);
	counting_init(&counting, false);
	config.allocator = &counting.allocator;
	ck_assert_int_eq(bide_run(main_fn, arg, &config, NULL), 0);
	ck_assert_msg(reports.count[BIDE_REPORT_MISUSE] == expected, "%d reports, the last: %s",
	    reports.count[BIDE_REPORT_MISUSE], reports.text[BIDE_REPORT_MISUSE]);
	ck_assert(counting_is_balanced(&counting));
}

static void expect_report(const char *format)
{
	char expected[200];
	snprintf(expected, sizeof expected, format, (void *)&mutex);
	ck_assert_msg(strstr(reports.text[BIDE_REPORT_MISUSE], expected), "%s", reports.text[BIDE_REPORT_MISUSE]);
	ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_MISUSE], " (test_os_mutex.c:"));
}

/* 0: sleeps, 1: yields, 2: sleeps twice, 3: ends */
static void *hold_it_over(void *arg)
{
	int how = *(int *)arg;
	must(lock_it() == 0);
	if (how == 1)
		must(bide_yield() == 0);
	for (int i = 0; i < 2 && how != 1 && i <= how / 2 && how < 3; i++)
		pass(BIDE_SEC);
	if (how < 3)
		must(unlock_it() == 0);
	return NULL;
}

static void *main_of_one_that_holds(void *arg)
{
	must_end_well(must_spawn_named("alice", hold_it_over, arg));
	if (*(int *)arg == 3)
		ck_fails(lock_it(), EDEADLK);
	return NULL;
}

START_TEST(one_that_is_held_over_a_switch_is_reported_once)
{
	static const char *const verbs[] = { "waits", "gave way", "waits", "would stop the loop" };
	char expected[100];
	run_in_debug(main_of_one_that_holds, &_i, _i == 3 ? 2 : 1);
	snprintf(expected, sizeof expected, "task %s %s", _i == 3 ? "1 \"main\"" : "2 \"alice\"", verbs[_i]);
	ck_assert_msg(strstr(reports.text[BIDE_REPORT_MISUSE], expected), "%s", reports.text[BIDE_REPORT_MISUSE]);
	expect_report(_i == 3 ? "pthread mutex %p, held by task that has ended" : "while it holds pthread mutex %p, locked at ");
	if (_i < 3) /* scenario G3 */
		ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_MISUSE], "; spawned at "));
}
END_TEST

static void *want_it(void *arg)
{
	ck_fails(lock_it(), EDEADLK);
	note("refused");
	return arg;
}

static void *main_of_two(void *arg)
{
	static int sleeps = 0;
	bide_task *alice = must_spawn_named("alice", hold_it_over, &sleeps);
	must_end_well(must_spawn_named("bob", want_it, NULL));
	note("%d", (int)(bide_now() / BIDE_SEC)); /* at once: the loop goes on, and alice gets to unlock it */
	must_end_well(alice);
	must(lock_it() == 0 && unlock_it() == 0);
	return arg;
}

START_TEST(a_lock_that_could_never_come_is_refused_and_both_are_named)
{
	run_in_debug(main_of_two, NULL, 2);
	expect_report("task 3 \"bob\" would stop the loop for ever at pthread mutex %p, held by task 2 \"alice\", locked at ");
	expect_notes("refused 0");
}
END_TEST

static void *careful(void *arg)
{
	pthread_mutex_t *another = arg;
	for (int i = 0; i < 3; i++) {
		must(lock_it() == 0 && bide_os_mutex_lock(another) == 0);
		must(unlock_it() == 0 && bide_os_mutex_unlock(another) == 0);
		pass(1);
	}
	ck_fails(bide_os_mutex_lock(NULL), EINVAL);
	ck_fails(bide_os_mutex_unlock(NULL), EINVAL);
	ck_assert_int_eq(errno_in_callback(lock_and_unlock), 0);
	ck_assert_int_eq(errno_on_plain_thread(lock_and_unlock), 0);
	return NULL;
}

static void *main_of_the_careful(void *arg)
{
	pthread_mutex_t another = PTHREAD_MUTEX_INITIALIZER;
	bide_task *tasks[3];
	for (int i = 0; i < 3; i++)
		tasks[i] = must_spawn(careful, &another);
	for (int i = 0; i < 3; i++)
		must_end_well(tasks[i]);
	return arg;
}

START_TEST(who_unlocks_in_time_is_left_alone)
{
	run_in_debug(main_of_the_careful, NULL, 0);
}
END_TEST

/* What one and the same thread, or a recursive mutex, may do elsewhere is let through. */
static void *lock_twice(void *arg)
{
	pthread_mutex_t *recursive = arg;
	must(bide_os_mutex_lock(recursive) == 0 && bide_os_mutex_lock(recursive) == 0);
	must(bide_os_mutex_unlock(recursive) == 0 && bide_os_mutex_unlock(recursive) == 0);
	must(lock_it() == 0);
	ck_fails(lock_it(), EDEADLK);
	must(unlock_it() == 0);
	return NULL;
}

START_TEST(a_recursive_mutex_may_be_locked_twice_and_another_is_refused)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t recursive;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&recursive, &attr);
	run_in_debug(lock_twice, &recursive, 1);
	expect_report("task 1 \"main\" would stop the loop for ever at pthread mutex %p, held by task 1 \"main\"");
	pthread_mutex_destroy(&recursive);
}
END_TEST

static void *keep_it(void *arg)
{
	must(bide_fault("malloc:ENOMEM") == 0);
	must(lock_it() == 0); /* unwatched */
	must(bide_fault(NULL) == 0);
	pass(1);
	must(unlock_it() == 0);
	must(lock_it() == 0);
	return arg;
}

START_TEST(without_memory_it_is_locked_and_what_is_never_unlocked_leaks_nothing)
{
	run_in_debug(keep_it, NULL, 1);
	expect_report("\"main\" ended while it holds pthread mutex %p");
}
END_TEST

static int counter;

static void *count_in_a_loop(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		must(lock_it() == 0);
		counter++;
		must(unlock_it() == 0);
		if (i % 10 == 0)
			must(bide_yield() == 0);
	}
	return arg;
}

static void *count_in_two_tasks(void *arg)
{
	bide_task *other = must_spawn(count_in_a_loop, NULL);
	count_in_a_loop(NULL);
	must_end_well(other);
	return arg;
}

static void *loop_of_its_own(void *arg)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = *(int *)arg ? BIDE_DEBUG : 0;
	must(bide_run(count_in_two_tasks, NULL, &config, NULL) == 0);
	return NULL;
}

/* What they are for. */
START_TEST(loops_on_several_threads_share_one)
{
	pthread_t threads[3];
	counter = 0;
	for (int i = 0; i < 3; i++)
		must(pthread_create(&threads[i], NULL, loop_of_its_own, &_i) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(counter, 6000);
}
END_TEST

static void *hold_it_over_quietly(void *arg)
{
	int sleeps = 0;
	hold_it_over(&sleeps);
	return arg;
}

START_TEST(without_debug_nothing_is_watched)
{
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	ck_assert_int_eq(bide_run(hold_it_over_quietly, NULL, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_MISUSE], 0);
}
END_TEST

int main(void)
{
	return SUITE("os mutex",
	    LOOP(one_that_is_held_over_a_switch_is_reported_once, 0, 4),
	    TEST(a_lock_that_could_never_come_is_refused_and_both_are_named),
	    TEST(who_unlocks_in_time_is_left_alone),
	    TEST(a_recursive_mutex_may_be_locked_twice_and_another_is_refused),
	    TEST(without_memory_it_is_locked_and_what_is_never_unlocked_leaks_nothing),
	    LOOP(loops_on_several_threads_share_one, 0, 2),
	    TEST(without_debug_nothing_is_watched));
}
