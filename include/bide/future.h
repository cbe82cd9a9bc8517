/* SPDX-License-Identifier: MIT
 * Part of bide: futures. A future is a result that one part of a program will set, once, and others
 * wait for. Caller-owned: all zero it is pending, without a drop function. Waiting for it allocates
 * nothing. Every future belongs to the loop whose task used it first; other loops and threads get
 * EPERM. */
#ifndef BIDE_FUTURE_H
#define BIDE_FUTURE_H

#include <bide/api.h>
#include <bide/task.h>

BIDE_BEGIN

typedef struct bide_future {
	uint64_t opaque[16];
} bide_future;

/* `drop` (may be NULL) is called with a value that nobody has taken when the future is destroyed.
 * Errors: EINVAL future is NULL. */
BIDE_API int bide_future_init(bide_future *future, void (*drop)(void *value));

/* Waiters wake with EPIPE; callbacks that have not run never will; an untaken value is dropped, a
 * failure that nobody read is reported. The memory is yours again, or ready for another
 * bide_future_init(). Errors: EINVAL NULL, or a task's own future; EPERM another loop's. */
BIDE_API int bide_future_destroy(bide_future *future);

/* Give it its result: a value, a failure, or ECANCELED. Waiters and callbacks are queued, in the order
 * in which they came; nothing runs from inside. Callable from tasks and callbacks; no cancellation
 * point.
 * Errors, with the first result kept: EALREADY it has one; EINVAL NULL, err <= 0, or a task's own
 * future; EPERM another loop's, or outside a loop's thread. */
BIDE_API int bide_future_set(bide_future *future, void *value);
BIDE_API int bide_future_fail(bide_future *future, int err);
BIDE_API int bide_future_cancel(bide_future *future);

BIDE_API bool bide_future_done(const bide_future *future);

/* The result, without waiting. It counts as taken. Errors: EINPROGRESS it has none; EINVAL; EPERM. */
BIDE_API int bide_future_get(bide_future *future, bide_result *out);

/* Parks until it has a result; 0 whatever that is: *out (may be NULL) tells. Returns at once if it has
 * one. Canceling a waiter leaves the future and the other waiters alone.
 * Errors: EPIPE it was destroyed meanwhile; EINVAL NULL; EPERM another loop's; EDEADLK it is the
 * completion of a task that waits for the caller, over any number of steps (bide/combine.h). [S] */
BIDE_API int bide_await(bide_future *future, bide_result *out);

/* Runs fn(future, arg) on the loop's stack in a later turn than the one in which the result comes,
 * never inline; callbacks and waiters keep their order. A future that is done already: next turn.
 * off_done takes the first registration of (fn, arg) back: 1 if it will now never run, also when it
 * was queued; 0 if there is none.
 * Errors: EINVAL future or fn is NULL; EPERM another loop's, or outside a loop's thread; ENOMEM. */
typedef void bide_done_fn(bide_future *future, void *arg);
BIDE_API int bide_on_done(bide_future *future, bide_done_fn *fn, void *arg);
BIDE_API int bide_off_done(bide_future *future, bide_done_fn *fn, void *arg);

/* The completion of a task, as a future to wait for, select on or hang callbacks on. It is the task's:
 * good while the handle is, not to be set or destroyed. Awaiting it is not joining: the handle stays.
 * Errors: NULL with EINVAL, ESRCH or EPERM. */
BIDE_API bide_future *bide_task_future(bide_task *task);

BIDE_END

#endif
