/* SPDX-License-Identifier: MIT
 * Layer inspect: aids for tests. */
#include <bide/testing.h>

#include <errno.h>

#include "base/fail.h"
#include "base/fault.h"
#include "sched/park.h"

static int settle(struct task *task)
{
	wait_begin(task, &task->loop->settlers, WAIT_SETTLE, NULL);
	int status = park(task, BIDE_NEVER);
	return status ? fail_with(status) : 0;
}

int bide_settle(void)
{
	struct task *task = checkpoint();
	return task ? settle(task) : -1;
}

/* As after a sleep: nobody was late. */
static void set_clock(struct loop *loop, bide_time now)
{
	loop->clock.now = loop->looked_at = now;
	trace_note(loop->tracer, TRACE_CLOCK, NULL, NULL, now);
}

/* From deadline to deadline, so that what is armed on the way fires in its place. */
int bide_clock_advance(bide_time delay)
{
	struct task *task = checkpoint();
	if (!task)
		return -1;
	struct loop *loop = task->loop;
	if (delay < 0 || !loop->clock.is_virtual) {
		errno = delay < 0 ? EINVAL : ENOTSUP;
		return -1;
	}
	bide_time target = time_add(loop->clock.now, delay);
	for (;;) {
		if (settle(task) < 0)
			return -1;
		bide_time next = timers_next(&loop->timers);
		if (next > target || next == BIDE_NEVER)
			break;
		if (next > loop->clock.now)
			set_clock(loop, next);
	}
	set_clock(loop, target);
	return 0;
}

int bide_fault(const char *spec)
{
	return fault_set(spec);
}
