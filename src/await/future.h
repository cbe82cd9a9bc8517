/* SPDX-License-Identifier: MIT
 * Layer await: the future inside. Everything that is waited for by result (a user's future, a task's
 * completion) is one of these.
 *
 * Waiting tasks, callbacks and observers stand in one queue, in order of arrival, as wait records: one
 * with a task is a waiter, one without is an observer. A waiter is handed the result with the wake, in
 * its own wait record, so that it never looks at the future again: the owner may destroy it at once. */
#ifndef AWAIT_FUTURE_H
#define AWAIT_FUTURE_H

#include <bide/future.h>

#include "base/fail.h"
#include "sched/park.h"

struct await_task;

struct future {
	struct list queue;          /* wait records; empty once done */
	struct list callbacks;      /* of bide_on_done that have not run, for destruction */
	void *value;
	void (*drop)(void *value);
	struct loop *loop;          /* NULL until somebody uses it */
	uint64_t run;               /* the serial number of the loop's run: another may get its address */
	int err;
	bool is_done;
	bool is_taken;
	struct await_task *of_task; /* whose completion it is; NULL: a user's. Other threads read it: the last
	                               member, so that destruction need not write it */
};

_Static_assert(sizeof(struct future) <= sizeof(bide_future), "bide_future.opaque");

/* Told of a result at once, by the task that brings it: must only note and wake. */
struct observer {
	struct wait wait; /* its task is NULL */
	void (*notify)(struct observer *observer, struct future *future);
	struct task *dependent; /* cannot go on before the future is done; NULL: nobody, or it can */
};

/* Who cannot go on before the future is done in whose queue this stands; NULL: nobody. */
static inline struct task *future_dependent(const struct wait *wait)
{
	return wait->task ? wait->task : container_of(wait, struct observer, wait)->dependent;
}

/* Tells of the result, or of the end: every wait record leaves the queue, in order. */
void future_tell_all(struct future *future, void *value, int err, int status);

/* Gives the result. */
static inline void future_complete(struct future *future, void *value, int err)
{
	future->is_done = true;
	future->value = err ? NULL : value;
	future->err = err;
	if (!list_is_empty(&future->queue))
		future_tell_all(future, future->value, err, 0);
}

void future_observe(struct future *future, struct observer *observer,
    void (*notify)(struct observer *observer, struct future *future));
void observer_leave(struct observer *observer);

/* wait.events of a waiter: its task takes the result; it was told. */
#define FUTURE_TAKES 1u
#define FUTURE_TOLD 2u

/* Puts a wait record in the queue; on completion it gets the result, and its task wakes with 0. */
void future_enqueue(struct future *future, struct wait *wait);
static inline bide_result future_result(const struct wait *wait)
{
	return (bide_result){ wait->slot, wait->detail };
}

/* Parks `self` until `future`, which is not done, is. 0 with *out, or -1 with errno. Part of its caller: one
 * level less to return through after the switch. */
static inline int future_await(struct task *self, struct future *future, enum wait_kind kind,
    const void *object, bide_result *out)
{
	struct wait *wait = wait_begin(self, &future->queue, kind, object);
	wait->events = FUTURE_TAKES;
	int status = park(self, BIDE_NEVER);
	if (unlikely(status))
		return fail_with(status);
	if (out)
		*out = future_result(wait);
	return 0;
}

/* The future of a public call's argument; NULL with EINVAL or EPERM. Binds it to the loop. */
struct future *future_resolve(const bide_future *future);

/* Somebody has, or is on the way to have, its result. */
void future_mark_taken(struct future *future);

/* At a run's end, for callbacks that will never run. Futures are not looked at: their memory may be gone. */
struct run;
void done_callbacks_free(struct run *run);

#endif
