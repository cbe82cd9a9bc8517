/* SPDX-License-Identifier: MIT
 * Layer sync: the barrier. Who has arrived is who stands in line. A waiter that is canceled has left the
 * line, and never looks at the barrier again: that may have been destroyed. So it is counted when it
 * matters, each time that somebody may be the last. */
#include <bide/sync.h>

#include "base/fail.h"
#include "sync/holder.h"
#include "sync/line.h"

struct barrier {
	struct list line;
	unsigned n;       /* 0: not initialized */
	unsigned arrived; /* those in line, and perhaps some who left it by a cancel; less than n */
	bool is_aborted;
};

_Static_assert(sizeof(struct barrier) <= sizeof(bide_barrier), "bide_barrier.opaque");

int bide_barrier_init(bide_barrier *public_barrier, unsigned n)
{
	struct barrier *barrier = (struct barrier *)public_barrier;
	if (!barrier || n == 0 || n > INT32_MAX)
		return fail_with(EINVAL);
	*barrier = (struct barrier){ .n = n };
	return 0;
}

/* Everybody leaves; each is told its place, or why. */
static void release_all(struct barrier *barrier, int status)
{
	struct wait *next;
	int place = 0;
	while ((next = line_head(&barrier->line))) {
		next->detail = place++;
		task_wake(next->task, status);
	}
	barrier->arrived = 0;
}

static bool is_last(struct barrier *barrier)
{
	if (barrier->arrived + 1 < barrier->n)
		return false;
	barrier->arrived = 0;
	list_each(link, &barrier->line)
		barrier->arrived++;
	return barrier->arrived + 1 == barrier->n;
}

int bide_barrier_wait(bide_barrier *public_barrier)
{
	struct barrier *barrier = (struct barrier *)public_barrier;
	if (!barrier || barrier->n == 0)
		return fail_with(EINVAL);
	struct task *self = checkpoint();
	if (!self || line_check(&barrier->line) < 0)
		return -1;
	if (barrier->is_aborted)
		return fail_with(EPIPE);
	if (is_last(barrier)) {
		release_all(barrier, 0);
		return (int)barrier->n - 1;
	}
	barrier->arrived++;
	int status = line_wait(self, &barrier->line, WAIT_BARRIER, barrier, 0);
	return status ? fail_with(status) : self->wait.detail;
}

int bide_barrier_abort(bide_barrier *public_barrier)
{
	struct barrier *barrier = (struct barrier *)public_barrier;
	if (!barrier)
		return fail_with(EINVAL);
	if (line_check(&barrier->line) < 0)
		return -1;
	barrier->is_aborted = true;
	release_all(barrier, EPIPE);
	return 0;
}

int bide_barrier_destroy(bide_barrier *public_barrier)
{
	struct barrier *barrier = (struct barrier *)public_barrier;
	if (!barrier)
		return fail_with(EINVAL);
	if (!list_is_empty(&barrier->line))
		return sync_misuse(EBUSY, "destroys", WAIT_BARRIER, barrier);
	*barrier = (struct barrier){ .n = 0 };
	return 0;
}
