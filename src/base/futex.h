/* SPDX-License-Identifier: MIT
 * Layer base: to wait until another thread changes a word. Async-signal-safe, and without a lock that a thread
 * which is held up could own. */
#ifndef BASE_FUTEX_H
#define BASE_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

/* Returns when it was woken, when *word is not `expected`, at `until`, or for no reason. */
static inline void futex_wait(atomic_uint *word, unsigned expected, bide_time until)
{
	struct timespec moment = { until / BIDE_SEC, until % BIDE_SEC };
	syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, until == BIDE_NEVER ? NULL : &moment, NULL,
	    FUTEX_BITSET_MATCH_ANY);
}

static inline void futex_wake(atomic_uint *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

#endif
