/* SPDX-License-Identifier: MIT
 * Layer sync: the event, a flag to wait for. */
#include <bide/sync.h>

#include "base/fail.h"
#include "sync/holder.h"
#include "sync/line.h"

struct event {
	struct list line;
	bool is_set;
};

_Static_assert(sizeof(struct event) <= sizeof(bide_event), "bide_event.opaque");

int bide_event_set(bide_event *public_event)
{
	struct event *event = (struct event *)public_event;
	if (!event)
		return fail_with(EINVAL);
	if (line_check(&event->line) < 0)
		return -1;
	event->is_set = true;
	struct wait *next;
	while ((next = line_head(&event->line)))
		task_wake(next->task, 0);
	return 0;
}

int bide_event_clear(bide_event *public_event)
{
	struct event *event = (struct event *)public_event;
	if (!event)
		return fail_with(EINVAL);
	if (line_check(&event->line) < 0)
		return -1;
	event->is_set = false;
	return 0;
}

bool bide_event_is_set(const bide_event *event)
{
	return event && ((const struct event *)event)->is_set;
}

int bide_event_wait(bide_event *public_event)
{
	struct event *event = (struct event *)public_event;
	if (!event)
		return fail_with(EINVAL);
	struct task *self = checkpoint();
	if (!self || line_check(&event->line) < 0)
		return -1;
	if (event->is_set)
		return 0;
	int status = line_wait(self, &event->line, WAIT_EVENT, event, 0);
	return status ? fail_with(status) : 0;
}

int bide_event_destroy(bide_event *public_event)
{
	struct event *event = (struct event *)public_event;
	if (!event)
		return fail_with(EINVAL);
	if (!list_is_empty(&event->line))
		return sync_misuse(EBUSY, "destroys", WAIT_EVENT, event);
	*event = (struct event){ .is_set = false };
	return 0;
}
