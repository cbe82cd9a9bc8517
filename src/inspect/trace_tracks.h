/* SPDX-License-Identifier: MIT
 * Layer inspect: the tracks of a trace that is written: one for each task of each run, found by both numbers. */
#ifndef INSPECT_TRACE_TRACKS_H
#define INSPECT_TRACE_TRACKS_H

#include <stdint.h>

#include "inspect/trace_ring.h"

struct track {
	uint64_t task;          /* its id; 0 is the loop's own track */
	uint32_t run;
	uint32_t number;        /* its own, from 1 on; 0: this place is free */
	char name[TRACE_TEXT_SIZE];
	uint64_t fn;            /* what it calls; 0: that is not known */
	uint64_t flow;          /* the arrow that leads to its next slice; 0: none */

	/* The slice that is open. */
	const char *state;      /* NULL: none */
	int32_t fd;             /* for whose sake; -1: none */
	uint64_t since;         /* ns */
	const struct trace_event *began; /* the event it began by */
};

struct tracks {
	struct track *all;
	size_t capacity;        /* a power of two; 0: there are none */
	size_t count;
};

/* NULL if there is none. */
struct track *tracks_find(const struct tracks *tracks, uint32_t run, uint64_t task);
/* Made if need be; NULL with ENOMEM. Moves the others. */
struct track *tracks_get(struct tracks *tracks, uint32_t run, uint64_t task);
void tracks_destroy(struct tracks *tracks);

#endif
