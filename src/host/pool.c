/* SPDX-License-Identifier: MIT
 * Layer host: a pool of threads that run jobs. See pool.h. */
#include "host/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/system.h"

#define THREADS_MIN 4
#define IDLE_DEFAULT (10 * BIDE_SEC)
#define NAME_SIZE 16 /* as the kernel has it */

struct bide_pool {
	pthread_mutex_t lock;    /* over all that follows it up to `references` */
	pthread_cond_t work;     /* there is a job, or the pool is closed */
	pthread_cond_t left;     /* a worker has gone */
	struct list queue;
	unsigned queued;
	unsigned running;        /* jobs; so many of the threads are busy, */
	unsigned ending;         /* and so many with ended() */
	unsigned threads;
	struct list gone;        /* workers whose threads are to be joined */
	bool is_closed;
	bool is_left_alone;      /* nobody will join */

	atomic_uint references;
	unsigned threads_max, queue_max;
	bide_time idle;
	char name[NAME_SIZE];
};

struct worker {
	struct link link;        /* in pool.gone */
	bide_pool *pool;
	pthread_t thread;
};

/* ---- making and freeing ------------------------------------------------------------------------- */

static unsigned default_threads(void)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	return processors > THREADS_MIN ? (unsigned)processors : THREADS_MIN;
}

static void init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attr);
	pthread_condattr_destroy(&attr);
}

bide_pool *bide_pool_new(const bide_pool_attr *attr)
{
	static const bide_pool_attr defaults = BIDE_POOL_ATTR_INIT;
	if (!attr)
		attr = &defaults;
	if (attr->size != sizeof *attr || attr->idle < 0) {
		errno = EINVAL;
		return NULL;
	}
	bide_pool *pool = memory_alloc(&memory_default, sizeof *pool);
	if (!pool)
		return NULL;
	pthread_mutex_init(&pool->lock, NULL);
	init_condition(&pool->work);
	init_condition(&pool->left);
	list_init(&pool->queue);
	list_init(&pool->gone);
	atomic_init(&pool->references, 1);
	pool->threads_max = attr->threads ? attr->threads : default_threads();
	pool->queue_max = attr->queue;
	pool->idle = attr->idle ? attr->idle : IDLE_DEFAULT;
	snprintf(pool->name, sizeof pool->name, "%s", attr->name ? attr->name : "bide-pool");
	return pool;
}

bide_pool *pool_hold(bide_pool *pool)
{
	atomic_fetch_add_explicit(&pool->references, 1, memory_order_relaxed);
	return pool;
}

void pool_drop(bide_pool *pool)
{
	if (atomic_fetch_sub_explicit(&pool->references, 1, memory_order_acq_rel) > 1)
		return;
	pthread_cond_destroy(&pool->left);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	memory_free(&memory_default, pool, sizeof *pool);
}

/* False if the moment has come. */
static bool wait_until(bide_pool *pool, pthread_cond_t *condition, bide_time until)
{
	struct timespec moment = { until / BIDE_SEC, until % BIDE_SEC };
	return pthread_cond_timedwait(condition, &pool->lock, &moment) != ETIMEDOUT;
}

/* ---- a worker ----------------------------------------------------------------------------------- */

/* NULL: nothing to do for too long, or the pool is closed. */
static struct pool_job *next_job(bide_pool *pool)
{
	bide_time until = time_add(clock_monotonic(), pool->idle);
	bool is_in_time = true;
	while (list_is_empty(&pool->queue) && !pool->is_closed && is_in_time)
		is_in_time = wait_until(pool, &pool->work, until);
	struct link *link = list_pop_head(&pool->queue);
	return link ? container_of(link, struct pool_job, link) : NULL;
}

static void run_job(bide_pool *pool, struct pool_job *job)
{
	job->state = POOL_JOB_RUNNING;
	pool->queued--;
	pool->running++;
	pthread_mutex_unlock(&pool->lock);
	job->work(job);
	pthread_mutex_lock(&pool->lock);
	job->state = POOL_JOB_ENDED;
	pool->running--;
	pool->ending++;
	pthread_mutex_unlock(&pool->lock);
	job->ended(job);
	pthread_mutex_lock(&pool->lock);
	pool->ending--;
}

/* The last the worker does with the pool's lock held: it is no longer counted. */
static void leave(bide_pool *pool, struct worker *worker)
{
	pool->threads--;
	if (!pool->is_left_alone) {
		list_push_tail(&pool->gone, &worker->link);
		pthread_cond_signal(&pool->left);
	} else {
		pthread_detach(worker->thread);
		memory_free(&memory_default, worker, sizeof *worker);
	}
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	bide_pool *pool = worker->pool;
	struct pool_job *job;
	pthread_mutex_lock(&pool->lock);
	pthread_setname_np(pthread_self(), pool->name);
	while ((job = next_job(pool)))
		run_job(pool, job);
	leave(pool, worker);
	pthread_mutex_unlock(&pool->lock);
	pool_drop(pool);
	return NULL;
}

/* The host's signals are for the host's threads; a fault is the job's own. */
static int create_without_signals(struct worker *worker)
{
	sigset_t blocked, old;
	sigfillset(&blocked);
	sigdelset(&blocked, SIGSEGV);
	sigdelset(&blocked, SIGBUS);
	sigdelset(&blocked, SIGFPE);
	sigdelset(&blocked, SIGILL);
	pthread_sigmask(SIG_SETMASK, &blocked, &old);
	int err = system_thread_create(&worker->thread, worker_main, worker);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err ? fail_with(err) : 0;
}

/* Under the lock: the worker's first look at the pool comes after its count. */
static int start_worker(bide_pool *pool)
{
	struct worker *worker = memory_alloc(&memory_default, sizeof *worker);
	if (!worker)
		return -1;
	worker->pool = pool_hold(pool);
	if (create_without_signals(worker) < 0) {
		pool_drop(pool);
		memory_free(&memory_default, worker, sizeof *worker);
		return -1;
	}
	pool->threads++;
	return 0;
}

static void join_gone(struct list *gone)
{
	struct link *link;
	while ((link = list_pop_head(gone))) {
		struct worker *worker = container_of(link, struct worker, link);
		pthread_join(worker->thread, NULL);
		memory_free(&memory_default, worker, sizeof *worker);
	}
}

static void move_all(struct list *from, struct list *to)
{
	struct link *link;
	while ((link = list_pop_head(from)))
		list_push_tail(to, link);
}

/* ---- submitting --------------------------------------------------------------------------------- */

static bool is_full(const bide_pool *pool)
{
	return pool->queue_max && pool->queued + pool->running >= pool->threads_max + pool->queue_max;
}

/* A thread that cannot be had is no failure while there is another. */
static int enqueue(bide_pool *pool, struct pool_job *job)
{
	if (pool->is_closed || is_full(pool))
		return fail_with(pool->is_closed ? ESHUTDOWN : EAGAIN);
	unsigned free_threads = pool->threads - pool->running;
	if (free_threads <= pool->queued && pool->threads < pool->threads_max && start_worker(pool) < 0 &&
	    pool->threads == 0)
		return -1;
	job->state = POOL_JOB_QUEUED;
	pool->queued++;
	list_push_tail(&pool->queue, &job->link);
	pthread_cond_signal(&pool->work);
	return 0;
}

int pool_submit(bide_pool *pool, struct pool_job *job)
{
	struct list gone;
	list_init(&gone);
	pthread_mutex_lock(&pool->lock);
	move_all(&pool->gone, &gone);
	int result = enqueue(pool, job);
	pthread_mutex_unlock(&pool->lock);
	int saved = errno;
	join_gone(&gone);
	errno = saved;
	return result;
}

enum pool_job_state pool_withdraw(bide_pool *pool, struct pool_job *job, bool abandon)
{
	pthread_mutex_lock(&pool->lock);
	enum pool_job_state found = job->state;
	if (found == POOL_JOB_QUEUED) {
		link_remove(&job->link);
		pool->queued--;
		job->state = POOL_JOB_ENDED;
	} else if (found == POOL_JOB_RUNNING && abandon) {
		job->is_abandoned = true;
	}
	pthread_mutex_unlock(&pool->lock);
	return found;
}

/* ---- closing ------------------------------------------------------------------------------------ */

static void refuse_all(struct list *jobs)
{
	struct link *link;
	while ((link = list_pop_head(jobs))) {
		struct pool_job *job = container_of(link, struct pool_job, link);
		job->ended(job);
	}
}

static void take_queue(bide_pool *pool, struct list *refused)
{
	list_each(link, &pool->queue) {
		struct pool_job *job = container_of(link, struct pool_job, link);
		job->state = POOL_JOB_ENDED;
		job->is_refused = true;
	}
	move_all(&pool->queue, refused);
	pool->queued = 0;
}

#define LET_GO BIDE_SEC

/* How long to wait for workers as things stand: those with a job have the grace; those that are letting go of
 * one, whose result its task may have already, no less than a second, which only a drop function needs; the
 * others go at once. */
static bide_time patience(const bide_pool *pool, bide_time until, bide_time let_go)
{
	if (pool->running > 0)
		return until;
	return pool->ending > 0 ? let_go : BIDE_NEVER;
}

static void wait_for_workers(bide_pool *pool, bide_time until)
{
	bide_time let_go = time_add(clock_monotonic(), LET_GO);
	if (let_go < until)
		let_go = until;
	while (pool->threads > 0) {
		bide_time limit = patience(pool, until, let_go);
		if (!wait_until(pool, &pool->left, limit) && patience(pool, until, let_go) <= limit)
			return;
	}
}

unsigned pool_close(bide_pool *pool, bide_time until)
{
	struct list refused, gone;
	list_init(&refused);
	list_init(&gone);
	pthread_mutex_lock(&pool->lock);
	pool->is_closed = true;
	take_queue(pool, &refused);
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	refuse_all(&refused);

	pthread_mutex_lock(&pool->lock);
	wait_for_workers(pool, until);
	unsigned busy = pool->running + pool->ending;
	pool->is_left_alone = true;
	move_all(&pool->gone, &gone);
	pthread_mutex_unlock(&pool->lock);
	join_gone(&gone);
	pool_drop(pool);
	return busy;
}

int bide_pool_close(bide_pool *pool, bide_time grace)
{
	if (!pool || grace < 0)
		return fail_with(EINVAL);
	return pool_close(pool, time_add(clock_monotonic(), grace)) > 0 ? fail_with(EBUSY) : 0;
}
