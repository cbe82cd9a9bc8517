/* SPDX-License-Identifier: MIT
 * Layer sched: where readiness comes from. A back end fills an array of events and calls nobody.
 * Interest is edge-triggered. It is added once for the life of a descriptor, and widened once, when somebody
 * has to wait for room to write: who registered for that from the start would be told at once of the room
 * that every new connection has. */
#ifndef SCHED_POLLER_H
#define SCHED_POLLER_H

#include <stdint.h>

#include <bide/time.h>

#include "base/hostile.h"

struct poller {
	int epoll_fd;
	int wake_fd;       /* an eventfd: makes a wait return; a flag, not a queue */
	bool has_ns_wait;  /* epoll_pwait2 may work */

	/* A timerfd that ends a sleep in time. Where sleeps end early again and again it is set once for many of
	 * them, while a limit of its own would cost each a timer in the kernel. */
	int alarm_fd;
	bide_time alarm_at;  /* BIDE_NEVER: not set */
	bool was_cut_short;  /* the latest sleep that had a limit, by an event */
};

enum {
	POLLER_IN = 1,
	POLLER_PRI = 2,
	POLLER_OUT = 4,
	POLLER_ERR = 8,
	POLLER_HUP = 16,
	POLLER_RDHUP = 32
};

struct poller_event {
	uint64_t key;    /* as given to poller_add */
	uint32_t events; /* POLLER_ bits */
};

int poller_init(struct poller *poller); /* 0, or -1 with errno */
void poller_destroy(struct poller *poller);

/* `interest` is POLLER_IN, or POLLER_IN | POLLER_OUT; all else is reported anyway.
 * 0, or -1 with errno: EPERM the file cannot be polled; EBADF; ENOENT (refresh) the file behind this
 * number is not the one that was added; ENOMEM, ENOSPC. poller_refresh reports once more what is
 * ready now. */
int poller_add(struct poller *poller, int fd, uint64_t key, uint32_t interest); /* EEXIST: that very file was added */
int poller_refresh(struct poller *poller, int fd, uint64_t key, uint32_t interest);
void poller_remove(struct poller *poller, int fd);

/* Waits at most `timeout` from `now`, which is real time (0: not at all; BIDE_NEVER: without limit), and fills
 * at most `count` events, no more than POLLER_BATCH. The number filled; 0 on time-out, on a signal, when woken
 * by wake_fd, or by an alarm that was set for an earlier wait. */
int poller_wait(struct poller *poller, struct poller_event *events, int count, bide_time now, bide_time timeout);

#endif
