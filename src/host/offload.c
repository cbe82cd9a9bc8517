/* SPDX-License-Identifier: MIT
 * Layer host: a job of a pool as a suspending call.
 *
 * The record of a call is a block of its own, with two references: the task's, until it returns, and the
 * job's, until its thread has let go and, if the task waits, the loop has heard of it. So whichever side is
 * gone first, neither memory is used after its end; and whoever is last drops a result that was not taken. */
#include <bide/offload.h>

#include <stdatomic.h>

#include "base/fail.h"
#include "host/room.h"

struct offload {
	struct pool_job job;
	struct inbox_post post;   /* the way back */
	struct link link;         /* in the room's offloads, until the task returns */
	bide_loop *loop;
	struct task *task;
	bide_pool *pool;
	void *(*fn)(void *arg);
	void *arg;
	void (*drop)(void *value, void *arg);
	void *value;
	int err;
	bool is_back;             /* the loop has heard of its end */
	bool is_taken;            /* the task has the result */
	atomic_uint references;
};

static void let_go(struct offload *offload)
{
	if (atomic_fetch_sub_explicit(&offload->references, 1, memory_order_acq_rel) > 1)
		return;
	if (offload->drop && !offload->is_taken)
		offload->drop(offload->value, offload->arg);
	pool_drop(offload->pool);
	memory_free(&memory_default, offload, sizeof *offload);
}

/* ---- on the job's thread ------------------------------------------------------------------------ */

static void work(struct pool_job *job)
{
	struct offload *offload = container_of(job, struct offload, job);
	errno = 0;
	offload->value = offload->fn(offload->arg);
	offload->err = errno;
}

static void ended(struct pool_job *job)
{
	struct offload *offload = container_of(job, struct offload, job);
	if (job->is_abandoned || (inbox_post(offload->loop, &offload->post) < 0 && errno == ESHUTDOWN))
		let_go(offload);
}

/* ---- on the loop's thread ----------------------------------------------------------------------- */

static void came_back(struct inbox_post *post)
{
	struct offload *offload = container_of(post, struct offload, post);
	offload->is_back = true;
	loop_current->outside_work--;
	task_wake(offload->task, 0);
	let_go(offload);
}

/* The job is not coming back: it was taken out, or is left behind. */
static void forget(struct offload *offload)
{
	offload->task->loop->outside_work--;
}

static void wait_for_end(struct offload *offload)
{
	struct task *self = offload->task;
	while (!offload->is_back) {
		wait_begin(self, NULL, WAIT_OFFLOAD, offload)->is_shielded = 1;
		park(self, BIDE_NEVER);
	}
}

/* The wait was interrupted. True if the call fails: its job never ran, or is left behind. If not, the job's
 * result counts, and the interrupt is for the next call: this one has not failed by it. */
static bool give_up(struct offload *offload, unsigned flags, uint8_t was_interrupted)
{
	enum pool_job_state found = pool_withdraw(offload->pool, &offload->job, flags & BIDE_ABANDON);
	if (found == POOL_JOB_QUEUED)
		let_go(offload); /* the job's */
	if (found == POOL_JOB_QUEUED || (found == POOL_JOB_RUNNING && (flags & BIDE_ABANDON))) {
		forget(offload);
		return true;
	}
	wait_for_end(offload);
	offload->task->was_interrupted = was_interrupted;
	return false;
}

/* 0, or the errno of the call. */
static int wait_for_result(struct offload *offload, unsigned flags)
{
	struct task *self = offload->task;
	uint8_t was_interrupted = self->was_interrupted;
	wait_begin(self, NULL, WAIT_OFFLOAD, offload);
	int status = park(self, BIDE_NEVER);
	if (status && give_up(offload, flags, was_interrupted))
		return status;
	return offload->job.is_refused ? ESHUTDOWN : 0;
}

/* NULL with errno if the call fails. */
static struct offload *offload_new(const bide_offload_attr *attr)
{
	struct task *self = checkpoint();
	struct host_room *room = self ? host_room(self->loop) : NULL;
	bide_pool *pool = attr->pool || !room ? attr->pool : host_pool(room, &room->pool);
	struct offload *offload = room && pool ? memory_alloc(&memory_default, sizeof *offload) : NULL;
	if (!offload)
		return NULL;
	offload->job.work = work;
	offload->job.ended = ended;
	offload->post.run = came_back;
	offload->loop = loop_handle(self->loop);
	offload->task = self;
	offload->pool = pool_hold(pool);
	atomic_init(&offload->references, 2);
	return offload;
}

/* The two references of a call whose job was never in a pool. */
static void offload_free(struct offload *offload)
{
	int saved = errno;
	let_go(offload);
	let_go(offload);
	errno = saved;
}

static int finish(struct offload *offload, int err, bide_result *out)
{
	int told = err ? err : offload->err; /* what was left behind may be written just now */
	if (!err && out)
		*out = (bide_result){ offload->value, told };
	offload->is_taken = !err;
	link_remove(&offload->link);
	let_go(offload);
	errno = told;
	return err ? -1 : 0;
}

static int run(struct offload *offload, unsigned flags, bide_result *out)
{
	struct loop *loop = offload->task->loop;
	if (pool_submit(offload->pool, &offload->job) < 0) {
		offload_free(offload);
		return -1;
	}
	loop->outside_work++;
	board_add(loop->board, BOARD_jobs, 1);
	list_push_tail(&host_room(loop)->offloads, &offload->link);
	return finish(offload, wait_for_result(offload, flags), out);
}

int bide_offload_with(void *(*fn)(void *arg), void *arg, const bide_offload_attr *attr, bide_result *out)
{
	static const bide_offload_attr defaults = BIDE_OFFLOAD_ATTR_INIT;
	if (!attr)
		attr = &defaults;
	if (!fn || attr->size != sizeof *attr || (attr->flags & ~BIDE_ABANDON))
		return fail_with(EINVAL);
	struct offload *offload = offload_new(attr);
	if (offload) {
		offload->fn = fn;
		offload->arg = arg;
		offload->drop = attr->drop;
		return run(offload, attr->flags, out);
	}
	int err = errno;
	if (attr->drop)
		attr->drop(NULL, arg);
	return fail_with(err);
}

int bide_offload(void *(*fn)(void *arg), void *arg, unsigned flags, bide_result *out)
{
	bide_offload_attr attr = BIDE_OFFLOAD_ATTR_INIT;
	attr.flags = flags;
	return bide_offload_with(fn, arg, &attr, out);
}

unsigned offloads_forsake(struct list *offloads)
{
	unsigned running = 0;
	struct link *link;
	while ((link = list_pop_head(offloads))) {
		struct offload *offload = container_of(link, struct offload, link);
		enum pool_job_state found = pool_withdraw(offload->pool, &offload->job, true);
		running += found == POOL_JOB_RUNNING;
		if (found == POOL_JOB_QUEUED)
			let_go(offload);
		let_go(offload);
	}
	return running;
}
