/* SPDX-License-Identifier: MIT
 * Layer inspect: JSON written to a file, through a buffer in the heap: what stops a trace may be a task with a
 * small stack. The first error is kept, and nothing is written behind it. */
#ifndef INSPECT_TRACE_OUT_H
#define INSPECT_TRACE_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/output.h"

#define TRACE_OUT_ROOM 16384

struct trace_out {
	struct output to;
	int err;     /* the first; 0: none */
	size_t used;
	char buf[TRACE_OUT_ROOM];
};

/* 0, or -1 with errno. */
int trace_out_open(struct trace_out *out, const char *path);
/* 0, or -1 with the first errno. */
int trace_out_close(struct trace_out *out);

void trace_out_add(struct trace_out *out, const char *text);
void trace_out_number(struct trace_out *out, uint64_t number);
void trace_out_signed(struct trace_out *out, int64_t number);
/* As a string of JSON that may stand in a page of HTML, and is UTF-8 whatever `text` is; cut to `most` bytes. */
void trace_out_string(struct trace_out *out, const char *text, size_t most);

#endif
