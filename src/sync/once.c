/* SPDX-License-Identifier: MIT
 * Layer sync: once: a single flight at a time, until one succeeds. */
#include <bide/sync.h>

#include "base/fail.h"
#include "sync/holder.h"
#include "sync/line.h"

struct once {
	struct list line;
	struct await_task *runner; /* NULL: nobody is at it */
	uint32_t run_serial;       /* the run whose task that is */
	bool is_done;
};

_Static_assert(sizeof(struct once) <= sizeof(bide_once), "bide_once.opaque");

/* In the wait record of one who was in line, when it wakes: it is its turn. Else it is done. */
#define MUST_RUN 1

static uint32_t run_serial(void)
{
	return (uint32_t)run_of(loop_current)->serial;
}

const struct await_task *once_holder(const struct run *run, const void *object)
{
	const struct once *once = object;
	return once->run_serial == (uint32_t)run->serial ? once->runner : NULL;
}

/* The runner is through: all may go, or the next one tries. */
static void pass_on(struct once *once)
{
	struct wait *next;
	once->runner = NULL;
	if (once->is_done) {
		while ((next = line_head(&once->line)))
			task_wake(next->task, 0);
		return;
	}
	next = line_head(&once->line);
	if (!next)
		return;
	once->runner = await_task_of(next->task);
	next->detail = MUST_RUN;
	task_wake(next->task, 0);
}

static int run(struct once *once, int (*fn)(void *arg), void *arg)
{
	int result = fn(arg);
	int saved = errno;
	once->is_done = result >= 0;
	pass_on(once);
	errno = saved;
	return result < 0 ? -1 : 0;
}

int bide_once_run(bide_once *public_once, int (*fn)(void *arg), void *arg)
{
	struct once *once = (struct once *)public_once;
	if (!once || !fn)
		return fail_with(EINVAL);
	struct task *self = checkpoint();
	if (!self || line_check(&once->line) < 0)
		return -1;
	if (once->is_done)
		return 0;
	if (once->runner && once->run_serial != run_serial())
		return fail_with(EPERM);
	if (once->runner == await_task_of(self))
		return sync_misuse(EDEADLK, "runs, inside itself,", WAIT_ONCE, once);
	if (!once->runner) {
		once->runner = await_task_of(self);
		once->run_serial = run_serial();
		return run(once, fn, arg);
	}
	int status = line_wait(self, &once->line, WAIT_ONCE, once, 0);
	if (status)
		return fail_with(status);
	return self->wait.detail == MUST_RUN ? run(once, fn, arg) : 0;
}
