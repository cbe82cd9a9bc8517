/* SPDX-License-Identifier: MIT
 * Layer host: a pool of threads that run jobs. Knows nothing of tasks or loops.
 *
 * All decisions are made under the pool's lock: a worker that was idle for too long looks into the queue
 * once more before it goes, and whoever puts a job in counts the workers that are still there. So no job
 * waits while a worker could run it. */
#ifndef HOST_POOL_H
#define HOST_POOL_H

#include <stdbool.h>

#include <bide/offload.h>

#include "base/list.h"

enum pool_job_state {
	POOL_JOB_QUEUED,
	POOL_JOB_RUNNING,
	POOL_JOB_ENDED
};

/* In the memory of whoever submits it, who keeps it until ended() is called or pool_withdraw() took it out. */
struct pool_job {
	struct link link;   /* in the queue, while QUEUED */
	/* On a worker. */
	void (*work)(struct pool_job *job);
	/* After that, or on the thread that closed the pool (is_refused). The pool looks at the job no more. */
	void (*ended)(struct pool_job *job);
	enum pool_job_state state;
	bool is_refused;    /* the pool was closed first */
	bool is_abandoned;  /* nobody waits for it; final when ended() is called */
};

/* References: the creator's, and one for each job that somebody may still withdraw. */
bide_pool *pool_hold(bide_pool *pool);
void pool_drop(bide_pool *pool);

/* 0, or -1 with EAGAIN, ENOMEM or ESHUTDOWN. */
int pool_submit(bide_pool *pool, struct pool_job *job);

/* The state in which it found the job: a QUEUED one is out, and never runs; one that is RUNNING is marked if
 * it is to be abandoned. */
enum pool_job_state pool_withdraw(bide_pool *pool, struct pool_job *job, bool abandon);

/* bide_pool_close() until a moment; how many jobs still run. */
unsigned pool_close(bide_pool *pool, bide_time until);

#endif
