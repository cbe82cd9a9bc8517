/* SPDX-License-Identifier: MIT
 * Layer sched: where readiness comes from. A back end fills an array of events and calls nobody.
 * Interest is edge-triggered and for both directions at once; it is added once for the life of a
 * descriptor. */
#ifndef SCHED_POLLER_H
#define SCHED_POLLER_H

#include <stdint.h>

#include <bide/time.h>

#include "base/hostile.h"

struct poller {
	int epoll_fd;
	int wake_fd;       /* an eventfd: makes a wait return; a flag, not a queue */
	bool has_ns_wait;  /* epoll_pwait2 may work */
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

/* 0, or -1 with errno: EPERM the file cannot be polled; EBADF; ENOENT (refresh) the file behind this
 * number is not the one that was added; ENOMEM, ENOSPC. poller_refresh reports once more what is
 * ready now. */
int poller_add(struct poller *poller, int fd, uint64_t key); /* EEXIST: that very file was added */
int poller_refresh(struct poller *poller, int fd, uint64_t key);
void poller_remove(struct poller *poller, int fd);

/* Waits at most `timeout` (0: not at all; BIDE_NEVER: without limit) and fills at most `count` events, no
 * more than POLLER_BATCH. The number filled; 0 on time-out, on a signal, or when woken by wake_fd. */
int poller_wait(struct poller *poller, struct poller_event *events, int count, bide_time timeout);

#endif
