/* SPDX-License-Identifier: MIT
 * Layer sched: what a trace is told of. The layers below `inspect` say that something happened; who listens
 * (inspect/trace.h) reads what it wants to know from the task's record and the loop.
 *
 * While a loop is not traced, a note is one test of a pointer that is near. A switch from task to task has no
 * note at all: in a traced loop each goes by the loop's own context, where slices begin and end. */
#ifndef SCHED_TRACE_H
#define SCHED_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/check.h"

struct task;

enum trace_kind {
	TRACE_LOOP,     /* the loop begins, or its trace */
	TRACE_SPAWN,    /* task: is in the ready queue for the first time */
	TRACE_NAME,     /* task: has a name */
	TRACE_RUN,      /* task: its slice begins */
	TRACE_LEAVE,    /* task: its slice is over; what became of it is in its record. Or it has ended, and said so */
	TRACE_PARK,     /* task: ... it waits */
	TRACE_READY,    /* task: ... it is at the end of the ready queue */
	TRACE_END,      /* task: has ended; value: its errno */
	TRACE_WAKE,     /* task: its wait ended; value: 0 or an errno. Before it is taken out of its queues */
	TRACE_AT,       /* a call that leads to the next event; object: the address it returns to */
	TRACE_CANCEL,   /* task: object: the reason, a text or NULL */
	TRACE_SLEEP,    /* the poller is about to be asked; value: how long it may sleep */
	TRACE_POLL,     /* ... and has answered; value: how many events */
	TRACE_TIMER,    /* a timer expires; value: its deadline */
	TRACE_CLOCK,    /* the virtual clock was moved; value: to where */
	TRACE_CALLBACK, /* a callback or a post begins */
	TRACE_CALL,     /* ... and calls the user's function: object */
	TRACE_RETURN,   /* ... and is over */
	TRACE_POST,     /* it is what another thread left that is about to run */
	TRACE_FUTURE,   /* object: a user's future, which is done; value: its errno */
	TRACE_KIND_COUNT
};

struct tracer {
	void (*note)(struct tracer *tracer, enum trace_kind kind, struct task *task, const void *object, int64_t value);
};

/* `tracer` is loop->tracer. */
static inline void trace_note(struct tracer *tracer, enum trace_kind kind, struct task *task, const void *object,
    int64_t value)
{
	if (unlikely(tracer != NULL))
		tracer->note(tracer, kind, task, object, value);
}

#endif
