/* SPDX-License-Identifier: MIT
 * Layer await: waiting for several futures, owning none.
 *
 * It observes all that are pending until it returns, also in the turn in which it is woken: each is counted
 * when it is done, and one that is done, or destroyed, is never looked at again. */
#include <bide/combine.h>

#include <errno.h>

#include "await/circle.h"
#include "await/scratch.h"
#include "base/fail.h"

#define FEW 16 /* so many observers lie on the stack */

struct waiting {
	struct task *self;
	int count, mode;
	int done;
	bool has_failed;
};

struct watched {
	struct observer observer;
	struct waiting *waiting;
};

static int check(bide_future *const futures[], int count, int mode)
{
	if (count < 0 || (count > 0 && !futures) || mode < BIDE_WAIT_ALL || mode > BIDE_WAIT_FIRST_FAILED)
		return fail_with(EINVAL);
	for (int i = 0; i < count; i++)
		if (!future_resolve(futures[i]))
			return -1;
	return 0;
}

static void count_in(struct waiting *waiting, const struct future *future)
{
	waiting->done++;
	waiting->has_failed |= future->err && future->err != ECANCELED;
}

static bool is_enough(const struct waiting *waiting)
{
	return waiting->done == waiting->count || (waiting->mode == BIDE_WAIT_FIRST_DONE && waiting->done > 0) ||
	    (waiting->mode == BIDE_WAIT_FIRST_FAILED && waiting->has_failed);
}

/* It is done, or destroyed. */
static void told(struct observer *observer, struct future *future)
{
	struct waiting *waiting = container_of(observer, struct watched, observer)->waiting;
	if (future->is_done)
		count_in(waiting, future);
	if (!future->is_done)
		task_wake(waiting->self, EPIPE);
	else if (is_enough(waiting))
		task_wake(waiting->self, 0);
}

/* Is it for tasks that cannot end before the caller does? */
static bool closes_circle(bide_future *const futures[], const struct waiting *waiting)
{
	int pending = 0, circular = 0;
	bool is_found = false;
	for (int i = 0; i < waiting->count; i++) {
		const struct future *future = (struct future *)futures[i];
		if (future->is_done)
			continue;
		pending++;
		if (!future->of_task)
			continue;
		if (!is_found)
			circle_find(await_task_of(waiting->self));
		is_found = true;
		circular += circle_includes(future->of_task);
	}
	return waiting->mode == BIDE_WAIT_ALL ? circular > 0 : circular == pending;
}

static int wait_with(bide_future *const futures[], struct waiting *waiting, struct watched *watched)
{
	for (int i = 0; i < waiting->count; i++)
		if (((struct future *)futures[i])->is_done)
			count_in(waiting, (struct future *)futures[i]);
	if (is_enough(waiting))
		return waiting->done;
	if (closes_circle(futures, waiting))
		return fail_with(EDEADLK);
	struct task *dependent = waiting->mode == BIDE_WAIT_ALL ? waiting->self : NULL;
	for (int i = 0; i < waiting->count; i++) {
		struct future *future = (struct future *)futures[i];
		watched[i] = (struct watched){ .observer.dependent = dependent, .waiting = waiting };
		if (!future->is_done)
			future_observe(future, &watched[i].observer, told);
	}
	wait_begin(waiting->self, NULL, WAIT_FUTURES, NULL);
	int status = park(waiting->self, BIDE_NEVER);
	for (int i = 0; i < waiting->count; i++)
		observer_leave(&watched[i].observer);
	return status ? fail_with(status) : waiting->done;
}

int bide_wait(bide_future *const futures[], int count, int mode)
{
	struct watched few[FEW];
	struct waiting waiting = { .self = checkpoint(), .count = count, .mode = mode };
	if (!waiting.self || check(futures, count, mode) < 0)
		return -1;
	if (count <= FEW)
		return wait_with(futures, &waiting, few);
	struct watched *many = scratch_get(waiting.self, (size_t)count * sizeof *many);
	if (!many)
		return -1;
	int done = wait_with(futures, &waiting, many);
	scratch_put(waiting.self, many);
	return done;
}
