/* SPDX-License-Identifier: MIT
 * Layer sched: the inbox, where other threads and signal handlers leave what a loop is to run.
 *
 * It is a stack of posts whose head also holds the generation of the loop that owns it, so that one
 * compare-and-swap both finds out whether that loop still is and puts the post in. The owner takes all of
 * them at once and turns them round: each poster's come out in the order in which they went in.
 *
 *      poster                                 loop
 *      1  put the post in                     1  say "asleep"
 *      2  asleep? say "awake", and            2  anything in? then do not sleep
 *         make the wait return                3  wait
 *                                             4  say "awake"
 *
 * All of it in one total order (seq_cst): either the poster finds "asleep", or the loop finds the post.
 * Of many posters one makes the system call, and none while the loop is awake: the eventfd is a flag.
 *
 * Inboxes are never given back to the system, only to the next loop, so that a thread may knock at any
 * time: too late, it finds another generation and is told ESHUTDOWN. An inbox serves 65,535 loops, and then
 * nobody any more, so that no handle ever means another loop. Rejected: reference counts (two more atomic operations
 * a post, and a leaked reference would keep a loop's memory for ever); a lock (not for signal handlers).
 *
 * What may be called from any thread says so, and is safe in signal handlers too. */
#ifndef SCHED_INBOX_H
#define SCHED_INBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <bide/api.h>

#include "base/check.h"
#include "sched/board.h"

struct inbox_post {
	struct inbox_post *next;
	/* On the loop's stack, outside any task. The post is no longer in any list. */
	void (*run)(struct inbox_post *post);
};

enum inbox_sleep {
	INBOX_AWAKE,
	INBOX_ASLEEP,
	INBOX_CLOSED
};

struct inbox {
	atomic_uintptr_t head;       /* the newest post; above bit 47 the generation */
	atomic_int sleep;            /* enum inbox_sleep */
	atomic_uint wakers;          /* threads that may be about to write to wake_fd */
	atomic_uint_fast64_t holds;  /* keep-alives; above bit 31 the generation */
	int wake_fd;
	atomic_uint process;         /* the one it was opened in: counts forks */
	struct inbox *next;          /* while it is nobody's */
	char apart[64];              /* who writes to the board disturbs no poster */
	struct board board;          /* the owner's figures, for all to read */
};

#define INBOX_SHIFT 48

/* ---- for the owner ---- */

/* An open inbox; NULL with ENOMEM. */
struct inbox *inbox_open(int wake_fd);
/* No post comes in after it, nobody uses wake_fd any more. Returns what was in it, oldest first. */
struct inbox_post *inbox_close(struct inbox *inbox);

static inline bool inbox_has_post(struct inbox *inbox)
{
	uintptr_t head = atomic_load_explicit(&inbox->head, memory_order_relaxed);
	return (head & (((uintptr_t)1 << INBOX_SHIFT) - 1)) != 0;
}

/* All posts, oldest first. */
struct inbox_post *inbox_take(struct inbox *inbox);

/* Before the owner waits, and after. False if there is something in it: it is awake then. */
bool inbox_fall_asleep(struct inbox *inbox);
void inbox_wake_up(struct inbox *inbox);

static inline unsigned inbox_holds(struct inbox *inbox)
{
	return (uint32_t)atomic_load(&inbox->holds);
}

/* The name by which others know it. */
bide_loop *inbox_handle(struct inbox *inbox);

/* In a process that has just been forked: the parent's inboxes take nothing from here. */
void inboxes_forget(void);

/* ---- for any thread ---- */

/* 0, or -1 with ESHUTDOWN: the loop has ended, and `post` is the caller's. Any other errno: the post is
 * in, but the loop could not be woken, because something is wrong with its wake_fd. */
int inbox_post(bide_loop *handle, struct inbox_post *post);

/* The same in two steps, for who holds a lock that is not to be held over a system call. After put, which is 0 or
 * -1 with ESHUTDOWN, the post may have run; wake must follow, and looks at the loop's name alone. */
int inbox_put(bide_loop *handle, struct inbox_post *post);
int inbox_wake_owner(bide_loop *handle);

/* Which process this is, counting forks, for objects that a forked one must not touch. */
unsigned inbox_process(void);

/* While there are holds the loop waits, whatever its tasks do. 0, or -1 with ESHUTDOWN, EINVAL (release:
 * there is none). */
int inbox_hold(bide_loop *handle);
int inbox_release(bide_loop *handle);

/* The figures that are on its board; the rest of *out is left alone. 0, or -1 with ESHUTDOWN. */
int inbox_read_board(bide_loop *handle, bide_stats *out);

#endif
