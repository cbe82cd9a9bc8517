/* SPDX-License-Identifier: MIT
 * Part of bide: cancellation, deadlines, shields. A cancel is a request to end: the call at which the task is parked
 * fails with ECANCELED, ordinary clean-up code runs, and the body returns. Nothing is unwound.
 *
 * It is level-triggered: after it every further [S] call of the task fails with ECANCELED too, until
 * bide_uncancel(). Deferred calls (bide_defer) are shielded from it. A body that then returns NULL
 * ended by the cancel (its outcome is ECANCELED); one that returns a value, or fails otherwise, ended
 * with that. */
#ifndef BIDE_CANCEL_H
#define BIDE_CANCEL_H

#include <bide/api.h>
#include <bide/time.h>

BIDE_BEGIN

/* Requests that `task` end. A parked task wakes in the next turn; one that was woken with a result
 * in this very turn keeps the result, and the cancel waits for its next [S] call. A task that has
 * not run yet ends without its body being entered (attr.drop is called), unless BIDE_START_ALWAYS.
 * Requests are counted. `reason` (may be NULL) must live as long as the task may ask for it: a
 * literal, normally; the first one is kept.
 * Errors: ESRCH it ended, or a stale handle (nothing is wrong then, if it was to end anyway); EINVAL task
 * is NULL; EPERM another loop's task. */
BIDE_API int bide_cancel(bide_task *task, const char *reason);

/* How many cancel requests are pending for the running task; 0 outside one. */
BIDE_API int bide_canceling(void);

/* Takes one request back and returns how many remain; with 0 left, [S] calls work again.
 * Errors: EPERM outside a task. With none pending it returns 0. */
BIDE_API int bide_uncancel(void);

/* The reason given with the pending request; NULL if there is none. */
BIDE_API const char *bide_cancel_reason(void);

/* Fails as an [S] call would if a cancel is pending, or a deadline has been noticed; otherwise 0, at
 * once. For loops that compute. Does not let others run. */
BIDE_API int bide_checkpoint(void);

/* SCOPES. A scope is a part of a task with a deadline, that can be canceled, or that is shielded. No
 * call has a deadline of its own: the scopes around it have. When a scope's deadline passes, the [S]
 * call in it at which the task is parked fails with ETIMEDOUT, and so does each further one, until
 * the scope is left. Scopes nest; of several that have expired the outermost claims the failure, and a
 * cancel of the whole task comes before all scopes (its errno is ECANCELED throughout).
 * A deadline is noticed when the loop looks at its timers: while the task is parked at once, between
 * calls that never block within 128 of them. One that has passed when the scope is entered fails
 * the first [S] call in it.
 *
 *	bide_scope scope;
 *	bide_scope_enter(&scope, bide_after(50 * BIDE_MSEC), 0);
 *	ssize_t count = bide_recv(fd, buf, sizeof buf, 0);
 *	if (bide_scope_leave(&scope) < 0)
 *		... errno is ETIMEDOUT: the peer said nothing for 50 ms
 *
 * Caller-owned; the function that enters a scope leaves it, on every path. */
typedef struct bide_scope {
	uint64_t opaque[8];
} bide_scope;

#define BIDE_SHIELD 0x1u /* cancels and deadlines from outside wait until the scope is left */

/* deadline BIDE_NEVER: none. Never suspends, and succeeds with a cancel pending.
 * Errors: EINVAL scope is NULL, the task is in it already, or unknown flags; EPERM outside a task. */
BIDE_API int bide_scope_enter(bide_scope *scope, bide_time deadline, unsigned flags);

/* Leaves the innermost scope. 0, or -1 with ETIMEDOUT if a call failed by this scope's deadline, with
 * ECANCELED if one failed by bide_scope_cancel(); then too the scope is left.
 * A scope that expired without any call noticing returns 0; see bide_scope_expired().
 * Errors, with nothing changed: EINVAL it is not the innermost scope of the running task. */
BIDE_API int bide_scope_leave(bide_scope *scope);

/* Moves the deadline of any scope the running task is in. One in the past fails the next [S] call.
 * Errors: ETIMEDOUT it has expired; EINVAL the running task is not in it. */
BIDE_API int bide_scope_reset(bide_scope *scope, bide_time deadline);

/* Cancels the [S] calls inside the scope, from the scope's task or another one of the loop: they fail
 * with ECANCELED. The task itself is not canceled.
 * Errors: EINVAL NULL, or nobody is in it; EPERM another loop's. */
BIDE_API int bide_scope_cancel(bide_scope *scope);

/* Has its deadline passed? Also after it has been left. */
BIDE_API bool bide_scope_expired(const bide_scope *scope);

/* The nearest deadline in force for the running task; BIDE_NEVER if there is none. */
BIDE_API bide_time bide_deadline(void);

/* BIDE_TIMEOUT(delay) { ... }: a scope around a block (GNU C). It is left however the block is left,
 * also by break, return and goto; `break` leaves the block. What timed out is told by the calls. */
#define BIDE_TIMEOUT(delay)                                                                        \
	for (bide_scope bide_scope_here __attribute__((cleanup(bide_scope_leave_quietly))),            \
	     *bide_scope_once = bide_scope_enter_for(&bide_scope_here, (delay));                       \
	    bide_scope_once; bide_scope_once = NULL)

/* Of BIDE_TIMEOUT only. */
BIDE_API bide_scope *bide_scope_enter_for(bide_scope *scope, bide_time delay);
BIDE_API void bide_scope_leave_quietly(bide_scope *scope);

BIDE_END

#endif
