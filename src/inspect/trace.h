/* SPDX-License-Identifier: MIT
 * Layer inspect: the trace of a loop: what it notes (trace_note.c), when it begins and ends (trace.c). */
#ifndef INSPECT_TRACE_H
#define INSPECT_TRACE_H

#include "inspect/trace_ring.h"
#include "inspect/trace_stack.h"
#include "sched/loop.h"

/* Belongs to one loop at a time; when that has ended, the next one goes on in the same ring. */
struct trace {
	struct tracer tracer;    /* what the loop knows of it */
	struct loop *loop;       /* NULL: its loop has ended; under LOCK_TRACE */
	struct trace *next;
	unsigned session;        /* which it is of; one that is over gets no more events */
	uint32_t run;            /* the loop's number in the session, from 1 on */
	uint64_t running;        /* the id of the task whose slice it is; 0: none */
	struct trace_steps steps;
	struct trace_ring ring;
};

/* The session that goes on; 0: none. */
extern atomic_uint trace_session;

/* Its session is over: its loop is not traced any more, and it may be freed. On the loop's thread. */
void trace_expire(struct trace *trace);

/* Of runs: before anything runs, and while the tasks' records are still there. */
void trace_loop_begins(struct loop *loop);
void trace_loop_ends(struct loop *loop);

/* Begins to note what the loop does, and notes which tasks there are. */
void trace_listen(struct trace *trace);

#endif
