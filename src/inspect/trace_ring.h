/* SPDX-License-Identifier: MIT
 * Layer inspect: the events of a trace, and the ring that keeps the latest of a loop. The loop's thread puts
 * events in without a lock; any thread may take a copy meanwhile. */
#ifndef INSPECT_TRACE_RING_H
#define INSPECT_TRACE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "sched/trace.h"

#define TRACE_FRAMES 5
#define TRACE_TEXT_SIZE 32

/* Events are what the layers below tell of (enum trace_kind), and: */
enum {
	TRACE_STACK = TRACE_KIND_COUNT /* behind a PARK or READY of the same task: where it stands */
};

struct trace_event {
	uint64_t cycles; /* when */
	uint64_t task;   /* its id; 0: of no task */
	uint32_t run;    /* which bide_run() of the trace */
	uint8_t kind;
	uint8_t wait;    /* PARK, WAKE: enum wait_kind */
	int16_t err;
	union {
		struct {
			uint64_t by;     /* the id of the task in whose slice it was; 0: on the loop's own account */
			union {
				struct {
					uint64_t object; /* an address, or another task's id */
					int64_t value;
					uint64_t site;   /* SPAWN: the call's address */
					int32_t fd;      /* PARK, for a descriptor; else -1 */
					uint16_t events; /* ... and POLLER_ bits */
					bool is_known;   /* SPAWN: it was there before the trace */
				};
				char text[TRACE_TEXT_SIZE]; /* NAME, END: the task's name; CANCEL: the reason; cut */
			};
		};
		uint64_t frames[TRACE_FRAMES]; /* STACK: innermost first, 0 behind the last */
	};
};

#define TRACE_EVENT_WORDS (sizeof(struct trace_event) / sizeof(uint64_t))
_Static_assert(sizeof(struct trace_event) == 64, "an event is a cache line");

struct trace_ring {
	atomic_uint_fast64_t count;    /* events ever put in */
	uint64_t mask;
	atomic_uint_fast64_t (*slots)[TRACE_EVENT_WORDS];
};

/* `slots` is a power of two. 0, or -1 with ENOMEM. */
int trace_ring_init(struct trace_ring *ring, size_t slots);
void trace_ring_destroy(struct trace_ring *ring);

/* Words are atomic only for who copies. Each is stored behind the count before it: who sees one also sees that its
 * slot was about to be overwritten. */
static inline void trace_ring_put(struct trace_ring *ring, const struct trace_event *event)
{
	uint64_t count = atomic_load_explicit(&ring->count, memory_order_relaxed);
	uint64_t words[TRACE_EVENT_WORDS];
	memcpy(words, event, sizeof words);
	atomic_uint_fast64_t *slot = ring->slots[count & ring->mask];
	for (size_t i = 0; i < TRACE_EVENT_WORDS; i++)
		atomic_store_explicit(&slot[i], words[i], memory_order_release);
	atomic_store_explicit(&ring->count, count + 1, memory_order_release);
}

/* How many events a copy has at most. */
size_t trace_ring_room(const struct trace_ring *ring);

/* Copies what is there, oldest first, and sets *lost to how many there were before these. Returns how many. */
size_t trace_ring_copy(struct trace_ring *ring, struct trace_event *events, uint64_t *lost);

#endif
