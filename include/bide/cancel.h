/* SPDX-License-Identifier: MIT
 * Part of bide: cancellation. A cancel is a request to end: the call at which the task is parked
 * fails with ECANCELED, ordinary clean-up code runs, and the body returns. Nothing is unwound.
 *
 * It is level-triggered: after it every further [S] call of the task fails with ECANCELED too, until
 * bide_uncancel(). Deferred calls (bide_defer) are shielded from it. A body that then returns NULL
 * ended by the cancel (its outcome is ECANCELED); one that returns a value, or fails otherwise, ended
 * with that. */
#ifndef BIDE_CANCEL_H
#define BIDE_CANCEL_H

#include <bide/api.h>

BIDE_BEGIN

/* Requests that `task` end. A parked task wakes in the next turn; one that was woken with a result
 * in this very turn keeps the result, and the cancel waits for its next [S] call. A task that has
 * not run yet ends without its body being entered (attr.drop is called), unless BIDE_START_ALWAYS.
 * Requests are counted. `reason` (may be NULL) must live as long as the task may ask for it: a
 * literal, normally; the first one is kept.
 * Errors: ESRCH it ended, or a stale handle; EINVAL task is NULL; EPERM another loop's task. */
BIDE_API int bide_cancel(bide_task *task, const char *reason);

/* How many cancel requests are pending for the running task; 0 outside one. */
BIDE_API int bide_canceling(void);

/* Takes one request back and returns how many remain; with 0 left, [S] calls work again.
 * Errors: EPERM outside a task. With none pending it returns 0. */
BIDE_API int bide_uncancel(void);

/* The reason given with the pending request; NULL if there is none. */
BIDE_API const char *bide_cancel_reason(void);

/* Fails as an [S] call would if a cancel is pending; otherwise 0, at once. For loops that compute.
 * Does not let others run. */
BIDE_API int bide_checkpoint(void);

BIDE_END

#endif
