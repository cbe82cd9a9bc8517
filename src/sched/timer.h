/* SPDX-License-Identifier: MIT
 * Layer sched: the timer heap. It hands back what has expired; the loop decides what that means. */
#ifndef SCHED_TIMER_H
#define SCHED_TIMER_H

#include <bide/time.h>

#include "base/check.h"
#include "base/heap.h"

struct timer {
	struct heap_node node; /* the key is the deadline */
	void (*expired)(struct timer *timer); /* called by the loop between tasks; must not run user code */
};

struct timers {
	struct heap heap;
	size_t pledged; /* how many may be armed at once; the heap has room for so many */
};

void timers_init(struct timers *timers, const struct memory *memory);
void timers_destroy(struct timers *timers);

int timers_make_room(struct timers *timers, size_t count);
/* Gives memory back that few pledges do not need. */
void timers_trim(struct timers *timers);

/* Makes sure that `count` more timers can be armed without allocation: a task's own, or a callback's.
 * 0, or -1 with ENOMEM. */
static inline int timers_pledge(struct timers *timers, size_t count)
{
	if (unlikely(timers->pledged + count > timers->heap.capacity) && timers_make_room(timers, count) < 0)
		return -1;
	timers->pledged += count;
	return 0;
}

static inline void timers_unpledge(struct timers *timers, size_t count)
{
	timers->pledged -= count;
	if (unlikely(timers->pledged < timers->heap.capacity / 8) && timers->heap.capacity > HEAP_LEAST_CAPACITY)
		timers_trim(timers);
}

static inline bool timer_is_armed(const struct timer *timer)
{
	return heap_contains(&timer->node);
}

/* Also at BIDE_NEVER, where it does not expire but can be found: for timers that are the caller's. */
static inline void timer_arm(struct timers *timers, struct timer *timer, bide_time deadline)
{
	timer->node.key = deadline;
	heap_push(&timers->heap, &timer->node);
}

static inline void timer_disarm(struct timers *timers, struct timer *timer)
{
	if (timer_is_armed(timer))
		heap_remove(&timers->heap, &timer->node);
}

/* The earliest deadline, BIDE_NEVER if there is none. */
static inline bide_time timers_next(const struct timers *timers)
{
	const struct heap_node *node = heap_min(&timers->heap);
	return node ? node->key : BIDE_NEVER;
}

/* Takes out the earliest timer if it is due; NULL if none is. */
struct timer *timers_pop_expired(struct timers *timers, bide_time now);

#endif
