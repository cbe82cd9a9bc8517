/* SPDX-License-Identifier: MIT
 * Streams of every kind in pairs: what is written to one is read from the other. */
#ifndef SUPPORT_STREAMS_H
#define SUPPORT_STREAMS_H

#include "suite.h"

struct stream_kind {
	const char *name;
	bool is_memory;
	size_t capacity; /* of a pair in memory */
	void (*make_fds)(int fds[2]);
};

#define STREAM_KINDS 5
extern const struct stream_kind stream_kinds[STREAM_KINDS];

/* In a loop; fails the test if it cannot. */
void streams_open(const struct stream_kind *kind, bide_stream *streams[2]);
/* Closes what is not NULL, dropping output. */
void streams_abort(bide_stream *streams[2]);

/* Writes all of text. */
void stream_say(bide_stream *stream, const char *text);
/* The next bytes, up to a flush that waits, are these and no others. */
void stream_expect(bide_stream *stream, const char *text);

#endif
