/* SPDX-License-Identifier: MIT
 * Part of bide: reading the clock, sleeping, timers with a callback, tickers. */
#ifndef BIDE_TIME_H
#define BIDE_TIME_H

#include <bide/api.h>

BIDE_BEGIN

/* A moment or a length of time in nanoseconds. A moment ("deadline") counts from the zero of
 * CLOCK_MONOTONIC, so a change of the wall clock moves nothing. */
typedef int64_t bide_time;

#define BIDE_NEVER INT64_MAX /* as a deadline or a delay: no limit */
#define BIDE_USEC INT64_C(1000)
#define BIDE_MSEC INT64_C(1000000)
#define BIDE_SEC INT64_C(1000000000)

/* The time now. Read anew at each call, so it is right after a long computation. Inside a run with
 * a virtual clock it is that clock's. Works on any thread. [T] */
BIDE_API bide_time bide_now(void);

/* now + delay, saturating: a negative delay gives now, a sum past the end gives BIDE_NEVER. [T] */
BIDE_API bide_time bide_after(bide_time delay);

/* Parks the task for `delay`. Never returns early by CLOCK_MONOTONIC. A delay of zero or less lets
 * every task that is ready run once, then returns. BIDE_NEVER sleeps until canceled.
 * Returns 0. [S] */
BIDE_API int bide_sleep(bide_time delay);

/* The same until a moment. One that has passed is one turn, as bide_sleep(0). [S] */
BIDE_API int bide_sleep_until(bide_time deadline);

/* CALLBACKS run on the loop's own stack, between tasks. They must not block and cannot call [S]
 * functions (EPERM); everything else is allowed, also spawning, arming and canceling. */

/* Runs fn(arg) in the next turn, in the order of the calls.
 * Errors: EINVAL fn is NULL; EPERM outside a loop's thread; ENOMEM. */
BIDE_API int bide_call_soon(void (*fn)(void *arg), void *arg);

/* A timer with a callback: caller-owned. It must stay where it is from the call that arms it until
 * its callback starts or bide_timer_cancel() returns; its memory may be freed or armed again by the
 * callback itself. */
typedef struct bide_timer {
	uint64_t opaque[12];
} bide_timer;

/* Runs fn(arg) once at `deadline`, or after `delay`. Equal deadlines fire in the order in which
 * they were armed. One that has passed fires when the loop looks at its timers next, as one does that
 * comes due: among busy tasks within 64 switches and about 100 us. BIDE_NEVER never fires.
 * A timer that is armed already is moved to the new time.
 * Errors: EINVAL timer or fn is NULL; EPERM outside a loop's thread, or the timer is armed in
 * another loop; ENOMEM. */
BIDE_API int bide_call_at(bide_timer *timer, bide_time deadline, void (*fn)(void *arg), void *arg);
BIDE_API int bide_call_later(bide_timer *timer, bide_time delay, void (*fn)(void *arg), void *arg);

/* Returns 1 if it prevented the callback, also one that was due already; 0 if there was nothing to
 * prevent: it ran, or was never armed. After it the callback does not run and the memory is yours.
 * Errors: EINVAL timer is NULL; EPERM the timer is armed in another loop. */
BIDE_API int bide_timer_cancel(bide_timer *timer);

/* A ticker: a periodic wake-up for the task that calls bide_tick(). Caller-owned, holds nothing of
 * the loop's between two ticks, needs no destruction. */
typedef struct bide_ticker {
	uint64_t opaque[4];
} bide_ticker;

enum {
	BIDE_TICK_SKIP,  /* missed ticks are dropped; the next one is on the original grid */
	BIDE_TICK_BURST, /* missed ticks come at once, one per call, until caught up */
	BIDE_TICK_DELAY  /* missed ticks are dropped; the next one is a full period from now */
};

/* Starts the grid now: the first tick is one period away.
 * Errors: EINVAL ticker is NULL, period <= 0, or an unknown policy; EPERM outside a loop's thread. */
BIDE_API int bide_ticker_init(bide_ticker *ticker, bide_time period, int missed_tick_policy);

/* Parks until the next tick. `*missed` (may be NULL) receives how many ticks went by unserved since
 * the previous call: dropped ones under SKIP and DELAY, still to come under BURST.
 * A canceled call consumes no tick. Errors: EINVAL ticker is NULL or not initialized. [S] */
BIDE_API int bide_tick(bide_ticker *ticker, uint64_t *missed);

BIDE_END

#endif
