/* SPDX-License-Identifier: MIT
 * Layer await: select: of several things the first that can happen, and exactly one takes effect.
 *
 * It looks at all cases first, in an order that starts at a random one. If none can fire it queues a
 * wait record for each and parks; the first waker takes all of them out in the same step. A future
 * hands its result to the record it was told through; descriptors and moments are looked at again,
 * since a wake only says that it may be worth it. */
#include <bide/combine.h>

#include <errno.h>
#include <poll.h>

#include "await/record.h"
#include "await/selectable.h"

#define FEW 8
#define WAITABLE (POLLIN | POLLOUT | POLLPRI | POLLRDHUP)

static int fail_with(int err)
{
	errno = err;
	return -1;
}

struct selection {
	struct task *self;
	bide_case *cases;
	struct wait *records;
	int count;
	unsigned flags;
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
		return fail_with(EPERM);
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
	if (descriptor_find(loop, c->fd)->generation != (uint32_t)(uintptr_t)c->reserved[0]) {
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

/* The index of a case that fires, -1 if none can. */
static int fire_one(struct selection *selection)
{
	struct loop *loop = selection->self->loop;
	int first = 0;
	if (!(selection->flags & BIDE_BIASED) && selection->count > 1)
		first = (int)random_below(&loop->random, (uint64_t)selection->count);
	for (int i = 0; i < selection->count; i++) {
		int index = (first + i) % selection->count;
		if (fire(loop, &selection->cases[index]))
			return index;
	}
	return -1;
}

/* ---- parking ------------------------------------------------------------------------------------ */

static int enqueue(struct selection *selection, int index)
{
	bide_case *c = &selection->cases[index];
	struct wait *record = &selection->records[index];
	struct loop *loop = selection->self->loop;
	if (c->op == BIDE_CASE_FUTURE) {
		record->kind = WAIT_FUTURE;
		record->object = c->future;
		record->events = FUTURE_TAKES;
		future_enqueue((struct future *)c->future, record);
	} else if (c->op == BIDE_CASE_FD) {
		int err = descriptor_enqueue(loop, record, c->fd, DESCRIPTOR_IN,
		    poller_events_of_poll(c->events), NULL);
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
		struct wait *record = &selection->records[i];
		if (link_is_linked(&record->link))
			link_remove(&record->link);
		if (record->kind == WAIT_FD)
			descriptor_leave(selection->self->loop, record);
	}
}

/* The status of the park. */
static int park_on_all(struct selection *selection)
{
	struct wait *own = wait_begin(selection->self, NULL, WAIT_SELECT, NULL);
	own->more = NULL;
	for (int i = 0; i < selection->count; i++) /* all: told_one() looks also at those not queued */
		selection->records[i] = (struct wait){ .task = selection->self };
	for (int i = 0; i < selection->count; i++) {
		struct wait *record = &selection->records[i];
		record->more = own->more;
		int err = enqueue(selection, i);
		if (err) {
			leave(selection, i);
			return err == EALREADY ? 0 : err;
		}
		own->more = record;
	}
	int status = park(selection->self, earliest(selection));
	leave(selection, selection->count);
	return status;
}

/* The case that took effect while the task was parked, by what its record was told; -1: none. */
static int told_one(struct selection *selection, int status)
{
	for (int i = 0; i < selection->count; i++) {
		const struct wait *record = &selection->records[i];
		if (record->kind == WAIT_FD || !(record->events & FUTURE_TOLD))
			continue;
		if (record->kind == WAIT_FUTURE)
			selection->cases[i].result = future_result(record);
		selection->cases[i].err = status;
		return i;
	}
	return -1;
}

static int select_with(struct selection *selection)
{
	for (;;) {
		struct task *self = checkpoint();
		if (!self)
			return -1;
		int index = fire_one(selection);
		if (index >= 0)
			return index;
		if (selection->flags & BIDE_TRY)
			return fail_with(EAGAIN);
		int status = park_on_all(selection);
		index = told_one(selection, status);
		if (index >= 0)
			return index;
		if (status && status != EBADF)
			return fail_with(status);
	}
}

int bide_select(bide_case cases[], int count, unsigned flags)
{
	struct wait few[FEW];
	struct selection selection = { task_current(), cases, few, count, flags };
	if (!selection.self)
		return fail_with(EPERM);
	if (count < 0 || (count > 0 && !cases) || (flags & ~(BIDE_TRY | BIDE_BIASED)))
		return fail_with(EINVAL);
	for (int i = 0; i < count; i++)
		if (check_case(selection.self->loop, &cases[i]) < 0)
			return -1;
	if (count <= FEW)
		return select_with(&selection);
	size_t size = (size_t)count * sizeof *few;
	selection.records = memory_alloc(selection.self->loop->memory, size);
	if (!selection.records)
		return -1;
	int index = select_with(&selection);
	memory_free(selection.self->loop->memory, selection.records, size);
	return index;
}
