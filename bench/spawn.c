/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: a task's whole life, against a thread's.
 *
 * Creation, first run, end and join are in the clock, on both sides; starting the loop is not. Warm:
 * the loop has run such tasks before, so their stacks and records lie ready; glibc keeps the stacks
 * of ended threads too, and the warm-up fills its store. Cold: a fresh loop, where each task touches
 * its stack for the first time and pays the kernel for the page. Threads get small explicit stacks;
 * since servers that spare threads keep a pool of them, a job done by a waiting thread is here too. */
#include <limits.h>
#include <pthread.h>

#include <bide/loop.h>
#include <bide/task.h>

#include "common/bench.h"
#include "common/pingpong.h"
#include "peers/fiber.h"

#define AT_ONCE 1000
#define THREAD_STACK (64 * 1024)

#define WARM "task: spawn, run, join, warm"
#define WARM_MANY "1000 tasks: spawn, exit at once, join"
#define ALIVE_WARM "1000 tasks alive at once, warm"

/* What a main task gets, and the time it took. */
struct job {
	bench_clock clock;
	uint64_t count;
	int64_t spent;
};

static void *exit_at_once(void *arg)
{
	return arg;
}

static void *yield_once(void *arg)
{
	bide_yield();
	return arg;
}

static bool live_one_by_one(uint64_t count)
{
	bool worked = true;
	for (uint64_t i = 0; i < count && worked; i++)
		worked = bide_join(bide_spawn(exit_at_once, NULL), NULL) == 0;
	return worked;
}

/* `count` tasks, AT_ONCE at a time. */
static bool live_in_batches(bide_fn *body, uint64_t count)
{
	static bide_task *tasks[AT_ONCE];
	bool worked = true;
	for (uint64_t done = 0; done < count && worked; done += AT_ONCE) {
		for (int i = 0; i < AT_ONCE; i++)
			tasks[i] = bide_spawn(body, NULL);
		for (int i = 0; i < AT_ONCE; i++)
			worked &= bide_join(tasks[i], NULL) == 0;
	}
	return worked;
}

static bool live_detached(uint64_t count)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.flags = BIDE_DETACHED;
	bool worked = true;
	for (uint64_t done = 0; done < count && worked; done += AT_ONCE) {
		for (int i = 0; i < AT_ONCE; i++)
			worked &= bide_spawn_with(exit_at_once, NULL, &attr) != NULL;
		bide_yield();
	}
	return worked;
}

static void *main_one_by_one(void *arg)
{
	struct job *job = arg;
	bool worked = live_one_by_one(AT_ONCE);
	int64_t start = bench_now(job->clock);
	worked &= live_one_by_one(job->count);
	job->spent = bench_now(job->clock) - start;
	return worked ? job : NULL;
}

static void *main_batches(void *arg)
{
	struct job *job = arg;
	bool worked = live_in_batches(exit_at_once, AT_ONCE);
	int64_t start = bench_now(job->clock);
	worked &= live_in_batches(exit_at_once, job->count);
	job->spent = bench_now(job->clock) - start;
	return worked ? job : NULL;
}

static void *main_detached(void *arg)
{
	struct job *job = arg;
	bool worked = live_detached(AT_ONCE);
	int64_t start = bench_now(job->clock);
	worked &= live_detached(job->count);
	job->spent = bench_now(job->clock) - start;
	return worked ? job : NULL;
}

static void *main_alive_warm(void *arg)
{
	struct job *job = arg;
	bool worked = live_in_batches(yield_once, AT_ONCE);
	int64_t start = bench_now(job->clock);
	worked &= live_in_batches(yield_once, job->count);
	job->spent = bench_now(job->clock) - start;
	return worked ? job : NULL;
}

static void *main_alive_cold(void *arg)
{
	struct job *job = arg;
	int64_t start = bench_now(job->clock);
	bool worked = live_in_batches(yield_once, job->count);
	job->spent = bench_now(job->clock) - start;
	return worked ? job : NULL;
}

static double run_main(const bench_case *self, bide_fn *main_fn, uint64_t count)
{
	struct job job = { .clock = self->clock, .count = (count + AT_ONCE - 1) / AT_ONCE * AT_ONCE };
	bide_result result;
	if (bide_run(main_fn, &job, NULL, &result) != 0 || !result.value)
		return -1;
	return (double)job.spent * (double)count / (double)job.count;
}

static double one_by_one(const bench_case *self, uint64_t count)
{
	return run_main(self, main_one_by_one, count);
}

static double batches(const bench_case *self, uint64_t count)
{
	return run_main(self, main_batches, count);
}

static double detached(const bench_case *self, uint64_t count)
{
	return run_main(self, main_detached, count);
}

static double alive_warm(const bench_case *self, uint64_t count)
{
	return run_main(self, main_alive_warm, count);
}

static double alive_cold(const bench_case *self, uint64_t count)
{
	return run_main(self, main_alive_cold, count);
}

/* `count` threads, `at_once` at a time. */
static double threads_live(const bench_case *self, uint64_t count)
{
	static pthread_t threads[AT_ONCE];
	uint64_t at_once = (uint64_t)self->number;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	bool worked = pthread_attr_setstacksize(&attr, THREAD_STACK) == 0;

	uint64_t done = 0;
	int64_t start = bench_now(self->clock);
	for (; done < count && worked; done += at_once) {
		uint64_t made = 0;
		while (made < at_once && pthread_create(&threads[made], &attr, exit_at_once, NULL) == 0)
			made++;
		worked = made == at_once;
		while (made > 0)
			pthread_join(threads[--made], NULL);
	}
	double spent = (double)(bench_now(self->clock) - start);

	pthread_attr_destroy(&attr);
	return worked ? spent * (double)count / (double)done : -1;
}

/* A job is two hand-overs: to the waiting thread, and its result back. */
static double pool_jobs(const bench_case *self, uint64_t count)
{
	return pingpong_measure(self, PINGPONG_CONDVAR, false, count * 2);
}

static bench_case cases[] = {
	{ .name = WARM, .run = one_by_one },
	{ .name = WARM_MANY, .run = batches },
	{ .name = "1000 tasks: spawn detached, exit at once", .run = detached },
	{ .name = ALIVE_WARM, .run = alive_warm },
	{ .name = "1000 tasks alive at once, cold", .run = alive_cold, .count = AT_ONCE, .vs = ALIVE_WARM },
#ifdef HAVE_BOOST_FIBER
	{ .name = "Boost.Fiber: make, run, join, pooled stacks", .run = fiber_lives, .vs = WARM },
#endif
	{ .name = "thread: create, run, join", .run = threads_live, .number = 1, .vs = WARM },
	{ .name = "100 threads: create, exit at once, join", .run = threads_live, .number = 100,
	  .vs = WARM_MANY },
	{ .name = "a job to a waiting thread and back, condvar", .run = pool_jobs, .vs = WARM },
};

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "spawn", "a task's whole life, against a thread's");
	bench_group("one task or thread, from making to joining it", cases, sizeof cases / sizeof *cases);
	bench_bar(WARM, BENCH_MEDIAN_AT_MOST, 30);
	bench_bar("thread: create, run, join", BENCH_RATIO_AT_LEAST, 500);
	return bench_end();
}
