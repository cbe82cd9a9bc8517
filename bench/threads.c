/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: handing over, tasks against threads; and what threads are better at.
 *
 * A hop is one hand-over. On one CPU both sides are counted in CPU time. On two CPUs threads sleep
 * and wake, so there it is wall time. Then computing on two CPUs, where threads win: one
 * loop has one CPU. Creation is outside the clock, except in that group, where it is in the
 * clock on both sides and small. The last group reads a file, where threads win as well: what may have to
 * wait for the disk, or takes long, a loop gives to a thread and gets back. There it is CPU time, of which
 * the disk's own is no part. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bide/file.h>
#include <bide/loop.h>
#include <bide/sync.h>
#include <bide/task.h>

#include "common/bench.h"
#include "common/pingpong.h"
#include "common/ring.h"

#define TASKS "2 tasks, bide_yield"
#define LOCKERS "2 tasks, bide_mutex"

static double task_hops(const bench_case *self, uint64_t count)
{
	static bide_fn *const plain[] = { ring_plain_body };
	return ring_measure(self, 2, plain, 1, count);
}

/* Two tasks that both want one mutex all the time: each unlock hands it to the other one. */
struct contest {
	bench_clock clock;
	bide_mutex mutex;
	uint64_t rounds;
	int64_t spent;
	bool has_failed;
};

static void *lock_and_unlock(void *arg)
{
	struct contest *contest = arg;
	for (uint64_t i = 0; i < contest->rounds; i++)
		if (bide_mutex_lock(&contest->mutex) < 0 || bide_mutex_unlock(&contest->mutex) < 0)
			contest->has_failed = true;
	return contest;
}

static void *run_contest(void *arg)
{
	struct contest *contest = arg;
	bide_task *second = bide_spawn(lock_and_unlock, contest);
	bool begun = second && bide_mutex_lock(&contest->mutex) == 0 && bide_yield() == 0 &&
	    bide_mutex_unlock(&contest->mutex) == 0;
	int64_t start = bench_now(contest->clock);
	lock_and_unlock(contest);
	contest->spent = bench_now(contest->clock) - start;
	return begun && bide_join(second, NULL) == 0 && !contest->has_failed ? contest : NULL;
}

static double mutex_hops(const bench_case *self, uint64_t count)
{
	struct contest contest = { .clock = self->clock, .rounds = count / 2 + 1 };
	bide_result result;
	if (bide_run(run_contest, &contest, NULL, &result) != 0 || !result.value)
		return -1;
	return (double)contest.spent * (double)count / (2.0 * (double)contest.rounds);
}

static double hops_on_one_cpu(const bench_case *self, uint64_t count)
{
	return pingpong_measure(self, (pingpong_kind)self->number, false, count);
}

static double hops_on_two_cpus(const bench_case *self, uint64_t count)
{
	return pingpong_measure(self, (pingpong_kind)self->number, true, count);
}

static bench_case one_cpu[] = {
	{ .name = TASKS, .run = task_hops },
	{ .name = LOCKERS, .run = mutex_hops },
	{ .name = "sched_yield, one CPU", .run = hops_on_one_cpu, .number = PINGPONG_SCHED_YIELD,
	  .vs = TASKS },
	{ .name = "futex, one CPU", .run = hops_on_one_cpu, .number = PINGPONG_FUTEX, .vs = TASKS },
	{ .name = "condvar, one CPU", .run = hops_on_one_cpu, .number = PINGPONG_CONDVAR, .vs = TASKS },
	{ .name = "pipe, one CPU", .run = hops_on_one_cpu, .number = PINGPONG_PIPE, .vs = TASKS },
	{ .name = "mutex and condvar, one CPU", .run = hops_on_one_cpu, .number = PINGPONG_CONDVAR, .vs = LOCKERS },
};

#define TASKS_WALL TASKS ", wall time"

static bench_case two_cpus[] = {
	{ .name = TASKS_WALL, .run = task_hops, .clock = BENCH_WALL },
	{ .name = "spinning, two CPUs", .run = hops_on_two_cpus, .number = PINGPONG_SPIN,
	  .clock = BENCH_WALL, .vs = TASKS_WALL },
	{ .name = "sched_yield, two CPUs", .run = hops_on_two_cpus, .number = PINGPONG_SCHED_YIELD,
	  .clock = BENCH_WALL, .vs = TASKS_WALL },
	{ .name = "futex, two CPUs", .run = hops_on_two_cpus, .number = PINGPONG_FUTEX,
	  .clock = BENCH_WALL, .vs = TASKS_WALL },
	{ .name = "condvar, two CPUs", .run = hops_on_two_cpus, .number = PINGPONG_CONDVAR,
	  .clock = BENCH_WALL, .vs = TASKS_WALL },
	{ .name = "pipe, two CPUs", .run = hops_on_two_cpus, .number = PINGPONG_PIPE,
	  .clock = BENCH_WALL, .vs = TASKS_WALL },
};

#define STEPS 4000000

/* Two lots of arithmetic, one a worker. */
struct lot {
	uint64_t steps;
	uint64_t sum;
};

static void *compute(void *arg)
{
	struct lot *lot = arg;
	uint64_t sum = lot->sum;
	for (uint64_t i = 0; i < lot->steps; i++)
		sum = sum * UINT64_C(6364136223846793005) + i;
	lot->sum = sum;
	return lot;
}

static void *compute_in_tasks(void *arg)
{
	struct lot *lots = arg;
	bide_task *first = bide_spawn(compute, &lots[0]);
	bide_task *second = bide_spawn(compute, &lots[1]);
	bool joined = first && second && bide_join(first, NULL) == 0 && bide_join(second, NULL) == 0;
	return joined ? lots : NULL;
}

static double task_computing(const bench_case *self, uint64_t count)
{
	struct lot lots[2] = { { count / 2, 1 }, { count / 2, 2 } };
	bide_result result;
	int64_t start = bench_now(self->clock);
	bool worked = bide_run(compute_in_tasks, lots, NULL, &result) == 0 && result.value;
	double spent = (double)(bench_now(self->clock) - start);
	return worked ? spent : -1;
}

static void *compute_on_second_cpu(void *arg)
{
	bench_pin(bench_options.cpu[1]);
	return compute(arg);
}

static double thread_computing(const bench_case *self, uint64_t count)
{
	struct lot lots[2] = { { count / 2, 1 }, { count / 2, 2 } };
	pthread_t second;
	int64_t start = bench_now(self->clock);
	if (pthread_create(&second, NULL, compute_on_second_cpu, &lots[1]) != 0)
		return -1;
	compute(&lots[0]);
	pthread_join(second, NULL);
	return (double)(bench_now(self->clock) - start);
}

static bench_case computing[] = {
	{ .name = "computing, 2 tasks", .run = task_computing, .clock = BENCH_WALL, .count = STEPS },
	{ .name = "computing, 2 threads, two CPUs", .run = thread_computing, .clock = BENCH_WALL,
	  .count = STEPS, .vs = "computing, 2 tasks" },
};

#define FILE_SIZE (1024 * 1024)

enum { SMALL, LARGE, UNCACHED };

/* How much at a time, and whether the system is made to forget the file before. */
static const struct {
	size_t size;
	bool is_forgotten;
} kinds[] = { [SMALL] = { 4096, false }, [LARGE] = { FILE_SIZE, false }, [UNCACHED] = { 4096, true } };

typedef ssize_t read_at(int fd, void *buf, size_t size, off_t offset);

static char contents[FILE_SIZE];
static int file;

/* On a disk if there is one: /tmp may be memory, where nothing is ever forgotten. */
static bool make_file(void)
{
	char path[] = "/var/tmp/bide-bench.XXXXXX";
	file = mkstemp(path);
	return file >= 0 && unlink(path) == 0 && write(file, contents, FILE_SIZE) == FILE_SIZE && fsync(file) == 0 &&
	    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM) == 0;
}

static double read_file(const bench_case *self, uint64_t count, read_at *read)
{
	size_t size = kinds[self->number].size;
	int64_t start = bench_now(self->clock);
	for (uint64_t i = 0; i < count; i++) {
		if (kinds[self->number].is_forgotten)
			posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
		if (read(file, contents, size, (off_t)(i * size % FILE_SIZE)) != (ssize_t)size)
			return -1;
	}
	return (double)(bench_now(self->clock) - start);
}

static double thread_reads(const bench_case *self, uint64_t count)
{
	return read_file(self, count, pread);
}

struct reads {
	const bench_case *self;
	uint64_t count;
	double spent;
};

static void *read_in_task(void *arg)
{
	struct reads *reads = arg;
	reads->spent = read_file(reads->self, reads->count, bide_pread);
	return NULL;
}

static double task_reads(const bench_case *self, uint64_t count)
{
	struct reads reads = { self, count, -1 };
	return bide_run(read_in_task, &reads, NULL, NULL) == 0 ? reads.spent : -1;
}

static bench_case reading[] = {
	{ .name = "4 KiB, cached, bide_pread", .run = task_reads, .number = SMALL },
	{ .name = "4 KiB, cached, pread", .run = thread_reads, .number = SMALL, .vs = "4 KiB, cached, bide_pread" },
	{ .name = "1 MiB, cached, bide_pread", .run = task_reads, .number = LARGE },
	{ .name = "1 MiB, cached, pread", .run = thread_reads, .number = LARGE, .vs = "1 MiB, cached, bide_pread" },
	{ .name = "4 KiB, not cached, bide_pread", .run = task_reads, .number = UNCACHED },
	{ .name = "4 KiB, not cached, pread", .run = thread_reads, .number = UNCACHED,
	  .vs = "4 KiB, not cached, bide_pread" },
};

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "threads", "handing over: tasks against threads");
	bench_group("a hop, both on one CPU", one_cpu, sizeof one_cpu / sizeof *one_cpu);
	if (bench_options.cpus > 1) {
		bench_group("a hop, threads on two CPUs", two_cpus, sizeof two_cpus / sizeof *two_cpus);
		bench_group("a step of computing, shared between two: here threads win", computing,
			    sizeof computing / sizeof *computing);
	} else {
		bench_note("  one CPU only: nothing to compare on two");
	}
	if (make_file())
		bench_group("a read of a file: here threads win", reading, sizeof reading / sizeof *reading);
	else
		bench_note("  no file in /var/tmp to read: %s", strerror(errno));
	bench_bar("sched_yield, one CPU", BENCH_RATIO_AT_LEAST, 300);
	bench_bar("condvar, one CPU", BENCH_RATIO_AT_LEAST, 500);
	bench_bar(LOCKERS, BENCH_MEDIAN_AT_MOST, 30);
	return bench_end();
}
