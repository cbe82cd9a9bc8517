/* SPDX-License-Identifier: MIT
 * Layer await: what a run has to say about stacks: that one overflowed, is nearly full, or could not be
 * had; and how deep those of each spawn site were used. */
#ifndef AWAIT_STACKWATCH_H
#define AWAIT_STACKWATCH_H

#include "sched/task.h"
#include "stack/overflow.h"

struct run;

/* For overflow_watch(). */
bool find_victim(const struct overflow_trace *trace, struct overflow_victim *victim);

/* After each slice of a task, on the loop's stack, in debug mode; and before an ended task's stack is
 * put back. */
void check_slice(struct loop *loop, struct task *task);

/* Says which limit was met, at most once a second, and clears *trouble. errno stays. */
void report_limit(struct run *run, enum stack_trouble *trouble);

/* ---- depth by spawn site (sites.c) ---- */

struct site {
	void *address;
	uint64_t tasks;
	size_t used;
	size_t size;
	uint64_t task_id;
};

struct sites {
	struct site *all; /* in the order of their first ends */
	size_t count, room;
};

/* A task of this site has ended. Without memory for a new site, nothing is noted. */
void sites_note(struct run *run, void *address, uint64_t task_id, const struct depth *depth);
void sites_destroy(struct run *run);

#endif
