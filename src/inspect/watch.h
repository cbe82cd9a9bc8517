/* SPDX-License-Identifier: MIT
 * Layer inspect: a run as other threads see it. Every run of the process has one, in a list, from its beginning to
 * its end. Another thread that wants to use it without the lock claims it: the run does not end before it is
 * given back. */
#ifndef INSPECT_WATCH_H
#define INSPECT_WATCH_H

#include <stdatomic.h>

#include "await/record.h"
#include "inspect/freeze.h"

#define WATCH_NAME_WORDS (TASK_NAME_SIZE / 8)

/* Whose slice it is, so that another thread may read it while the task changes. */
struct watched_task {
	atomic_uint_fast64_t id; /* 0: a callback */
	atomic_uintptr_t spawn_site;
	atomic_uint_fast64_t name[WATCH_NAME_WORDS];
};

struct watch {
	/* Never changes. */
	struct run *run;
	bide_loop *handle;
	pid_t thread_id;
	clockid_t cpu_clock;          /* of the thread */
	bide_time slow, stall;        /* BIDE_NEVER: off */
	bool leaves_signals_alone;

	/* Under LOCK_WATCHES. */
	struct link link;
	unsigned claims;

	/* Whoever has claimed it. */
	atomic_bool may_be_held;      /* its thread, by a handler that is there till the run ends */
	atomic_bool was_lost;         /* it did not answer once */

	/* The loop's thread writes it: counts the beginnings and the ends of slices (odd: one is going on), and says when
	 * the present one began, and whose it is. */
	atomic_uint_fast64_t slice;
	atomic_int_fast64_t began;    /* in real time */
	struct watched_task task;

	/* The loop's thread alone (canary.c): not long before the present slice. */
	bide_time cpu_at_sample, sampled_at;

	/* The watchdog's alone, as of its latest look. */
	uint64_t seen_slice;
	bide_time seen_cpu;
	bide_time used, blocked;      /* of the slice that was seen: its own time */
	bool is_told;                 /* that it is stuck */

	/* The watchdog's, told to the canary: how long a slice was blocked, and was so at a moment. */
	atomic_uint_fast64_t blocked_slice;
	atomic_int_fast64_t blocked_for, blocked_at;
};

/* All of them, under LOCK_WATCHES; for debuggers too (debugger.c). */
extern struct list watch_list;

/* Makes the run's. Without memory it has none. */
void watch_begin(struct run *run);
/* Not any more in a forked process. */
bool watch_is_listed(const struct watch *watch);
/* Waits until it is claimed by nobody. */
void watch_end(struct run *run);

/* The next in the list, from NULL on, claimed; `watch` is given back. NULL at the end. */
struct watch *watch_claim_next(struct watch *watch);
/* That of the loop with this name, claimed; NULL. */
struct watch *watch_claim(bide_loop *handle);
void watch_give_back(struct watch *watch);

/* Holds the thread of a claimed one, until freeze_release(). False if that may not be (BIDE_NO_SIGNALS), or it does
 * not answer. */
bool watch_hold(struct watch *watch, struct dump_frames *frames);

/* In a process that has just been forked: the runs are its parent's. */
void watches_forget(void);

/* How far apart looks at it are to lie, and for how long one counts. */
#define WATCH_LOOKS 4
#define WATCH_LONGEST_PERIOD BIDE_SEC

static inline bide_time watch_period(const struct watch *watch)
{
	bide_time setting = watch->slow < watch->stall ? watch->slow : watch->stall;
	bide_time period = setting / WATCH_LOOKS + 1;
	return period < WATCH_LONGEST_PERIOD ? period : WATCH_LONGEST_PERIOD;
}

static inline bool watch_is_timed(const struct watch *watch)
{
	return watch->slow != BIDE_NEVER || watch->stall != BIDE_NEVER;
}

#endif
