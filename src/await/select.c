/* SPDX-License-Identifier: MIT
 * Layer await: select: of several things the first that can happen, and exactly one takes effect.
 *
 * It looks at all cases first, in an order that starts at a random one. If none can fire it queues a
 * wait record for each and parks; the first waker takes all of them out in the same step. A future
 * hands its result over with the wake; descriptors and moments are looked at again, since a wake only
 * says that it may be worth it. Futures are observed until the task runs: one that is destroyed
 * meanwhile, whoever woke the task, is never looked at again. */
#include <bide/combine.h>

#include <errno.h>
#include <poll.h>

#include "await/circle.h"
#include "await/scratch.h"
#include "await/selectable.h"
#include "base/fail.h"

#define FEW 8
#define WAITABLE (POLLIN | POLLOUT | POLLPRI | POLLRDHUP)

struct selection;

/* Of one case, while the task is parked. */
struct selected {
	struct observer observer; /* of a future; else only the wait record in it is used */
	struct selection *selection;
	bool is_gone;             /* the future was destroyed */
};

struct selection {
	struct task *self;
	bide_case *cases;
	struct selected *records;
	int count;
	unsigned flags;
	bool has_parked;
};

/* ---- checking ----------------------------------------------------------------------------------- */

static int check_fd(struct loop *loop, bide_case *c)
{
	if (!c->events || (c->events & ~WAITABLE))
		return fail_with(EINVAL);
	struct descriptor *descriptor = descriptor_get(loop, c->fd);
	if (!descriptor)
		return -1;
	c->reserved[0] = (void *)(uintptr_t)descriptor->generation;
	return 0;
}

static struct selectable *selectable_of(const bide_case *c)
{
	return (struct selectable *)c->chan;
}

static int check_object(const struct loop *loop, const bide_case *c)
{
	const struct selectable *object = selectable_of(c);
	if (!object)
		return fail_with(EINVAL);
	if (object->loop != loop)
		return fail_with(object->loop == LOOPS_ALL ? ENOTSUP : EPERM);
	int err = object->ops->check(c);
	return err ? fail_with(err) : 0;
}

static int check_case(struct loop *loop, bide_case *c)
{
	c->err = 0;
	c->revents = 0;
	switch (c->op) {
	case BIDE_CASE_NONE:
	case BIDE_CASE_TIME:
		return 0;
	case BIDE_CASE_FUTURE:
		return future_resolve(c->future) ? 0 : -1;
	case BIDE_CASE_FD:
		return check_fd(loop, c);
	case BIDE_CASE_SEND:
	case BIDE_CASE_RECV:
		return check_object(loop, c);
	default:
		return fail_with(EINVAL);
	}
}

/* ---- firing ------------------------------------------------------------------------------------- */

static bool fire_fd(struct loop *loop, bide_case *c)
{
	if (descriptor_find(&loop->descriptors, c->fd)->generation != (uint32_t)(uintptr_t)c->reserved[0]) {
		c->err = EBADF;
		return true;
	}
	if (!c->revents)
		c->revents = descriptor_poll(c->fd, c->events);
	if (c->revents < 0) {
		c->err = errno;
		c->revents = 0;
	}
	return c->revents || c->err;
}

static bool fire(struct loop *loop, bide_case *c)
{
	switch (c->op) {
	case BIDE_CASE_FUTURE:
		return bide_future_done(c->future) && bide_future_get(c->future, &c->result) == 0;
	case BIDE_CASE_FD:
		return fire_fd(loop, c);
	case BIDE_CASE_TIME:
		return c->deadline <= loop_now(loop);
	case BIDE_CASE_SEND:
	case BIDE_CASE_RECV:
		return selectable_of(c)->ops->fire(c);
	default:
		return false;
	}
}

/* After a park. */
static bool is_gone(const struct selection *selection, int index)
{
	return selection->has_parked && selection->records[index].is_gone;
}

/* The index of a case that fires, -1 if none can. */
static int fire_one(struct selection *selection)
{
	struct loop *loop = selection->self->loop;
	int first = 0;
	if (!(selection->flags & BIDE_BIASED) && selection->count > 1)
		first = (int)random_below(&loop->random, (uint64_t)selection->count);
	for (int i = 0; i < selection->count; i++) {
		int index = (first + i) % selection->count;
		if (is_gone(selection, index)) {
			selection->cases[index].err = EPIPE;
			return index;
		}
		if (fire(loop, &selection->cases[index]))
			return index;
	}
	return -1;
}

/* ---- parking ------------------------------------------------------------------------------------ */

/* A waker that only hinted (a descriptor, a moment) leaves the choice open until the task runs. */
static bool is_decided(const struct selection *selection)
{
	int status = selection->self->wait.status;
	for (int i = 0; i < selection->count; i++) {
		const struct wait *record = &selection->records[i].observer.wait;
		if (record->kind != WAIT_FD && (record->events & FUTURE_TOLD))
			return true;
	}
	return status && status != EBADF;
}

/* The future has its result, or is destroyed. It is this case's turn if nothing has decided before; also
 * if the task was woken to look at a descriptor or the time, since when it does, the future may be no
 * more. */
static void told(struct observer *observer, struct future *future)
{
	struct selected *selected = container_of(observer, struct selected, observer);
	struct task *self = selected->selection->self;
	selected->is_gone = !future->is_done;
	if (!task_wake(self, future->is_done ? 0 : EPIPE)) {
		if (!future->is_done || is_decided(selected->selection))
			return;
		self->wait.status = 0;
	}
	observer->wait.events |= FUTURE_TOLD;
	if (!future->is_done)
		return;
	observer->wait.slot = future->value;
	observer->wait.detail = future->err;
	future_mark_taken(future);
}

static int enqueue(struct selection *selection, int index)
{
	bide_case *c = &selection->cases[index];
	struct wait *record = &selection->records[index].observer.wait;
	struct loop *loop = selection->self->loop;
	if (c->op == BIDE_CASE_FUTURE) {
		future_observe((struct future *)c->future, &selection->records[index].observer, told);
	} else if (c->op == BIDE_CASE_FD) {
		record->kind = WAIT_FD;
		record->object = descriptor_find(&loop->descriptors, c->fd);
		record->detail = c->fd;
		int err = descriptor_enqueue(loop, record, DESCRIPTOR_IN, poller_events_of_poll(c->events), NULL);
		if (err == EALREADY)
			c->revents = c->events; /* always ready, whatever poll() says */
		return err;
	} else if (c->op == BIDE_CASE_SEND || c->op == BIDE_CASE_RECV) {
		selectable_of(c)->ops->enqueue(c, record);
	}
	return 0;
}

static bide_time earliest(const struct selection *selection)
{
	bide_time deadline = BIDE_NEVER;
	for (int i = 0; i < selection->count; i++)
		if (selection->cases[i].op == BIDE_CASE_TIME && selection->cases[i].deadline < deadline)
			deadline = selection->cases[i].deadline;
	return deadline;
}

static void leave(struct selection *selection, int queued)
{
	selection->self->wait.more = NULL;
	for (int i = 0; i < queued; i++) {
		struct wait *record = &selection->records[i].observer.wait;
		observer_leave(&selection->records[i].observer);
		if (record->kind == WAIT_FD)
			descriptor_leave(&selection->self->loop->descriptors, record, NULL);
	}
}

/* The status of the park. */
static int park_on_all(struct selection *selection)
{
	struct wait *own = wait_begin(selection->self, NULL, WAIT_SELECT, NULL);
	own->more = NULL;
	selection->has_parked = true;
	for (int i = 0; i < selection->count; i++) /* all: told_one() looks also at those not queued */
		selection->records[i] = (struct selected){ .observer.wait.task = selection->self, .selection = selection };
	for (int i = 0; i < selection->count; i++) {
		struct wait *record = &selection->records[i].observer.wait;
		int err = enqueue(selection, i);
		if (err) {
			leave(selection, i);
			return err == EALREADY ? 0 : err;
		}
		if (record->task) { /* else an observer: it is told, not woken */
			record->more = own->more;
			own->more = record;
		}
	}
	int status = park(selection->self, earliest(selection));
	leave(selection, selection->count);
	return status;
}

/* The case that took effect while the task was parked, by what its record was told; -1: none. */
static int told_one(struct selection *selection, int status)
{
	for (int i = 0; i < selection->count; i++) {
		const struct wait *record = &selection->records[i].observer.wait;
		if (record->kind == WAIT_FD || !(record->events & FUTURE_TOLD))
			continue;
		if (record->kind == WAIT_FUTURE)
			selection->cases[i].result = future_result(record);
		selection->cases[i].err = status;
		return i;
	}
	return -1;
}

/* Is there nothing but tasks that cannot end before the caller does? */
static bool closes_circle(const struct selection *selection)
{
	bool is_found = false;
	for (int i = 0; i < selection->count; i++) {
		const bide_case *c = &selection->cases[i];
		if (c->op == BIDE_CASE_NONE)
			continue;
		const struct await_task *task = c->op == BIDE_CASE_FUTURE ? ((struct future *)c->future)->of_task : NULL;
		if (!task)
			return false;
		if (!is_found)
			circle_find(await_task_of(selection->self));
		is_found = true;
		if (!circle_includes(task))
			return false;
	}
	return is_found;
}

/* The caller has done the first checkpoint. A later one comes right after a park and lets nobody run. */
static int select_with(struct selection *selection)
{
	for (;;) {
		int index = fire_one(selection);
		if (index >= 0)
			return index;
		if (selection->flags & BIDE_TRY)
			return fail_with(EAGAIN);
		if (closes_circle(selection))
			return fail_with(EDEADLK);
		int status = park_on_all(selection);
		index = told_one(selection, status);
		if (index >= 0)
			return index;
		if (status && status != EBADF)
			return fail_with(status);
		if (!checkpoint())
			return -1;
	}
}

/* Channels that are looked at stay, also if their last reference goes while the task is parked. */
static void hold_objects(struct selection *selection, bool holds)
{
	for (int i = 0; i < selection->count; i++) {
		bide_case *c = &selection->cases[i];
		if (c->op != BIDE_CASE_SEND && c->op != BIDE_CASE_RECV)
			continue;
		if (holds)
			selectable_of(c)->ops->hold(c);
		else
			selectable_of(c)->ops->drop(c);
	}
}

static int select_held(struct selection *selection)
{
	hold_objects(selection, true);
	int index = select_with(selection);
	int saved = errno;
	hold_objects(selection, false);
	errno = saved;
	return index;
}

int bide_select(bide_case cases[], int count, unsigned flags)
{
	struct selected few[FEW];
	struct selection selection = { checkpoint(), cases, few, count, flags, false };
	if (!selection.self)
		return -1;
	if (count < 0 || (count > 0 && !cases) || (flags & ~(BIDE_TRY | BIDE_BIASED)))
		return fail_with(EINVAL);
	for (int i = 0; i < count; i++)
		if (check_case(selection.self->loop, &cases[i]) < 0)
			return -1;
	if (count <= FEW)
		return select_held(&selection);
	selection.records = scratch_get(selection.self, (size_t)count * sizeof *few);
	if (!selection.records)
		return -1;
	int index = select_held(&selection);
	scratch_put(selection.self, selection.records);
	return index;
}
