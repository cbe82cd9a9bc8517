/* SPDX-License-Identifier: MIT
 * Layer base: the two clocks behind one function. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <time.h>

#include <bide/time.h>

/* CLOCK_MONOTONIC, fine-grained. No moment in the library is of any other clock. */
static inline bide_time clock_monotonic(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * BIDE_SEC + now.tv_nsec;
}

/* What the calling thread has used of the processor: in real time, and by a system call. */
static inline bide_time clock_of_thread(void)
{
	struct timespec used;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * BIDE_SEC + used.tv_nsec;
}

struct clock {
	bool is_virtual;
	bide_time now; /* of the virtual clock: moved on only by the loop */
};

static inline bide_time clock_now(const struct clock *clock)
{
	return clock->is_virtual ? clock->now : clock_monotonic();
}

/* a + b for a moment and a delay, saturating; a negative delay counts as none. */
static inline bide_time time_add(bide_time moment, bide_time delay)
{
	bide_time sum;
	if (delay <= 0)
		return moment;
	return __builtin_add_overflow(moment, delay, &sum) ? BIDE_NEVER : sum;
}

#endif
