/* SPDX-License-Identifier: MIT
 * Layer io: the buffers of streams: bytes that came in at the end and leave at the start. Memory is taken
 * when the first byte comes and given back after the last. The usual size comes from a pool of the loop,
 * the last one given back first: it is in the processor's caches still. */
#ifndef IO_BUFFER_H
#define IO_BUFFER_H

#include <stddef.h>

#include "sched/loop.h"

#define BUFFER_SIZE ((size_t)32 * 1024)

struct buffer {
	char *bytes;     /* NULL: it has no memory, and is empty */
	size_t capacity;
	size_t start, end;
};

/* The pool lives while it is held. 0, or -1 with ENOMEM. */
int buffer_pool_hold(struct loop *loop);
void buffer_pool_release(struct loop *loop);

/* Makes room for more behind `end`, at least so much that `wanted` bytes in all could be there; moves what
 * is there. 0, or -1 with ENOMEM, and nothing has changed. */
int buffer_reserve(struct loop *loop, struct buffer *buffer, size_t wanted);

/* Gives the memory back if there is nothing in it. errno is kept. */
void buffer_settle(struct loop *loop, struct buffer *buffer);

/* Whatever is in it is gone. */
void buffer_clear(struct loop *loop, struct buffer *buffer);

/* Up to `size` bytes out of it, or into its room, as many as there are; how many. */
size_t buffer_get(struct buffer *buffer, void *bytes, size_t size);
size_t buffer_put(struct buffer *buffer, const void *bytes, size_t size);

static inline size_t buffer_count(const struct buffer *buffer)
{
	return buffer->end - buffer->start;
}

static inline size_t buffer_room(const struct buffer *buffer)
{
	return buffer->capacity - buffer->end;
}

static inline char *buffer_bytes(const struct buffer *buffer)
{
	return buffer->bytes + buffer->start;
}

#endif
