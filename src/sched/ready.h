/* SPDX-License-Identifier: MIT
 * Layer sched: the ready queue, a FIFO of tasks and callbacks, and the turn.
 *
 * A turn is the entries that were ready at its start. Since the queue is a FIFO, a turn is no more
 * than a mark on its last entry; what becomes ready meanwhile stands behind the mark. */
#ifndef SCHED_READY_H
#define SCHED_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/random.h"

/* What can be ready. */
struct entry {
	struct link link;
	void (*run)(struct entry *entry); /* a callback, on the loop's stack; NULL: a task */
};

struct ready_queue {
	struct list entries;
	struct link *turn_end; /* the turn's last entry; NULL: the next pop begins a turn */
	uint64_t turn;         /* how many have begun */
	bool is_random;
	struct random random;
	struct link **scratch; /* for the shuffle */
	size_t scratch_count;
	const struct memory *memory;
};

void ready_init(struct ready_queue *queue, const struct memory *memory, bool is_random, uint64_t seed);
void ready_destroy(struct ready_queue *queue);

/* Only when the queue is random: shuffles the tasks among their places; callbacks keep theirs. */
void ready_shuffle(struct ready_queue *queue);

static inline void ready_push(struct ready_queue *queue, struct entry *entry)
{
	link_insert_before(&entry->link, &queue->entries.head);
}

static inline bool ready_is_empty(const struct ready_queue *queue)
{
	return queue->entries.head.next == &queue->entries.head;
}

static inline void ready_begin_turn(struct ready_queue *queue)
{
	queue->turn++;
	if (unlikely(queue->is_random))
		ready_shuffle(queue);
	queue->turn_end = queue->entries.head.prev;
}

/* The next to run, NULL if there is none. */
static inline struct entry *ready_pop(struct ready_queue *queue)
{
	struct link *head = &queue->entries.head;
	if (ready_is_empty(queue))
		return NULL;
	if (!queue->turn_end)
		ready_begin_turn(queue);
	struct link *link = head->next, *next = link->next;
	if (link == queue->turn_end)
		queue->turn_end = NULL;
	/* As link_remove(), but the compiler sees that it is the head's own link that is written, and last. */
	link->next = NULL;
	next->prev = head;
	head->next = next;
	return container_of(link, struct entry, link);
}

/* Takes an entry out before its turn. */
static inline void ready_remove(struct ready_queue *queue, struct entry *entry)
{
	if (&entry->link == queue->turn_end)
		queue->turn_end = entry->link.prev == &queue->entries.head ? NULL : entry->link.prev;
	link_remove(&entry->link);
}

#endif
