/* SPDX-License-Identifier: MIT
 * Layer inspect: the watchdog, one thread for all timed runs of the process. While a slice goes on it looks at it
 * again and again: tells of one that is stuck, and notes for the canary how long one was blocked. Between
 * looks in which no loop did anything it sleeps until one begins a slice. */
#ifndef INSPECT_WATCHDOG_H
#define INSPECT_WATCHDOG_H

#include "base/check.h"
#include "base/futex.h"

struct watch;

/* Of the calling thread's timed run. Where no thread can be had, nobody watches. */
void watchdog_begin(struct watch *watch);
/* With the last of them the thread ends. */
void watchdog_end(void);

/* In a process that has just been forked: there is no such thread. */
void watchdog_forget(void);

enum { WATCHDOG_AWAKE, WATCHDOG_ASLEEP };
extern atomic_uint watchdog_state;

/* A slice has begun, or something else is to be looked at. Async-signal-safe. */
static inline void watchdog_wake(void)
{
	if (unlikely(atomic_load(&watchdog_state) == WATCHDOG_ASLEEP)) {
		atomic_store(&watchdog_state, WATCHDOG_AWAKE);
		futex_wake(&watchdog_state);
	}
}

#endif
