/* SPDX-License-Identifier: MIT
 * Layer sched: from the inbox into the loop's turns. Posts are taken out at each look, and run as one entry of
 * the ready queue, a few at a time, so that a flood of them delays nobody by more than its turn. */
#ifndef SCHED_POSTS_H
#define SCHED_POSTS_H

#include "sched/loop.h"

/* Takes what is in the inbox. False if that was nothing. */
bool posts_take(struct loop *loop);
/* The entry that runs them. */
void posts_run(struct entry *entry);

/* Takes a post back before it has run. False if it is not there (yet). */
bool posts_withdraw(struct loop *loop, struct inbox_post *post);

/* No post is accepted any more; runs those that were. */
void posts_close(struct loop *loop);

#endif
