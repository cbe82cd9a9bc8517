/* SPDX-License-Identifier: MIT
 * Layer base: bytes to a descriptor that somebody reads, or nobody. However full it is, a write comes back: who reads
 * nothing for a second gets no more. The descriptor's flags are left alone, since the file may be another process's
 * too, so nothing is written that could block:
 *
 *      a regular file    all at once: it has room, or fails
 *      a pipe            PIPE_BUF bytes when it has room for them; where the kernel can, without a wait also if another
 *                        writer was quicker (RWF_NOWAIT)
 *      a socket          whatever it takes without a wait
 *      a terminal        a few bytes when it has room for some, since it may have no room for more
 *
 * stderr has one more rule, for all threads: after somebody has waited for it in vain, nobody does, until it has room.
 * Then it is said that something was cut. */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include <bide/time.h>

/* How long a text of ours to stderr may take in all, however slowly it is read. */
#define OUTPUT_PATIENCE (10 * BIDE_SEC)

enum output_kind {
	OUTPUT_FILE,
	OUTPUT_PIPE,
	OUTPUT_POLLED_PIPE, /* without RWF_NOWAIT */
	OUTPUT_SOCKET,
	OUTPUT_OTHER
};

struct output {
	int fd;
	enum output_kind kind;
	bide_time until; /* in real time */
};

/* All that is written is to be written in `patience` (BIDE_NEVER: as long as it is read at all). */
void output_begin(struct output *output, int fd, bide_time patience);

/* 0, or -1 with errno: EAGAIN nobody reads it. A part may have been written. Async-signal-safe. */
int output_write(struct output *output, const char *from, size_t size);

/* A report: whether anybody reads it is nobody's concern. Async-signal-safe, keeps errno. */
void output_to_stderr(const char *text, size_t size);

#endif
