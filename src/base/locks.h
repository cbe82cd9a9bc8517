/* SPDX-License-Identifier: MIT
 * Layer base: the locks of the process: over what loops and threads share. In the order in which one may be
 * taken while another is held. All of them are held over a fork, so that none is left locked in the child
 * by a thread which is not there. */
#ifndef BASE_LOCKS_H
#define BASE_LOCKS_H

enum process_lock {
	LOCK_FREEZE,   /* one thread is held (inspect/freeze.c) */
	LOCK_WATCHDOG, /* whether there is one (inspect/watchdog.c) */
	LOCK_QUIT,     /* SIGQUIT (inspect/quit.c) */
	LOCK_WATCHES,  /* the list of runs (inspect/watch.c) */
	LOCK_COROS,    /* the stacks of coroutines (await/coro.c) */
	LOCK_SIGNALS,  /* dispositions (sched/signals.c) */
	LOCK_OVERFLOW, /* the handler of faults (stack/overflow.c) */
	LOCK_INBOXES,  /* inboxes that are nobody's (sched/inbox.c) */
	LOCK_TRACE,    /* what is traced (inspect/trace.c) */
	LOCK_MODULES,  /* what is known of loaded files (base/modules.c) */
	LOCK_FAULTS,   /* injected faults (base/fault.c) */
	LOCK_COUNT
};

void lock_take(enum process_lock lock);
void lock_release(enum process_lock lock);

void locks_take_all(void);
void locks_release_all(void);

#endif
