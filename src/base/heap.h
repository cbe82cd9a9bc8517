/* SPDX-License-Identifier: MIT
 * Layer base: a 4-ary min-heap of nodes by a 64-bit key. Equal keys come out in the order they went
 * in. A node knows its position, so any node is removed at once.
 *
 * The array has the keys beside the pointers, so that sifting touches the nodes only to tell them
 * their new place and, between equal keys, for the sequence number. The root is at index 3: the
 * four children of a node then lie in one cache line. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

struct heap_node {
	int64_t key;
	uint64_t sequence;
	uint32_t index; /* 0: in no heap */
	uint32_t note;  /* the owner's; the heap leaves it alone */
};

struct heap_slot {
	int64_t key;
	struct heap_node *node;
};

struct heap {
	struct heap_slot *slots; /* aligned to a cache line, within block */
	size_t count;
	size_t capacity;         /* nodes */
	uint64_t next_sequence;
	const struct memory *memory;
	void *block;
};

void heap_init(struct heap *heap, const struct memory *memory);
void heap_destroy(struct heap *heap);

/* Makes room for `count` nodes in all; also gives memory back when far fewer are wanted (unless that
 * fails). 0, or -1 with ENOMEM. */
int heap_reserve(struct heap *heap, size_t count);

/* There must be room, and the node in no heap; its key is set by the caller. */
void heap_push(struct heap *heap, struct heap_node *node);
void heap_remove(struct heap *heap, struct heap_node *node);

#define HEAP_ROOT 3
#define HEAP_LEAST_CAPACITY 64

static inline struct heap_node *heap_min(const struct heap *heap)
{
	return heap->count ? heap->slots[HEAP_ROOT].node : NULL;
}

static inline bool heap_contains(const struct heap_node *node)
{
	return node->index != 0;
}

/* True if every node is in order and knows its place. O(n), for tests and debug mode. */
bool heap_check(const struct heap *heap);

#endif
