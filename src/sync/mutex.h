/* SPDX-License-Identifier: MIT
 * Layer sync: the mutex inside, for conditions. */
#ifndef SYNC_MUTEX_H
#define SYNC_MUTEX_H

#include <bide/sync.h>

#include "sync/line.h"

struct mutex {
	struct list line;
	struct await_task *owner; /* NULL: free */
	uint64_t owner_id;        /* an ended owner's record may be another task's now */
	uint64_t run_serial;      /* the run whose task the owner is */
	unsigned returning;       /* tasks in bide_cond_wait() that will come back to it */
};

_Static_assert(sizeof(struct mutex) <= sizeof(bide_mutex), "bide_mutex.opaque");

static inline bool mutex_is_held_by(const struct mutex *mutex, const struct await_task *task)
{
	return mutex->owner == task && mutex->owner_id == task->id &&
	    mutex->run_serial == run_of(task->task.loop)->serial;
}

/* Gives it to the first in line, with the status that its wait is to end with, or frees it. */
void mutex_hand_over(struct mutex *mutex, int status);
/* Its owner, which lives, gives it up. */
void mutex_release(struct mutex *mutex, struct await_task *owner);
/* Lets a parked waiter of something else, taken out of its line, wait for the mutex, or has it at once. */
void mutex_requeue(struct mutex *mutex, struct wait *wait);
/* Holds it when it returns, whatever is pending. 0 or EOWNERDEAD. */
int mutex_lock_shielded(struct mutex *mutex, struct task *self);

#endif
