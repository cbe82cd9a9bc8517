/* SPDX-License-Identifier: MIT
 * Part of bide: from other threads to a loop.
 *
 * A loop and everything that belongs to it (tasks, futures, locks, channels) are one thread's: any other
 * that calls them gets EPERM, or does harm where the manual promises no check. What another thread may
 * call is marked [T]: what is declared here, the calls on a shared channel that do not wait
 * (bide/chan.h), bide_pool_new() and bide_pool_close() (bide/offload.h), bide_now(),
 * bide_after(), bide_fault(), and bide_loop_self(), bide_self() and the like, which tell it that it has no
 * loop. Of these the ones marked [A] may be called from signal handlers too. While a run in debug mode is on
 * stderr is told of a thread that was refused, once a second at most, and of what it may call.
 *
 * The loop is named by the bide_loop * that bide_loop_self() returned on its own thread. It may be kept for
 * as long as you like: once the loop has ended every call fails with ESHUTDOWN, whatever loops come after it.
 * A call costs no lock; it makes a system call only if the loop sleeps.
 *
 * A post that was accepted (0) runs, once, on the loop's thread, outside any task; those of one thread
 * run in their order. At a loop's end those that are left run after its last task, before bide_run()
 * returns. Besides the errors named below a call fails with EBADF or the like if the loop could not be
 * woken, because the host has closed its descriptors; the post was accepted all the same. */
#ifndef BIDE_POST_H
#define BIDE_POST_H

#include <bide/future.h>
#include <bide/task.h>

BIDE_BEGIN

/* Runs fn(arg) on the loop's stack, as bide_call_soon() does from within. It may do what a callback may:
 * wake, set, cancel, spawn; not suspend.
 * Errors: EINVAL loop or fn is NULL; ENOMEM; ESHUTDOWN the loop has ended: fn will not run. [T] */
BIDE_API int bide_post(bide_loop *loop, void (*fn)(void *arg), void *arg);

/* bide_cancel(task, reason) on the loop. A task that has ended by then is left alone, however old the
 * handle. `reason` must live as bide_cancel() says.
 * Errors: EINVAL loop or task is NULL; ENOMEM; ESHUTDOWN. [T] */
BIDE_API int bide_post_cancel(bide_loop *loop, bide_task *task, const char *reason);

/* Gives a future of `loop` its result: a value with err 0, else a failure (value is not looked at then).
 * The first post wins. If the loop's own thread sets the future before the post arrives, that result
 * stands, and the value goes to the future's drop function. Allocates nothing.
 * The future must be there until the call has returned and, unless it failed, until bide_future_destroy()
 * has: that recalls a post that is on its way. Whoever may come after that
 * must be able to look: a destroyed future answers with EPIPE until it is initialized again, as long as its
 * memory is not used for something else. For a waiter that may give up before the other thread is done
 * that means memory with a reference count of two, or bide_offload() with BIDE_ABANDON.
 * Errors: EINVAL NULL, err < 0, or a task's own future; EALREADY it was posted; EPIPE it was destroyed;
 * ESHUTDOWN the loop has ended. [T] [A] */
BIDE_API int bide_future_post(bide_loop *loop, bide_future *future, void *value, int err);

/* bide_future_post(loop, future, NULL, 0), for signal handlers; errno is left as it was unless the call
 * fails. [T] [A] */
BIDE_API int bide_post_signal(bide_loop *loop, bide_future *future);

/* A keep-alive: while there is one, a loop in which nothing can happen any more waits for posts instead of
 * reporting a deadlock. It does not hold up bide_run(), which ends with main. Takes effect at once on the
 * loop's own thread; another thread must be sure that the loop is kept alive by something else until
 * the call has returned.
 * Errors: EINVAL NULL, or unref without a ref; ESHUTDOWN the loop has ended. [T] [A] */
BIDE_API int bide_loop_ref(bide_loop *loop);
BIDE_API int bide_loop_unref(bide_loop *loop);

BIDE_END

#endif
