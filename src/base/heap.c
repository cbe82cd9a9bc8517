/* SPDX-License-Identifier: MIT
 * Layer base: 4-ary min-heap with first-in order among equals. */
#include "base/heap.h"

#include <errno.h>

#include "base/check.h"
#include "base/fail.h"

#define CACHE_LINE 64

static inline size_t parent_of(size_t index)
{
	return index / 4 + 2;
}

static inline size_t first_child_of(size_t index)
{
	return 4 * index - 8;
}

static inline bool comes_before(const struct heap_slot *a, const struct heap_slot *b)
{
	return a->key < b->key || (a->key == b->key && a->node->sequence < b->node->sequence);
}

static inline void place(struct heap *heap, size_t index, struct heap_slot slot)
{
	heap->slots[index] = slot;
	slot.node->index = (uint32_t)index;
}

static void sift_up(struct heap *heap, size_t index, struct heap_slot slot)
{
	while (index > HEAP_ROOT) {
		size_t parent = parent_of(index);
		if (!comes_before(&slot, &heap->slots[parent]))
			break;
		place(heap, index, heap->slots[parent]);
		index = parent;
	}
	place(heap, index, slot);
}

static size_t least_of(const struct heap *heap, size_t first, size_t end)
{
	size_t least = first;
	for (size_t i = first + 1; i < end; i++)
		if (comes_before(&heap->slots[i], &heap->slots[least]))
			least = i;
	return least;
}

static void sift_down(struct heap *heap, size_t index, struct heap_slot slot)
{
	size_t end = HEAP_ROOT + heap->count;
	for (;;) {
		size_t child = first_child_of(index);
		if (child >= end)
			break;
		size_t least = least_of(heap, child, child + 4 < end ? child + 4 : end);
		if (!comes_before(&heap->slots[least], &slot))
			break;
		place(heap, index, heap->slots[least]);
		index = least;
	}
	place(heap, index, slot);
}

void heap_init(struct heap *heap, const struct memory *memory)
{
	*heap = (struct heap){ .memory = memory };
}

static size_t block_size(size_t capacity)
{
	return (HEAP_ROOT + capacity) * sizeof(struct heap_slot) + CACHE_LINE;
}

void heap_destroy(struct heap *heap)
{
	if (heap->block)
		memory_free(heap->memory, heap->block, block_size(heap->capacity));
	heap->block = NULL;
}

static int set_capacity(struct heap *heap, size_t capacity)
{
	if (capacity > SIZE_MAX / 2 / sizeof(struct heap_slot))
		return fail_with(ENOMEM);
	char *block = memory_alloc_raw(heap->memory, block_size(capacity));
	if (!block)
		return -1;
	struct heap_slot *slots = (void *)(((uintptr_t)block + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1));
	for (size_t i = HEAP_ROOT; i < HEAP_ROOT + heap->count; i++)
		slots[i] = heap->slots[i];
	heap_destroy(heap);
	heap->block = block;
	heap->slots = slots;
	heap->capacity = capacity;
	return 0;
}

int heap_reserve(struct heap *heap, size_t count)
{
	if (count > heap->capacity) {
		size_t doubled = heap->capacity ? 2 * heap->capacity : HEAP_LEAST_CAPACITY;
		return set_capacity(heap, count > doubled ? count : doubled);
	}
	if (count < heap->capacity / 8 && heap->capacity > HEAP_LEAST_CAPACITY && heap->count <= count) {
		int saved = errno;
		if (set_capacity(heap, heap->capacity / 4) < 0)
			errno = saved;
	}
	return 0;
}

void heap_push(struct heap *heap, struct heap_node *node)
{
	CHECK(!heap_contains(node), "a node is in one heap at most");
	CHECK(heap->count < heap->capacity, "heap_reserve comes before heap_push");
	node->sequence = heap->next_sequence++;
	heap->count++;
	sift_up(heap, HEAP_ROOT + heap->count - 1, (struct heap_slot){ node->key, node });
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
	size_t index = node->index;
	CHECK(index >= HEAP_ROOT && index < HEAP_ROOT + heap->count && heap->slots[index].node == node,
	    "a node to be removed is where it says");
	node->index = 0;
	heap->count--;
	size_t last = HEAP_ROOT + heap->count;
	if (index == last)
		return;
	struct heap_slot moved = heap->slots[last];
	if (index > HEAP_ROOT && comes_before(&moved, &heap->slots[parent_of(index)]))
		sift_up(heap, index, moved);
	else
		sift_down(heap, index, moved);
}

bool heap_check(const struct heap *heap)
{
	for (size_t i = HEAP_ROOT; i < HEAP_ROOT + heap->count; i++) {
		const struct heap_slot *slot = &heap->slots[i];
		if (slot->node->index != i || slot->node->key != slot->key)
			return false;
		if (i > HEAP_ROOT && comes_before(slot, &heap->slots[parent_of(i)]))
			return false;
	}
	return heap->count <= heap->capacity;
}
