/* SPDX-License-Identifier: MIT
 * Layer await: how objects of higher layers (channels) take part in bide_select(). */
#ifndef AWAIT_SELECTABLE_H
#define AWAIT_SELECTABLE_H

#include <stdint.h>

#include <bide/combine.h>

#include "sched/wait.h"

struct loop;

/* What such an object begins with. One that the loops share has no ops, and cannot take part. */
struct selectable {
	const struct selectable_ops *ops;
	struct loop *loop;
};

/* In place of the loop of one that the loops share. Not NULL: that is the loop of a thread that has none. */
#define LOOPS_ALL ((struct loop *)(uintptr_t)1)

struct selectable_ops {
	/* Has the case all it needs? 0, or an errno. */
	int (*check)(const bide_case *c);
	/* Does what the case asks for if that needs no waiting. True if it fired; the case's err tells how. */
	bool (*fire)(bide_case *c);
	/* Queues a wait record for it. Whoever serves the record does all the case asks for, sets
	 * FUTURE_TOLD in its events, and wakes its task with the case's err. */
	void (*enqueue)(bide_case *c, struct wait *record);
	/* The object's memory stays from hold to drop, whatever references are given up meanwhile. */
	void (*hold)(bide_case *c);
	void (*drop)(bide_case *c);
};

#endif
