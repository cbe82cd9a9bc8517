/* SPDX-License-Identifier: MIT
 * All the ways in which a few threads may come in between each other. Actors are bare coroutines that stop at each
 * step; who makes the next one is chosen by counting through all sequences of choices, depth first, with so many
 * preemptions at most. Good for code whose atomic operations are seq_cst, or that holds a lock: there an
 * interleaving is all that a machine can do. */
#ifndef SUPPORT_SCHEDULES_H
#define SUPPORT_SCHEDULES_H

#include <stdbool.h>

#include <bide/api.h>

#define ACTORS_MAX 5
#define PREEMPTIONS_ANY 100

struct schedules {
	void (*begin)(void);          /* a schedule begins: makes the world anew, and its actors */
	bool (*is_blocked)(int actor); /* it cannot make a step, whoever is asked; NULL: none ever is */
	void (*end)(void);            /* all actors have ended: what must hold? */
	int preemptions_max;
};

/* In begin(): one more; its number, from 0. */
int schedules_actor(bide_fn *fn, void *arg);

/* In an actor: others may come here. Elsewhere nothing. */
void schedules_step(void);

/* The actor that runs; -1 outside one. */
int schedules_running(void);

/* How many schedules there were. The test fails where nobody can go on and somebody has not ended. */
long schedules_try_all(const struct schedules *schedules);

#endif
