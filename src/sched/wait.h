/* SPDX-License-Identifier: MIT
 * Layer sched: the wait record. Every wait names its object, so that a dump, a deadlock report and a
 * trace need read nothing else. A task's own record lies in the task: a blocking call allocates
 * nothing. A task that waits for several things at once (select) chains more of them, which may lie
 * on its stack. */
#ifndef SCHED_WAIT_H
#define SCHED_WAIT_H

#include <stdint.h>

#include "base/list.h"

struct task;

#define WAIT_KINDS(X)                                                                              \
	X(NONE, "nothing")                                                                             \
	X(SLEEP, "sleep")                                                                              \
	X(SETTLE, "the loop to settle")                                                                \
	X(FD, "fd")                                                                                    \
	X(STREAM, "stream")                                                                            \
	X(JOIN, "task")                                                                                \
	X(FUTURE, "future")                                                                            \
	X(SELECT, "select")                                                                            \
	X(FUTURES, "several futures")                                                                  \
	X(CREW, "its tasks")                                                                           \
	X(GROUP, "group")                                                                              \
	X(ROOM, "room in group")                                                                       \
	X(START, "the start of task")                                                                  \
	X(MUTEX, "mutex")                                                                              \
	X(RWLOCK, "rwlock")                                                                            \
	X(COND, "condition")                                                                           \
	X(SEM, "semaphore")                                                                            \
	X(EVENT, "event")                                                                              \
	X(BARRIER, "barrier")                                                                          \
	X(ONCE, "once")                                                                                \
	X(CHAN, "channel")                                                                             \
	X(SHARED_CHAN, "shared channel")                                                               \
	X(OFFLOAD, "offload")                                                                          \
	X(SIGNAL, "signal")                                                                            \
	X(PROCESS, "process")

enum wait_kind {
#define X(name, text) WAIT_##name,
	WAIT_KINDS(X)
#undef X
	WAIT_KIND_COUNT
};

extern const char *const wait_kind_names[];

/* What a wait at a channel, or a readers-writer lock, is for. */
enum {
	WAIT_TO_TAKE, /* to receive, to read */
	WAIT_TO_PUT   /* to send, to write */
};

struct wait {
	struct link link;         /* in at most one wait list */
	struct task *task;
	const void *object;       /* by kind; NULL where there is none */
	void *slot;               /* where a value is to be put, or comes from; the kind's own business */
	struct wait *more;        /* the next record of the same wait */
	int32_t detail;           /* FD: the descriptor's number; CHAN, SHARED_CHAN, RWLOCK: WAIT_TO_...; else the kind's
	                             own business */
	uint16_t events;          /* FD: what is waited for */
	uint8_t kind;             /* enum wait_kind */
	uint8_t is_shielded;      /* an interrupt does not end this wait */
	int16_t status;           /* how it ended: 0, or an errno */
	uint8_t sweeps;           /* how far the trimming of parked tasks has come with it (await/trim.h) */
	uint32_t since;           /* when the task parked, by loop.coarse_now */
};

#endif
