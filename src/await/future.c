/* SPDX-License-Identifier: MIT
 * Layer await: futures. See future.h for the queue. */
#include "await/future.h"

#include <errno.h>
#include <string.h>

#include "await/circle.h"
#include "await/posted.h"
#include "await/record.h"
#include "base/fail.h"
#include "sched/elsewhere.h"

struct future *future_resolve(const bide_future *public_future)
{
	struct future *future = (struct future *)(uintptr_t)public_future;
	if (!future) {
		errno = EINVAL;
		return NULL;
	}
	if (!loop_current || (future->loop &&
	    (future->loop != loop_current || future->run != run_of(loop_current)->serial))) {
		fail_elsewhere();
		return NULL;
	}
	future->loop = loop_current;
	future->run = run_of(loop_current)->serial;
	return future;
}

/* ---- the queue --------------------------------------------------------------------------------- */

void future_enqueue(struct future *future, struct wait *wait)
{
	list_push_tail(&future->queue, &wait->link);
}

void future_observe(struct future *future, struct observer *observer,
    void (*notify)(struct observer *observer, struct future *future))
{
	observer->wait = (struct wait){ .kind = WAIT_FUTURE };
	observer->notify = notify;
	future_enqueue(future, &observer->wait);
}

void observer_leave(struct observer *observer)
{
	if (link_is_linked(&observer->wait.link))
		link_remove(&observer->wait.link);
}

void future_mark_taken(struct future *future)
{
	future->is_taken = true;
	if (future->of_task)
		future->of_task->is_outcome_read = true;
}

static void tell_one(struct future *future, struct wait *wait, void *value, int err, int status)
{
	if (wait->task) {
		/* On its way it is taken: whoever destroys the future right after does not drop it. */
		if (future->is_done && (wait->events & FUTURE_TAKES))
			future_mark_taken(future);
		wait->events |= FUTURE_TOLD;
		wait->slot = value;
		wait->detail = err;
		task_wake(wait->task, status);
		return;
	}
	link_remove(&wait->link);
	struct observer *observer = container_of(wait, struct observer, wait);
	observer->notify(observer, future);
}

void future_tell_all(struct future *future, void *value, int err, int status)
{
	struct link *link;
	while ((link = list_head(&future->queue)))
		tell_one(future, container_of(link, struct wait, link), value, err, status);
}

/* ---- setting ----------------------------------------------------------------------------------- */

int bide_future_init(bide_future *public_future, void (*drop)(void *value))
{
	struct future *future = (struct future *)public_future;
	if (!future)
		return fail_with(EINVAL);
	memset(public_future, 0, sizeof *public_future);
	future->drop = drop;
	return 0;
}

static int complete_by_user(bide_future *public_future, void *value, int err)
{
	struct future *future = future_resolve(public_future);
	if (!future)
		return -1;
	if (future->of_task)
		return fail_with(EINVAL);
	if (future->is_done)
		return fail_with(EALREADY);
	trace_note(future->loop->tracer, TRACE_FUTURE, NULL, future, err);
	future_complete(future, value, err);
	return 0;
}

int bide_future_set(bide_future *future, void *value)
{
	return complete_by_user(future, value, 0);
}

int bide_future_fail(bide_future *future, int err)
{
	return err > 0 ? complete_by_user(future, NULL, err) : fail_with(EINVAL);
}

int bide_future_cancel(bide_future *future)
{
	return complete_by_user(future, NULL, ECANCELED);
}

/* ---- getting ----------------------------------------------------------------------------------- */

bool bide_future_done(const bide_future *public_future)
{
	const struct future *future = (const struct future *)public_future;
	return future && future->is_done;
}

static void take(struct future *future, bide_result *out)
{
	future_mark_taken(future);
	if (out)
		*out = (bide_result){ future->value, future->err };
}

int bide_future_get(bide_future *public_future, bide_result *out)
{
	struct future *future = future_resolve(public_future);
	if (!future)
		return -1;
	if (!future->is_done)
		return fail_with(EINPROGRESS);
	take(future, out);
	return 0;
}

CONTEXT_RETURNS_BY_JUMP int bide_await(bide_future *public_future, bide_result *out)
{
	struct task *self = checkpoint(); /* first: it may let others run, who destroy futures */
	if (!self)
		return -1;
	struct future *future = future_resolve(public_future);
	if (!future)
		return -1;
	if (future->is_done) {
		take(future, out);
		return 0;
	}
	if (!future->of_task)
		return future_await(self, future, WAIT_FUTURE, future, out);
	if (circle_closes(await_task_of(self), future->of_task))
		return fail_with(EDEADLK);
	return future_await(self, future, WAIT_JOIN, future->of_task, out);
}

bide_future *bide_task_future(bide_task *handle)
{
	struct await_task *task = handle_resolve(handle);
	return task ? (bide_future *)task_future(task) : NULL;
}

/* ---- callbacks --------------------------------------------------------------------------------- */

/* Waits in the future's queue, then in the ready queue. One of a task's future keeps the task's record. */
struct done_callback {
	struct observer observer;
	struct entry entry;
	struct link of_future; /* in future.callbacks */
	struct link of_run;    /* in run.done_callbacks */
	struct future *future;
	bide_done_fn *fn;
	void *arg;
};

static void callback_free(struct done_callback *callback)
{
	link_remove(&callback->of_future);
	link_remove(&callback->of_run);
	memory_free(callback->future->loop->memory, callback, sizeof *callback);
}

static void let_go(struct future *future)
{
	if (future->of_task)
		task_drop(future->of_task);
}

static void callback_run(struct entry *entry)
{
	struct done_callback *callback = container_of(entry, struct done_callback, entry);
	struct done_callback copy = *callback;
	struct await_task *kept = copy.future->of_task; /* fn may destroy a user's future */
	callback_free(callback);
	loop_calls(loop_current, (uintptr_t)copy.fn);
	copy.fn((bide_future *)copy.future, copy.arg);
	if (kept)
		task_drop(kept);
}

static void callback_due(struct observer *observer, struct future *future)
{
	struct done_callback *callback = container_of(observer, struct done_callback, observer);
	ready_push(&future->loop->ready, &callback->entry);
}

int bide_on_done(bide_future *public_future, bide_done_fn *fn, void *arg)
{
	if (!fn)
		return fail_with(EINVAL);
	struct future *future = future_resolve(public_future);
	if (!future)
		return -1;
	struct done_callback *callback = memory_alloc(future->loop->memory, sizeof *callback);
	if (!callback)
		return -1;
	callback->entry.run = callback_run;
	callback->future = future;
	callback->fn = fn;
	callback->arg = arg;
	list_push_tail(&future->callbacks, &callback->of_future);
	list_push_tail(&run_of(future->loop)->done_callbacks, &callback->of_run);
	if (future->of_task)
		task_hold(future->of_task);
	if (future->is_done)
		callback_due(&callback->observer, future);
	else
		future_observe(future, &callback->observer, callback_due);
	return 0;
}

static void callback_withdraw(struct done_callback *callback)
{
	struct loop *loop = callback->future->loop;
	observer_leave(&callback->observer);
	loop_withdraw(loop, &callback->entry);
	callback_free(callback);
}

int bide_off_done(bide_future *public_future, bide_done_fn *fn, void *arg)
{
	if (!fn)
		return fail_with(EINVAL);
	struct future *future = future_resolve(public_future);
	if (!future)
		return -1;
	list_each(link, &future->callbacks) {
		struct done_callback *callback = container_of(link, struct done_callback, of_future);
		if (callback->fn != fn || callback->arg != arg)
			continue;
		callback_withdraw(callback);
		let_go(future);
		return 1;
	}
	return 0;
}

static void forget_callbacks(struct future *future)
{
	struct link *link;
	while ((link = list_head(&future->callbacks)))
		callback_withdraw(container_of(link, struct done_callback, of_future));
}

/* ---- the end ------------------------------------------------------------------------------------ */

static void report_unread_future(struct future *future)
{
	run_report(run_of(future->loop), BIDE_REPORT_FAILURE,
	    "a future failed with errno %d (%s) and nobody read it", future->err, strerror(future->err));
}

int bide_future_destroy(bide_future *public_future)
{
	struct future *future = (struct future *)public_future;
	if (!future || future->of_task)
		return fail_with(EINVAL);
	if (future->loop && !future_resolve(public_future))
		return -1;
	void *late = NULL;
	if (posted_recall((struct posted_future *)public_future, &late) < 0)
		return -1;
	forget_callbacks(future);
	future_tell_all(future, NULL, 0, EPIPE);
	struct future old = *future;
	memset(future, 0, offsetof(struct future, of_task));
	if (old.is_done && !old.is_taken && old.err && old.err != ECANCELED)
		report_unread_future(&old);
	if (old.is_done && !old.is_taken && !old.err && old.drop)
		old.drop(old.value);
	if (late && old.drop)
		old.drop(late);
	return 0;
}

void done_callbacks_free(struct run *run)
{
	struct link *link;
	while ((link = list_pop_head(&run->done_callbacks)))
		memory_free(run->loop.memory, container_of(link, struct done_callback, of_run), sizeof(struct done_callback));
}
