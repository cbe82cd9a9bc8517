/* SPDX-License-Identifier: MIT
 * Part of bide: waiting for several things at once.
 *
 * Waiting does not own: bide_wait() and bide_select() leave what they wait for alone. Gather, wait_for
 * and race own: when they return, what they were given has ended, whatever happened. Entered with a
 * cancel pending they do not fail at once; they cancel what they own, wait for its end, and then fail.
 *
 * EDEADLK, at once and with nothing done: what is waited for could not end before the caller has, since it
 * is the caller, or waits, over any number of steps, for it: by join, await, gather, wait_for, race, a wait
 * for all, for its start, or as the owner of a group that the caller is in. Waits that one of several things
 * may end (select, the other modes of wait, room in a group, its next child) are not looked through; if
 * nothing can end them, that is found when nothing can run any more (bide/loop.h). */
#ifndef BIDE_COMBINE_H
#define BIDE_COMBINE_H

#include <bide/api.h>
#include <bide/future.h>
#include <bide/task.h>
#include <bide/time.h>

BIDE_BEGIN

enum {
	BIDE_WAIT_ALL,         /* until all are done */
	BIDE_WAIT_FIRST_DONE,  /* until one is */
	BIDE_WAIT_FIRST_FAILED /* until one has failed (a cancel is no failure), or all are done */
};

/* Parks until futures[0 .. count-1] are done as `mode` says; returns how many of them are done, 0 only
 * if count is 0. Takes no result: bide_future_get() does.
 * Errors: EINVAL NULL among them, count < 0, unknown mode; EPERM another loop's; EPIPE one was
 * destroyed meanwhile; EDEADLK, with a mode other than ALL only if it holds for all of them; ENOMEM (more
 * than 16). [S] */
BIDE_API int bide_wait(bide_future *const futures[], int count, int mode);

#define BIDE_FAIL_FAST 0x1u /* cancel the others when one fails */

/* Joins tasks[0 .. count-1], all of them, in any case: out[i] (out may be NULL) is the outcome of
 * tasks[i], and the handles are given back. The same task twice fills both.
 * 0, or -1 with the errno of the first of them that failed, in time; a task that was canceled is no
 * failure. When the caller is canceled, or a deadline passes, all are canceled and waited for, then
 * -1 with ECANCELED or ETIMEDOUT, out filled.
 * Errors, with nothing done: EINVAL NULL, count < 0, a detached task, unknown flags; ESRCH; EPERM; EDEADLK
 * for one of them; ENOMEM (more than 16). [S] */
BIDE_API int bide_gather(bide_task *const tasks[], int count, bide_result out[], unsigned flags);

/* Joins `task` if it ends within `timeout`; if not, cancels it and waits for its end. 0 with its
 * outcome, also when it answered the cancel with a value; -1 with ETIMEDOUT if the cancel ended it.
 * timeout <= 0: a task that is done gives its outcome, one that has not started never will.
 * When the caller is canceled the task is, too, and waited for. The handle is given back.
 * Errors as bide_gather(), but for ENOMEM. [S] */
BIDE_API int bide_wait_for(bide_task *task, bide_time timeout, bide_result *out);

/* Runs fns[i](args[i]) as tasks, the next one `stagger` after the one before, or as soon as that one
 * fails, until one returns a value: it wins, the others are canceled and waited for. Returns the
 * winner's index, its outcome in *winner (may be NULL). stagger BIDE_NEVER: only when one fails.
 * -1 with the errno of the last to fail if all do. One that cannot be spawned (ENOMEM, EAGAIN) ends the
 * starting: if none of those before it wins, -1 with that errno.
 * When the caller is canceled, or a deadline passes, all are canceled and waited for, then -1 with ECANCELED
 * or ETIMEDOUT; but one that answers its cancel with a value has won. Entered with a cancel pending it
 * starts nobody.
 * Errors, with nothing done: EINVAL NULL among fns, count < 1, stagger < 0; ENOMEM (more than 16). [S] */
BIDE_API int bide_race(bide_fn *const fns[], void *const args[], int count, bide_time stagger,
    bide_result *winner);

/* A case of bide_select(). Set `op` and the fields it names; the rest may be zero. */
typedef struct bide_case {
	int op;
	int fd, events;      /* BIDE_CASE_FD: as bide_fd_wait(); revents tells what is ready */
	int revents;
	int err;             /* how the case that fired did so: 0, or EPIPE, EBADF */
	bide_future *future; /* BIDE_CASE_FUTURE: is done; result has the result, and it counts as taken */
	bide_result result;
	bide_time deadline;  /* BIDE_CASE_TIME: the moment has come */
	struct bide_chan *chan; /* BIDE_CASE_SEND, BIDE_CASE_RECV: as bide_chan_send() and _recv() ... */
	void *item;             /* ... with this item; err EPIPE: the channel is closed */
	void *reserved[2];
} bide_case;

enum {
	BIDE_CASE_NONE, /* never fires */
	BIDE_CASE_FUTURE,
	BIDE_CASE_FD,
	BIDE_CASE_TIME,
	BIDE_CASE_SEND,
	BIDE_CASE_RECV
};

#define BIDE_TRY 0x1u    /* do not wait: EAGAIN if no case can fire */
#define BIDE_BIASED 0x2u /* of several that can fire take the first, not a random one */

/* Parks until one of the cases can fire, lets exactly one take effect and returns its index. Of
 * several that can, a random one (the loop's seed) is taken.
 * Errors: EAGAIN with BIDE_TRY; EINVAL NULL, count < 0, an unknown op, a case without its object;
 * EPERM; ENOTSUP a channel with BIDE_CHAN_SHARED: let a task move its items into one of the loop;
 * EBADF a descriptor that was never open (one that was, and is closed, fires its case with it);
 * EDEADLK there is nothing but tasks for all of which it holds; ENOMEM (more than 8). [S] */
BIDE_API int bide_select(bide_case cases[], int count, unsigned flags);

BIDE_END

#endif
