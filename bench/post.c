/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: from another thread to a loop. A round trip: the loop, or the thread that is
 * compared with it, sleeps, and is woken for each item. A stream: it is posted to as fast as a thread can.
 * Sender and receiver have a CPU each, so wall time counts. The sending thread's creation is in the clock
 * on all sides, that of the loop or queue is not. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include <bide.h>

#include "common/bench.h"
#include "common/jobqueue.h"
#include "peers/uv.h"

/* ---- bide --------------------------------------------------------------------------------------- */

struct traffic {
	bide_loop *loop;
	bide_event all_came;
	sem_t seen;
	uint64_t count, got;
	bool waits_for_each;
	bench_clock clock;
	int64_t spent;
};

static void came(void *arg)
{
	struct traffic *traffic = arg;
	traffic->got++;
	if (traffic->waits_for_each)
		sem_post(&traffic->seen);
	if (traffic->got == traffic->count)
		bide_event_set(&traffic->all_came);
}

static void *post_all(void *arg)
{
	struct traffic *traffic = arg;
	bench_pin(bench_options.cpu[1]);
	for (uint64_t i = 0; i < traffic->count; i++) {
		while (bide_post(traffic->loop, came, traffic) < 0)
			continue;
		if (traffic->waits_for_each)
			sem_wait(&traffic->seen);
	}
	return NULL;
}

static void *receive_posts(void *arg)
{
	struct traffic *traffic = arg;
	pthread_t thread;
	traffic->loop = bide_loop_self();
	int64_t start = bench_now(traffic->clock);
	if (bide_loop_ref(traffic->loop) < 0 || pthread_create(&thread, NULL, post_all, traffic) != 0)
		return NULL;
	int status = bide_event_wait(&traffic->all_came);
	traffic->spent = bench_now(traffic->clock) - start;
	pthread_join(thread, NULL);
	return status == 0 ? traffic : NULL;
}

static double run_posts(const bench_case *self, uint64_t count, bool waits_for_each)
{
	struct traffic traffic = { .count = count, .waits_for_each = waits_for_each, .clock = self->clock };
	bide_result result;
	sem_init(&traffic.seen, 0, 0);
	bool worked = bide_run(receive_posts, &traffic, NULL, &result) == 0 && result.value;
	return worked ? (double)traffic.spent : -1;
}

static double bide_wakes(const bench_case *self, uint64_t count)
{
	return run_posts(self, count, true);
}

static double bide_items(const bench_case *self, uint64_t count)
{
	return run_posts(self, count, false);
}

/* ---- a plain queue ------------------------------------------------------------------------------ */

struct plain {
	struct jobqueue queue;
	struct job *jobs;
	sem_t seen;
	uint64_t count, got;
	bool waits_for_each;
};

static void *put_all(void *arg)
{
	struct plain *plain = arg;
	bench_pin(bench_options.cpu[1]);
	for (uint64_t i = 0; i < plain->count; i++) {
		jobqueue_put(&plain->queue, &plain->jobs[i]);
		if (plain->waits_for_each)
			sem_wait(&plain->seen);
	}
	return NULL;
}

static double run_plain(const bench_case *self, uint64_t count, bool waits_for_each)
{
	struct plain plain = { .count = count, .waits_for_each = waits_for_each };
	pthread_t thread;
	plain.jobs = calloc(count, sizeof *plain.jobs);
	sem_init(&plain.seen, 0, 0);
	jobqueue_init(&plain.queue);
	int64_t start = bench_now(self->clock);
	if (!plain.jobs || pthread_create(&thread, NULL, put_all, &plain) != 0)
		return -1;
	while (plain.got < count) {
		jobqueue_take(&plain.queue);
		plain.got++;
		if (waits_for_each)
			sem_post(&plain.seen);
	}
	double spent = (double)(bench_now(self->clock) - start);
	pthread_join(thread, NULL);
	free(plain.jobs);
	return spent;
}

static double plain_wakes(const bench_case *self, uint64_t count)
{
	return run_plain(self, count, true);
}

static double plain_items(const bench_case *self, uint64_t count)
{
	return run_plain(self, count, false);
}

/* ---- tables ------------------------------------------------------------------------------------- */

static bench_case wakes[] = {
	{ .name = "round trip, bide_post", .run = bide_wakes, .clock = BENCH_WALL },
	{ .name = "round trip, mutex and condvar", .run = plain_wakes, .clock = BENCH_WALL,
	  .vs = "round trip, bide_post" },
#ifdef HAVE_UV
	{ .name = "round trip, uv_async_send", .run = uv_wakes, .clock = BENCH_WALL, .vs = "round trip, bide_post" },
#endif
};

static bench_case items[] = {
	{ .name = "stream, bide_post", .run = bide_items, .clock = BENCH_WALL },
	{ .name = "stream, mutex and condvar", .run = plain_items, .clock = BENCH_WALL, .vs = "stream, bide_post" },
#ifdef HAVE_UV
	{ .name = "stream, mutex and uv_async_send", .run = uv_items, .clock = BENCH_WALL, .vs = "stream, bide_post" },
#endif
};

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "post", "from another thread to a loop");
	bench_group("an item to a receiver that sleeps, and the answer", wakes, sizeof wakes / sizeof *wakes);
	bench_group("an item of a stream", items, sizeof items / sizeof *items);
#ifndef HAVE_UV
	bench_note("  libuv: not found by the build");
#endif
	return bench_end();
}
