/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: libuv. See uv.h. */
#ifdef HAVE_UV

#include "uv.h"

#include <semaphore.h>
#include <stdlib.h>
#include <uv.h>

/* ---- jobs --------------------------------------------------------------------------------------- */

struct jobs {
	uv_loop_t loop;
	uint64_t to_begin, to_end;
};

static void work(uv_work_t *request)
{
	(void)request;
}

static void begin(struct jobs *jobs, uv_work_t *request);

static void after_work(uv_work_t *request, int status)
{
	struct jobs *jobs = request->data;
	if (status == 0)
		jobs->to_end--;
	begin(jobs, request);
}

static void begin(struct jobs *jobs, uv_work_t *request)
{
	if (jobs->to_begin == 0)
		return;
	jobs->to_begin--;
	request->data = jobs;
	uv_queue_work(&jobs->loop, request, work, after_work);
}

double uv_jobs(const bench_case *self, uint64_t count)
{
	struct jobs jobs = { .to_begin = count, .to_end = count };
	uv_work_t *requests = calloc((size_t)self->number, sizeof *requests);
	uv_loop_init(&jobs.loop);
	int64_t start = bench_now(self->clock);
	for (int i = 0; i < self->number; i++)
		begin(&jobs, &requests[i]);
	uv_run(&jobs.loop, UV_RUN_DEFAULT);
	double spent = (double)(bench_now(self->clock) - start);
	uv_loop_close(&jobs.loop);
	free(requests);
	return jobs.to_end == 0 ? spent : -1;
}

/* ---- from another thread ------------------------------------------------------------------------ */

struct item {
	struct item *next;
};

struct link_up {
	uv_loop_t loop;
	uv_async_t async;
	uv_mutex_t lock;
	struct item *newest;
	struct item *items;
	sem_t seen;
	uint64_t count, got;
	bool waits_for_each;
};

static struct item *take_all(struct link_up *up)
{
	uv_mutex_lock(&up->lock);
	struct item *items = up->newest;
	up->newest = NULL;
	uv_mutex_unlock(&up->lock);
	return items;
}

static void woken(uv_async_t *async)
{
	struct link_up *up = async->data;
	for (struct item *item = take_all(up); item; item = item->next)
		up->got++;
	if (up->waits_for_each)
		sem_post(&up->seen);
	if (up->got == up->count)
		uv_close((uv_handle_t *)async, NULL);
}

static void send_all(void *arg)
{
	struct link_up *up = arg;
	bench_pin(bench_options.cpu[1]);
	for (uint64_t i = 0; i < up->count; i++) {
		uv_mutex_lock(&up->lock);
		up->items[i].next = up->newest;
		up->newest = &up->items[i];
		uv_mutex_unlock(&up->lock);
		uv_async_send(&up->async);
		if (up->waits_for_each)
			sem_wait(&up->seen);
	}
}

static double run_link_up(const bench_case *self, uint64_t count, bool waits_for_each)
{
	struct link_up up = { .count = count, .waits_for_each = waits_for_each };
	uv_thread_t thread;
	up.items = calloc(count, sizeof *up.items);
	up.async.data = &up;
	sem_init(&up.seen, 0, 0);
	uv_mutex_init(&up.lock);
	uv_loop_init(&up.loop);
	uv_async_init(&up.loop, &up.async, woken);
	int64_t start = bench_now(self->clock);
	uv_thread_create(&thread, send_all, &up);
	uv_run(&up.loop, UV_RUN_DEFAULT);
	double spent = (double)(bench_now(self->clock) - start);
	uv_thread_join(&thread);
	uv_loop_close(&up.loop);
	free(up.items);
	return up.got == count ? spent : -1;
}

double uv_wakes(const bench_case *self, uint64_t count)
{
	return run_link_up(self, count, true);
}

double uv_items(const bench_case *self, uint64_t count)
{
	return run_link_up(self, count, false);
}

#endif
