/* SPDX-License-Identifier: MIT
 * Layer sched: the timer heap. */
#include "sched/timer.h"

#include "base/list.h"

void timers_init(struct timers *timers, const struct memory *memory)
{
	*timers = (struct timers){ .pledged = 0 };
	heap_init(&timers->heap, memory);
}

void timers_destroy(struct timers *timers)
{
	heap_destroy(&timers->heap);
}

int timers_make_room(struct timers *timers, size_t count)
{
	return heap_reserve(&timers->heap, timers->pledged + count);
}

void timers_trim(struct timers *timers)
{
	heap_reserve(&timers->heap, timers->pledged);
}

struct timer *timers_pop_expired(struct timers *timers, bide_time now)
{
	struct heap_node *node = heap_min(&timers->heap);
	if (!node || node->key > now || node->key == BIDE_NEVER)
		return NULL;
	heap_remove(&timers->heap, node);
	return container_of(node, struct timer, node);
}
