/* SPDX-License-Identifier: MIT
 * Slices that take too long, and slices that are stuck: bide/loop.h, "Slow slices". Statements 187 and 188,
 * scenarios C17 and G3. What a slice is blamed for is burnt by the thread's own clock, so that a busy machine
 * changes nothing; no more of it than tells: where a test is not about the default setting, it sets a shorter one. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "death.h"
#include "runs.h"

static struct reports reports;
static atomic_int stalls; /* told by another thread */

#define DEFAULT_SLOW (100 * BIDE_MSEC)

/* The shorter setting. Where all is slow, what runs beside the burning is, too. */
static bide_time slow(void)
{
	return suite_scale() > 1 ? DEFAULT_SLOW : 40 * BIDE_MSEC;
}

/* Of a slice that is to be told where that is the setting. */
static bide_time longer_than(bide_time setting)
{
	return setting + BIDE_MSEC;
}

static void note_report(int kind, const char *text, void *ctx)
{
	count_report(kind, text, ctx);
	if (kind == BIDE_REPORT_STALL)
		atomic_fetch_add(&stalls, 1);
}

static bide_config watched(unsigned flags, bide_time slow_slice, bide_time stall)
{
	memset(&reports, 0, sizeof reports);
	atomic_store(&stalls, 0);
	bide_config config = config_with(flags, &reports);
	config.report = note_report;
	config.slow_slice = slow_slice;
	config.stall = stall;
	return config;
}

static void must_run(const bide_config *config, bide_fn *main_fn, void *arg)
{
	bide_result result;
	ck_assert_int_eq(bide_run(main_fn, arg, config, &result), 0);
	ck_assert_int_eq(result.err, 0);
}

static void burn(bide_time duration)
{
	bide_time end = clock_of_thread() + duration;
	while (clock_of_thread() < end)
		;
}

static void expect_slow(int count, const char *who, bide_time least)
{
	const char *text = reports.text[BIDE_REPORT_SLOW];
	ck_assert_msg(reports.count[BIDE_REPORT_SLOW] == count, "%d, not %d; the last: %s",
	    reports.count[BIDE_REPORT_SLOW], count, text);
	if (count == 0)
		return;
	ck_assert_msg(strstr(text, who), "no %s in: %s", who, text);
	double took = 0;
	sscanf(strstr(text, "ran for "), "ran for %lf s", &took);
	ck_assert_msg(took >= (double)least / BIDE_SEC, "%f in: %s", took, text);
}

START_TEST(bad_settings_are_refused)
{
	bide_config config = watched(0, -1, 0);
	ck_fails(bide_run(nothing, NULL, &config, NULL), EINVAL);
	config = watched(0, 0, -1);
	ck_fails(bide_run(nothing, NULL, &config, NULL), EINVAL);
}
END_TEST

/* ---- when it is over ----------------------------------------------------------------------------- */

static void *burn_once(void *arg)
{
	burn(*(bide_time *)arg);
	return NULL;
}

static void *main_of_one_that_burns(void *arg)
{
	must_end_well(must_spawn_named("burner", burn_once, arg));
	return NULL;
}

/* Statement 187. In debug the setting is 100 ms. The report is the same in every locale. */
START_TEST(a_slice_of_120_ms_is_reported_once)
{
	bide_time duration = 120 * BIDE_MSEC;
	bide_config config = watched(BIDE_DEBUG, 0, BIDE_NEVER);
	suite_use_decimal_comma();
	must_run(&config, main_of_one_that_burns, &duration);
	suite_use_c_locale();
	expect_slow(1, "task 2 \"burner\", spawned at", duration);
	ck_assert(strstr(reports.text[BIDE_REPORT_SLOW], "main_of_one_that_burns (test_canary.c:"));
}
END_TEST

START_TEST(a_setting_of_its_own_needs_no_debug_mode)
{
	bide_time duration = longer_than(slow());
	bide_config config = watched(0, slow(), BIDE_NEVER);
	must_run(&config, main_of_one_that_burns, &duration);
	expect_slow(1, "task 2 \"burner\", spawned at", slow());
}
END_TEST

START_TEST(a_slice_of_50_ms_is_not_reported)
{
	bide_time duration = 50 * BIDE_MSEC;
	bide_config config = watched(BIDE_DEBUG, 0, 0);
	must_run(&config, main_of_one_that_burns, &duration);
	expect_slow(0, NULL, 0);
}
END_TEST

START_TEST(nobody_is_reported_where_it_is_off)
{
	bide_time duration = longer_than(DEFAULT_SLOW);
	bide_config config = watched(_i ? BIDE_DEBUG : 0, _i ? BIDE_NEVER : 0, _i ? BIDE_NEVER : 0);
	must_run(&config, main_of_one_that_burns, &duration);
	expect_slow(0, NULL, 0);
}
END_TEST

static void *burn_in_pieces(void *arg)
{
	bide_time left = longer_than(slow());
	for (; left > 0; left -= BIDE_MSEC) {
		burn(BIDE_MSEC);
		must(bide_yield() == 0);
	}
	return arg;
}

START_TEST(one_that_gives_way_is_not_reported)
{
	bide_config config = watched(BIDE_DEBUG, slow(), 0);
	must_run(&config, burn_in_pieces, NULL);
	expect_slow(0, NULL, 0);
}
END_TEST

/* An eager child begins in its parent's turn, and has a slice of its own. */
static void *main_of_an_eager_child(void *arg)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.name = "eager";
	attr.flags = BIDE_EAGER;
	burn(slow() * 6 / 10);
	bide_task *child = bide_spawn_with(burn_once, arg, &attr);
	must_end_well(child);
	return NULL;
}

START_TEST(an_eager_child_is_not_blamed_for_its_parent)
{
	bide_time duration = _i ? longer_than(slow()) : slow() / 2;
	bide_config config = watched(BIDE_DEBUG, slow(), 0);
	must_run(&config, main_of_an_eager_child, &duration);
	expect_slow(_i, "\"eager\", spawned", duration);
}
END_TEST

static void burning_callback(void *arg)
{
	burn(*(bide_time *)arg);
}

/* 0: soon, 1: by a timer, 2: two posts at once */
static void *main_of_callbacks(void *arg)
{
	static bide_time duration;
	bide_timer timer = { { 0 } };
	int kind = *(int *)arg;
	duration = longer_than(slow());
	if (kind == 0) {
		must(bide_call_soon(burning_callback, &duration) == 0);
	} else if (kind == 1) {
		must(bide_call_later(&timer, 1, burning_callback, &duration) == 0);
	} else {
		for (int i = 0; i < 2; i++)
			must(bide_post(bide_loop_self(), burning_callback, &duration) == 0);
	}
	pass(2 * BIDE_MSEC);
	return NULL;
}

START_TEST(callbacks_and_posts_are_slices_too)
{
	bide_config config = watched(BIDE_DEBUG, slow(), 0);
	must_run(&config, main_of_callbacks, &_i);
	expect_slow(_i == 2 ? 2 : 1, "the callback burning_callback (test_canary.c:", slow());
}
END_TEST

/* ---- when nobody is to blame --------------------------------------------------------------------- */

#define STOPPED_FOR 200 /* ms */

/* Again and again, until *is_over. */
static pid_t stop_me(atomic_bool *is_over)
{
	pid_t parent = getpid(), child = fork();
	must(child >= 0);
	if (child > 0)
		return child;
	while (!atomic_load(is_over)) {
		usleep(20000);
		kill(parent, SIGSTOP);
		usleep(STOPPED_FOR * 1000);
		kill(parent, SIGCONT);
	}
	_exit(0);
}

/* Busy until it has seen time stand still, in slices that are never long. */
static void *busy_until_stopped(void *arg)
{
	for (;;) {
		bide_time end = clock_of_thread() + 20 * BIDE_MSEC, before = clock_monotonic();
		while (clock_of_thread() < end) {
			bide_time now = clock_monotonic();
			if (now - before >= STOPPED_FOR * BIDE_MSEC - 50 * BIDE_MSEC)
				return arg;
			before = now;
		}
		must(bide_yield() == 0);
	}
}

/* Scenario C17. */
START_TEST(a_process_that_was_stopped_blames_nobody)
{
	bide_config config = watched(0, DEFAULT_SLOW, DEFAULT_SLOW);
	atomic_bool *is_over = mmap(NULL, sizeof *is_over, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(is_over != MAP_FAILED);
	pid_t stopper = stop_me(is_over);
	must_run(&config, busy_until_stopped, NULL);
	atomic_store(is_over, true);
	while (waitpid(stopper, NULL, 0) != stopper)
		continue;
	munmap(is_over, sizeof *is_over);
	expect_slow(0, NULL, 0);
	ck_assert_int_eq(atomic_load(&stalls), 0);
}
END_TEST

/* ---- while it is stuck ---------------------------------------------------------------------------- */

#define STALL (50 * BIDE_MSEC)

static void *stuck_until_told(void *arg)
{
	bide_time begin = clock_of_thread();
	while (!atomic_load(&stalls))
		clock_of_thread(); /* a call in which ThreadSanitizer delivers signals */
	*(bide_time *)arg = clock_of_thread() - begin;
	return NULL;
}

static void *main_of_one_that_is_stuck(void *arg)
{
	must_end_well(must_spawn_named("endless", stuck_until_told, arg));
	return NULL;
}

/* Statement 188: told while it is stuck, and within twice the setting of the processor's time. Of some runs the
 * best, since the watchdog too waits for a processor. */
START_TEST(a_task_that_never_gives_way_is_told_while_it_is_stuck)
{
	bide_time best = BIDE_NEVER;
	for (int i = 0; i < 20 && best > 2 * STALL; i++) {
		bide_time took = 0;
		bide_config config = watched(0, BIDE_NEVER, STALL);
		must_run(&config, main_of_one_that_is_stuck, &took);
		ck_assert_msg(strstr(reports.text[BIDE_REPORT_STALL], "task 2 \"endless\", spawned at main_of_one_that_is_stuck (test_canary.c:"), "%s",
		    reports.text[BIDE_REPORT_STALL]);
		ck_assert_int_eq(reports.count[BIDE_REPORT_STALL], 1);
		ck_assert_msg(strstr(reports.text[BIDE_REPORT_STALL], "\n    stuck_until_told ("), "%s",
		    reports.text[BIDE_REPORT_STALL]);
		ck_assert_int_ge(took, STALL / 2);
		best = took < best ? took : best;
	}
	ck_assert_msg(best <= 2 * STALL * suite_scale(), "told after %lld ns", (long long)best);
}
END_TEST

static void *write_when_told(void *arg)
{
	while (!atomic_load(&stalls))
		usleep(1000);
	must(write(*(int *)arg, "x", 1) == 1);
	return NULL;
}

static void *read_blocking(void *arg)
{
	char byte;
	must(read(*(int *)arg, &byte, 1) == 1);
	return NULL;
}

static void *main_of_one_that_blocks(void *arg)
{
	must_end_well(must_spawn_named("reader", read_blocking, arg));
	return NULL;
}

/* It uses no processor, and is to blame all the same. That it is looked at interrupts no read. */
START_TEST(a_task_that_blocks_in_the_kernel_is_told_then_and_when_it_is_over)
{
	int fds[2];
	pthread_t writer;
	bide_config config = watched(0, STALL, STALL);
	must(pipe(fds) == 0);
	must(pthread_create(&writer, NULL, write_when_told, &fds[1]) == 0);
	must_run(&config, main_of_one_that_blocks, &fds[0]);
	pthread_join(writer, NULL);
	expect_slow(1, "\"reader\"", STALL);
	ck_assert(strstr(reports.text[BIDE_REPORT_STALL], "\"reader\", spawned at main_of_one_that_blocks"));
	close(fds[0]);
	close(fds[1]);
}
END_TEST

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *hold_over_a_sleep(void *arg)
{
	must(bide_os_mutex_lock(&mutex) == 0);
	bide_sleep(BIDE_SEC);
	return arg;
}

static void *want_it(void *arg)
{
	pthread_mutex_lock(&mutex);
	return arg;
}

static void *main_of_two_at_a_mutex(void *arg)
{
	must_spawn_named("alice", hold_over_a_sleep, NULL);
	must(bide_yield() == 0);
	must_spawn_named("bob", want_it, NULL);
	pass(BIDE_SEC);
	return arg;
}

static void tell_and_end(int kind, const char *text, void *ctx)
{
	(void)ctx;
	ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
	(void)ignored;
	if (kind == BIDE_REPORT_STALL)
		_exit(7);
}

static void stop_at_a_mutex(void *arg)
{
	bide_config config = watched(BIDE_DEBUG, 0, 0);
	config.report = tell_and_end;
	(void)arg;
	alarm((unsigned)(20 * suite_scale()));
	bide_run(main_of_two_at_a_mutex, NULL, &config, NULL);
}

/* Scenario G3: who holds a pthread mutex over a switch is told, and who then stops the loop at it too. */
START_TEST(a_task_that_stops_the_loop_at_a_pthread_mutex_is_named)
{
	struct death death = death_of(stop_at_a_mutex, NULL);
	bool is_memcheck = suite_is_under("valgrind"); /* which has a status of its own for what is left there */
	ck_assert_msg(death.exit_status == 7 || is_memcheck, "signal %d, %s", death.signal, death.text);
	ck_assert_msg(strstr(death.text, "\"alice\" waits while it holds pthread mutex"), "%s", death.text);
	ck_assert_msg(strstr(death.text, "\"bob\", spawned at main_of_two_at_a_mutex"), "%s", death.text);
	if (!suite_is_for("thread")) /* which keeps a signal back while it waits for the mutex */
		ck_assert_msg(strstr(death.text, "\n    want_it (test_canary.c:"), "%s", death.text);
}
END_TEST

/* ---- several, and none ---------------------------------------------------------------------------- */

static atomic_int told_by[2];

static void count_by_loop(int kind, const char *text, void *ctx)
{
	(void)text;
	(void)ctx;
	if (kind == BIDE_REPORT_SLOW)
		atomic_fetch_add(&told_by[bide_loop_number()], 1);
}

static void *burn_in_the_second(void *arg)
{
	burn(bide_loop_number() == 1 ? longer_than(slow()) : BIDE_MSEC);
	return arg;
}

START_TEST(each_of_several_loops_has_its_own_slices)
{
	bide_config config = watched(BIDE_DEBUG, slow(), 0);
	config.report = count_by_loop;
	ck_assert_int_eq(bide_run_many(2, burn_in_the_second, NULL, &config, NULL), 0);
	ck_assert_int_eq(atomic_load(&told_by[0]), 0);
	ck_assert_int_eq(atomic_load(&told_by[1]), 1);
}
END_TEST

static bide_time cpu_of_process(void)
{
	struct timespec used;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * BIDE_SEC + used.tv_nsec;
}

struct activity {
	long wakes;
	bide_time cpu;
};

static void *be_idle(void *arg)
{
	struct activity *activity = arg;
	struct rusage before, after;
	pass(20 * BIDE_MSEC);
	getrusage(RUSAGE_SELF, &before);
	bide_time cpu = cpu_of_process();
	pass(100 * BIDE_MSEC);
	getrusage(RUSAGE_SELF, &after);
	activity->wakes = after.ru_nvcsw - before.ru_nvcsw;
	activity->cpu = cpu_of_process() - cpu;
	return NULL;
}

/* The watchdog looks four times in 2 ms while there is something to see, and then sleeps with the loop. */
START_TEST(an_idle_loop_is_not_looked_at)
{
	struct activity activity;
	bide_config config = watched(0, 2 * BIDE_MSEC, 2 * BIDE_MSEC);
	must_run(&config, be_idle, &activity);
	ck_assert_msg(activity.wakes < 40 && activity.cpu < 20 * suite_scale() * BIDE_MSEC, "%ld wakes, %lld ns",
	    activity.wakes, (long long)activity.cpu);
}
END_TEST

static void ignore_report(int kind, const char *text, void *ctx)
{
	(void)kind;
	(void)text;
	(void)ctx;
}

static void *run_often(void *arg)
{
	for (int i = 0; i < suite_scaled_down(200, 20); i++) {
		bide_config config = BIDE_CONFIG_INIT;
		bide_time delay = i % 40 * 10 * BIDE_USEC;
		config.report = ignore_report;
		config.slow_slice = config.stall = 100 * BIDE_USEC;
		must(bide_run(sleeper, &delay, &config, NULL) == 0);
	}
	return arg;
}

/* With the last loop the watchdog ends, and with the next one another begins, whatever it was about to do: to
 * look, to fall asleep, to hold a thread. */
START_TEST(watchdogs_come_and_go)
{
	pthread_t other;
	must(pthread_create(&other, NULL, run_often, NULL) == 0);
	run_often(NULL);
	pthread_join(other, NULL);
}
END_TEST

/* Without a thread for the watchdog the canary has the processor's time to go by. */
START_TEST(without_a_watchdog_slices_are_timed_all_the_same)
{
	bide_time duration = longer_than(slow());
	bide_config config = watched(BIDE_DEBUG, slow(), 0);
	must(bide_fault("pthread_create:EAGAIN") == 0);
	must_run(&config, main_of_one_that_burns, &duration);
	expect_slow(1, "\"burner\"", slow());
	duration = 0;
	must(bide_fault("malloc:ENOMEM@1") == 0);
	bide_run(main_of_one_that_burns, &duration, &config, NULL);
	must(bide_fault(NULL) == 0);
}
END_TEST

static void run_in_a_child(void *arg)
{
	bide_config config = watched(BIDE_DEBUG, slow(), 0);
	bide_run(main_of_one_that_burns, arg, &config, NULL);
	_exit(reports.count[BIDE_REPORT_SLOW] == 1 ? 0 : 1);
}

static void *fork_one(void *arg)
{
	pid_t child = fork();
	if (child == 0)
		run_in_a_child(arg);
	int status;
	must(child > 0 && waitpid(child, &status, 0) == child);
	must_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
	return NULL;
}

/* The child has no watchdog of its parent's, and gets its own. */
START_TEST(a_forked_process_watches_its_own_loops)
{
	bide_time duration = longer_than(slow());
	bide_config config = watched(BIDE_DEBUG, slow(), 0);
	if (suite_is_for("thread") || suite_is_for("address") || suite_is_under("qemu") || suite_is_under("valgrind"))
		return; /* a child of theirs cannot have threads, or has lost what others had */
	must_run(&config, fork_one, &duration);
}
END_TEST

int main(void)
{
	return SUITE("canary", TEST(bad_settings_are_refused), TEST(a_slice_of_120_ms_is_reported_once),
	    TEST(a_setting_of_its_own_needs_no_debug_mode), TEST(a_slice_of_50_ms_is_not_reported),
	    LOOP(nobody_is_reported_where_it_is_off, 0, 2), TEST(one_that_gives_way_is_not_reported),
	    LOOP(an_eager_child_is_not_blamed_for_its_parent, 0, 2),
	    LOOP(callbacks_and_posts_are_slices_too, 0, 3), TEST(a_process_that_was_stopped_blames_nobody),
	    TEST(a_task_that_never_gives_way_is_told_while_it_is_stuck),
	    TEST(a_task_that_blocks_in_the_kernel_is_told_then_and_when_it_is_over),
	    TEST(a_task_that_stops_the_loop_at_a_pthread_mutex_is_named), TEST(each_of_several_loops_has_its_own_slices),
	    TEST(an_idle_loop_is_not_looked_at), TEST(watchdogs_come_and_go), TEST(without_a_watchdog_slices_are_timed_all_the_same),
	    TEST(a_forked_process_watches_its_own_loops));
}
