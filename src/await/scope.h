/* SPDX-License-Identifier: MIT
 * Layer await: scopes, and what they and cancel requests make of a task's suspending calls.
 *
 * A task's interrupt has one source: of everything that asks the task to stop, the outermost that is
 * not shielded off. The order from outside: the cancel requests of the task, then its scopes. It is
 * derived anew (interrupt_update) whenever one of them changes, never stored twice.
 *
 * A task has one timer for all its scopes, armed for the nearest deadline in force, in its own record:
 * a scope whose deadline is later than an enclosing one's costs no timer, and a scope that was never
 * left, because its frame is gone, leaves nothing behind that could be followed. */
#ifndef AWAIT_SCOPE_H
#define AWAIT_SCOPE_H

#include <bide/cancel.h>

#include "sched/timer.h"

struct await_task;

struct scope {
	struct await_task *task;  /* that is in it; NULL: not entered */
	struct scope *outer;
	bide_time deadline;
	bool is_shield;
	bool is_expired;          /* the deadline has passed, and that was noticed */
	bool is_canceled;
	bool is_group;            /* it is the first member of a struct group */
	bool was_interrupted;     /* the task's flag of that name, when the scope was entered */
};

_Static_assert(sizeof(struct scope) <= sizeof(bide_scope), "bide_scope.opaque");

/* Sets task.interrupt, and the scope timer, from what is in force. */
void interrupt_update(struct await_task *task);

/* The nearest deadline in force for the task, BIDE_NEVER if there is none. */
bide_time scope_deadline(const struct await_task *task);
/* Of annex.scope_timer. */
void scope_timer_expired(struct timer *timer);

/* enter: 0 or -1 with errno. leave: what bide_scope_leave says. */
int scope_enter(struct scope *scope, struct await_task *task, bide_time deadline, unsigned flags);
int scope_leave(struct scope *scope, struct await_task *task);
void scope_cancel(struct scope *scope);

/* The errno with which something outside `scope`, which the task is in, asks the task to stop; 0: nothing
 * does. */
int scope_outer_interrupt(const struct scope *scope, const struct await_task *task);

/* Is the task in it? */
bool scope_contains(const struct scope *scope, const struct await_task *task);

/* The task ends: whatever scopes it is in are gone, without being looked at. */
void scopes_abandon(struct await_task *task);

#endif
