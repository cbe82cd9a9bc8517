/* SPDX-License-Identifier: MIT
 * Layer await: among tasks that are all parked, some that wait for each other in a cycle: for an end, or a start, or
 * what one of them holds. circle.h refuses those that can be known at the call; these were not. */
#ifndef AWAIT_CYCLE_H
#define AWAIT_CYCLE_H

#include "await/record.h"

/* One task of the first cycle found, in time linear in the number of tasks and children, but quadratic in those of
 * one gather; NULL if there is none.
 * cycle_next() leads from it around, from each task to the one that it waits for. Good until something moves, or
 * another search begins. */
struct await_task *cycle_find(struct run *run);
static inline struct await_task *cycle_next(const struct await_task *task)
{
	return annex_peek(task)->circle_next;
}

#endif
