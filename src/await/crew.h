/* SPDX-License-Identifier: MIT
 * Layer await: tasks that an owning call (gather, race) holds until they have ended. */
#ifndef AWAIT_CREW_H
#define AWAIT_CREW_H

#include "await/record.h"

#define CREW_FEW 16 /* so many members lie on the caller's stack */

struct crew;

struct crew_member {
	struct observer observer;
	struct await_task *task;
	struct crew *crew;
};

struct crew {
	struct task *self;
	struct crew_member *members;
	int count;
	int pending;    /* members that have not ended */
	int failed;     /* members that have failed */
	int first_err;  /* of those, the first in time; a cancel is no failure */
	uint64_t first_number; /* the end_number of that one */
	int last_err;
	int winner;     /* the first member that returned, -1: none yet */
	bool wakes_always; /* at each end; else at the last one, and at a failure if fails_fast */
	bool fails_fast;
	struct crew_member few[CREW_FEW];
};

/* Room for `capacity` members. 0 or -1 with ENOMEM. */
int crew_init(struct crew *crew, struct task *self, int capacity);
/* Takes a reference to the task. */
void crew_add(struct crew *crew, struct await_task *task);
/* Parks until woken by a member, by `deadline`, or by an interrupt. The status of the park; an interrupt
 * that is pending on entry counts. */
int crew_wait(struct crew *crew, bide_time deadline);
/* Cancels who has not ended and waits, uninterruptibly, until all have. */
void crew_end(struct crew *crew, const char *reason);
/* The first that has not ended; NULL: all have. */
const struct await_task *crew_pending(const struct crew *crew);
/* The next one behind `task` that has not. */
struct await_task *crew_pending_after(const struct crew *crew, const struct await_task *task);
/* All have ended: drops the references and the room. */
void crew_destroy(struct crew *crew);

#endif
