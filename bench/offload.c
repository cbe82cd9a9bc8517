/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: a job for another thread, and its result. One at a time: what a caller waits for
 * who has nothing else to do. 64 at a time: what a busy server pays. Wall time, since it is spent on two
 * CPUs; the threads are there before the clock runs, but for bide's own, of which the warm-up has made
 * the like. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include <bide.h>

#include "common/bench.h"
#include "common/jobqueue.h"
#include "peers/uv.h"

#define THREADS 4 /* as libuv has */
#define MANY 64

/* ---- bide --------------------------------------------------------------------------------------- */

struct offloading {
	bide_offload_attr attr;
	bench_clock clock;
	uint64_t left;
	int callers;
	int64_t spent;
	bool has_failed;
};

static void *job(void *arg)
{
	return arg;
}

static void *call_on(void *arg)
{
	struct offloading *offloading = arg;
	while (offloading->left > 0) {
		offloading->left--;
		if (bide_offload_with(job, arg, &offloading->attr, NULL) < 0)
			offloading->has_failed = true;
	}
	return NULL;
}

static void *offload_all(void *arg)
{
	struct offloading *offloading = arg;
	bide_task *tasks[MANY];
	int64_t start = bench_now(offloading->clock);
	for (int i = 0; i < offloading->callers; i++)
		tasks[i] = bide_spawn(call_on, offloading);
	for (int i = 0; i < offloading->callers; i++)
		if (!tasks[i] || bide_join(tasks[i], NULL) < 0)
			offloading->has_failed = true;
	offloading->spent = bench_now(offloading->clock) - start;
	return NULL;
}

static double bide_jobs(const bench_case *self, uint64_t count)
{
	static bide_pool *pool;
	struct offloading offloading = { BIDE_OFFLOAD_ATTR_INIT, self->clock, count, self->number, 0, false };
	bide_pool_attr attr = BIDE_POOL_ATTR_INIT;
	attr.threads = THREADS;
	if (!pool)
		pool = bide_pool_new(&attr);
	offloading.attr.pool = pool;
	bool worked = bide_run(offload_all, &offloading, NULL, NULL) == 0 && !offloading.has_failed;
	return worked ? (double)offloading.spent : -1;
}

/* ---- a plain queue ------------------------------------------------------------------------------ */

struct plain_job {
	struct job job;
	struct jobqueue *answers;
};

static void answer(struct job *job)
{
	struct plain_job *plain = (struct plain_job *)job;
	jobqueue_put(plain->answers, job);
}

/* Jobs there through one queue, back through another. */
static double plain_jobs(const bench_case *self, uint64_t count)
{
	static struct jobqueue queue, answers;
	static pthread_t threads[THREADS];
	struct plain_job jobs[MANY];
	uint64_t to_begin = count, to_end = count;
	if (!threads[0]) {
		jobqueue_init(&queue);
		jobqueue_init(&answers);
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, jobqueue_work, &queue);
	}
	int64_t start = bench_now(self->clock);
	for (int i = 0; i < self->number && to_begin > 0; i++, to_begin--) {
		jobs[i] = (struct plain_job){ { NULL, answer }, &answers };
		jobqueue_put(&queue, &jobs[i].job);
	}
	for (; to_end > 0; to_end--) {
		struct job *job_back = jobqueue_take(&answers);
		if (to_begin > 0) {
			to_begin--;
			jobqueue_put(&queue, job_back);
		}
	}
	return (double)(bench_now(self->clock) - start);
}

/* ---- tables ------------------------------------------------------------------------------------- */

static bench_case one[] = {
	{ .name = "one job, bide_offload", .run = bide_jobs, .number = 1, .clock = BENCH_WALL },
	{ .name = "one job, mutex and condvar", .run = plain_jobs, .number = 1, .clock = BENCH_WALL,
	  .vs = "one job, bide_offload" },
#ifdef HAVE_UV
	{ .name = "one job, uv_queue_work", .run = uv_jobs, .number = 1, .clock = BENCH_WALL,
	  .vs = "one job, bide_offload" },
#endif
};

static bench_case many[] = {
	{ .name = "64 jobs, bide_offload", .run = bide_jobs, .number = MANY, .clock = BENCH_WALL },
	{ .name = "64 jobs, mutex and condvar", .run = plain_jobs, .number = MANY, .clock = BENCH_WALL,
	  .vs = "64 jobs, bide_offload" },
#ifdef HAVE_UV
	{ .name = "64 jobs, uv_queue_work", .run = uv_jobs, .number = MANY, .clock = BENCH_WALL,
	  .vs = "64 jobs, bide_offload" },
#endif
};

/* The harness pins the process to one CPU, and threads inherit that. */
static void unpin(void)
{
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(bench_options.cpu[0], &cpus);
	CPU_SET(bench_options.cpu[1], &cpus);
	pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "offload", "a job for another thread, and its result");
	unpin();
	bench_group("one job at a time", one, sizeof one / sizeof *one);
	bench_group("64 jobs at a time", many, sizeof many / sizeof *many);
#ifndef HAVE_UV
	bench_note("  libuv: not found by the build");
#endif
	return bench_end();
}
