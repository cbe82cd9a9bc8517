/* SPDX-License-Identifier: MIT
 * Layer await: the part of a user's future that other threads touch. */
#ifndef AWAIT_POSTED_H
#define AWAIT_POSTED_H

#include "await/future.h"
#include "sched/inbox.h"

enum posted_state {
	POSTED_NOT,
	POSTED_FILLING, /* a poster has won, and has not put it into the inbox yet */
	POSTED_SENT,    /* or is about to; `loop` is known */
	POSTED_RUN,     /* the loop has it */
	POSTED_GONE     /* the future was destroyed */
};

/* What a bide_future is that is not a task's. */
struct posted_future {
	struct future future;
	struct inbox_post post;
	bide_loop *loop;  /* where it was posted to */
	void *value;
	int err;
	atomic_int state; /* enum posted_state */
};

_Static_assert(sizeof(struct posted_future) <= sizeof(bide_future), "bide_future.opaque");

/* Nobody can post to the future any more. A post on its way is recalled, and *value is what it would have
 * brought. 0, or -1 with EPERM if it is on its way to another loop. */
int posted_recall(struct posted_future *posted, void **value);

#endif
