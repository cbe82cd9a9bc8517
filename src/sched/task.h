/* SPDX-License-Identifier: MIT
 * Layer sched: the task as the scheduler sees it. What a task is to its user (handle, outcome,
 * cancel requests, locals) lies behind it in the same record and belongs to the layer await.
 *
 * States, and who moves a task between them:
 *
 *     CREATED --first run--> RUNNING --park--> SUSPENDED --wake--> READY --run--> RUNNING
 *        |                      |---------yield------------------>   |
 *        `--canceled--> DONE <--end
 */
#ifndef SCHED_TASK_H
#define SCHED_TASK_H

#include <stdint.h>

#include "sched/ready.h"
#include "sched/timer.h"
#include "sched/wait.h"
#include "stack/stack.h"
#include "stack/strand.h"

struct loop;

#define TIMERS_PER_TASK 2 /* its own, and one of the upper layer */

/* The order of enum bide_task_state in bide/task.h, and the record's own state before and after. */
enum task_state {
	TASK_CREATED,   /* in the ready queue, without a context */
	TASK_READY,     /* in the ready queue; or it runs, and then loop->running is the task */
	TASK_RUNNING,   /* never stored, so that a yield writes no state: see task_state() */
	TASK_SUSPENDED, /* parked; in the queues its wait records say */
	TASK_DONE,      /* ended; the record lives on while somebody refers to it */
	TASK_FREE       /* the record is not in use */
};

extern const char *const task_state_names[];

/* How deep a stack was used, and how large it was. */
struct depth {
	size_t used;
	size_t size;
};

struct task {
	/* Touched at every switch: one cache line. */
	struct entry entry;    /* in the ready queue, in states CREATED and READY */
	union {
		struct strand strand; /* where it goes on, in states READY and SUSPENDED */
		struct depth depth;   /* in state DONE, where stacks are painted */
	};
	int saved_errno;       /* errno, while it does not run */
	int16_t interrupt;     /* errno with which the next suspending call fails; 0: none.
	                          Set by task_interrupt() only */
	uint8_t state;         /* enum task_state; set by task_set_state() only */
	uint8_t was_interrupted; /* a suspending call has failed by the interrupt */

	/* Touched when it parks. */
	struct wait wait;      /* what it waits for, in state SUSPENDED */
	struct timer timer;    /* armed only in state SUSPENDED */

	/* Touched at its start and end. */
	struct loop *loop;     /* never changes, also while FREE */
	struct stack stack;
	void *annex;           /* the upper layer's memory, apart from the record (base/slab.h); never
	                          changes */
};

#if !defined(ANNOTATE_ASAN) && !defined(ANNOTATE_TSAN)
_Static_assert(offsetof(struct task, wait) == 64, "a switch touches one line of the record");
#endif

static inline struct task *task_of_entry(struct entry *entry)
{
	return container_of(entry, struct task, entry);
}

/* The one place that changes a task's state. */
static inline void task_set_state(struct task *task, enum task_state state)
{
	static const uint8_t may_follow[] = {
		[TASK_CREATED] = 1 << TASK_FREE,
		[TASK_READY] = 1 << TASK_CREATED | 1 << TASK_SUSPENDED,
		[TASK_SUSPENDED] = 1 << TASK_READY,
		[TASK_DONE] = 1 << TASK_CREATED | 1 << TASK_READY,
		[TASK_FREE] = 1 << TASK_CREATED | 1 << TASK_DONE,
	};
	CHECK(may_follow[state] >> task->state & 1, "a task changes state as task.h draws it");
	task->state = (uint8_t)state;
}

#endif
