/* SPDX-License-Identifier: MIT
 * Layer inspect: a trace as a file that ui.perfetto.dev opens. docs/seeing-inside.md has the form. */
#ifndef INSPECT_TRACE_JSON_H
#define INSPECT_TRACE_JSON_H

#include <bide/time.h>

#include "inspect/trace_ring.h"

/* Moments of the cycle counter as nanoseconds: the line through two moments of both. */
struct trace_scale {
	uint64_t cycles;  /* at the trace's beginning: moment 0 */
	uint64_t elapsed; /* cycles from there to the end, */
	uint64_t ns;      /* and nanoseconds */
};

struct trace_json;

/* Opens the file and writes its beginning. NULL with errno. */
struct trace_json *trace_json_open(const char *path, const struct trace_scale *scale);

/* The events of one ring, oldest first. The first `names` of them are not part of what happened: they name
 * tasks. `lost` events came before. Without memory it fails as writing does: trace_json_close() tells. */
void trace_json_add(struct trace_json *json, const struct trace_event *events, size_t count, size_t names,
    uint64_t lost);

/* 0, or -1 with errno: then the file has no events. */
int trace_json_close(struct trace_json *json);

/* Writes a file without events, but nothing to a FIFO: whether it may be written. 0, or -1 with errno. */
int trace_json_empty(const char *path);

#endif
