/* SPDX-License-Identifier: MIT
 * Part of bide: threads for what must block or compute. A task never blocks its thread: such work is given to
 * a pool of threads, and its result is awaited like any other.
 *
 * Each loop has a pool of its own, which starts with the first job and ends with bide_run(); how many
 * threads it may have is in bide_config.offload_threads. Work of another kind, that must not wait behind
 * the first (name look-ups behind file reads), gets a pool of its own: bide_pool_new(). Any number of
 * loops may share such a one.
 *
 * A job runs on a plain thread, with a plain thread's stack. Calls of bide that belong to a loop fail
 * there with EPERM; what it may call is in bide/post.h. Signals of the process are not delivered to it. */
#ifndef BIDE_OFFLOAD_H
#define BIDE_OFFLOAD_H

#include <bide/api.h>
#include <bide/time.h>

BIDE_BEGIN

typedef struct bide_pool bide_pool;

/* All fields may be zero, meaning the default. Set `size`, or start from BIDE_POOL_ATTR_INIT. */
typedef struct bide_pool_attr {
	size_t size;       /* sizeof(bide_pool_attr) */
	const char *name;  /* of its threads, for debuggers; cut to 15 characters */
	unsigned threads;  /* at most so many, made when they are needed; 0: the number of processors, but
	                      not fewer than 4 */
	unsigned queue;    /* at most so many jobs wait for a thread, more are refused with EAGAIN; 0: no
	                      limit: they wait, each with its task, first come, first served */
	bide_time idle;    /* a thread that has had nothing to do for so long ends; 0: 10 s */
} bide_pool_attr;

#define BIDE_POOL_ATTR_INIT { sizeof(bide_pool_attr), 0, 0, 0, 0 }

/* A pool for any loop to use, without a thread yet. attr may be NULL.
 * Errors: NULL with EINVAL (size, idle < 0) or ENOMEM. [T] */
BIDE_API bide_pool *bide_pool_new(const bide_pool_attr *attr);

/* Ends a pool: jobs that wait are not run, their bide_offload() fails with ESHUTDOWN, and so does any later
 * one; jobs that run may end within `grace`. Blocks the calling thread meanwhile, also one with a loop.
 * Whatever it returns, the pool is gone for the caller.
 * Errors: EINVAL NULL, or grace < 0; EBUSY jobs still run: their threads go on, keep what they need, and
 * end with the jobs. [T] */
BIDE_API int bide_pool_close(bide_pool *pool, bide_time grace);

#define BIDE_ABANDON 0x1u /* a job that runs is left behind by a cancel or a deadline */

typedef struct bide_offload_attr {
	size_t size;       /* sizeof(bide_offload_attr) */
	unsigned flags;    /* BIDE_ABANDON */
	bide_pool *pool;   /* NULL: the loop's own */
	void (*drop)(void *value, void *arg); /* arg is given to the call, and comes back with 0. When the call
	                      fails (but with EINVAL), drop is called once, by the time the job has ended,
	                      on its thread or the loop's; value is what fn returned, NULL if it never ran.
	                      May be NULL */
} bide_offload_attr;

#define BIDE_OFFLOAD_ATTR_INIT { sizeof(bide_offload_attr), 0, 0, 0 }

/* Runs fn(arg) on a thread of a pool and parks until it has returned. *out (may be NULL) receives what it
 * returned, and in `err` the errno that it left (it began with 0); errno is set to that too, so that
 *	if (bide_offload(make_thumbnail, path, 0, &result) == 0 && !result.value)
 *		perror(path);
 * reads as if the task had called it.
 * A cancel, or a deadline: a job that has not begun never will, and the call fails. One that runs cannot be
 * stopped, and may use the task's memory: the call waits for its end and returns 0, and the cancel stays
 * pending. With BIDE_ABANDON the call fails at once; fn and arg must not use memory of the task's then, and
 * `drop` is to free what they do use.
 * At the end of bide_run() jobs have until the end of config->shutdown_grace. One that does not end is
 * reported, bide_run() fails with EBUSY, and the stacks of the loop's tasks stay mapped for ever, since
 * it may use one.
 * bide_offload takes the flags only, and the loop's own pool.
 * Errors: EAGAIN the queue is full, or no thread could be made and there is none; ESHUTDOWN the pool was
 * closed; EINVAL fn is NULL, unknown flags, a wrong size; ENOMEM. [S] */
BIDE_API int bide_offload(void *(*fn)(void *arg), void *arg, unsigned flags, bide_result *out);
BIDE_API int bide_offload_with(void *(*fn)(void *arg), void *arg, const bide_offload_attr *attr, bide_result *out);

BIDE_END

#endif
