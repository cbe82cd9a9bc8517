/* SPDX-License-Identifier: MIT
 * Layer sched: when the loop has to look at timers and descriptors again.
 *
 * Between two looks lie at most LOOK_SWITCHES switches and LOOK_NS. To read the clock at each switch would
 * cost more than the switch, so it is asked rarely, and a cycle counter instead of it: at each
 * CHECK_SWITCHES-th switch, or oftener while slices are long. While nobody waits for anything that a look
 * could bring, nobody can be late, and only the switches are counted.
 *
 * So a look may come late by CHECK_SWITCHES - 1 slices, once, when slices turn from short to long. */
#ifndef SCHED_PACE_H
#define SCHED_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include <bide/time.h>

#include "base/hostile.h"

#define LOOK_SWITCHES_VIRTUAL ((LOOK_SWITCHES + 7) / 8) /* where only switches count */
#define LOOK_NS (100 * BIDE_USEC)
#define CHECK_SWITCHES 4

struct pace {
	uint64_t switches;  /* counted so far */
	uint64_t check_at;  /* below this count no look is due */
	uint64_t look_at;   /* at this count one is, whatever the time */
	uint64_t interval;  /* between the latest check and the next */
	uint64_t checked;   /* the cycle counter at the latest check, */
	uint64_t looked;    /* and at the latest look */
	uint64_t limit;     /* cycles in LOOK_NS, as last measured; 0: not yet */
	struct {
		bide_time ns;
		uint64_t cycles;
	} since;            /* the measurement began */
	bool is_virtual;    /* only switches count, so that a run can be had again */
};

/* `now` is real time. */
void pace_init(struct pace *pace, bide_time now, bool is_virtual);

/* Counts a switch. False: ask pace_is_due(). */
static inline bool pace_goes_on(struct pace *pace)
{
	return ++pace->switches < pace->check_at;
}

/* Whether a look is due. `somebody_waits`: for a deadline, a descriptor or another thread. */
bool pace_is_due(struct pace *pace, bool somebody_waits);

/* The loop has looked; `now` is real time. */
void pace_looked(struct pace *pace, bide_time now);

/* Somebody begins to wait. */
static inline void pace_expect(struct pace *pace)
{
	if (pace->interval > CHECK_SWITCHES)
		pace->interval = CHECK_SWITCHES;
	if (pace->check_at > pace->switches + CHECK_SWITCHES)
		pace->check_at = pace->switches + CHECK_SWITCHES;
}

/* The next switch asks pace_is_due(). */
static inline void pace_check_now(struct pace *pace)
{
	pace->check_at = 0;
}

static inline bool pace_is_look_due(const struct pace *pace)
{
	return pace->switches >= pace->look_at;
}

#endif
