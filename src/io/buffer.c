/* SPDX-License-Identifier: MIT
 * Layer io: the buffers of streams. See buffer.h. */
#include "io/buffer.h"

#include <string.h>

#define SPARE_LIMIT 16 /* buffers kept warm; what is more goes back to the heap */

/* In the memory of a buffer that nobody has. */
struct spare {
	struct spare *next;
};

struct buffer_pool {
	unsigned holders;
	unsigned count;
	struct spare *spares;
};

static struct buffer_pool *pool_of(const struct loop *loop)
{
	return loop->rooms[LOOP_ROOM_IO];
}

int buffer_pool_hold(struct loop *loop)
{
	if (!pool_of(loop))
		loop->rooms[LOOP_ROOM_IO] = memory_alloc(loop->memory, sizeof(struct buffer_pool));
	if (!pool_of(loop))
		return -1;
	pool_of(loop)->holders++;
	return 0;
}

void buffer_pool_release(struct loop *loop)
{
	struct buffer_pool *pool = pool_of(loop);
	if (--pool->holders > 0)
		return;
	while (pool->spares) {
		struct spare *spare = pool->spares;
		pool->spares = spare->next;
		memory_free(loop->memory, spare, BUFFER_SIZE);
	}
	memory_free(loop->memory, pool, sizeof *pool);
	loop->rooms[LOOP_ROOM_IO] = NULL;
}

static char *take_block(struct loop *loop, size_t size)
{
	struct buffer_pool *pool = pool_of(loop);
	struct spare *spare = pool->spares;
	if (size != BUFFER_SIZE || !spare)
		return memory_alloc_raw(loop->memory, size);
	pool->spares = spare->next;
	pool->count--;
	return (char *)spare;
}

static void give_block(struct loop *loop, char *block, size_t size)
{
	struct buffer_pool *pool = pool_of(loop);
	if (size != BUFFER_SIZE || pool->count == SPARE_LIMIT) {
		memory_free(loop->memory, block, size);
		return;
	}
	struct spare *spare = (struct spare *)(void *)block;
	spare->next = pool->spares;
	pool->spares = spare;
	pool->count++;
}

static void move_to_start(struct buffer *buffer)
{
	if (buffer->start == 0)
		return;
	memmove(buffer->bytes, buffer_bytes(buffer), buffer_count(buffer));
	buffer->end -= buffer->start;
	buffer->start = 0;
}

static size_t larger(const struct buffer *buffer, size_t wanted)
{
	size_t capacity = buffer->capacity ? buffer->capacity : BUFFER_SIZE;
	if (capacity >= wanted)
		return capacity;
	return wanted > 2 * capacity ? wanted : 2 * capacity;
}

int buffer_reserve(struct loop *loop, struct buffer *buffer, size_t wanted)
{
	size_t capacity = larger(buffer, wanted), count = buffer_count(buffer);
	if (capacity == buffer->capacity) {
		if (buffer_room(buffer) == 0 || buffer->start + wanted > capacity)
			move_to_start(buffer);
		return 0;
	}
	char *bytes = take_block(loop, capacity);
	if (!bytes)
		return -1;
	if (buffer->bytes) {
		memcpy(bytes, buffer_bytes(buffer), count);
		give_block(loop, buffer->bytes, buffer->capacity);
	}
	*buffer = (struct buffer){ .bytes = bytes, .capacity = capacity, .end = count };
	return 0;
}

void buffer_settle(struct loop *loop, struct buffer *buffer)
{
	if (buffer->bytes && buffer_count(buffer) == 0)
		buffer_clear(loop, buffer);
}

void buffer_clear(struct loop *loop, struct buffer *buffer)
{
	if (buffer->bytes)
		give_block(loop, buffer->bytes, buffer->capacity);
	*buffer = (struct buffer){ 0 };
}

size_t buffer_get(struct buffer *buffer, void *bytes, size_t size)
{
	size_t count = buffer_count(buffer) < size ? buffer_count(buffer) : size;
	if (count > 0)
		memcpy(bytes, buffer_bytes(buffer), count);
	buffer->start += count;
	return count;
}

size_t buffer_put(struct buffer *buffer, const void *bytes, size_t size)
{
	size_t count = buffer_room(buffer) < size ? buffer_room(buffer) : size;
	if (count > 0)
		memcpy(buffer->bytes + buffer->end, bytes, count);
	buffer->end += count;
	return count;
}
