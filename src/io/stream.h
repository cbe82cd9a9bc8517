/* SPDX-License-Identifier: MIT
 * Layer io: the buffered stream, as its files share it. What it is over is behind bide_stream_ops, whose
 * read and write do not wait: so the stream knows when no more input is ready, which is when it sends
 * its output, and holds no buffer while it waits.
 *
 * Each direction is one task's at a time: a call takes the turn, does its work, however often that parks,
 * and hands the turn to the next in line. */
#ifndef IO_STREAM_H
#define IO_STREAM_H

#include <bide/stream.h>

#include "base/fail.h"
#include "io/buffer.h"

enum stream_direction {
	READING,
	WRITING
};

struct turn {
	struct list line;  /* tasks that wait for it, in order of arrival */
	bool is_taken;
};

/* bide_stream */
struct stream {
	struct loop *loop;
	const bide_stream_ops *ops;
	void *ctx;
	unsigned calls;      /* under way; the last one to leave a closed stream frees it */
	bool is_closed;      /* ops->close was called: ops and ctx are gone */
	bool has_ended;      /* no more output is allowed */
	bool is_starved;     /* a reader is parked until there is input */
	struct turn turns[2]; /* by enum stream_direction */
	struct buffer in;     /* touched by who has the turn to read */
	struct buffer out;    /* by who has the turn to write */
};

/* May this thread use it? 0, or -1 with EINVAL (NULL) or EPERM. */
int stream_check(const struct stream *stream);

/* How a call that may suspend begins, stream_check included: 0 with the turn, or -1 with errno. And how it ends: errno
 * is kept, and the stream may be gone. Returns `result`. */
int stream_enter(struct stream *stream, enum stream_direction direction);
ssize_t stream_leave(struct stream *stream, enum stream_direction direction, ssize_t result);

/* For a step on the way: false if it is somebody's. */
bool turn_try(struct turn *turn);
void turn_give(struct turn *turn);

/* ops->wait. 0, or -1 with errno, which is EBADF if the stream was closed meanwhile. */
int stream_wait(struct stream *stream, int events);

/* With the turn to write. try_send sends what it can without waiting: 0 all, -1 with EAGAIN or another
 * errno. send_all waits. What was not sent stays. */
int stream_try_send(struct stream *stream);
int stream_send_all(struct stream *stream);

static inline struct stream *stream_of(bide_stream *stream)
{
	return (struct stream *)stream;
}

#endif
