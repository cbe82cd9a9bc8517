/* SPDX-License-Identifier: MIT
 * Layer sched: what a loop counts at its looks and sleeps, and when it publishes its figures. `now` is in real
 * time; a virtual clock's lag is by that clock. */
#ifndef SCHED_LAG_H
#define SCHED_LAG_H

#include "sched/loop.h"

void lag_begin(struct loop *loop, bide_time now);

/* The loop has looked, at timers too. */
void lag_look(struct loop *loop, bide_time now);

/* Before and behind a sleep, and the look at timers behind that. What is found due then was late by what was before
 * the sleep. limit 0: it only asks. */
void lag_sleep(struct loop *loop, bide_time now, bide_time limit);
void lag_wake(struct loop *loop, bide_time now);

/* A timer fires; `now` by the loop's clock. One that was late at the latest look already would have fired then: it
 * was armed since, for a time that was over. */
static inline void lag_timer(struct loop *loop, bide_time deadline, bide_time now)
{
	board_add(loop->board, BOARD_timers_fired, 1);
	board_note(loop->board, BOARD_TIMER_LAG, now - (deadline > loop->looked_at ? deadline : loop->looked_at));
}

#endif
