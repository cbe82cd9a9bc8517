/* SPDX-License-Identifier: MIT
 * Layer sched: signals, brought from their handlers to loops.
 *
 * A watch has one flag for each signal, raised by the handler and lowered by the loop: however many come,
 * one is told after the last of them, and none can fill anything up. The loop learns of it by a post.
 *
 * A handler may run on any thread, at any time, also while a watch is opened or closed. So watches are
 * never freed: they stay in one list, and a closed one is used again. At worst a signal that was raised
 * just before a watch was opened is told to it.
 *
 * While nobody watches a signal its disposition is the host's. A handler of the host's that was there
 * before goes on being called. */
#ifndef SCHED_SIGNALS_H
#define SCHED_SIGNALS_H

#include <signal.h>
#include <stdatomic.h>

#include "sched/inbox.h"

struct loop;

typedef uint64_t signal_mask; /* bit n - 1: signal n */

struct signal_watch {
	struct signal_watch *next;    /* all there ever were */
	_Atomic(bide_loop *) loop;    /* NULL: it is closed */
	atomic_uint_fast64_t mask;
	atomic_uint_fast64_t raised;
	atomic_bool is_stop;          /* see signals_watch() */
	atomic_bool is_posted;
	struct inbox_post post;
	/* On the loop's stack. */
	void (*heard)(struct signal_watch *watch, void *arg);
	void *arg;
};

static inline signal_mask signal_bit(int number)
{
	return (signal_mask)1 << (number - 1);
}

/* For the loop of this thread. is_stop: what makes a program end; only of signals whose disposition is the
 * default, which comes back with the first, so that the second acts by default even if no loop turns; and
 * only while no other kind of watch has the signal.
 * NULL with ENOMEM, or EINVAL: a signal that cannot be caught, or that the watched program raises by a
 * fault. */
struct signal_watch *signals_watch(struct loop *loop, signal_mask mask, bool is_stop,
    void (*heard)(struct signal_watch *watch, void *arg), void *arg);
/* On the same thread. Dispositions are the host's again, unless it has changed them meanwhile. */
void signals_unwatch(struct loop *loop, struct signal_watch *watch);

/* In a process that has just been forked: the parent's loops hear nothing of its signals. */
void signals_forget(void);

/* How often the signal has come, so far, to the watches of what makes a program end. Whoever looks after it has
 * opened one has either been told of a signal or sees it counted. */
unsigned signals_stops(int number);

/* Lowers one flag: the least signal that was raised; 0: none was. */
int signals_take(struct signal_watch *watch);

/* What the kernel told of the signal, at one of the last times it came. */
void signals_info(int number, siginfo_t *info);

#endif
