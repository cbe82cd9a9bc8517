/* SPDX-License-Identifier: MIT
 * Jobs on threads: results, cancels, queues, pools, the end. Statements 180, 191, scenarios C8, H8-H12. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "death.h"
#include "resources.h"
#include "runs.h"
#include "suite.h"

/* ---- jobs --------------------------------------------------------------------------------------------- */

static void plain_sleep(bide_time delay)
{
	struct timespec time = { delay / BIDE_SEC, delay % BIDE_SEC };
	while (nanosleep(&time, &time) < 0)
		continue;
}

static void *sleep_plainly(void *delay)
{
	plain_sleep(*(bide_time *)delay);
	return delay;
}

static void *return_it(void *arg)
{
	return arg;
}

static void *fail_with_number(void *arg)
{
	errno = (int)(intptr_t)arg;
	return NULL;
}

/* Runs until it is let go. */
struct gate {
	atomic_int begun;
	atomic_bool is_open;
};

static void *stand_at(void *arg)
{
	struct gate *gate = arg;
	atomic_fetch_add(&gate->begun, 1);
	while (!atomic_load(&gate->is_open))
		plain_sleep(BIDE_MSEC / 10);
	return gate;
}

/* Not by sleeping: a virtual clock stands while a job runs. */
static void wait_for_beginning(struct gate *gate, int count)
{
	while (atomic_load(&gate->begun) < count) {
		must(bide_yield() == 0);
		sched_yield();
	}
}

/* What a task does that offloads. */
struct call {
	void *(*fn)(void *);
	void *arg;
	bide_offload_attr attr;
	int result, err;
	bide_result out;
	bide_time began;
};

static void *offloads(void *arg)
{
	struct call *call = arg;
	call->result = bide_offload_with(call->fn, call->arg, &call->attr, &call->out);
	call->err = errno;
	return NULL;
}

static struct call call_of(void *(*fn)(void *), void *arg, bide_pool *pool)
{
	struct call call = { .fn = fn, .arg = arg, .attr = BIDE_OFFLOAD_ATTR_INIT, .result = -2 };
	call.attr.pool = pool;
	return call;
}

static bide_pool *pool_of(unsigned threads, unsigned queue, bide_time idle)
{
	bide_pool_attr attr = BIDE_POOL_ATTR_INIT;
	attr.threads = threads;
	attr.queue = queue;
	attr.idle = idle;
	bide_pool *pool = bide_pool_new(&attr);
	must(pool);
	return pool;
}

/* ---- results ------------------------------------------------------------------------------------------ */

/* Statement 180. */
REAL_TEST(offload_returns_what_the_function_returned)
{
	int here;
	bide_result result;
	must(bide_offload(return_it, &here, 0, &result) == 0);
	must(result.value == &here && result.err == 0);
	must(bide_offload(return_it, NULL, 0, NULL) == 0);
}

/* Scenario H10. */
REAL_TEST(errno_of_each_of_a_hundred_jobs_comes_back)
{
	struct call calls[100];
	bide_task *tasks[100];
	for (int i = 0; i < 100; i++) {
		calls[i] = call_of(fail_with_number, (void *)(intptr_t)(i + 1), NULL);
		tasks[i] = must_spawn(offloads, &calls[i]);
	}
	for (int i = 0; i < 100; i++) {
		must_end_well(tasks[i]);
		must(calls[i].result == 0 && calls[i].err == i + 1);
		must(calls[i].out.err == i + 1 && !calls[i].out.value);
	}
}

static void *ticks(void *arg)
{
	bide_ticker ticker;
	must(bide_ticker_init(&ticker, BIDE_MSEC, BIDE_TICK_SKIP) == 0);
	while (bide_tick(&ticker, NULL) == 0)
		++*(int *)arg;
	return NULL;
}

/* Statement 180. */
REAL_TEST(a_ticker_beside_a_job_keeps_ticking)
{
	int beats = 0;
	bide_time delay = 200 * BIDE_MSEC * suite_scale();
	bide_task *ticker = must_spawn(ticks, &beats);
	must(bide_offload(sleep_plainly, &delay, 0, NULL) == 0);
	must(bide_cancel(ticker, NULL) == 0);
	must_join(ticker);
	must_msg(beats >= 50, "%d beats", beats);
}

static void *where_am_i(void *arg)
{
	*(pthread_t *)arg = pthread_self();
	return NULL;
}

REAL_TEST(a_job_runs_on_another_thread)
{
	pthread_t thread = pthread_self();
	must(bide_offload(where_am_i, &thread, 0, NULL) == 0);
	must(!pthread_equal(thread, pthread_self()));
}

static void *note_mask(void *arg)
{
	pthread_sigmask(SIG_SETMASK, NULL, arg);
	return NULL;
}

/* The host's signals go to the host's threads; its own mask is as before. */
REAL_TEST(signals_are_not_for_the_pool)
{
	sigset_t before, mask, after;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	must(bide_offload(note_mask, &mask, 0, NULL) == 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	must(sigismember(&mask, SIGTERM) && sigismember(&mask, SIGCHLD) && !sigismember(&mask, SIGSEGV));
	for (int number = 1; number < SIGRTMIN; number++)
		must(sigismember(&before, number) == sigismember(&after, number));
}

/* ---- what a job may call ------------------------------------------------------------------------------ */

static bide_mutex mutex;
static bide_future future;
static bide_loop *loop;
static bide_task *main_task;

static void count(void *arg)
{
	++*(int *)arg;
}

static void *call_the_library(void *arg)
{
	ck_fails(bide_sleep(1), EPERM);
	ck_fails(bide_yield(), EPERM);
	ck_fails(bide_mutex_lock(&mutex), EPERM);
	ck_fails_null(bide_spawn(nothing, NULL), EPERM);
	ck_fails(bide_future_set(&future, arg), EPERM);
	ck_fails(bide_cancel(main_task, NULL), EPERM);
	ck_fails(bide_offload(nothing, NULL, 0, NULL), EPERM);
	must(!bide_self() && !bide_loop_self() && bide_now() > 0);
	must(bide_post(loop, count, arg) == 0);
	must(bide_future_post(loop, &future, arg, 0) == 0);
	errno = 0;
	return NULL;
}

/* Scenario H11. */
REAL_TEST(a_job_has_the_thread_safe_calls_only)
{
	int posts = 0;
	bide_result result;
	loop = bide_loop_self();
	main_task = bide_self();
	must(bide_future_init(&future, NULL) == 0);
	ck_fails(bide_future_get(&future, NULL), EINPROGRESS);
	must(bide_offload(call_the_library, &posts, 0, NULL) == 0);
	must(bide_await(&future, &result) == 0 && result.value == &posts && posts == 1);
	must(bide_future_destroy(&future) == 0);
}

/* ---- cancel and deadline ------------------------------------------------------------------------------ */

REAL_TEST(a_queued_job_that_is_canceled_never_runs)
{
	struct gate gate = { 0 };
	bide_pool *pool = pool_of(1, 0, 0);
	struct call first = call_of(stand_at, &gate, pool), second = first;
	bide_task *a = must_spawn(offloads, &first);
	wait_for_beginning(&gate, 1);
	bide_task *b = must_spawn(offloads, &second);
	settle();
	must(bide_cancel(b, NULL) == 0);
	must_join(b);
	must(second.result == -1 && second.err == ECANCELED);
	atomic_store(&gate.is_open, true);
	must_end_well(a);
	must(first.result == 0 && atomic_load(&gate.begun) == 1);
	must(bide_pool_close(pool, 0) == 0);
}

static void *open_gate(void *arg)
{
	pass(20 * BIDE_MSEC);
	atomic_store(&((struct gate *)arg)->is_open, true);
	return NULL;
}

static void *is_canceled_while_its_job_runs(void *arg)
{
	bide_result result;
	must(bide_offload(stand_at, arg, 0, &result) == 0);
	must(result.value == arg && errno == 0);
	ck_fails(bide_yield(), ECANCELED); /* still pending */
	return result.value;
}

/* The master rule: a call that took effect returns its result. */
REAL_TEST(a_running_job_is_waited_for_and_its_result_wins_over_the_cancel)
{
	struct gate gate = { 0 };
	bide_task *task = must_spawn(is_canceled_while_its_job_runs, &gate);
	wait_for_beginning(&gate, 1);
	must(bide_cancel(task, NULL) == 0);
	pass(5 * BIDE_MSEC);
	must(bide_task_state(task) == BIDE_TASK_SUSPENDED);
	must_end_well(must_spawn(open_gate, &gate));
	must(must_end_well(task) == &gate);
}

struct scoped {
	struct gate gate;
	bide_scope scope;
};

static void *cancels_a_scope(void *arg)
{
	struct scoped *scoped = arg;
	wait_for_beginning(&scoped->gate, 1);
	must(bide_scope_cancel(&scoped->scope) == 0);
	pass(BIDE_MSEC);
	atomic_store(&scoped->gate.is_open, true);
	return NULL;
}

/* What came meanwhile has ended no call. The gate is the first member. */
REAL_TEST(a_scope_that_is_canceled_while_its_job_runs_is_not_claimed)
{
	struct scoped scoped = { .scope = { { 0 } } };
	bide_task *canceler = must_spawn(cancels_a_scope, &scoped);
	must(bide_scope_enter(&scoped.scope, BIDE_NEVER, 0) == 0);
	must(bide_offload(stand_at, &scoped, 0, NULL) == 0);
	must(bide_scope_leave(&scoped.scope) == 0);
	must_end_well(canceler);
}

/* Scenario H8: a deadline takes a queued job out in time. */
REAL_TEST(a_deadline_ends_the_wait_in_the_queue)
{
	struct gate gate = { 0 };
	bide_pool *pool = pool_of(1, 0, 0);
	struct call first = call_of(stand_at, &gate, pool);
	bide_offload_attr attr = first.attr;
	bide_scope scope = { { 0 } };
	bide_task *task = must_spawn(offloads, &first);
	wait_for_beginning(&gate, 1);
	must(bide_scope_enter(&scope, bide_after(10 * BIDE_MSEC), 0) == 0);
	ck_fails(bide_offload_with(stand_at, &gate, &attr, NULL), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	atomic_store(&gate.is_open, true);
	must_end_well(task);
	must(bide_pool_close(pool, 0) == 0 && atomic_load(&gate.begun) == 1);
}

/* Statement 39. */
REAL_TEST(a_cancel_on_entry_runs_nothing)
{
	struct gate gate = { 0 };
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(bide_offload(stand_at, &gate, 0, NULL), ECANCELED);
	must(bide_uncancel() == 0 && atomic_load(&gate.begun) == 0);
}

struct left_behind {
	struct gate gate;
	atomic_int drops;
};

static void drop_gate(void *value, void *arg)
{
	struct left_behind *left = arg;
	must(value == &left->gate && !bide_loop_self());
	atomic_fetch_add(&left->drops, 1);
}

/* The gate is the first member. */
REAL_TEST(an_abandoned_job_is_left_behind_and_dropped_when_it_ends)
{
	static struct left_behind left;
	memset(&left, 0, sizeof left);
	struct call call = call_of(stand_at, &left, NULL);
	call.attr.flags = BIDE_ABANDON;
	call.attr.drop = drop_gate;
	bide_task *task = must_spawn(offloads, &call);
	wait_for_beginning(&left.gate, 1);
	must(bide_cancel(task, NULL) == 0);
	must_join(task);
	must(call.result == -1 && call.err == ECANCELED && atomic_load(&left.drops) == 0);
	atomic_store(&left.gate.is_open, true);
	while (atomic_load(&left.drops) == 0)
		pass(BIDE_MSEC);
	must(atomic_load(&left.drops) == 1);
}

REAL_TEST(a_job_that_is_not_abandoned_is_not_dropped)
{
	static struct left_behind left;
	memset(&left, 0, sizeof left);
	struct call call = call_of(stand_at, &left, NULL);
	call.attr.flags = BIDE_ABANDON;
	call.attr.drop = drop_gate;
	atomic_store(&left.gate.is_open, true);
	must_end_well(must_spawn(offloads, &call));
	must(call.result == 0 && call.out.value == &left && atomic_load(&left.drops) == 0);
}

static int never_ran;
static void count_never_ran(void *value, void *arg)
{
	must(!value && arg == &never_ran);
	never_ran++;
}

/* Whatever a call that was given its arg fails with, drop has it: canceled on entry or in the queue, refused. */
REAL_TEST(what_never_ran_is_dropped_once)
{
	struct gate gate = { 0 };
	bide_pool *pool = pool_of(1, 1, 0);
	struct call blocker = call_of(stand_at, &gate, pool), call = call_of(return_it, &never_ran, pool);
	call.attr.drop = count_never_ran;
	never_ran = 0;
	bide_task *a = must_spawn(offloads, &blocker);
	wait_for_beginning(&gate, 1);
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(bide_offload_with(return_it, &never_ran, &call.attr, NULL), ECANCELED);
	must(bide_uncancel() == 0 && never_ran == 1);
	bide_task *b = must_spawn(offloads, &call);
	settle();
	ck_fails(bide_offload_with(return_it, &never_ran, &call.attr, NULL), EAGAIN);
	must(never_ran == 2);
	must(bide_cancel(b, NULL) == 0);
	must_join(b);
	must(call.err == ECANCELED && never_ran == 3);
	call.attr.flags = 0x80;
	ck_fails(bide_offload_with(return_it, &never_ran, &call.attr, NULL), EINVAL);
	must(never_ran == 3);
	atomic_store(&gate.is_open, true);
	must_end_well(a);
	call.attr.flags = 0;
	must(bide_offload_with(return_it, &never_ran, &call.attr, NULL) == 0 && never_ran == 3);
	must(bide_pool_close(pool, 0) == 0);
	ck_assert_int_eq(never_ran, 3);
}

/* Random deadlines against random lengths: each job that began ended, each call told of one outcome. */
static void *begin_and_end(void *arg)
{
	atomic_int *counts = arg;
	unsigned seed = (unsigned)(uintptr_t)&seed;
	atomic_fetch_add(&counts[0], 1);
	plain_sleep(rand_r(&seed) % 200 * BIDE_USEC);
	atomic_fetch_add(&counts[1], 1);
	return counts;
}

static void *offloads_with_deadlines(void *arg)
{
	unsigned seed = (unsigned)bide_task_id(bide_self());
	int *succeeded = calloc(1, sizeof *succeeded);
	for (int i = 0; i < 100; i++) {
		bide_scope scope = { { 0 } };
		must(bide_scope_enter(&scope, bide_after(rand_r(&seed) % 300 * BIDE_USEC), 0) == 0);
		if (bide_offload(begin_and_end, arg, 0, NULL) == 0)
			++*succeeded;
		else
			must(errno == ETIMEDOUT);
		(void)bide_scope_leave(&scope);
	}
	return succeeded;
}

REAL_TEST(random_deadlines_lose_no_job_and_no_result)
{
	static atomic_int counts[2];
	bide_task *tasks[20];
	int succeeded = 0;
	atomic_store(&counts[0], 0);
	atomic_store(&counts[1], 0);
	for (int i = 0; i < 20; i++)
		tasks[i] = must_spawn(offloads_with_deadlines, counts);
	for (int i = 0; i < 20; i++) {
		int *result = must_end_well(tasks[i]);
		succeeded += *result;
		free(result);
	}
	must(atomic_load(&counts[0]) == succeeded && atomic_load(&counts[1]) == succeeded);
}

/* ---- pools -------------------------------------------------------------------------------------------- */

/* Scenario H8: a full pool holds up neither the loop nor another pool. */
REAL_TEST(a_saturated_pool_delays_nobody_else)
{
	struct gate gate = { 0 };
	struct call calls[8];
	bide_task *tasks[8];
	int beats = 0;
	bide_pool *other = pool_of(1, 0, 0);
	for (int i = 0; i < 8; i++) {
		calls[i] = call_of(stand_at, &gate, NULL);
		tasks[i] = must_spawn(offloads, &calls[i]);
	}
	bide_task *ticker = must_spawn(ticks, &beats);
	wait_for_beginning(&gate, 4);
	struct call quick = call_of(return_it, &quick, other);
	must_end_well(must_spawn(offloads, &quick));
	must(quick.result == 0 && quick.out.value == &quick);
	while (beats < 20)
		pass(BIDE_MSEC);
	atomic_store(&gate.is_open, true);
	for (int i = 0; i < 8; i++)
		must_end_well(tasks[i]);
	must(bide_cancel(ticker, NULL) == 0);
	must_join(ticker);
	must(bide_pool_close(other, 0) == 0);
}

REAL_TEST(jobs_begin_in_the_order_in_which_they_came)
{
	bide_pool *pool = pool_of(1, 0, 0);
	struct call calls[10];
	bide_task *tasks[10];
	static void *seen[10];
	for (int i = 0; i < 10; i++) {
		calls[i] = call_of(where_am_i, &seen[i], pool);
		tasks[i] = must_spawn(offloads, &calls[i]);
	}
	for (int i = 0; i < 10; i++)
		must_end_well(tasks[i]);
	for (int i = 1; i < 10; i++)
		must(seen[i] == seen[0]); /* one thread */
	must(bide_pool_close(pool, 0) == 0);
}

REAL_TEST(a_full_queue_refuses)
{
	struct gate gate = { 0 };
	bide_pool *pool = pool_of(1, 1, 0);
	struct call first = call_of(stand_at, &gate, pool), second = first, third = first;
	bide_task *a = must_spawn(offloads, &first);
	wait_for_beginning(&gate, 1);
	bide_task *b = must_spawn(offloads, &second);
	settle();
	must_end_well(must_spawn(offloads, &third));
	must(third.result == -1 && third.err == EAGAIN);
	atomic_store(&gate.is_open, true);
	must_end_well(a);
	must_end_well(b);
	must(first.result == 0 && second.result == 0);
	must_end_well(must_spawn(offloads, &third));
	must(third.result == 0); /* recovered */
	must(bide_pool_close(pool, 0) == 0);
}

/* Scenario H9. */
REAL_TEST(a_worker_that_is_just_leaving_loses_no_job)
{
	bide_pool *pool = pool_of(2, 0, BIDE_MSEC);
	bide_offload_attr attr = BIDE_OFFLOAD_ATTR_INIT;
	unsigned seed = 3;
	attr.pool = pool;
	for (int i = suite_scaled_down(2000, 200); i > 0; i--) {
		bide_result result;
		must(bide_offload_with(return_it, &seed, &attr, &result) == 0 && result.value == &seed);
		pass((900 + rand_r(&seed) % 200) * BIDE_USEC);
	}
	must(bide_pool_close(pool, 0) == 0);
}

/* A thread that was joined is counted by the system for a moment longer. */
static void wait_for_threads(int count)
{
	while (count_threads() > count)
		plain_sleep(BIDE_MSEC);
}

/* The first thread of all may bring one of a sanitizer's with it. */
static int count_threads_later(void)
{
	pthread_t thread;
	int threads = count_threads();
	must(pthread_create(&thread, NULL, return_it, NULL) == 0 && pthread_join(thread, NULL) == 0);
	wait_for_threads(suite_is_native() ? threads : threads + 1);
	return count_threads();
}

REAL_TEST(idle_threads_end)
{
	int threads = count_threads_later();
	bide_pool *pool = pool_of(3, 0, BIDE_MSEC);
	struct gate gate = { 0 };
	struct call calls[3];
	bide_task *tasks[3];
	for (int i = 0; i < 3; i++) {
		calls[i] = call_of(stand_at, &gate, pool);
		tasks[i] = must_spawn(offloads, &calls[i]);
	}
	wait_for_beginning(&gate, 3);
	must(count_threads() == threads + 3);
	atomic_store(&gate.is_open, true);
	for (int i = 0; i < 3; i++)
		must_end_well(tasks[i]);
	wait_for_threads(threads);
	must(bide_pool_close(pool, 0) == 0);
}

static void *shares_a_pool(void *arg)
{
	bide_offload_attr attr = BIDE_OFFLOAD_ATTR_INIT;
	attr.pool = arg;
	for (int i = 0; i < 200; i++) {
		bide_result result;
		must(bide_offload_with(return_it, &attr, &attr, &result) == 0 && result.value == &attr);
	}
	return arg;
}

static void *looping_thread(void *pool)
{
	bide_result result;
	must(bide_run(shares_a_pool, pool, NULL, &result) == 0 && result.value == pool);
	return NULL;
}

START_TEST(several_loops_share_a_pool)
{
	bide_pool *pool = pool_of(2, 0, 0);
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		must(pthread_create(&threads[i], NULL, looping_thread, pool) == 0);
	for (int i = 0; i < 3; i++)
		must(pthread_join(threads[i], NULL) == 0);
	must(bide_pool_close(pool, 0) == 0);
}
END_TEST

REAL_TEST(closing_a_pool_refuses_what_waits_and_what_comes)
{
	struct gate gate = { 0 };
	bide_pool *pool = pool_of(1, 0, 0);
	struct call running = call_of(stand_at, &gate, pool), waiting = running;
	bide_task *a = must_spawn(offloads, &running);
	wait_for_beginning(&gate, 1);
	bide_task *b = must_spawn(offloads, &waiting);
	settle();
	ck_fails(bide_pool_close(pool, 5 * BIDE_MSEC), EBUSY);
	must_end_well(b);
	must(waiting.result == -1 && waiting.err == ESHUTDOWN);
	atomic_store(&gate.is_open, true);
	must_end_well(a);
	must(running.result == 0 && running.out.value == &gate && atomic_load(&gate.begun) == 1);
}

/* ---- the end of a run --------------------------------------------------------------------------------- */

static void *uses_its_own_pool(void *arg)
{
	must(bide_offload(return_it, arg, 0, NULL) == 0);
	return NULL;
}

/* Statement 18. */
START_TEST(a_run_leaves_no_thread_behind)
{
	int threads = count_threads_later(), fds = count_fds();
	for (int i = suite_scaled_down(100, 10); i > 0; i--)
		run_real(uses_its_own_pool, NULL);
	wait_for_threads(threads);
	must(count_fds() == fds);
}
END_TEST

static void *takes_a_while(void *gate)
{
	atomic_fetch_add(&((struct gate *)gate)->begun, 1);
	plain_sleep(30 * BIDE_MSEC);
	return gate;
}

static void *leaves_a_task_with_a_job(void *call)
{
	must_spawn(offloads, call);
	wait_for_beginning(((struct call *)call)->arg, 1);
	return NULL;
}

START_TEST(a_job_has_the_grace_to_end)
{
	struct gate gate = { 0 };
	struct call call = call_of(takes_a_while, &gate, NULL);
	run_real(leaves_a_task_with_a_job, &call);
	must(call.result == 0 && call.out.value == &gate);
}
END_TEST

static struct gate stuck;

static void *stands_with_its_stack(void *arg)
{
	char mine[64];
	(void)arg;
	memset(mine, 7, sizeof mine);
	must(bide_offload(stand_at, &stuck, 0, NULL) == 0);
	return NULL;
}

static void *leaves_a_stuck_job(void *arg)
{
	(void)arg;
	must_spawn(stands_with_its_stack, NULL);
	wait_for_beginning(&stuck, 1);
	return NULL;
}

/* Scenario H12: told, in time, and the job goes on unharmed. On the virtual clock too, which waits for jobs. */
START_TEST(a_stuck_job_is_reported_and_does_not_hold_the_end_up)
{
	struct reports reports = { 0 };
	bide_config config = config_with(_i ? BIDE_VIRTUAL_CLOCK : 0, &reports);
	bide_result result;
	if (!_i)
		config.flags &= ~BIDE_VIRTUAL_CLOCK;
	config.shutdown_grace = 50 * BIDE_MSEC;
	memset(&stuck, 0, sizeof stuck);
	bide_time begin = clock_monotonic();
	ck_fails(bide_run(leaves_a_stuck_job, NULL, &config, &result), EBUSY);
	bide_time took = clock_monotonic() - begin;
	must(took >= 50 * BIDE_MSEC && took < 10 * BIDE_SEC);
	must(reports.count[BIDE_REPORT_LEFTOVER] == 2); /* the task, and the job */
	must(strstr(reports.text[BIDE_REPORT_LEFTOVER], "1 task") || strstr(reports.text[BIDE_REPORT_LEFTOVER], "task 2"));
	int threads = count_threads();
	atomic_store(&stuck.is_open, true);
	while (count_threads() == threads)
		plain_sleep(BIDE_MSEC);
}
END_TEST

static void *writes_to_the_stack_of_its_task(void *arg)
{
	volatile char *mine = arg;
	atomic_fetch_add(&stuck.begun, 1);
	while (!atomic_load(&stuck.is_open)) {
		for (int i = 0; i < 64; i++)
			mine[i]++;
		plain_sleep(BIDE_MSEC / 10);
	}
	return NULL;
}

static void *lends_its_stack(void *arg)
{
	char mine[64] = { 0 };
	(void)arg;
	must(bide_offload(writes_to_the_stack_of_its_task, mine, 0, NULL) == 0);
	return NULL;
}

static void *leaves_a_borrower(void *arg)
{
	(void)arg;
	must_spawn(lends_its_stack, NULL);
	wait_for_beginning(&stuck, 1);
	return NULL;
}

/* Memory that a running job uses stays. */
START_TEST(a_stuck_job_may_go_on_using_the_stack_of_its_task)
{
	struct reports reports = { 0 };
	bide_config config = config_with(0, &reports);
	config.shutdown_grace = 5 * BIDE_MSEC;
	config.flags &= ~BIDE_VIRTUAL_CLOCK;
	memset(&stuck, 0, sizeof stuck);
	ck_fails(bide_run(leaves_a_borrower, NULL, &config, NULL), EBUSY);
	int threads = count_threads();
	run_real(nothing, NULL); /* another run does not get that stack */
	plain_sleep(5 * BIDE_MSEC);
	atomic_store(&stuck.is_open, true);
	while (count_threads() == threads)
		plain_sleep(BIDE_MSEC);
}
END_TEST

static void *abandons_a_job(void *arg)
{
	struct call call = call_of(stand_at, arg, NULL);
	call.attr.flags = BIDE_ABANDON;
	bide_task *task = must_spawn(offloads, &call);
	wait_for_beginning(arg, 1);
	must(bide_cancel(task, NULL) == 0);
	must_join(task);
	must(call.err == ECANCELED);
	return NULL;
}

START_TEST(an_abandoned_job_that_is_stuck_is_reported_too)
{
	struct reports reports = { 0 };
	bide_config config = config_with(0, &reports);
	config.shutdown_grace = 20 * BIDE_MSEC;
	memset(&stuck, 0, sizeof stuck);
	ck_fails(bide_run(abandons_a_job, &stuck, &config, NULL), EBUSY);
	must(reports.count[BIDE_REPORT_LEFTOVER] == 1);
	must(strstr(reports.text[BIDE_REPORT_LEFTOVER], "1 job ran on"));
	int threads = count_threads();
	atomic_store(&stuck.is_open, true);
	while (count_threads() == threads)
		plain_sleep(BIDE_MSEC);
}
END_TEST

/* Statement 191. */
VIRTUAL_TEST(a_virtual_clock_does_not_jump_over_a_job)
{
	bide_time delay = 20 * BIDE_MSEC;
	struct call call = call_of(sleep_plainly, &delay, NULL);
	bide_task *task = must_spawn(offloads, &call);
	pass(3600 * BIDE_SEC);
	must(call.result == 0); /* it ended first */
	must_end_well(task);
}

/* ---- bad input and faults ----------------------------------------------------------------------------- */

REAL_TEST(bad_input_is_refused)
{
	bide_offload_attr attr = BIDE_OFFLOAD_ATTR_INIT;
	bide_pool_attr pool_attr = BIDE_POOL_ATTR_INIT;
	ck_fails(bide_offload(NULL, NULL, 0, NULL), EINVAL);
	ck_fails(bide_offload(return_it, NULL, 0x80, NULL), EINVAL);
	attr.size--;
	ck_fails(bide_offload_with(return_it, NULL, &attr, NULL), EINVAL);
	must(bide_offload_with(return_it, NULL, NULL, NULL) == 0);
	pool_attr.idle = -1;
	ck_fails_null(bide_pool_new(&pool_attr), EINVAL);
	pool_attr = (bide_pool_attr)BIDE_POOL_ATTR_INIT;
	pool_attr.size = 0;
	ck_fails_null(bide_pool_new(&pool_attr), EINVAL);
	ck_fails(bide_pool_close(NULL, 0), EINVAL);
	bide_pool *pool = bide_pool_new(NULL);
	ck_fails(bide_pool_close(pool, -1), EINVAL);
	must(bide_pool_close(pool, 0) == 0);
}

START_TEST(outside_a_task_it_is_refused)
{
	ck_fails(bide_offload(return_it, NULL, 0, NULL), EPERM);
}
END_TEST

/* Without any thread there is nobody to wait for; with one, its turn comes. */
REAL_TEST(a_thread_that_cannot_be_made_is_an_error_only_if_there_is_none)
{
	struct gate gate = { 0 };
	must(bide_fault("pthread_create:EAGAIN") == 0);
	ck_fails(bide_offload(return_it, NULL, 0, NULL), EAGAIN);
	must(bide_fault(NULL) == 0);
	struct call first = call_of(stand_at, &gate, NULL), second = call_of(return_it, &gate, NULL);
	bide_task *a = must_spawn(offloads, &first);
	wait_for_beginning(&gate, 1);
	must(bide_fault("pthread_create:EAGAIN") == 0);
	bide_task *b = must_spawn(offloads, &second);
	pass(BIDE_MSEC);
	must(second.result == -2);
	atomic_store(&gate.is_open, true);
	must_end_well(a);
	must_end_well(b);
	must(bide_fault(NULL) == 0);
	must(second.result == 0 && second.out.value == &gate);
}

static void *offloads_once(void *arg)
{
	bide_result result;
	if (bide_offload(return_it, arg, 0, &result) < 0)
		return bide_fail(errno);
	return result.value == arg && !result.err ? NULL : bide_fail(EPROTO);
}

/* Statement 35. */
START_TEST(each_allocation_that_fails_is_told_and_leaks_nothing)
{
	for (int at = 1, refused = 1; refused && at < 100; at++) {
		char spec[32];
		bide_result result = { NULL, 0 };
		snprintf(spec, sizeof spec, "malloc:ENOMEM@%d", at);
		must(bide_fault(spec) == 0);
		int status = bide_run(offloads_once, &at, NULL, &result);
		must(status == 0 || errno == ENOMEM);
		must(bide_fault(NULL) == 0);
		refused = result.err;
		must(refused == 0 || refused == ENOMEM);
	}
}
END_TEST

START_TEST(without_an_eventfd_there_is_no_loop)
{
	must(bide_fault("eventfd:EMFILE") == 0);
	ck_fails(bide_run(nothing, NULL, NULL, NULL), EMFILE);
	must(bide_fault(NULL) == 0);
}
END_TEST

int main(void)
{
	return SUITE("offload",
	    TEST(offload_returns_what_the_function_returned),
	    TEST(errno_of_each_of_a_hundred_jobs_comes_back),
	    TEST(a_ticker_beside_a_job_keeps_ticking),
	    TEST(a_job_runs_on_another_thread),
	    TEST(signals_are_not_for_the_pool),
	    TEST(a_job_has_the_thread_safe_calls_only),
	    TEST(a_queued_job_that_is_canceled_never_runs),
	    TEST(a_running_job_is_waited_for_and_its_result_wins_over_the_cancel),
	    TEST(a_scope_that_is_canceled_while_its_job_runs_is_not_claimed),
	    TEST(a_deadline_ends_the_wait_in_the_queue),
	    TEST(a_cancel_on_entry_runs_nothing),
	    TEST(an_abandoned_job_is_left_behind_and_dropped_when_it_ends),
	    TEST(a_job_that_is_not_abandoned_is_not_dropped),
	    TEST(what_never_ran_is_dropped_once),
	    TEST(random_deadlines_lose_no_job_and_no_result),
	    TEST(a_saturated_pool_delays_nobody_else),
	    TEST(jobs_begin_in_the_order_in_which_they_came),
	    TEST(a_full_queue_refuses),
	    TEST(a_worker_that_is_just_leaving_loses_no_job),
	    TEST(idle_threads_end),
	    TEST(several_loops_share_a_pool),
	    TEST(closing_a_pool_refuses_what_waits_and_what_comes),
	    TEST(a_run_leaves_no_thread_behind),
	    TEST(a_job_has_the_grace_to_end),
	    LOOP(a_stuck_job_is_reported_and_does_not_hold_the_end_up, 0, 2),
	    TEST(a_stuck_job_may_go_on_using_the_stack_of_its_task),
	    TEST(an_abandoned_job_that_is_stuck_is_reported_too),
	    TEST(a_virtual_clock_does_not_jump_over_a_job),
	    TEST(bad_input_is_refused),
	    TEST(outside_a_task_it_is_refused),
	    TEST(a_thread_that_cannot_be_made_is_an_error_only_if_there_is_none),
	    TEST(each_allocation_that_fails_is_told_and_leaks_nothing),
	    TEST(without_an_eventfd_there_is_no_loop));
}
