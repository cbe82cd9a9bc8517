/* SPDX-License-Identifier: MIT
 * Layer sched: what a loop remembers of a descriptor, and the tasks that wait for it.
 *
 * The identity of a descriptor is its number and a generation. A descriptor is registered with the
 * poller at the first wait, once for both directions and for its life; after that a wait costs no
 * system call. What the last calls and events told is remembered as readiness: a clear bit means
 * that the kernel had nothing, and that the event which will change that has not been fetched yet.
 *
 * Somebody may close a descriptor behind our back, so that the next file under its number is one the
 * poller does not know. Nothing tells us. So a wait on a descriptor that was registered before it
 * began is doubted: when nothing was heard for DOUBT_NS, and about a few meanwhile, the loop asks the
 * poller whether the registration is still that file's, and registers anew if not. A wait that ends soon
 * is never asked about, which is why a busy server pays nothing.
 *
 * Tasks that want to read, or to write, stand in line. An event wakes the first one only; it tries, and
 * whatever comes of that it passes the readiness it left on to the next. Until then it holds the claim:
 * a newcomer that finds the claim held, or somebody in line, stands in line too. Who was woken for
 * nothing goes back to its old place. Observers take nothing and stand in nobody's way. */
#ifndef SCHED_DESCRIPTOR_H
#define SCHED_DESCRIPTOR_H

#include <bide/time.h>

#include "base/list.h"
#include "base/memory.h"
#include "sched/poller.h"
#include "sched/wait.h"

enum {
	DESCRIPTOR_IN,
	DESCRIPTOR_OUT
};

enum descriptor_kind {
	DESCRIPTOR_UNKNOWN,
	DESCRIPTOR_SOCKET,
	DESCRIPTOR_PIPE,   /* and everything else that may have to be waited for */
	DESCRIPTOR_POLLED, /* such a one that cannot be read or written without the risk to block */
	DESCRIPTOR_FILE   /* always ready: regular files, directories, what cannot be polled */
};

struct descriptor {
	struct list waiters[2];   /* per direction, in order of arrival */
	struct link doubt;        /* in descriptors.doubted or .asked, if a wait is to be asked about */
	uint32_t generation;      /* changes when the number is given to another file by us */
	uint32_t registration;    /* the poller's key is number and registration: counts them */
	uint8_t is_ready[2];      /* a call may succeed */
	uint8_t is_claimed[2];    /* the next in line was woken, and has not let go yet */
	uint8_t is_registered : 1;
	uint8_t is_asked : 1;     /* of the two, it is .asked */
	uint8_t is_hung_up;       /* RDHUP, HUP or ERR was seen: a short read does not mean drained */
	uint8_t kind;             /* enum descriptor_kind */
	int8_t is_tcp;            /* 1: a short read means drained; 0: not; -1: not known yet */
};

struct descriptors {
	struct descriptor **pages;
	size_t page_count;
	const struct memory *memory;
	struct list doubted;      /* not asked about yet */
	struct list asked;        /* asked in passing, and to be asked for good when all is quiet */
	bide_time asked_at;       /* when doubted ones were last asked about */
	bide_time heard_at;       /* when the poller last had something to tell */
	size_t waiting;           /* tasks that wait for a descriptor */
	uint64_t tickets;         /* drawn so far */
};

/* The place of a call in the line of its descriptor; all zero while it has not waited. */
struct place {
	uint64_t ticket; /* drawn at its first wait */
	bool has_claim;
};

#define DOUBT_NS (20 * BIDE_MSEC)

struct task;
struct loop;

void descriptors_init(struct descriptors *descriptors, const struct memory *memory);
void descriptors_destroy(struct descriptors *descriptors);

/* The record of fd, made if need be. NULL with ENOMEM, or with EBADF: negative; or not open, which is
 * looked at only if there is no record. */
struct descriptor *descriptor_get(struct loop *loop, int fd);
/* The record of fd if there is one. */
struct descriptor *descriptor_find(struct loop *loop, int fd);

/* Parks the running task until fd may be ready for `events` (POLLER_ bits), in the line of
 * `direction`. Who has no place (NULL) only looks, and is woken with everybody.
 * 0, or the errno with which the wait, or the registration, failed: EBADF, ENOMEM, ENOSPC, an
 * interrupt's. A descriptor that cannot be polled has its kind set to FILE: 0 at once. */
int descriptor_wait(struct loop *loop, struct task *task, int fd, int direction, uint32_t events,
    struct place *place);

/* The same in its two halves, for a wait with several records. enqueue puts `wait`, with its task set,
 * in the line of `direction`; 0 or an errno as above, and EALREADY for a descriptor that cannot be
 * polled (it is always ready). leave is called after the park, with the wait no longer queued. */
int descriptor_enqueue(struct loop *loop, struct wait *wait, int fd, int direction, uint32_t events,
    struct place *place);
void descriptor_leave(struct loop *loop, struct wait *wait);

/* What poll() says of fd now: bits, 0 for none of `events`, or -1 with errno (EBADF). */
int descriptor_poll(int fd, int events);
/* POLLIN ... as POLLER_IN ... */
uint32_t poller_events_of_poll(int events);

/* Is somebody in line for `direction`, or served just now? */
bool descriptor_has_line(const struct descriptor *descriptor, int direction);

/* After a call: lets go of the claim, if the call has it, and gives the next in line its chance if
 * `direction` was left ready. */
void descriptor_pass_on(struct descriptor *descriptor, int direction, struct place *place);

/* The number is about to be closed, or given away: everybody who waits fails with EBADF, and what
 * was remembered is forgotten. */
void descriptor_forget(struct loop *loop, int fd);

/* A fresh descriptor from the kernel is known to be a new file: forgets what an older one under this
 * number left. `kind` and `is_tcp` as in the record. Without memory for a record nothing is
 * remembered, and nothing was. */
void descriptor_fresh(struct loop *loop, int fd, enum descriptor_kind kind, int is_tcp);

/* Turns fetched events into ready tasks. */
void descriptors_fire(struct loop *loop, const struct poller_event *events, int count);

/* Asks about doubted waits if it is time. Returns when it wants to be called again, BIDE_NEVER if
 * nothing is doubted. */
bide_time descriptors_ask(struct loop *loop, bide_time now);

#endif
