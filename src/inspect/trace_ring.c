/* SPDX-License-Identifier: MIT
 * Layer inspect: the ring of a trace. See trace_ring.h. */
#include "inspect/trace_ring.h"

#include "base/memory.h"

static size_t size_of(const struct trace_ring *ring)
{
	return (size_t)(ring->mask + 1) * sizeof(struct trace_event);
}

/* Raw: pages that were never written to cost nothing. */
int trace_ring_init(struct trace_ring *ring, size_t slots)
{
	atomic_store_explicit(&ring->count, 0, memory_order_relaxed);
	ring->mask = slots - 1;
	ring->slots = memory_alloc_raw(&memory_default, size_of(ring));
	return ring->slots ? 0 : -1;
}

void trace_ring_destroy(struct trace_ring *ring)
{
	memory_free(&memory_default, ring->slots, size_of(ring));
}

size_t trace_ring_room(const struct trace_ring *ring)
{
	uint64_t count = atomic_load_explicit(&ring->count, memory_order_acquire);
	return (size_t)(count < ring->mask ? count : ring->mask);
}

static void copy_slot(struct trace_ring *ring, uint64_t index, struct trace_event *event)
{
	uint64_t words[TRACE_EVENT_WORDS] = { 0 };
	for (size_t i = 0; i < TRACE_EVENT_WORDS; i++)
		words[i] = atomic_load_explicit(&ring->slots[index & ring->mask][i], memory_order_relaxed);
	memcpy(event, words, sizeof *event);
}

/* The slot after the newest may be half written, so it does not count; and what was overwritten while it was
 * copied is thrown away. */
size_t trace_ring_copy(struct trace_ring *ring, struct trace_event *events, uint64_t *lost)
{
	size_t room = trace_ring_room(ring);
	uint64_t count = atomic_load_explicit(&ring->count, memory_order_acquire);
	uint64_t first = count > room ? count - room : 0;
	for (size_t i = 0; i < (size_t)(count - first); i++)
		copy_slot(ring, first + i, &events[i]);
	atomic_thread_fence(memory_order_acquire);
	uint64_t now = atomic_load_explicit(&ring->count, memory_order_relaxed);
	uint64_t oldest = now > ring->mask ? now - ring->mask : 0;
	if (oldest > count)
		oldest = count;
	size_t torn = oldest > first ? (size_t)(oldest - first) : 0;
	memmove(events, events + torn, (size_t)(count - first - torn) * sizeof *events);
	*lost = first + torn;
	return (size_t)(count - first - torn);
}
