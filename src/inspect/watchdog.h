/* SPDX-License-Identifier: MIT
 * Layer inspect: the watchdog, one thread for all runs of the process that are timed or in debug mode. While a
 * slice goes on it looks at it again and again: tells of one that is stuck, and notes for the canary how long
 * one was blocked. Between looks in which no loop did anything it sleeps until one begins a slice. It also
 * answers SIGQUIT. */
#ifndef INSPECT_WATCHDOG_H
#define INSPECT_WATCHDOG_H

#include "base/check.h"
#include "base/futex.h"

/* A run is to be watched. Where no thread can be had, nobody watches. */
void watchdog_begin(void);
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
