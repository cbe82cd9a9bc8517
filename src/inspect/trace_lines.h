/* SPDX-License-Identifier: MIT
 * Layer inspect: the lines of a trace's file: what is common to all, and slices, which end when the track goes over
 * into another state. */
#ifndef INSPECT_TRACE_LINES_H
#define INSPECT_TRACE_LINES_H

#include "inspect/trace_json.h"
#include "inspect/trace_out.h"
#include "inspect/trace_places.h"
#include "inspect/trace_tracks.h"

struct trace_json {
	struct trace_out out;
	struct trace_scale scale;
	struct tracks tracks;
	struct trace_places places;
	const char *path;
	int err;                /* besides that of writing */
	uint64_t lost;
	uint64_t flows;         /* arrows so far */
	uint64_t written;       /* events of the rings before this one */
	const struct trace_event *events, *event, *end; /* of this ring: the first, the one in hand, behind the last */
	uint64_t now;           /* ns, of the one in hand */
};

void trace_key(struct trace_json *json, const char *name);
void trace_number(struct trace_json *json, const char *name, uint64_t value);
void trace_text(struct trace_json *json, const char *name, const char *value);

/* A line up to its args. */
void trace_line(struct trace_json *json, const char *phase, const char *name, const struct track *track, uint64_t ns);
/* Its args, which begin with the number of an event of this ring: {"n":1. Who closes them, and the line:
 * trace_line_end(). */
void trace_args(struct trace_json *json, const struct trace_event *event);
void trace_line_end(struct trace_json *json);

/* The event in hand begins a slice of the track, and ends the one before. `state` is its name, and stays. */
void trace_slice(struct trace_json *json, struct track *track, const char *state);
/* Writes the slice that is open, if there is one. */
void trace_slice_end(struct trace_json *json, struct track *track, uint64_t ns);

/* Writes the event in hand. */
void trace_event_write(struct trace_json *json);

#endif
