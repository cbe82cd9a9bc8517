/* SPDX-License-Identifier: MIT
 * Layer sched: the one place that switches and the one place that parks. Every mutex, future, join,
 * sleep and read is "queue me, park, see why I woke".
 *
 * The first waker wins. In the same step it unlinks the task from wherever it is queued: its wait
 * lists and the timer heap. Later wakers find it not parked and do nothing. Waking only queues;
 * nothing is ever resumed from inside a wake, so no chain of wakes can nest. */
#ifndef SCHED_PARK_H
#define SCHED_PARK_H

#include "sched/loop.h"

/* How every suspending call begins. Returns the running task; NULL with errno EPERM outside a task,
 * or with the errno of the interrupt that is pending. Lets others run when the budget of
 * non-blocking calls is used up. */
static inline struct task *checkpoint(void);

/* Prepares the running task's own record to wait for `object`, and queues it at the end of `list`
 * (NULL: in none). */
static inline struct wait *wait_begin(struct task *task, struct list *list, enum wait_kind kind, const void *object)
{
	struct wait *wait = &task->wait;
	wait->object = object;
	wait->kind = (uint8_t)kind;
	wait->is_shielded = 0;
	wait->sweeps = 0;
	if (list)
		list_push_tail(list, &wait->link);
	return wait;
}

/* Suspends the running task, whose record wait_begin() prepared, until it is woken or the loop's
 * clock reaches `deadline`. Returns the status given by the waker: 0, or an errno; 0 also at the
 * deadline. */
int park(struct task *task, bide_time deadline);

/* Goes to the end of the ready queue. Returns 0, so that a public call can end in it: one level of
 * returns less after the switch, where each is mispredicted. */
int yield(struct task *task);

/* Ends the running task; its stack is put back from another one. */
_Noreturn void task_exit(struct task *task);

/* Lets the created task `task` run now; the running one goes on in the next turn. */
void task_enter(struct task *task);

/* Ends the wait of a parked task with `status`. False if it is not parked: somebody else was first. */
bool task_wake(struct task *task, int status);

/* Sets the errno with which suspending calls of the task fail from now on, 0 for none, and ends its
 * present wait with it unless that is shielded. */
void task_interrupt(struct task *task, int err);

/* From the loop's context: goes on with a ready task until something gives control back. */
void loop_enter(struct loop *loop, struct task *task);
/* Puts the stack of the task that ended last back. */
void loop_bury(struct loop *loop);

/* FETCHING AHEAD. A task that has waited finds its stack in no near cache, and a return is mispredicted until its
 * address is there. So two lines are fetched at each switch, for the task behind the next one; and more, with what
 * else is far when thousands wait, for those that a look at the poller wakes (descriptor.c).
 * Two or six lines that the innermost frames are on, but not past the page, where a guard may be. (always_inline:
 * gcc takes a function that only prefetches for one without effect, and drops the call.) */
static inline __attribute__((always_inline)) void prefetch_stack(const struct task *task, int lines)
{
	const char *sp = task->strand.context.sp;
	const char *last = (const char *)((uintptr_t)sp | 4095) - (lines - 1) * 64;
	const char *first = sp < last ? sp : last;
	__builtin_prefetch(first);
	__builtin_prefetch(first + 64);
	if (lines == 2) /* a loop would not be unrolled */
		return;
	__builtin_prefetch(first + 128);
	__builtin_prefetch(first + 192);
	__builtin_prefetch(first + 256);
	__builtin_prefetch(first + 320);
}

struct task *checkpoint_slowly(struct task *task);
/* How a call fails by the interrupt that is pending: NULL with errno. */
struct task *interrupted(struct task *task);

static inline struct task *checkpoint(void)
{
	struct task *task = task_current();
	if (unlikely(!task) || unlikely(task->interrupt) || unlikely(--loop_current->budget <= 0))
		return checkpoint_slowly(task);
	return task;
}

#endif
