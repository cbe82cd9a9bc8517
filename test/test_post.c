/* SPDX-License-Identifier: MIT
 * Posts from other threads and from signal handlers. Statements 10, 13-15, 63, 106, 107, scenarios H1, H2,
 * H4, H5, H11. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "death.h"
#include "elsewhere.h"
#include "resources.h"
#include "runs.h"
#include "sched/inbox.h"
#include "suite.h"

/* ---- helpers ------------------------------------------------------------------------------------------ */

static void plain_sleep(bide_time delay)
{
	struct timespec time = { delay / BIDE_SEC, delay % BIDE_SEC };
	while (nanosleep(&time, &time) < 0)
		continue;
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) < 0)
		must(errno == EINTR);
}

static void set_event(void *event)
{
	must(bide_event_set(event) == 0);
}

/* ---- one post ----------------------------------------------------------------------------------------- */

struct poster {
	bide_loop *loop;
	void (*fn)(void *arg);
	void *arg;
	bide_time delay;
};

static void *post_once(void *arg)
{
	const struct poster *poster = arg;
	plain_sleep(poster->delay);
	must(bide_post(poster->loop, poster->fn, poster->arg) == 0);
	return NULL;
}

/* Statement 14. */
REAL_TEST(a_post_wakes_a_loop_that_sleeps_without_limit)
{
	bide_event event = { { 0 } };
	struct poster poster = { bide_loop_self(), set_event, &event, 20 * BIDE_MSEC };
	must(bide_loop_ref(poster.loop) == 0);
	pthread_t thread = thread_start(post_once, &poster);
	must(bide_event_wait(&event) == 0);
	thread_finish(thread);
	must(bide_loop_unref(poster.loop) == 0);
}

static void note_where(void *arg)
{
	must(!bide_self() && bide_loop_self());
	ck_fails(bide_sleep(1), EPERM);
	*(bide_loop **)arg = bide_loop_self();
}

/* Statement 12. */
VIRTUAL_TEST(a_post_runs_on_the_loop_outside_any_task)
{
	bide_loop *where = NULL;
	must(bide_post(bide_loop_self(), note_where, &where) == 0);
	must(!where);
	settle();
	must(where == bide_loop_self());
}

static void append(void *arg)
{
	static char *const names[] = { "a", "b", "c" };
	static int next;
	strcat(arg, names[next++ % 3]);
}

VIRTUAL_TEST(posts_of_the_loops_own_thread_run_in_order)
{
	char log[8] = "";
	for (int i = 0; i < 3; i++)
		must(bide_post(bide_loop_self(), append, log) == 0);
	settle();
	ck_assert_str_eq(log, "abc");
}

struct chain {
	bide_loop *loop;
	int left;
};

static void post_again(void *arg)
{
	struct chain *chain = arg;
	if (--chain->left > 0)
		must(bide_post(chain->loop, post_again, chain) == 0);
}

/* Statement 5: a loop that is always posted to still serves timers. */
REAL_TEST(posts_that_post_do_not_starve_a_sleeper)
{
	struct chain chain = { bide_loop_self(), 100000000 };
	must(bide_post(chain.loop, post_again, &chain) == 0);
	pass(5 * BIDE_MSEC);
	must(chain.left > 0);
	chain.left = 1;
	settle();
}

/* ---- many posts --------------------------------------------------------------------------------------- */

#define THREADS 8

struct sender {
	bide_loop *loop;
	int count;
	int sent;
	int received; /* on the loop's thread */
	bool is_out_of_order;
};

struct numbered {
	struct sender *sender;
	int number;
};

static void receive(void *arg)
{
	struct numbered *numbered = arg;
	struct sender *sender = numbered->sender;
	if (numbered->number != sender->received++)
		sender->is_out_of_order = true;
	free(numbered);
}

static void *send_all(void *arg)
{
	struct sender *sender = arg;
	for (; sender->sent < sender->count; sender->sent++) {
		struct numbered *numbered = malloc(sizeof *numbered);
		*numbered = (struct numbered){ sender, sender->sent };
		must(bide_post(sender->loop, receive, numbered) == 0);
	}
	return NULL;
}

static int received(const struct sender senders[THREADS])
{
	int sum = 0;
	for (int i = 0; i < THREADS; i++)
		sum += senders[i].received;
	return sum;
}

/* Statement 15, scenario H2: while the loop stands still (_i 0), and while it runs. */
REAL_TEST(a_million_posts_of_eight_threads_all_run_each_threads_in_order)
{
	struct sender senders[THREADS];
	pthread_t threads[THREADS];
	int count = suite_scaled_down(1000000, 40000) / THREADS;
	for (int i = 0; i < THREADS; i++) {
		senders[i] = (struct sender){ .loop = bide_loop_self(), .count = count };
		threads[i] = thread_start(send_all, &senders[i]);
	}
	for (int i = 0; i < THREADS && _i == 0; i++)
		thread_finish(threads[i]);
	while (received(senders) < count * THREADS)
		pass(BIDE_MSEC);
	for (int i = 0; i < THREADS; i++) {
		if (_i == 1)
			thread_finish(threads[i]);
		must(senders[i].received == count && !senders[i].is_out_of_order);
	}
}

/* ---- idle loops --------------------------------------------------------------------------------------- */

struct ping {
	bide_loop *loop;
	bide_future *future;
	atomic_bool is_wanted;
	bool is_over;
	unsigned seed;
};

static void *answer(void *arg)
{
	struct ping *ping = arg;
	for (;;) {
		while (!atomic_load(&ping->is_wanted))
			sched_yield();
		if (ping->is_over)
			return NULL;
		atomic_store(&ping->is_wanted, false);
		for (int spins = rand_r(&ping->seed) % 3000; spins > 0; spins--)
			atomic_signal_fence(memory_order_seq_cst);
		must(bide_future_post(ping->loop, ping->future, ping, 0) == 0);
	}
}

/* Statement 106, scenario H1: no wake-up is lost, whatever the loop is just doing. */
REAL_TEST(a_future_that_is_posted_to_an_idle_loop_wakes_it_each_time)
{
	bide_future future;
	struct ping ping = { .loop = bide_loop_self(), .future = &future, .seed = 1 };
	pthread_t thread = thread_start(answer, &ping);
	must(bide_loop_ref(ping.loop) == 0);
	for (int i = suite_scaled_down(10000, 1000); i > 0; i--) {
		bide_result result;
		must(bide_future_init(&future, NULL) == 0);
		atomic_store(&ping.is_wanted, true);
		must(bide_await(&future, &result) == 0 && result.err == 0 && result.value == &ping);
		must(bide_future_destroy(&future) == 0);
	}
	must(bide_loop_unref(ping.loop) == 0);
	ping.is_over = true;
	atomic_store(&ping.is_wanted, true);
	thread_finish(thread);
}

/* ---- how long a wake-up takes ---------------------------------------------------------------------------- */

struct wake {
	bide_loop *loop;
	bide_future *future; /* NULL: the thread sleeps at the semaphore instead, as plain threads do */
	sem_t plain, wanted;
	bool is_over;
	bide_time woken_at;
	unsigned seed;
};

static void *wake_at_random_times(void *arg)
{
	struct wake *wake = arg;
	for (;;) {
		wait_for(&wake->wanted);
		if (wake->is_over)
			return NULL;
		bide_time moment = bide_after(rand_r(&wake->seed) % 30 * BIDE_USEC);
		while ((wake->woken_at = bide_now()) < moment)
			continue;
		if (wake->future)
			must(bide_future_post(wake->loop, wake->future, NULL, 0) == 0);
		else
			sem_post(&wake->plain);
	}
}

/* How late the thread goes on, which sleeps as its loop does, or plainly. */
static bide_time lateness(struct wake *wake, bool is_plain)
{
	bide_future future = { { 0 } };
	wake->future = is_plain ? NULL : &future;
	sem_post(&wake->wanted);
	if (is_plain)
		wait_for(&wake->plain);
	else
		must(bide_await(&future, NULL) == 0);
	bide_time late = bide_now() - wake->woken_at;
	must(bide_future_destroy(&future) == 0);
	return late;
}

static int by_length(const void *a, const void *b)
{
	const bide_time *first = a, *second = b;
	return (*first > *second) - (*first < *second);
}

static bide_time p99(bide_time times[], int count)
{
	qsort(times, (size_t)count, sizeof *times, by_length);
	return times[count * 99 / 100];
}

/* Scenario H1, statement 14: within 2 ms, or, on a machine that does not let anybody run so soon, about as soon as
 * the same thread goes on when it is woken the plain way. */
REAL_TEST(an_idle_loop_is_awake_as_soon_as_any_thread_would_be)
{
	enum { ROUNDS = 10000 };
	static bide_time times[2][ROUNDS];
	struct wake wake = { .loop = bide_loop_self(), .seed = 3 };
	int rounds = suite_scaled_down(ROUNDS, 500);
	must(sem_init(&wake.plain, 0, 0) == 0 && sem_init(&wake.wanted, 0, 0) == 0 && bide_loop_ref(wake.loop) == 0);
	pthread_t thread = thread_start(wake_at_random_times, &wake);
	for (int i = 0; i < 2 * rounds; i++)
		times[i % 2][i / 2] = lateness(&wake, i % 2);
	wake.is_over = true;
	sem_post(&wake.wanted);
	thread_finish(thread);
	must(bide_loop_unref(wake.loop) == 0);
	bide_time loop = p99(times[0], rounds), plain = p99(times[1], rounds);
	printf("99 of 100 wake-ups within %.0f us; of a plain thread %.0f us\n", (double)loop / 1000, (double)plain / 1000);
	must(loop < 2 * BIDE_MSEC || loop < 10 * plain);
}

static void nap(void *arg)
{
	(void)arg;
}

/* Of many posts to a loop that is awake none makes a system call: the flag is up once at most. */
REAL_TEST(a_loop_that_is_awake_is_not_woken)
{
	bide_loop *loop = bide_loop_self();
	must(bide_fault("eventfd_write:EIO") == 0);
	for (int i = 0; i < 1000; i++)
		must(bide_post(loop, nap, NULL) == 0);
	must(bide_fault(NULL) == 0);
	settle();
}

struct failing {
	bide_loop *loop;
	atomic_int failures;
	int err;
};

static void *post_until_told(void *arg)
{
	struct failing *failing = arg;
	for (int i = 0; i < 10000 && failing->failures == 0; i++) {
		plain_sleep(BIDE_MSEC / 10);
		if (bide_post(failing->loop, nap, NULL) < 0) {
			failing->err = errno;
			failing->failures++;
		}
	}
	return NULL;
}

/* Scenario H2: a wake-up that cannot be written is told; the post is in, and runs. */
REAL_TEST(a_loop_that_cannot_be_woken_is_told)
{
	struct failing failing = { .loop = bide_loop_self() };
	must(bide_fault("eventfd_write:EBADF") == 0);
	pthread_t thread = thread_start(post_until_told, &failing);
	while (failing.failures == 0)
		pass(BIDE_MSEC);
	thread_finish(thread);
	must(bide_fault(NULL) == 0);
	ck_assert_int_eq(failing.err, EBADF);
}

/* EAGAIN: the flag was up as high as it goes. EINTR: once more. */
REAL_TEST(a_flag_that_is_up_and_a_signal_are_no_failures)
{
	bide_event event = { { 0 } };
	struct poster poster = { bide_loop_self(), set_event, &event, 5 * BIDE_MSEC };
	must(bide_fault(_i ? "eventfd_write:EINTR@1" : "eventfd_write:EAGAIN@1") == 0);
	pthread_t thread = thread_start(post_once, &poster);
	bide_scope scope = { { 0 } }; /* with EAGAIN injected nothing was written */
	must(bide_scope_enter(&scope, bide_after(50 * BIDE_MSEC), BIDE_SHIELD) == 0);
	int status = bide_event_wait(&event);
	must(status == 0 || errno == ETIMEDOUT);
	(void)bide_scope_leave(&scope);
	thread_finish(thread);
	must(bide_fault(NULL) == 0);
	settle();
}

/* ---- futures ------------------------------------------------------------------------------------------ */

static int drops;
static void count_drop(void *value)
{
	(void)value;
	drops++;
}

struct racer {
	bide_loop *loop;
	bide_future *future;
	int result, err;
	pthread_barrier_t *line;
};

static void *race(void *arg)
{
	struct racer *racer = arg;
	pthread_barrier_wait(racer->line);
	racer->result = bide_future_post(racer->loop, racer->future, racer, 0);
	racer->err = errno;
	return NULL;
}

/* Scenario H4. */
REAL_TEST(of_four_posts_at_once_exactly_one_wins)
{
	pthread_barrier_t line;
	must(pthread_barrier_init(&line, NULL, 4) == 0);
	for (int round = suite_scaled_down(200, 20); round > 0; round--) {
		bide_future future = { { 0 } };
		struct racer racers[4];
		pthread_t threads[4];
		bide_result result;
		struct racer *winner = NULL;
		for (int i = 0; i < 4; i++) {
			racers[i] = (struct racer){ bide_loop_self(), &future, -1, 0, &line };
			threads[i] = thread_start(race, &racers[i]);
		}
		bide_loop_ref(bide_loop_self());
		must(bide_await(&future, &result) == 0);
		bide_loop_unref(bide_loop_self());
		for (int i = 0; i < 4; i++) {
			thread_finish(threads[i]);
			must(racers[i].result == 0 || racers[i].err == EALREADY);
			must(racers[i].result != 0 || !winner);
			if (racers[i].result == 0)
				winner = &racers[i];
		}
		must(winner && result.value == winner);
		must(bide_future_destroy(&future) == 0);
	}
	pthread_barrier_destroy(&line);
}

VIRTUAL_TEST(a_posted_failure_is_the_futures)
{
	bide_future future = { { 0 } };
	bide_result result;
	must(bide_future_post(bide_loop_self(), &future, &future, EIO) == 0);
	must(!bide_future_done(&future));
	must(bide_await(&future, &result) == 0 && result.err == EIO && !result.value);
	must(bide_future_destroy(&future) == 0);
}

/* Statement 108. */
VIRTUAL_TEST(a_value_that_comes_too_late_is_dropped)
{
	bide_future future;
	drops = 0;
	must(bide_future_init(&future, count_drop) == 0);
	must(bide_future_post(bide_loop_self(), &future, &future, 0) == 0);
	must(bide_future_set(&future, NULL) == 0);
	must(drops == 0);
	settle();
	must(drops == 1);
	must(bide_future_get(&future, NULL) == 0);
	must(bide_future_destroy(&future) == 0);
	must(drops == 1);
}

/* Statement 105. _i: whether the loop has looked into its inbox meanwhile. */
VIRTUAL_TEST(a_post_on_its_way_is_recalled_by_destruction)
{
	bide_future first, future;
	drops = 0;
	must(bide_future_init(&first, NULL) == 0 && bide_future_init(&future, count_drop) == 0);
	must(bide_future_post(bide_loop_self(), &first, NULL, 0) == 0);
	must(bide_future_post(bide_loop_self(), &future, &drops, 0) == 0);
	must(bide_future_destroy(&future) == 0);
	must(drops == 1);
	ck_fails(bide_future_post(bide_loop_self(), &future, &drops, 0), EPIPE);
	memset(&future, 0xff, sizeof future);
	must(bide_await(&first, NULL) == 0);
	must(bide_future_destroy(&first) == 0);
	must(bide_future_destroy(&first) == 0);
}

/* Memory that a waiter and a thread share, as the manual of bide_future_post() tells. */
struct shared {
	bide_future future;
	atomic_int references;
	bide_loop *loop;
	unsigned seed;
};

static void shared_drop(struct shared *shared)
{
	if (atomic_fetch_sub(&shared->references, 1) == 1)
		free(shared);
}

struct post_office {
	struct shared *next; /* NULL: it is over */
	sem_t filled, emptied;
};

static void *deliver(void *arg)
{
	struct post_office *office = arg;
	for (;;) {
		wait_for(&office->filled);
		struct shared *shared = office->next;
		sem_post(&office->emptied);
		if (!shared)
			return NULL;
		for (int spins = rand_r(&shared->seed) % 4000; spins > 0; spins--)
			atomic_signal_fence(memory_order_seq_cst);
		must(bide_future_post(shared->loop, &shared->future, shared, 0) == 0 || errno == EPIPE);
		shared_drop(shared);
	}
}

static void hand_in(struct post_office *office, struct shared *shared)
{
	wait_for(&office->emptied);
	office->next = shared;
	sem_post(&office->filled);
}

/* Scenario H5. */
REAL_TEST(set_against_timeout_against_destruction)
{
	struct post_office office = { .next = NULL };
	must(sem_init(&office.filled, 0, 0) == 0 && sem_init(&office.emptied, 0, 1) == 0);
	pthread_t thread = thread_start(deliver, &office);
	int values = 0, timeouts = 0, rounds = suite_scaled_down(20000, 2000);
	unsigned seed = 7;
	for (int i = 0; i < rounds; i++) {
		struct shared *shared = calloc(1, sizeof *shared);
		bide_scope scope = { { 0 } };
		bide_result result;
		*shared = (struct shared){ .references = 2, .loop = bide_loop_self(), .seed = (unsigned)i };
		hand_in(&office, shared);
		must(bide_scope_enter(&scope, bide_after(rand_r(&seed) % 20 * BIDE_USEC), 0) == 0);
		if (bide_await(&shared->future, &result) == 0) {
			must(result.value == shared);
			values++;
		} else {
			must(errno == ETIMEDOUT);
			timeouts++;
		}
		(void)bide_scope_leave(&scope);
		must(bide_future_destroy(&shared->future) == 0);
		shared_drop(shared);
	}
	hand_in(&office, NULL);
	thread_finish(thread);
	must(values + timeouts == rounds);
}

/* ---- cancel ------------------------------------------------------------------------------------------- */

struct canceler {
	bide_loop *loop;
	bide_task *task;
	int plain_err;
};

static void *cancel_from_outside(void *arg)
{
	struct canceler *canceler = arg;
	canceler->plain_err = bide_cancel(canceler->task, "no") < 0 ? errno : 0;
	must(bide_post_cancel(canceler->loop, canceler->task, "from outside") == 0);
	return NULL;
}

static void *sleep_until_canceled(void *arg)
{
	(void)arg;
	ck_fails(bide_sleep(BIDE_NEVER), ECANCELED);
	ck_assert_str_eq(bide_cancel_reason(), "from outside");
	return NULL;
}

/* Statement 63. */
REAL_TEST(another_thread_cancels_by_post_only)
{
	struct canceler canceler = { bide_loop_self(), must_spawn(sleep_until_canceled, NULL), 0 };
	must(bide_yield() == 0 && bide_loop_ref(canceler.loop) == 0);
	pthread_t thread = thread_start(cancel_from_outside, &canceler);
	must(must_join(canceler.task).err == ECANCELED);
	thread_finish(thread);
	must(bide_loop_unref(canceler.loop) == 0);
	ck_assert_int_eq(canceler.plain_err, EPERM);
}

VIRTUAL_TEST(a_cancel_that_comes_after_the_end_is_nothing)
{
	bide_task *task = must_spawn(nothing, NULL);
	bide_loop *loop = bide_loop_self();
	must(bide_post_cancel(loop, task, NULL) == 0);
	must_join(task); /* canceled before its first run, or after its end: the handle is gone */
	must(bide_post_cancel(loop, task, NULL) == 0);
	settle();
}

/* ---- signals ------------------------------------------------------------------------------------------ */

static bide_loop *signal_loop;
static bide_future *signal_future;

static void on_signal(int number)
{
	int saved = errno;
	(void)number;
	errno = 4711;
	if (bide_post_signal(signal_loop, signal_future) == 0 && errno != 4711)
		abort();
	errno = saved;
}

/* _i 0: while the loop runs; 1: while it sleeps. */
REAL_TEST(a_signal_handler_wakes_the_loop)
{
	bide_future future = { { 0 } };
	struct sigaction action = { .sa_handler = on_signal }, old;
	signal_loop = bide_loop_self();
	signal_future = &future;
	must(sigaction(SIGALRM, &action, &old) == 0);
	must(bide_loop_ref(signal_loop) == 0);
	if (_i == 0)
		raise(SIGALRM);
	else
		ualarm(10000, 0);
	must(bide_await(&future, NULL) == 0);
	must(bide_loop_unref(signal_loop) == 0);
	must(sigaction(SIGALRM, &old, NULL) == 0);
	must(bide_future_destroy(&future) == 0);
}

/* ---- keep-alives -------------------------------------------------------------------------------------- */

static void *waits_for_ever(void *arg)
{
	bide_event event = { { 0 } };
	(void)arg;
	int err = bide_event_wait(&event) < 0 ? errno : 0;
	return err ? bide_fail(err) : NULL;
}

static void *unref_later(void *loop)
{
	plain_sleep(10 * BIDE_MSEC);
	must(bide_loop_unref(loop) == 0);
	return NULL;
}

static void *ends_with_its_keep_alive(void *arg)
{
	bide_loop *loop = bide_loop_self();
	must(bide_loop_ref(loop) == 0);
	*(pthread_t *)arg = thread_start(unref_later, loop);
	return waits_for_ever(NULL);
}

/* Statements 9 and 10: the deadlock is found when the last keep-alive goes, in a loop that sleeps. */
START_TEST(a_keep_alive_holds_a_deadlock_off_until_it_goes)
{
	struct reports reports = { 0 };
	bide_config config = config_with(0, &reports);
	bide_result result;
	pthread_t thread;
	config.flags &= ~BIDE_VIRTUAL_CLOCK;
	ck_fails(bide_run(ends_with_its_keep_alive, &thread, &config, &result), EDEADLK);
	thread_finish(thread);
	ck_assert_int_eq(reports.count[BIDE_REPORT_DEADLOCK], 1);
	ck_assert_int_eq(result.err, EDEADLK);
}
END_TEST

static void *jumps(void *arg)
{
	bide_loop *loop = bide_loop_self();
	bide_time begin = clock_monotonic();
	must(bide_loop_ref(loop) == 0);
	*(pthread_t *)arg = thread_start(unref_later, loop);
	must(bide_sleep(3600 * BIDE_SEC) == 0);
	must(clock_monotonic() - begin >= 9 * BIDE_MSEC);
	return NULL;
}

/* Statement 191. */
START_TEST(a_virtual_clock_waits_for_keep_alives)
{
	pthread_t thread;
	run_virtual(jumps, &thread);
	thread_finish(thread);
}
END_TEST

/* ---- the end of a loop -------------------------------------------------------------------------------- */

struct late {
	_Atomic(bide_loop *) loop;
	atomic_int accepted, refused;
	int run; /* on the loop's thread, or after its end */
	atomic_bool is_over;
};

static void count_run(void *arg)
{
	((struct late *)arg)->run++;
}

static void *post_on_and_on(void *arg)
{
	struct late *late = arg;
	while (!atomic_load(&late->is_over)) {
		bide_loop *loop = atomic_load(&late->loop);
		if (!loop) {
			sched_yield();
		} else if (bide_post(loop, count_run, late) == 0) {
			if (atomic_fetch_add(&late->accepted, 1) % 32 == 0)
				sched_yield(); /* a loop whose thread is held up is not to find a million of them */
		} else {
			must(errno == ESHUTDOWN);
			atomic_fetch_add(&late->refused, 1);
		}
	}
	return NULL;
}

static void *short_main(void *arg)
{
	struct late *late = arg;
	atomic_store(&late->loop, bide_loop_self());
	pass(50 * BIDE_USEC);
	return NULL;
}

/* Posts that race with the end: each is refused, or runs. */
START_TEST(posts_that_race_with_the_end_are_run_or_refused)
{
	struct late late = { .run = 0 };
	pthread_t threads[2] = { thread_start(post_on_and_on, &late), thread_start(post_on_and_on, &late) };
	int fds = count_fds();
	for (int i = suite_scaled_down(300, 50); i > 0; i--)
		run_real(short_main, &late);
	atomic_store(&late.is_over, true);
	thread_finish(threads[0]);
	thread_finish(threads[1]);
	must(count_fds() == fds);
	must(atomic_load(&late.accepted) > 0 && late.run == atomic_load(&late.accepted));
}
END_TEST

static void *leaves_a_post(void *arg)
{
	must(bide_post(bide_loop_self(), count_run, arg) == 0);
	return bide_loop_self();
}

/* The handle of a loop that has ended is known, also when another loop has its place. */
START_TEST(a_post_after_the_end_is_refused)
{
	struct late late = { .run = 0 };
	bide_future future = { { 0 } };
	bide_loop *old = run_real(leaves_a_post, &late);
	bide_loop *newer = run_real(leaves_a_post, &late);
	must(late.run == 2 && old != newer);
	ck_fails(bide_post(old, count_run, &late), ESHUTDOWN);
	ck_fails(bide_post_cancel(old, (bide_task *)&late, NULL), ESHUTDOWN);
	ck_fails(bide_future_post(newer, &future, NULL, 0), ESHUTDOWN);
	ck_fails(bide_post_signal(old, &future), ESHUTDOWN);
	ck_fails(bide_loop_ref(old), ESHUTDOWN);
	ck_fails(bide_loop_unref(newer), ESHUTDOWN);
	must(late.run == 2);
}
END_TEST

/* bide/post.h: a handle may be kept for as long as one likes. More loops than an inbox has generations. */
START_TEST(a_handle_never_means_another_loop)
{
	struct inbox_post post = { .run = NULL };
	struct inbox *inbox = inbox_open(-1);
	bide_loop *old = inbox_handle(inbox);
	inbox_close(inbox);
	for (int i = 0; i <= 1 << 16; i++) {
		inbox = inbox_open(-1);
		must(inbox_handle(inbox) != old);
		must(inbox_put(old, &post) < 0 && errno == ESHUTDOWN);
		must(inbox_hold(old) < 0 && errno == ESHUTDOWN);
		must(!inbox_close(inbox));
	}
}
END_TEST

/* ---- bad input ---------------------------------------------------------------------------------------- */

static bide_future foreign;
static int destroy_foreign(void) { return bide_future_destroy(&foreign); }
static int set_foreign(void) { return bide_future_set(&foreign, NULL); }
static int await_foreign(void) { return bide_await(&foreign, NULL); }

/* Statements 13, 106, 107. */
VIRTUAL_TEST(another_thread_has_no_way_but_a_post)
{
	must(bide_future_init(&foreign, NULL) == 0);
	ck_fails(bide_future_get(&foreign, NULL), EINPROGRESS); /* binds it */
	must(errno_on_plain_thread(set_foreign) == EPERM);
	must(errno_in_other_loop(set_foreign) == EPERM);
	must(errno_in_other_loop(await_foreign) == EPERM);
	must(bide_future_post(bide_loop_self(), &foreign, NULL, 0) == 0);
	must(errno_on_plain_thread(destroy_foreign) == EPERM);
	must(bide_await(&foreign, NULL) == 0);
	must(bide_future_destroy(&foreign) == 0);
}

static void *refused(void *arg)
{
	must(bide_sleep(1) < 0 && errno == EPERM);
	must(bide_future_set(&foreign, NULL) < 0 && errno == EPERM);
	return arg;
}

static void *have_a_thread_refused(void *arg)
{
	must(bide_future_init(&foreign, NULL) == 0);
	ck_fails(bide_future_get(&foreign, NULL), EINPROGRESS);
	thread_finish(thread_start(refused, NULL));
	must(bide_future_destroy(&foreign) == 0);
	return arg;
}

static void run_with_a_thread_refused(void *flags)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = *(unsigned *)flags;
	_exit(bide_run(have_a_thread_refused, NULL, &config, NULL) < 0);
}

/* Scenario H11. _i: in debug mode. Of two calls at the same time one is told of. */
START_TEST(a_thread_that_is_refused_is_told_what_it_may_call)
{
	unsigned flags = _i ? BIDE_DEBUG : 0;
	struct death death = death_of(run_with_a_thread_refused, &flags);
	ck_assert_int_eq(death.exit_status, 0);
	char *told = strstr(death.text, "EPERM");
	ck_assert((told != NULL) == (_i == 1));
	if (!told)
		return;
	ck_assert_ptr_null(strstr(told + 1, "EPERM"));
	static const char *const calls[] = { "bide_post()", "bide_post_cancel()", "bide_future_post()", "bide_post_signal()",
		"bide_loop_ref()", "bide_loop_unref()", "shared channel", "bide-threads(7)" };
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		ck_assert_ptr_nonnull(strstr(told, calls[i]));
}
END_TEST

VIRTUAL_TEST(bad_input_is_refused)
{
	bide_loop *loop = bide_loop_self();
	bide_future future = { { 0 } };
	ck_fails(bide_post(NULL, nap, NULL), EINVAL);
	ck_fails(bide_post(loop, NULL, NULL), EINVAL);
	ck_fails(bide_post_cancel(NULL, bide_self(), NULL), EINVAL);
	ck_fails(bide_post_cancel(loop, NULL, NULL), EINVAL);
	ck_fails(bide_future_post(NULL, &future, NULL, 0), EINVAL);
	ck_fails(bide_future_post(loop, NULL, NULL, 0), EINVAL);
	ck_fails(bide_future_post(loop, &future, NULL, -1), EINVAL);
	ck_fails(bide_future_post(loop, bide_task_future(bide_self()), NULL, 0), EINVAL);
	ck_fails(bide_loop_ref(NULL), EINVAL);
	ck_fails(bide_loop_unref(NULL), EINVAL);
	ck_fails(bide_loop_unref(loop), EINVAL);
	must(bide_fault("malloc:ENOMEM") == 0);
	ck_fails(bide_post(loop, nap, NULL), ENOMEM);
	ck_fails(bide_post_cancel(loop, bide_self(), NULL), ENOMEM);
	must(bide_future_post(loop, &future, NULL, 0) == 0);
	must(bide_fault(NULL) == 0);
	ck_fails(bide_future_post(loop, &future, NULL, 0), EALREADY);
	must(bide_future_destroy(&future) == 0);
}

int main(void)
{
	return SUITE("post",
	    TEST(a_post_wakes_a_loop_that_sleeps_without_limit),
	    TEST(a_post_runs_on_the_loop_outside_any_task),
	    TEST(posts_of_the_loops_own_thread_run_in_order),
	    TEST(posts_that_post_do_not_starve_a_sleeper),
	    LOOP(a_million_posts_of_eight_threads_all_run_each_threads_in_order, 0, 2),
	    TEST(a_future_that_is_posted_to_an_idle_loop_wakes_it_each_time),
	    TEST(an_idle_loop_is_awake_as_soon_as_any_thread_would_be),
	    TEST(a_loop_that_is_awake_is_not_woken),
	    TEST(a_loop_that_cannot_be_woken_is_told),
	    LOOP(a_flag_that_is_up_and_a_signal_are_no_failures, 0, 2),
	    TEST(of_four_posts_at_once_exactly_one_wins),
	    TEST(a_posted_failure_is_the_futures),
	    TEST(a_value_that_comes_too_late_is_dropped),
	    TEST(a_post_on_its_way_is_recalled_by_destruction),
	    TEST(set_against_timeout_against_destruction),
	    TEST(another_thread_cancels_by_post_only),
	    TEST(a_cancel_that_comes_after_the_end_is_nothing),
	    LOOP(a_signal_handler_wakes_the_loop, 0, 2),
	    TEST(a_keep_alive_holds_a_deadlock_off_until_it_goes),
	    TEST(a_virtual_clock_waits_for_keep_alives),
	    TEST(posts_that_race_with_the_end_are_run_or_refused),
	    TEST(a_post_after_the_end_is_refused), TEST(a_handle_never_means_another_loop),
	    TEST(another_thread_has_no_way_but_a_post),
	    LOOP(a_thread_that_is_refused_is_told_what_it_may_call, 0, 2),
	    TEST(bad_input_is_refused));
}
