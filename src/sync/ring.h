/* SPDX-License-Identifier: MIT
 * Layer sync: the buffer of a channel: a ring of items of one size. Whoever uses it sees that it is not full
 * before an item goes in and not empty before one is taken out. */
#ifndef SYNC_RING_H
#define SYNC_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/fail.h"

struct ring {
	size_t item_size;
	size_t capacity;
	size_t length; /* items in it */
	size_t first;  /* index of the oldest */
	_Alignas(max_align_t) char items[]; /* drop() is shown items where they lie */
};

/* The bytes that such items take; -1 with EINVAL if that is more than there can be. */
static inline int ring_bytes(size_t item_size, size_t capacity, size_t *bytes)
{
	bool is_too_much = __builtin_mul_overflow(item_size, capacity, bytes) || *bytes > SIZE_MAX / 2;
	return is_too_much ? fail_with(EINVAL) : 0;
}

static inline void *ring_place(struct ring *ring, size_t index)
{
	size_t at = ring->first + index;
	return ring->items + (at < ring->capacity ? at : at - ring->capacity) * ring->item_size;
}

static inline void ring_copy_item(const struct ring *ring, void *to, const void *from)
{
	if (ring->item_size > 0)
		memcpy(to, from, ring->item_size);
}

static inline void ring_push(struct ring *ring, const void *item)
{
	ring_copy_item(ring, ring_place(ring, ring->length), item);
	ring->length++;
}

/* The oldest item is out, and stays where it is until the next push. */
static inline void *ring_remove(struct ring *ring)
{
	void *item = ring_place(ring, 0);
	ring->first = ring->first + 1 < ring->capacity ? ring->first + 1 : 0;
	ring->length--;
	return item;
}

static inline void ring_pop(struct ring *ring, void *item)
{
	ring_copy_item(ring, item, ring_remove(ring));
}

#endif
