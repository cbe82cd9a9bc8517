/* SPDX-License-Identifier: MIT
 * Nothing can ever run again: bide/loop.h, EDEADLK. Semantics 9, scenario C7. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "death.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

static struct reports reports;
static char told[8192]; /* the latest deadlock's report */

static void keep_report(int kind, const char *text, void *ctx)
{
	count_report(kind, text, ctx);
	if (kind == BIDE_REPORT_DEADLOCK)
		snprintf(told, sizeof told, "%s", text);
}

/* Runs main_fn, which must end in a deadlock. */
static bide_result run_into_deadlock(unsigned flags, bide_fn *main_fn, void *arg)
{
	struct counting counting;
	bide_result result = { &result, 77 };
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(flags, &reports);
	counting_init(&counting, true);
	config.allocator = &counting.allocator;
	config.report = keep_report;
	config.shutdown_grace = 50 * BIDE_MSEC;
	ck_fails(bide_run(main_fn, arg, &config, &result), EDEADLK);
	ck_assert_int_eq(reports.count[BIDE_REPORT_DEADLOCK], 1);
	ck_assert(counting_is_balanced(&counting));
	ck_assert_ptr_null(bide_loop_self());
	return result;
}

static bool report_says(const char *text)
{
	return strstr(told, text) != NULL;
}

static const unsigned clocks[] = { 0, BIDE_VIRTUAL_CLOCK };

/* ---- what is told ----------------------------------------------------------------------------------------- */

static void *wait_alone(void *arg)
{
	ck_fails(bide_sleep(BIDE_NEVER), EDEADLK);
	return arg;
}

START_TEST(main_that_waits_for_nothing_is_told)
{
	bide_result result = run_into_deadlock(clocks[_i], wait_alone, "went on");
	ck_assert_int_eq(result.err, 0); /* main's own outcome */
	ck_assert_str_eq(result.value, "went on");
	ck_assert(report_says("deadlock"));
	ck_assert(report_says("\"main\" waits for sleep"));
}
END_TEST

static void *join_it(void *arg)
{
	bide_result result;
	if (bide_join(arg, &result) < 0) {
		note("join:%d", errno == EDEADLK);
		return bide_fail(errno);
	}
	note("joined:%d", result.err == EDEADLK);
	return NULL;
}

static void *sleep_it(void *arg)
{
	note("sleep:%d", bide_sleep(BIDE_NEVER) < 0 && errno == EDEADLK);
	return arg;
}

static void *several_that_wait(void *arg)
{
	bide_task *sleeping = must_spawn_named("sleeper", sleep_it, NULL);
	bide_task *joiner = must_spawn_named("joiner", join_it, sleeping);
	join_it(joiner);
	return arg;
}

START_TEST(every_waiting_task_is_named_with_what_it_waits_for)
{
	run_into_deadlock(BIDE_VIRTUAL_CLOCK, several_that_wait, NULL);
	ck_assert(report_says("1 \"main\" waits for task 3 \"joiner\""));
	ck_assert(report_says("3 \"joiner\" waits for task 2 \"sleeper\""));
	ck_assert(report_says("2 \"sleeper\" waits for sleep"));
	/* Each wait failed by itself, none waited for another's end. */
	ck_assert_ptr_nonnull(strstr(notes(), "sleep:1"));
	ck_assert_int_eq((int)strlen(notes()), (int)strlen("sleep:1 join:1 join:1"));
}
END_TEST

static void *gather_it(void *arg)
{
	bide_task *task = arg;
	bide_gather(&task, 1, NULL, 0);
	return NULL;
}

static void *wait_for_two(void *arg)
{
	bide_future *const futures[] = { arg, arg };
	bide_wait(futures, 2, BIDE_WAIT_ALL);
	return NULL;
}

static bide_group full;

static void *spawn_one_more(void *arg)
{
	bide_group_spawn(&full, sleep_it, arg, NULL);
	return NULL;
}

static void *await_the_start(void *arg)
{
	bide_group group;
	bide_task_attr attr = { .size = sizeof attr, .name = "starting" };
	must(bide_group_enter(&group, 0, BIDE_KEEP_GOING) == 0);
	bide_group_start(&group, sleep_it, arg, &attr, NULL);
	bide_group_leave(&group);
	return NULL;
}

static void *several_that_own(void *arg)
{
	static bide_future never;
	bide_future_init(&never, NULL);
	bide_task_attr attr = { .size = sizeof attr, .name = "child" };
	must(bide_group_enter(&full, 1, BIDE_KEEP_GOING) == 0 && bide_group_spawn(&full, sleep_it, NULL, &attr));
	must_spawn_named("gatherer", gather_it, must_spawn_named("member", sleep_it, NULL));
	must_spawn_named("waiter", wait_for_two, &never);
	must_spawn_named("spawner", spawn_one_more, NULL);
	must_spawn_named("starter", await_the_start, NULL);
	bide_group_leave(&full);
	return arg;
}

START_TEST(who_waits_for_several_or_owns_them_is_told_of_too)
{
	char group[40];
	run_into_deadlock(BIDE_VIRTUAL_CLOCK, several_that_own, NULL);
	ck_assert(report_says("\"gatherer\" waits for its tasks 3 \"member\""));
	ck_assert(report_says("\"waiter\" waits for several futures"));
	ck_assert(report_says("\"starter\" waits for the start of task 8 \"starting\""));
	snprintf(group, sizeof group, "\"main\" waits for group %p", (void *)&full);
	ck_assert(report_says(group));
	snprintf(group, sizeof group, "\"spawner\" waits for room in group %p", (void *)&full);
	ck_assert(report_says(group));
}
END_TEST

/* ---- cycles --------------------------------------------------------------------------------------------- */

struct step {
	const char *task, *kind;
	const void *object;
};

/* From whichever of them it begins with, around. */
static void expect_cycle(const struct step *steps)
{
	char expected[1024] = "";
	int count = 0, first = 0;
	while (steps[count].task)
		count++;
	const char *at = strstr(told, "; a cycle: task ");
	ck_assert_msg(at, "%s", told);
	at += strlen("; a cycle: task ");
	while (first < count && strncmp(at, steps[first].task, strlen(steps[first].task)) != 0)
		first++;
	ck_assert_msg(first < count, "%s", told);
	strcat(expected, steps[first].task);
	for (int i = 0; i < count; i++) {
		const struct step *step = &steps[(first + i) % count], *next = &steps[(first + i + 1) % count];
		char address[40] = "";
		if (step->object)
			snprintf(address, sizeof address, " %p%s", step->object, strcmp(step->kind, "group") == 0 ?
			    ", and so for task" : ", held by task");
		size_t length = strlen(expected);
		snprintf(expected + length, sizeof expected - length, "%s waits for %s%s %s", i == 0 ? "" : ", which",
		    step->kind, address, next->task);
	}
	ck_assert_msg(strncmp(at, expected, strlen(expected)) == 0 && at[strlen(expected)] == ';', "'%s' is not in: %s", expected,
	    told);
}

/* Scenario C7, the first test. */
static bide_mutex first_lock, second_lock;

static void *lock_both(void *arg)
{
	bide_mutex *mine = arg, *other = mine == &first_lock ? &second_lock : &first_lock;
	must(bide_mutex_lock(mine) == 0);
	must(bide_yield() == 0);
	if (bide_mutex_lock(other) == 0)
		must(bide_mutex_unlock(other) == 0);
	else
		note("%d", errno == EDEADLK);
	must(bide_mutex_unlock(mine) == 0);
	return NULL;
}

static void *two_that_lock_in_opposite_order(void *arg)
{
	bide_task *a = must_spawn_named("alice", lock_both, &first_lock), *b = must_spawn_named("bob", lock_both, &second_lock);
	bide_join(a, NULL);
	bide_join(b, NULL);
	return arg;
}

START_TEST(two_mutexes_in_opposite_order_are_told_and_undone)
{
	first_lock = second_lock = (bide_mutex){ { 0 } };
	run_into_deadlock(0, two_that_lock_in_opposite_order, NULL);
	ck_assert(report_says("\"alice\" waits for mutex"));
	ck_assert(report_says("\"bob\" waits for mutex"));
	ck_assert(report_says(" (test_deadlock.c:"));
	expect_cycle((const struct step[]){ { "2 \"alice\"", "mutex", &second_lock }, { "3 \"bob\"", "mutex", &first_lock },
	    { NULL, NULL, NULL } });
	ck_assert_ptr_nonnull(strstr(notes(), "1"));
}
END_TEST

static bide_chan *queue;

static void *get_from_it(void *arg)
{
	int item;
	ck_fails(bide_chan_recv(queue, &item), EDEADLK);
	return arg;
}

static void *get_from_an_empty_queue(void *arg)
{
	queue = bide_chan_new(sizeof(int), 4, 0, NULL);
	must(queue);
	bide_join(must_spawn_named("consumer", get_from_it, NULL), NULL);
	bide_chan_unref(queue);
	return arg;
}

/* Scenario C7, the second: a queue without a producer. Nobody waits for each other. */
START_TEST(a_queue_that_nobody_fills_is_told)
{
	run_into_deadlock(0, get_from_an_empty_queue, NULL);
	ck_assert(report_says("2 \"consumer\" waits for channel 0x") && report_says(" to receive, spawned at "));
	ck_assert(!report_says("cycle"));
}
END_TEST

static bide_group parents;

static void *want_the_lock(void *arg)
{
	if (arg)
		bide_sleep(BIDE_NEVER);
	else if (bide_mutex_lock(&first_lock) == 0)
		must(bide_mutex_unlock(&first_lock) == 0);
	return NULL;
}

static void *gather_with_it_locked(void *arg)
{
	bide_task *tasks[] = { must_spawn_named("idle", want_the_lock, "idle"), must_spawn_named("eager", want_the_lock, NULL) };
	must(bide_mutex_lock(&first_lock) == 0);
	bide_gather(tasks, 2, NULL, 0);
	must(bide_mutex_unlock(&first_lock) == 0);
	return arg;
}

static void *leave_with_it_locked(void *arg)
{
	bide_task_attr idle = { .size = sizeof idle, .name = "idle" }, eager = { .size = sizeof eager, .name = "eager" };
	must(bide_group_enter(&parents, 0, BIDE_KEEP_GOING) == 0);
	must(bide_mutex_lock(&first_lock) == 0);
	must(bide_group_spawn(&parents, want_the_lock, "idle", &idle) && bide_group_spawn(&parents, want_the_lock, NULL, &eager));
	bide_group_leave(&parents);
	must(bide_mutex_unlock(&first_lock) == 0);
	return arg;
}

/* Through those that a task owns, of which the first has nothing to do with it. */
START_TEST(a_cycle_through_a_group_or_a_gather_is_found)
{
	first_lock = (bide_mutex){ { 0 } };
	run_into_deadlock(BIDE_VIRTUAL_CLOCK, _i ? leave_with_it_locked : gather_with_it_locked, NULL);
	if (_i)
		expect_cycle((const struct step[]){ { "1 \"main\"", "group", &parents },
		    { "3 \"eager\"", "mutex", &first_lock }, { NULL, NULL, NULL } });
	else
		ck_assert_msg(report_says("; a cycle: task 1 \"main\" waits for its tasks 2 \"idle\", and so for task 3 \"eager\", "
		    "which waits for mutex ") || report_says("; a cycle: task 3 \"eager\" waits for mutex "), "%s", told);
}
END_TEST

#define RING 40
static bide_mutex ring[RING];

static void *lock_two(void *arg)
{
	int index = *(int *)arg;
	must(bide_mutex_lock(&ring[index]) == 0);
	must(bide_yield() == 0);
	if (bide_mutex_lock(&ring[(index + 1) % RING]) == 0)
		must(bide_mutex_unlock(&ring[(index + 1) % RING]) == 0);
	must(bide_mutex_unlock(&ring[index]) == 0);
	return NULL;
}

static void *make_a_ring(void *arg)
{
	static int indexes[RING];
	bide_task *tasks[RING];
	memset(ring, 0, sizeof ring);
	for (int i = 0; i < RING; i++) {
		indexes[i] = i;
		tasks[i] = must_spawn(lock_two, &indexes[i]);
	}
	for (int i = 0; i < RING; i++)
		bide_join(tasks[i], NULL);
	return arg;
}

/* Main, which waits for one of them, leads to the cycle and is not in it. */
START_TEST(a_large_cycle_is_told_whole_and_who_is_outside_is_left_out_of_it)
{
	run_into_deadlock(BIDE_VIRTUAL_CLOCK, make_a_ring, NULL);
	const char *cycle = strstr(told, "; a cycle: task "), *rest = strstr(cycle + 1, "; task ");
	int tasks = 0;
	ck_assert(cycle && rest);
	for (const char *at = cycle; (at = strstr(at, "held by task ")) && at < rest; at++)
		tasks++;
	ck_assert_int_eq(tasks, RING);
	const char *main_at = strstr(told, "\"main\"");
	ck_assert(!main_at || main_at > rest);
}
END_TEST

static void *many_that_wait(void *arg)
{
	for (int i = 0; i < 500; i++)
		must_spawn_named("one of very many tasks that wait", forever_sleeper, NULL);
	bide_sleep(BIDE_NEVER);
	return arg;
}

START_TEST(a_report_of_many_is_cut_and_says_so)
{
	run_into_deadlock(BIDE_VIRTUAL_CLOCK | BIDE_RANDOM_ORDER, many_that_wait, NULL);
	const char *rest = strstr(told, "; and ");
	ck_assert_uint_le(strlen(told), 4096);
	ck_assert_msg(rest && strstr(rest, " more that wait [seed "), "%s", told);
	int listed = 0;
	for (const char *at = told; (at = strstr(at, "; task ")); at++)
		listed++;
	ck_assert_int_eq(listed + atoi(rest + strlen("; and ")), 501);
}
END_TEST

static void run_without_a_hook(void *arg)
{
	(void)arg;
	must(bide_run(wait_alone, NULL, NULL, NULL) < 0);
}

START_TEST(without_a_hook_the_report_goes_to_stderr)
{
	struct death death = death_of(run_without_a_hook, NULL);
	ck_assert_int_eq(death.signal, 0);
	ck_assert_ptr_eq(strstr(death.text, "bide: deadlock: "), death.text);
	ck_assert_ptr_nonnull(strstr(death.text, "\"main\" waits for sleep"));
	ck_assert_int_eq(death.text[strlen(death.text) - 1], '\n');
}
END_TEST

/* ---- what is done ------------------------------------------------------------------------------------------- */

static void clean_up(void *arg)
{
	must(bide_sleep(BIDE_SEC) == 0);
	note("%s@%lld", (char *)arg, (long long)(bide_now() / BIDE_SEC));
}

static void *wait_with_clean_up(void *arg)
{
	must(bide_defer(clean_up, arg) == 0);
	return bide_sleep(BIDE_NEVER) == 0 ? NULL : bide_fail(errno);
}

static void *main_with_clean_up(void *arg)
{
	bide_task *child = must_spawn(wait_with_clean_up, "child");
	must(bide_defer(clean_up, "main") == 0);
	int err = bide_sleep(BIDE_NEVER) < 0 ? errno : 0;
	must(must_join(child).err == EDEADLK);
	must(bide_sleep(BIDE_SEC) == 0); /* it is no state: what can be waited for can be waited for */
	return err == EDEADLK ? arg : NULL;
}

START_TEST(clean_up_code_runs_and_may_suspend)
{
	bide_result result = run_into_deadlock(BIDE_VIRTUAL_CLOCK, main_with_clean_up, "seen");
	ck_assert_str_eq(result.value, "seen");
	expect_notes("child@1 main@3");
}
END_TEST

static void *fail_by_it(void *arg)
{
	(void)arg;
	return bide_sleep(BIDE_NEVER) == 0 ? NULL : bide_fail(errno);
}

START_TEST(main_may_fail_by_it)
{
	bide_result result = run_into_deadlock(BIDE_VIRTUAL_CLOCK, fail_by_it, NULL);
	ck_assert_int_eq(result.err, EDEADLK);
	ck_assert_ptr_null(result.value);
}
END_TEST

static int tries;

static void *wait_whatever_comes(void *arg)
{
	while (tries >= 0) {
		tries++;
		bide_sleep(BIDE_NEVER);
	}
	return arg;
}

/* One that waits again and again whatever it is told is given up: the run ends all the same. */
START_TEST(a_task_that_does_not_listen_is_given_up)
{
	tries = 0;
	bide_result result = run_into_deadlock(clocks[_i], wait_whatever_comes, NULL);
	ck_assert_int_eq(result.err, EDEADLK); /* main had not ended */
	ck_assert_ptr_null(result.value);
	ck_assert_int_ge(tries, 100);
	ck_assert_int_eq(reports.count[BIDE_REPORT_LEFTOVER], 1);
}
END_TEST

static void *a_deadlock_twice(void *arg)
{
	ck_fails(bide_sleep(BIDE_NEVER), EDEADLK);
	ck_fails(bide_sleep(BIDE_NEVER), EDEADLK);
	return arg;
}

START_TEST(a_second_deadlock_of_a_run_is_not_reported_again)
{
	run_into_deadlock(BIDE_VIRTUAL_CLOCK, a_deadlock_twice, NULL);
}
END_TEST

static void *join_main(void *arg)
{
	ck_fails(bide_join(arg, NULL), EDEADLK);
	return NULL;
}

static void *wait_for_a_child_that_waits(void *arg)
{
	must_spawn(join_main, bide_self());
	ck_fails(bide_settle() == 0 ? bide_sleep(BIDE_NEVER) : -2, EDEADLK);
	return arg;
}

START_TEST(a_run_after_a_deadlock_is_a_new_one)
{
	bide_time second = BIDE_SEC;
	run_into_deadlock(BIDE_VIRTUAL_CLOCK, wait_for_a_child_that_waits, NULL);
	run_virtual(sleeper, &second);
}
END_TEST

/* ---- what is no deadlock ------------------------------------------------------------------------------------- */

static bide_timer waker;

static void wake_main(void *arg)
{
	must(bide_cancel(arg, NULL) == 0);
}

static void *wait_for_a_callback(void *arg)
{
	must(bide_call_later(&waker, 5 * BIDE_MSEC, wake_main, bide_self()) == 0);
	ck_fails(bide_sleep(BIDE_NEVER), ECANCELED);
	must(bide_uncancel() == 0);
	return arg;
}

static void *write_later(void *arg)
{
	usleep(5000);
	must(write(*(int *)arg, "x", 1) == 1);
	return NULL;
}

static void *wait_for_a_descriptor(void *arg)
{
	int fds[2];
	char byte;
	pthread_t thread;
	must(pipe(fds) == 0 && pthread_create(&thread, NULL, write_later, &fds[1]) == 0);
	must(bide_read(fds[0], &byte, 1) == 1);
	pthread_join(thread, NULL);
	bide_close(fds[0]);
	bide_close(fds[1]);
	return arg;
}

static void *wait_for_one_that_sleeps(void *arg)
{
	static bide_time moment = 5 * BIDE_MSEC;
	must_end_well(must_spawn(sleeper, &moment));
	return arg;
}

static void *wait_for_the_loop_to_settle(void *arg)
{
	must_spawn(forever_sleeper, NULL);
	settle();
	settle();
	return arg;
}

static void *leave_one_that_waits(void *arg)
{
	must_spawn(forever_sleeper, NULL);
	must(bide_yield() == 0);
	return arg;
}

static void *be_slow(void *arg)
{
	usleep(5000);
	return arg;
}

static void *wait_for_a_job(void *arg)
{
	bide_result result;
	must(bide_offload(be_slow, arg, 0, &result) == 0 && result.value == arg);
	return arg;
}

/* Another thread brings it, for which the loop is kept alive; or which has only the loop's handle. */
static bide_loop *loop;
static bide_future awaited;
static pthread_t poster;

static void *post_later(void *arg)
{
	usleep(5000);
	must(bide_future_post(loop, &awaited, arg, 0) == 0);
	return arg;
}

static void *await_a_post(void *arg)
{
	bide_result result;
	loop = bide_loop_self();
	must(bide_future_init(&awaited, NULL) == 0 && pthread_create(&poster, NULL, post_later, arg) == 0);
	must(bide_await(&awaited, &result) == 0 && result.value == arg);
	pthread_join(poster, NULL);
	must(bide_future_destroy(&awaited) == 0);
	return arg;
}

static void *wait_for_a_post(void *arg)
{
	must(bide_loop_ref(bide_loop_self()) == 0);
	await_a_post(arg);
	must(bide_loop_unref(bide_loop_self()) == 0);
	return arg;
}

static void *kill_later(void *arg)
{
	usleep(5000);
	kill(getpid(), SIGUSR1);
	return arg;
}

static void *wait_for_a_signal(void *arg)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	int handle = bide_signal_open(&set);
	must(handle >= 0 && pthread_create(&poster, NULL, kill_later, NULL) == 0);
	must(bide_signal_wait(handle, NULL) == SIGUSR1);
	pthread_join(poster, NULL);
	must(bide_signal_close(handle) == 0);
	return arg;
}

static void *wait_for_a_child(void *arg)
{
	char *argv[] = { (char *)(uintptr_t) "sleep", (char *)(uintptr_t) "0.02", NULL };
	bide_proc_opts opts = BIDE_PROC_OPTS_INIT;
	bide_proc child;
	opts.file = argv[0];
	opts.argv = argv;
	must(bide_proc_spawn(&opts, &child) == 0 && bide_proc_wait(child.pid, NULL) == 0);
	return arg;
}

static bide_fn *const no_deadlocks[] = { wait_for_a_callback, wait_for_a_descriptor, wait_for_one_that_sleeps,
	wait_for_the_loop_to_settle, leave_one_that_waits, wait_for_a_job, wait_for_a_post, wait_for_a_signal, wait_for_a_child };
#define NO_DEADLOCKS 9

START_TEST(as_long_as_something_may_happen_nothing_is_reported)
{
	memset(&reports, 0, sizeof reports);
	bide_result result;
	bide_config config = config_with(clocks[_i % 2], &reports);
	ck_assert_int_eq(bide_run(no_deadlocks[_i / 2], "fine", &config, &result), 0);
	ck_assert_str_eq(result.value, "fine");
	for (int kind = 0; kind < REPORT_KINDS; kind++)
		ck_assert_int_eq(reports.count[kind], 0);
}
END_TEST

/* ---- settings -------------------------------------------------------------------------------------------------- */

/* For a thread that holds no keep-alive: it is told, and waited for. */
START_TEST(a_loop_may_wait_all_the_same)
{
	memset(&reports, 0, sizeof reports);
	bide_result result;
	bide_config config = config_with(clocks[_i], &reports);
	config.deadlock = BIDE_DEADLOCK_WAIT;
	ck_assert_int_eq(bide_run(await_a_post, "fine", &config, &result), 0);
	ck_assert_str_eq(result.value, "fine");
	ck_assert_int_le(reports.count[BIDE_REPORT_DEADLOCK], 1); /* none if the thread was quicker */
}
END_TEST

static void *terminate_later(void *arg)
{
	usleep(20000);
	kill(getpid(), SIGTERM);
	return arg;
}

static void *wait_for_the_end(void *arg)
{
	must(pthread_create(&poster, NULL, terminate_later, NULL) == 0);
	ck_fails(bide_sleep(BIDE_NEVER), ECANCELED);
	pthread_join(poster, NULL);
	return arg;
}

static void run_until_terminated(void *arg)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	config.deadlock = BIDE_DEADLOCK_WAIT;
	must(bide_run(wait_for_the_end, arg, &config, &result) == 0 && result.value == arg);
}

START_TEST(a_loop_that_waits_hears_of_signals)
{
	static char value;
	struct death death = death_of(run_until_terminated, &value);
	ck_assert_int_eq(death.signal, 0);
	ck_assert_int_eq(death.exit_status, 0);
	ck_assert_ptr_eq(strstr(death.text, "bide: deadlock: "), death.text);
}
END_TEST

static void run_and_abort(void *arg)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.deadlock = BIDE_DEADLOCK_ABORT;
	bide_run(wait_alone, arg, &config, NULL);
}

START_TEST(a_deadlock_may_abort)
{
	struct death death = death_of(run_and_abort, NULL);
	ck_assert_int_eq(death.signal, SIGABRT);
	ck_assert_ptr_eq(strstr(death.text, "bide: deadlock: "), death.text);
}
END_TEST

START_TEST(other_reactions_are_refused)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.deadlock = -1;
	ck_fails(bide_run(wait_alone, NULL, &config, NULL), EINVAL);
	config.deadlock = BIDE_DEADLOCK_WAIT + 1;
	ck_fails(bide_run(wait_alone, NULL, &config, NULL), EINVAL);
}
END_TEST

/* A timer at BIDE_NEVER will never fire: it saves nobody. */
static void *hope_for_never(void *arg)
{
	must(bide_call_at(&waker, BIDE_NEVER, wake_main, bide_self()) == 0);
	ck_fails(bide_sleep(BIDE_NEVER), EDEADLK);
	must(bide_timer_cancel(&waker) == 1);
	return arg;
}

START_TEST(a_timer_at_never_is_nothing_to_wait_for)
{
	run_into_deadlock(clocks[_i], hope_for_never, NULL);
}
END_TEST

/* What was waited for and is no more must not count either. */
static void *wait_and_give_up(void *arg)
{
	int fds[2];
	must(pipe(fds) == 0);
	bide_task *reader = must_spawn(join_it, bide_self());
	char byte;
	bide_time hour = 3600 * BIDE_SEC;
	bide_task *sleeping = must_spawn(sleeper, &hour);
	must(bide_call_later(&waker, BIDE_SEC, wake_main, bide_self()) == 0);
	ck_fails(bide_read(fds[0], &byte, 1), ECANCELED);
	must(bide_uncancel() == 0);
	must(bide_cancel(sleeping, NULL) == 0);
	must_join(sleeping);
	ck_fails(bide_sleep(BIDE_NEVER), EDEADLK);
	must_join(reader);
	bide_close(fds[0]);
	bide_close(fds[1]);
	return arg;
}

START_TEST(waits_that_were_given_up_keep_nothing_alive)
{
	run_into_deadlock(BIDE_VIRTUAL_CLOCK, wait_and_give_up, NULL);
}
END_TEST

int main(void)
{
	return SUITE("deadlock",
	    TABLE(main_that_waits_for_nothing_is_told, clocks),
	    TEST(every_waiting_task_is_named_with_what_it_waits_for),
	    TEST(who_waits_for_several_or_owns_them_is_told_of_too),
	    TEST(two_mutexes_in_opposite_order_are_told_and_undone),
	    TEST(a_queue_that_nobody_fills_is_told),
	    LOOP(a_cycle_through_a_group_or_a_gather_is_found, 0, 2),
	    TEST(a_large_cycle_is_told_whole_and_who_is_outside_is_left_out_of_it),
	    TEST(a_report_of_many_is_cut_and_says_so),
	    TEST(without_a_hook_the_report_goes_to_stderr),
	    TEST(clean_up_code_runs_and_may_suspend),
	    TEST(main_may_fail_by_it),
	    TABLE(a_task_that_does_not_listen_is_given_up, clocks),
	    TEST(a_second_deadlock_of_a_run_is_not_reported_again),
	    TEST(a_run_after_a_deadlock_is_a_new_one),
	    LOOP(as_long_as_something_may_happen_nothing_is_reported, 0, 2 * NO_DEADLOCKS),
	    TABLE(a_loop_may_wait_all_the_same, clocks), TEST(a_loop_that_waits_hears_of_signals), TEST(a_deadlock_may_abort),
	    TEST(other_reactions_are_refused),
	    TABLE(a_timer_at_never_is_nothing_to_wait_for, clocks),
	    TEST(waits_that_were_given_up_keep_nothing_alive));
}
