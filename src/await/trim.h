/* SPDX-License-Identifier: MIT
 * Layer await: memory given back by parked tasks, when asked (bide_trim) and by itself.
 *
 * By itself: a task is trimmed when it has been parked for bide_config.trim_after, T. Nothing is noted when
 * a task parks. Two things find those that have been parked long enough:
 *
 *   idle   When nothing at all has run for T, every parked task has been parked for T. The loop wakes
 *          for it, once; then not again until something has run.
 *   busy   Every T a sweep marks the parked tasks, in a byte of the wait record that the next wait
 *          clears. One that still has the mark at the next sweep is trimmed: after T to 2 T. A loop
 *          that is busy comes by anyway; none is woken for it.
 *
 * Both go a slice of the records at a time, between looks at descriptors. */
#ifndef AWAIT_TRIM_H
#define AWAIT_TRIM_H

#include <bide/time.h>

#include "base/slab.h"

struct loop;
struct run;

struct sweep {
	bide_time after;       /* T */
	struct slab_cursor at; /* of the sweep under way */
	bool is_under_way;
	bool is_of_idle;       /* that sweep trims whatever is parked */
	bide_time next_marks;  /* when a busy loop's next sweep is due */
	uint64_t idle_turn;    /* the loop's turn when it was found idle, */
	bide_time idle_since;  /* since when, */
	bool is_swept;         /* and everything has been trimmed since */
};

/* Makes the run's loop sweep, if T is not 0. */
void sweep_init(struct run *run, bide_time after);

#endif
