/* SPDX-License-Identifier: MIT
 * Part of bide: what every other header of the library uses. */
#ifndef BIDE_API_H
#define BIDE_API_H

/* CONVENTIONS, once, for every header of bide
 *
 * Success and failure. A call returns 0, a count or a pointer when it succeeds; -1 (or NULL) with
 * errno set when it fails, as POSIX calls do. A call that fails has had no effect, unless its
 * manual says what it did. errno belongs to the task: no other task can change it.
 *
 * [S] marks a suspending call. It may park the calling task and run others meanwhile, and it is a
 * cancellation point. Besides the errors of its own, any [S] call fails with
 *     ECANCELED  the task was canceled (bide/cancel.h); also when the cancel was there on entry
 *     EPERM      it was called outside a task: on a plain thread, or from a timer callback
 *     EDEADLK    the task was parked, and nothing is left that could ever wake it
 * A call that fails with ECANCELED took nothing and gave nothing: no byte, item or permit is lost.
 * A call that took effect returns its result; a cancel that came too late stays pending.
 * Code between two [S] calls is atomic: no other task of the loop runs.
 *
 * Threads. A loop, its tasks and every object used with it belong to the thread that called
 * bide_run(); a call from another thread fails with EPERM. Exceptions are marked [T].
 *
 * Objects. "Caller-owned" objects (bide_timer, bide_ticker, ...) are memory of yours, valid when
 * all zero, fixed in size, opaque; the library allocates nothing for them and must be able to find
 * them until the call named by the manual has returned them to you.
 *
 * Times are int64_t nanoseconds of CLOCK_MONOTONIC, or of the loop's virtual clock (bide/testing.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BIDE_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define BIDE_BEGIN extern "C" {
#define BIDE_END }
#define BIDE_NORETURN [[noreturn]]
#else
#define BIDE_BEGIN
#define BIDE_END
#define BIDE_NORETURN _Noreturn
#endif

BIDE_BEGIN

/* A body: what a task, a coroutine or a whole run executes. It ends by returning a value, which the
 * library hands on and never frees, or by `return bide_fail(err)`. */
typedef void *bide_fn(void *arg);

/* How a task ended. err 0: it returned `value`. Otherwise value is NULL and err is ECANCELED (it
 * was canceled) or the errno given to bide_fail(). */
typedef struct bide_result {
	void *value;
	int err;
} bide_result;

typedef struct bide_loop bide_loop; /* one per thread inside bide_run() */
typedef struct bide_task bide_task; /* a handle, not an address: do not look inside */

BIDE_END

#endif
