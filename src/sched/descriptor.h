/* SPDX-License-Identifier: MIT
 * Layer sched: what a loop remembers of a descriptor, and the tasks that wait for it.
 *
 * The identity of a descriptor is its number and a generation. A descriptor is registered with the poller at
 * the first wait, for its life, and for both directions once somebody has to wait for room to write; after that
 * a wait costs no system call. What the last calls and events told is remembered as readiness: a clear bit
 * means that the kernel had nothing, and that the event which will change that has not been fetched yet.
 *
 * A wait on a descriptor that was registered before it began is doubted: see doubt.h.
 *
 * Tasks that want to read, or to write, stand in line. An event wakes the first one only; it tries, and
 * whatever comes of that it passes the readiness it left on to the next. Until then it holds the claim:
 * a newcomer that finds the claim held, or somebody in line, stands in line too. Who was woken for
 * nothing goes back to its old place. Observers take nothing and stand in nobody's way. */
#ifndef SCHED_DESCRIPTOR_H
#define SCHED_DESCRIPTOR_H

#include <bide/time.h>

#include "base/check.h"
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

/* One cache line, and all that a call looks at. */
struct descriptor {
	struct list waiters[2];   /* per direction, in order of arrival */
	struct link doubt;        /* in descriptors.doubted or .asked, if a wait may be to be asked about */
	uint32_t generation;      /* changes when the number is given to another file by us */
	uint32_t registration;    /* the poller's key is number and registration: counts them */
	uint8_t is_ready[2];      /* a call may succeed */
	uint8_t is_claimed[2];    /* the next in line was woken, and has not let go yet */
	uint8_t is_registered : 1;
	uint8_t reports_room : 1; /* it was registered for room to write as well */
	uint8_t is_asked : 1;     /* of the two, it is .asked */
	uint8_t is_listener : 1;  /* an event told of a connection */
	uint8_t is_hung_up : 1;   /* RDHUP, HUP or ERR was seen: a short read does not mean drained */
	uint8_t waits_since;      /* the period of doubts in which the oldest wait began */
	uint8_t kind;             /* enum descriptor_kind */
	int8_t is_tcp;            /* 1: a short read means drained; 0: not; -1: not known yet */
};

#define DESCRIPTORS_PAGE 64 /* records: a sparse high number costs one page of them */

struct descriptors {
	struct descriptor **pages;
	size_t page_count;
	const struct memory *memory;
	size_t waiting;           /* tasks that wait for a descriptor, or have not run since */
	size_t fired;             /* of these: woken by an event */
	uint64_t tickets;         /* drawn so far */

	/* Doubts. */
	struct list doubted;      /* not asked about yet */
	struct list asked;        /* asked in passing, and to be asked for good when all is quiet */
	size_t listed;            /* in the two lists */
	bide_time asked_at;       /* when doubted ones were last asked about */
	bide_time heard_at;       /* when the poller last had something to tell */
	uint8_t period;           /* counts the times that it was asked in passing */
};

/* What it is, or is to be, registered for. */
static inline uint32_t descriptor_interest(const struct descriptor *descriptor)
{
	return POLLER_IN | (descriptor->reports_room ? POLLER_OUT : 0u);
}

/* In wait.events, beside POLLER_ bits. The ticket is in wait.slot. */
enum {
	WAIT_OBSERVES = 0x8000,
	WAIT_CLAIMS = 0x4000, /* how the wait ended: woken as the next in line */
	WAIT_UNSURE = 0x2000, /* it may be for another file than the registered one */
	WAIT_FIRED = 0x1000   /* it was ended by an event */
};

/* The place of a call in the line of its descriptor; all zero while it has not waited. */
struct place {
	uint64_t ticket; /* drawn at its first wait */
	bool has_claim;
};

struct task;
struct loop;

void descriptors_init(struct descriptors *descriptors, const struct memory *memory);
void descriptors_destroy(struct descriptors *descriptors);

/* The record of fd if there is one. */
static inline struct descriptor *descriptor_find(const struct descriptors *descriptors, int fd)
{
	size_t page = (size_t)(unsigned)fd / DESCRIPTORS_PAGE; /* no table is so large that it has a negative one */
	if (unlikely(page >= descriptors->page_count) || unlikely(!descriptors->pages[page]))
		return NULL;
	return &descriptors->pages[page][(unsigned)fd % DESCRIPTORS_PAGE];
}

/* The record of fd, made if need be. NULL with ENOMEM, or with EBADF: negative; or not open, which is
 * looked at only if there is no record. */
struct descriptor *descriptor_get(struct loop *loop, int fd);

/* Puts `wait`, whose object is the descriptor's record and whose detail its number, in the line of
 * `direction`, until the descriptor may be ready for `events` (POLLER_ bits). Who has no place (NULL) only
 * looks, and is woken with everybody. 0, or an errno: of the registration, EBADF, ENOMEM or ENOSPC;
 * EALREADY for a descriptor that cannot be polled (it is always ready; its kind is FILE). */
int descriptor_enqueue(struct loop *loop, struct wait *wait, int direction, uint32_t events,
    struct place *place);

/* After the park, with the wait no longer queued, which descriptor_enqueue() put there. */
static inline void descriptor_leave(struct descriptors *descriptors, const struct wait *wait, struct place *place)
{
	descriptors->waiting--;
	if (wait->events & WAIT_FIRED)
		descriptors->fired--;
	if (place)
		place->has_claim = wait->events & WAIT_CLAIMS;
}

/* What poll() says of fd now: bits, 0 for none of `events`, or -1 with errno (EBADF). */
int descriptor_poll(int fd, int events);
/* POLLIN ... as POLLER_IN ... */
uint32_t poller_events_of_poll(int events);

bool descriptor_has_queue(const struct descriptor *descriptor, int direction);

/* Is somebody in line for `direction`, or served just now? */
static inline bool descriptor_has_line(const struct descriptor *descriptor, int direction)
{
	return descriptor->is_claimed[direction] ||
	    (!list_is_empty(&descriptor->waiters[direction]) && descriptor_has_queue(descriptor, direction));
}

/* A call that comes now may be tried at once: it is ready, and nobody waits or is served. */
static inline bool descriptor_is_free(const struct descriptor *descriptor, int direction)
{
	return descriptor->is_ready[direction] && !descriptor->is_claimed[direction] &&
	    list_is_empty(&descriptor->waiters[direction]);
}

/* Gives the next in line its chance if `direction` was left ready. */
void descriptor_wake_next(struct descriptor *descriptor, int direction);

/* After a call: lets go of the claim, if the call has it, and so of the line. */
static inline void descriptor_pass_on(struct descriptor *descriptor, int direction, struct place *place)
{
	if (place->has_claim)
		descriptor->is_claimed[direction] = 0;
	place->has_claim = false;
	if (unlikely(!list_is_empty(&descriptor->waiters[direction])) && descriptor->is_ready[direction])
		descriptor_wake_next(descriptor, direction);
}

/* Ends all waits. */
void descriptor_wake_all(struct descriptor *descriptor, int status);

/* The number is about to be closed, or given away: everybody who waits fails with EBADF, and what
 * was remembered is forgotten. */
void descriptor_forget(struct loop *loop, int fd);

/* A fresh descriptor from the kernel is known to be a new file: forgets what an older one under this
 * number left. `kind` and `is_tcp` as in the record. Without memory for a record nothing is
 * remembered, and nothing was. */
void descriptor_fresh(struct loop *loop, int fd, enum descriptor_kind kind, int is_tcp);

/* So many events are fetched ahead for in one go; and so many are taken at a time where nothing else is ready. */
#define HANDFUL 16

/* Turns fetched events into ready tasks. */
void descriptors_fire(struct loop *loop, const struct poller_event *events, int count);

/* What the poller knows a descriptor by: events of a file that had the number before have another key. */
static inline uint64_t descriptor_key(int fd, uint32_t registration)
{
	return (uint64_t)registration << 32 | (uint32_t)fd;
}

/* Nothing is known of the file any more; events under way are of the one before. */
void descriptor_reset(struct descriptor *descriptor);

#endif
