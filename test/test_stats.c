/* SPDX-License-Identifier: MIT
 * A loop's figures: what they count, loop lag, other threads that read them, and Prometheus' text.
 * Statement 189, scenario E17. */
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "parked.h"
#include "prometheus.h"
#include "runs.h"
#include "sockets.h"

#define HOUR (3600 * BIDE_SEC)

/* ---- what is counted ------------------------------------------------------------------------------ */

static void must_add_up(const bide_stats *now)
{
	must(now->tasks_alive == now->tasks_created + now->tasks_ready + now->tasks_suspended);
	must(now->tasks_spawned == now->tasks_alive + now->tasks_ended);
}

VIRTUAL_TEST(tasks_are_counted_by_state)
{
	bide_task *tasks[3];
	bide_stats before = stats();
	must(before.tasks_alive == 1 && before.tasks_ready == 1 && before.tasks_created == 0);
	for (int i = 0; i < 3; i++)
		tasks[i] = must_spawn(forever_sleeper, NULL);
	bide_stats now = stats();
	must(now.tasks_created == 3 && now.tasks_ready == 1 && now.tasks_suspended == 0);
	must_add_up(&now);
	must(bide_cancel(tasks[0], NULL) == 0); /* ends without having run */
	settle();
	now = stats();
	must(now.tasks_created == 0 && now.tasks_ready == 1 && now.tasks_suspended == 2 && now.tasks_ended == 1);
	must_add_up(&now);
	must(bide_cancel(tasks[1], NULL) == 0);
	now = stats();
	must(now.tasks_ready == 2 && now.tasks_suspended == 1);
	must(bide_cancel(tasks[2], NULL) == 0);
	for (int i = 0; i < 3; i++)
		must_join(tasks[i]);
	now = stats();
	must(now.tasks_alive == 1 && now.tasks_spawned == 4 && now.tasks_ended == 3);
	must_add_up(&now);
}

static void count_call(void *count)
{
	++*(int *)count;
}

VIRTUAL_TEST(timers_are_counted_when_they_are_armed_fire_and_go)
{
	int calls = 0;
	bide_timer timers[2] = { 0 };
	bide_stats before = stats();
	must(bide_call_later(&timers[0], BIDE_SEC, count_call, &calls) == 0);
	must(bide_call_later(&timers[1], HOUR, count_call, &calls) == 0);
	bide_stats armed = stats();
	must(armed.timers_armed == before.timers_armed + 2 && armed.timers_pending == before.timers_pending + 2);
	pass(2 * BIDE_SEC);
	bide_stats after = stats();
	must(calls == 1 && after.timers_fired == before.timers_fired + 2); /* and that of pass() */
	must(after.timers_armed == before.timers_armed + 3);
	must(after.timers_pending == before.timers_pending + 1);
	must(after.sleeps >= before.sleeps && after.parks == before.parks + 1);
	must(bide_timer_cancel(&timers[1]) == 1);
	must(stats().timers_pending == before.timers_pending);
}

static void *read_byte(void *fd)
{
	char byte;
	return bide_read(*(int *)fd, &byte, 1) == 1 ? fd : bide_fail(errno);
}

REAL_TEST(waits_for_descriptors_and_their_events_are_counted)
{
	int fds[2];
	make_unix(fds);
	bide_task *reader = must_spawn(read_byte, &fds[0]);
	settle();
	bide_stats waiting = stats();
	must(waiting.descriptor_waits == 1 && waiting.tasks_suspended == 1);
	must_write(fds[1], "x", 1);
	must_end_well(reader);
	bide_stats after = stats();
	must(after.descriptor_waits == 0 && after.events > waiting.events && after.polls > waiting.polls);
	must(after.switches > waiting.switches && after.turns > waiting.turns);
	close_pair(fds);
}

static sem_t job_may_end;

static void *job(void *arg)
{
	while (sem_wait(&job_may_end) < 0)
		continue;
	return arg;
}

static void nothing_to_do(void *arg)
{
	(void)arg;
}

static void *offload_one(void *arg)
{
	return bide_offload(job, arg, 0, NULL) == 0 ? arg : bide_fail(errno);
}

REAL_TEST(jobs_and_posts_are_counted)
{
	bide_stats before = stats();
	must(sem_init(&job_may_end, 0, 0) == 0);
	bide_task *task = must_spawn(offload_one, NULL);
	while (stats().jobs == before.jobs)
		must(bide_yield() == 0);
	bide_stats now = stats();
	must(now.jobs == before.jobs + 1 && now.jobs_pending == before.jobs_pending + 1);
	must(sem_post(&job_may_end) == 0);
	must_end_well(task);
	now = stats();
	must(now.jobs_pending == 0 && now.posts == before.posts + 1);
	must(bide_post(bide_loop_self(), nothing_to_do, NULL) == 0);
	settle();
	must(stats().posts == before.posts + 2);
}

static void *burn_twice(void *arg)
{
	uint64_t *slow = arg;
	for (int i = 0; i < 2; i++) {
		bide_time end = clock_of_thread() + 20 * BIDE_MSEC;
		while (clock_of_thread() < end)
			continue;
		must(bide_yield() == 0);
	}
	*slow = stats().slow_slices;
	return NULL;
}

START_TEST(slices_that_are_reported_as_slow_are_counted)
{
	uint64_t slow = 0;
	struct reports reports = { .count = { 0 } };
	bide_config config = config_with(BIDE_NO_SIGNALS, &reports);
	config.slow_slice = 10 * BIDE_MSEC;
	ck_assert_int_eq(bide_run(burn_twice, &slow, &config, NULL), 0);
	ck_assert_uint_eq(slow, 2);
	ck_assert_int_eq(reports.count[BIDE_REPORT_SLOW], 2);
}
END_TEST

/* ---- loop lag -------------------------------------------------------------------------------------- */

static const struct {
	bide_time duration;
	unsigned index;
} durations[] = {
	{ -1, 0 }, { 0, 0 }, { 1, 0 }, { 1000, 0 }, { 1001, 1 }, { 2000, 1 }, { 2001, 2 }, { 4000, 2 }, { 4001, 3 },
	{ 4194304000, 22 }, { 4194304001, 23 }, { HOUR, 23 }, { BIDE_NEVER, 23 },
};

START_TEST(a_duration_is_counted_up_to_a_power_of_two)
{
	static struct board board;
	bide_stats out;
	board_clear(&board);
	board_note(&board, BOARD_TIMER_LAG, durations[_i].duration);
	board_read(&board, &out);
	ck_assert_uint_eq(out.timer_lag.counts[durations[_i].index], 1);
	ck_assert_uint_eq(out.timer_lag.total, 1);
	ck_assert_uint_eq(out.timer_lag.sum_ns, durations[_i].duration > 0 ? (uint64_t)durations[_i].duration : 0);
	ck_assert_uint_eq(out.look_gap.total, 0);
}
END_TEST

/* A slice of so long, by the virtual clock. */
static void be_slow(bide_time duration)
{
	loop_current->clock.now += duration;
}

VIRTUAL_TEST(what_a_slow_slice_delays_is_lag_to_the_nanosecond)
{
	int calls = 0;
	bide_timer timers[2] = { 0 };
	settle();
	bide_stats before = stats();
	must(bide_call_later(&timers[0], 10 * BIDE_MSEC, count_call, &calls) == 0);
	must(bide_call_later(&timers[1], 20 * BIDE_MSEC, count_call, &calls) == 0);
	be_slow(50 * BIDE_MSEC);
	settle();
	bide_stats after = stats();
	must(calls == 2 && after.timer_lag.total == before.timer_lag.total + 2);
	must(after.timer_lag.sum_ns == before.timer_lag.sum_ns + 70 * BIDE_MSEC);
	must(after.timer_lag.counts[16] == before.timer_lag.counts[16] + 1); /* 40 ms */
	must(after.timer_lag.counts[15] == before.timer_lag.counts[15] + 1); /* 30 ms */
	must(after.look_gap.sum_ns == before.look_gap.sum_ns + 50 * BIDE_MSEC);
	must(after.look_gap.counts[16] == before.look_gap.counts[16] + 1);
}

static void *be_slow_and_park(void *arg)
{
	be_slow(30 * BIDE_MSEC);
	pass(BIDE_SEC);
	return arg;
}

/* The slice ends in a sleep instead of a look. */
VIRTUAL_TEST(what_is_found_due_before_a_sleep_was_late_as_well)
{
	int calls = 0;
	bide_timer timer = { 0 };
	settle();
	bide_stats before = stats();
	must(bide_call_later(&timer, 10 * BIDE_MSEC, count_call, &calls) == 0);
	must_end_well(must_spawn(be_slow_and_park, NULL));
	bide_stats after = stats();
	must(calls == 1 && after.timer_lag.sum_ns == before.timer_lag.sum_ns + 20 * BIDE_MSEC);
	must(after.look_gap.sum_ns == before.look_gap.sum_ns + 30 * BIDE_MSEC);
}

VIRTUAL_TEST(sleeping_is_no_lag_and_neither_is_a_clock_that_a_test_moves)
{
	bide_stats before = stats();
	pass(HOUR);
	must(bide_clock_advance(HOUR) == 0);
	pass(BIDE_SEC);
	bide_stats after = stats();
	must(after.timer_lag.total >= before.timer_lag.total + 2);
	must(after.timer_lag.sum_ns == before.timer_lag.sum_ns && after.look_gap.sum_ns == before.look_gap.sum_ns);
}

VIRTUAL_TEST(a_timer_for_a_time_long_past_is_not_late_by_all_of_it)
{
	int calls = 0;
	bide_timer timer = { 0 };
	pass(HOUR);
	bide_stats before = stats();
	must(bide_call_at(&timer, 1, count_call, &calls) == 0);
	be_slow(BIDE_MSEC);
	settle();
	bide_stats after = stats();
	must(calls == 1 && after.timer_lag.sum_ns == before.timer_lag.sum_ns + BIDE_MSEC);
}

/* ---- from other threads ---------------------------------------------------------------------------- */

struct reader {
	bide_loop *loop;
	atomic_bool is_over;
	atomic_int reads;
	int refused;
	bide_stats last;
};

static int read_loop(bide_loop *loop, bide_stats *out)
{
	*out = (bide_stats){ .size = sizeof *out };
	return bide_stats_get(loop, out);
}

static void must_not_go_back(const bide_stats *before, const bide_stats *now)
{
	must(now->switches >= before->switches && now->tasks_spawned >= before->tasks_spawned);
	must(now->tasks_ended >= before->tasks_ended && now->parks >= before->parks);
	must(now->timers_fired >= before->timers_fired && now->timer_lag.total >= before->timer_lag.total);
	must(now->tasks_alive < 1000 && now->tasks_suspended < 1000); /* never the difference of two torn ones */
	must(now->stack_resident == 0);
}

static void *read_on(void *arg)
{
	struct reader *reader = arg;
	bide_stats now;
	while (!atomic_load(&reader->is_over)) {
		must(read_loop(reader->loop, &now) == 0);
		must_not_go_back(&reader->last, &now);
		reader->last = now;
		atomic_fetch_add(&reader->reads, 1);
	}
	return NULL;
}

static void *come_and_go(void *arg)
{
	pass(BIDE_USEC);
	return arg;
}

REAL_TEST(another_thread_reads_whole_figures_that_never_go_back)
{
	struct reader reader = { .loop = bide_loop_self() };
	pthread_t thread;
	must(pthread_create(&thread, NULL, read_on, &reader) == 0);
	int rounds = suite_scaled_down(500, 50);
	for (int i = 0; i < rounds || atomic_load(&reader.reads) < 10; i++)
		must_end_well(must_spawn(come_and_go, NULL));
	atomic_store(&reader.is_over, true);
	must(pthread_join(thread, NULL) == 0);
	must(reader.last.tasks_spawned > 1);
}

struct seen {
	bide_loop *loop;
	bide_stats stats;
	int err;
};

static void *see_it(void *arg)
{
	struct seen *seen = arg;
	seen->err = read_loop(seen->loop, &seen->stats) < 0 ? errno : 0;
	return NULL;
}

/* What another thread reads now, while the loop stands still in a slice. */
static bide_stats seen_from_outside(void)
{
	struct seen seen = { .loop = bide_loop_self() };
	pthread_t thread;
	must(pthread_create(&thread, NULL, see_it, &seen) == 0);
	must(pthread_join(thread, NULL) == 0);
	must(seen.err == 0);
	return seen.stats;
}

REAL_TEST(what_others_see_is_of_the_latest_look)
{
	for (int i = 0; i < 3; i++)
		must_spawn(forever_sleeper, NULL);
	settle();
	pass(BIDE_MSEC);
	bide_stats own = stats(), outside = seen_from_outside();
	must(outside.tasks_spawned == 4 && outside.tasks_alive == 4);
	must(outside.tasks_suspended >= 3); /* main as well, which slept */
	must(outside.sleeps == own.sleeps && outside.stack_bytes == own.stack_bytes);
	must(outside.switches <= own.switches && outside.stacks_in_use == own.stacks_in_use);
}

REAL_TEST(a_loop_whose_task_does_not_give_control_back_is_seen_from_outside)
{
	pass(BIDE_MSEC);
	bide_stats first = seen_from_outside();
	bide_time now = bide_now();
	must(first.busy_since > 0 && first.busy_since <= now);
	compute(2 * BIDE_MSEC);
	must(seen_from_outside().busy_since == first.busy_since);
	pass(BIDE_MSEC);
	must(seen_from_outside().busy_since > first.busy_since);
}

static void *see_asleep(void *arg)
{
	struct seen *seen = arg;
	do
		must(read_loop(seen->loop, &seen->stats) == 0);
	while (seen->stats.busy_since != 0);
	return bide_post_signal(seen->loop, &gate) == 0 ? NULL : arg;
}

REAL_TEST(a_loop_that_sleeps_is_seen_asleep_with_all_its_figures)
{
	struct seen seen = { .loop = bide_loop_self() };
	pthread_t thread;
	must(bide_future_init(&gate, NULL) == 0);
	must(bide_loop_ref(seen.loop) == 0);
	must(pthread_create(&thread, NULL, see_asleep, &seen) == 0);
	must(bide_await(&gate, NULL) == 0);
	void *failed;
	must(pthread_join(thread, &failed) == 0 && !failed);
	must(bide_loop_unref(seen.loop) == 0 && bide_future_destroy(&gate) == 0);
	must(seen.stats.tasks_suspended == 1 && seen.stats.tasks_ready == 0 && seen.stats.sleeps > 0);
}

/* ---- loops that end -------------------------------------------------------------------------------- */

static void *tell_loop(void *arg)
{
	*(_Atomic(bide_loop *) *)arg = bide_loop_self();
	pass(1);
	return NULL;
}

struct chase {
	_Atomic(bide_loop *) loop;
	atomic_bool is_over;
	int good, gone;
};

static void *chase(void *arg)
{
	struct chase *chase = arg;
	bide_stats now;
	while (!atomic_load(&chase->is_over)) {
		bide_loop *loop = atomic_load(&chase->loop);
		if (!loop)
			continue;
		if (read_loop(loop, &now) == 0) {
			chase->good++;
			must(now.tasks_alive <= 1 && now.tasks_spawned <= 1 && now.busy_since >= 0);
		} else {
			chase->gone++;
			must(errno == ESHUTDOWN);
		}
	}
	return NULL;
}

START_TEST(a_loop_that_ends_while_it_is_read_is_told_as_ended)
{
	struct chase hunt = { .good = 0 };
	bide_stats after;
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, chase, &hunt), 0);
	for (int i = 0; i < suite_scaled_down(300, 30); i++)
		must(bide_run(tell_loop, &hunt.loop, NULL, NULL) == 0);
	atomic_store(&hunt.is_over, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_fails(read_loop(atomic_load(&hunt.loop), &after), ESHUTDOWN);
	ck_assert_int_gt(hunt.good + hunt.gone, 0);
}
END_TEST

/* What the loop before has counted in the same place is not there. */
static void *look_into_the_past(void *arg)
{
	bide_stats own = stats();
	must(own.timers_fired == 0 && own.sleeps == 0 && own.look_gap.total <= 1);
	bide_stats now;
	ck_fails(read_loop(*(bide_loop **)arg, &now), ESHUTDOWN);
	return arg;
}

START_TEST(the_next_loop_in_the_same_place_is_not_taken_for_the_one_before)
{
	_Atomic(bide_loop *) first = NULL;
	must(bide_run(tell_loop, &first, NULL, NULL) == 0);
	bide_loop *handle = atomic_load(&first);
	run_real(look_into_the_past, &handle);
}
END_TEST

static bide_stats at_the_end;

/* The inbox, with its board, may be another loop's already. */
static void see_the_end(void *handle)
{
	bide_stats outside;
	at_the_end = stats();
	must(loop_current->board == &loop_current->board_left);
	ck_fails(inbox_read_board(handle, &outside), ESHUTDOWN);
}

static void *post_and_go(void *arg)
{
	must(bide_post(bide_loop_self(), see_the_end, bide_loop_self()) == 0);
	return arg;
}

START_TEST(a_post_that_runs_at_the_end_sees_the_figures_of_its_loop)
{
	run_real(post_and_go, NULL);
	ck_assert_uint_eq(at_the_end.posts, 1);
	ck_assert_uint_eq(at_the_end.tasks_spawned, 1);
	ck_assert_uint_eq(at_the_end.tasks_ended, 1);
	ck_assert_uint_eq(at_the_end.tasks_alive, 0);
}
END_TEST

REAL_TEST(a_forked_process_reads_nothing_of_its_parent)
{
	bide_loop *parent = bide_loop_self();
	bide_stats now;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0)
		_exit(read_loop(parent, &now) < 0 && errno == ESHUTDOWN ? 0 : 1);
	int status;
	must(child > 0 && waitpid(child, &status, 0) == child);
	must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- the text -------------------------------------------------------------------------------------- */

static struct page page;

static void write_page(bide_loop *const loops[], unsigned count)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	must(bide_stats_write(out, loops, count) == 0);
	fclose(out);
	page_read(&page, text);
	free(text);
}

VIRTUAL_TEST(the_text_has_every_figure_in_the_format_of_prometheus)
{
	pass(BIDE_MSEC);
	be_slow(3 * BIDE_MSEC);
	pass(BIDE_MSEC);
	write_page(NULL, 0);
	bide_stats now = stats();
	must(page_value(&page, "bide_tasks", 0, "ready") == 1 && page_value(&page, "bide_tasks", 0, "suspended") == 0);
	must(page_value(&page, "bide_tasks_spawned_total", 0, NULL) == 1);
	must(page_value(&page, "bide_timers_fired_total", 0, NULL) == (double)now.timers_fired);
	must(page_value(&page, "bide_switches_total", 0, NULL) == (double)now.switches);
	must(page_value(&page, "bide_stacks", 0, "in_use") == 1);
	must(page_value(&page, "bide_stack_bytes", 0, NULL) == (double)now.stack_bytes);
	must(page_value(&page, "bide_timer_lag_seconds_count", 0, NULL) == (double)now.timer_lag.total);
	must(fabs(page_value(&page, "bide_look_gap_seconds_sum", 0, NULL) - 0.003) < 1e-12);
	must(page_value(&page, "bide_look_gap_seconds_bucket", 0, "0.002048") == (double)now.look_gap.total - 1);
	must(page_value(&page, "bide_look_gap_seconds_bucket", 0, "0.004096") == (double)now.look_gap.total);
	must(page_value(&page, "bide_busy_seconds", 0, NULL) >= 0);
}

static bide_loop *all[3];
static atomic_int ready;

static void *note_and_wait(void *arg)
{
	all[bide_loop_number()] = bide_loop_self();
	atomic_fetch_add(&ready, 1);
	if (bide_loop_number() == 2)
		return arg; /* ends early */
	while (atomic_load(&ready) < 3)
		pass(BIDE_MSEC);
	if (bide_loop_number() == 0) {
		bide_stats gone;
		while (read_loop(all[2], &gone) == 0)
			pass(BIDE_MSEC);
		write_page(all, 3);
		atomic_store(&ready, 4);
	}
	while (atomic_load(&ready) < 4)
		pass(BIDE_MSEC);
	return arg;
}

START_TEST(all_loops_are_written_together_but_for_those_that_have_ended)
{
	atomic_store(&ready, 0);
	bide_loop *ended[2] = { NULL, NULL };
	ck_assert_int_eq(bide_run_many(3, note_and_wait, NULL, NULL, NULL), 0);
	must(page_has_loop(&page, 0) && page_has_loop(&page, 1) && !page_has_loop(&page, 2));
	ended[1] = all[0];
	ck_fails(bide_stats_write(stderr, ended, 2), ESHUTDOWN);
	ck_fails(bide_stats_write(stderr, NULL, 0), EPERM);
}
END_TEST

VIRTUAL_TEST(the_locale_does_not_matter)
{
	suite_use_decimal_comma();
	pass(BIDE_MSEC);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	must(bide_stats_write(out, NULL, 0) == 0);
	fclose(out);
	suite_use_c_locale();
	page_read(&page, text);
	free(text);
}

VIRTUAL_TEST(bad_input_is_refused)
{
	bide_loop *none[1] = { NULL };
	bide_stats now = { .size = sizeof now - 1 };
	ck_fails(bide_stats_get(NULL, NULL), EINVAL);
	ck_fails(bide_stats_get(NULL, &now), EINVAL);
	ck_fails(bide_stats_write(NULL, NULL, 0), EINVAL);
	ck_fails(bide_stats_write(stderr, NULL, 1), EINVAL);
	ck_fails(bide_stats_write(stderr, none, 1), ESHUTDOWN);
	FILE *full = fopen("/dev/full", "w");
	setvbuf(full, NULL, _IONBF, 0);
	ck_fails(bide_stats_write(full, NULL, 0), ENOSPC);
	fclose(full);
}

int main(void)
{
	return SUITE("stats", TEST(tasks_are_counted_by_state), TEST(timers_are_counted_when_they_are_armed_fire_and_go),
	    TEST(waits_for_descriptors_and_their_events_are_counted), TEST(jobs_and_posts_are_counted),
	    TEST(slices_that_are_reported_as_slow_are_counted),
	    TABLE(a_duration_is_counted_up_to_a_power_of_two, durations),
	    TEST(what_a_slow_slice_delays_is_lag_to_the_nanosecond),
	    TEST(what_is_found_due_before_a_sleep_was_late_as_well),
	    TEST(sleeping_is_no_lag_and_neither_is_a_clock_that_a_test_moves),
	    TEST(a_timer_for_a_time_long_past_is_not_late_by_all_of_it),
	    TEST(another_thread_reads_whole_figures_that_never_go_back), TEST(what_others_see_is_of_the_latest_look),
	    TEST(a_loop_whose_task_does_not_give_control_back_is_seen_from_outside),
	    TEST(a_loop_that_sleeps_is_seen_asleep_with_all_its_figures),
	    TEST(a_loop_that_ends_while_it_is_read_is_told_as_ended),
	    TEST(the_next_loop_in_the_same_place_is_not_taken_for_the_one_before),
	    TEST(a_post_that_runs_at_the_end_sees_the_figures_of_its_loop),
	    TEST(a_forked_process_reads_nothing_of_its_parent),
	    TEST(the_text_has_every_figure_in_the_format_of_prometheus),
	    TEST(all_loops_are_written_together_but_for_those_that_have_ended), TEST(the_locale_does_not_matter),
	    TEST(bad_input_is_refused));
}
