/* SPDX-License-Identifier: MIT
 * Layer await: waiting for several futures, owning none. */
#include <bide/combine.h>

#include <errno.h>

#include "await/record.h"

#define FEW 16 /* so many wait records lie on the stack */

static int fail_with(int err)
{
	errno = err;
	return -1;
}

static int check(bide_future *const futures[], int count, int mode)
{
	if (count < 0 || (count > 0 && !futures) || mode < BIDE_WAIT_ALL || mode > BIDE_WAIT_FIRST_FAILED)
		return fail_with(EINVAL);
	for (int i = 0; i < count; i++)
		if (!future_resolve(futures[i]))
			return -1;
	return 0;
}

static int count_done(bide_future *const futures[], int count, bool *has_failed)
{
	int done = 0;
	*has_failed = false;
	for (int i = 0; i < count; i++) {
		const struct future *future = (const struct future *)futures[i];
		done += future->is_done;
		*has_failed |= future->is_done && future->err && future->err != ECANCELED;
	}
	return done;
}

static bool is_enough(int mode, int done, int count, bool has_failed)
{
	return done == count || (mode == BIDE_WAIT_FIRST_DONE && done > 0) ||
	    (mode == BIDE_WAIT_FIRST_FAILED && has_failed);
}

/* Parks in the queues of all that are pending at once; the first of them to be done ends it. */
static int park_on_all(struct task *self, bide_future *const futures[], int count, struct wait *records)
{
	struct wait *own = wait_begin(self, NULL, WAIT_SELECT, NULL);
	own->more = NULL;
	for (int i = 0; i < count; i++) {
		struct future *future = (struct future *)futures[i];
		if (future->is_done)
			continue;
		records[i] = (struct wait){ .task = self, .kind = WAIT_FUTURE, .object = future, .more = own->more };
		own->more = &records[i];
		future_enqueue(future, &records[i]);
	}
	int status = park(self, BIDE_NEVER);
	own->more = NULL;
	return status;
}

static int wait_with(bide_future *const futures[], int count, int mode, struct wait *records)
{
	for (;;) {
		bool has_failed;
		struct task *self = checkpoint();
		if (!self)
			return -1;
		int done = count_done(futures, count, &has_failed);
		if (is_enough(mode, done, count, has_failed))
			return done;
		int status = park_on_all(self, futures, count, records);
		if (status)
			return fail_with(status);
	}
}

int bide_wait(bide_future *const futures[], int count, int mode)
{
	struct wait few[FEW];
	struct task *self = task_current();
	if (!self)
		return fail_with(EPERM);
	if (check(futures, count, mode) < 0)
		return -1;
	if (count <= FEW)
		return wait_with(futures, count, mode, few);
	size_t size = (size_t)count * sizeof *few;
	struct wait *many = memory_alloc(self->loop->memory, size);
	if (!many)
		return -1;
	int done = wait_with(futures, count, mode, many);
	memory_free(self->loop->memory, many, size);
	return done;
}
