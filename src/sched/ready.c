/* SPDX-License-Identifier: MIT
 * Layer sched: the random order of the ready queue, for tests. */
#include "sched/ready.h"

void ready_init(struct ready_queue *queue, const struct memory *memory, bool is_random, uint64_t seed)
{
	*queue = (struct ready_queue){ .is_random = is_random, .random = { seed }, .memory = memory };
	list_init(&queue->entries);
}

void ready_destroy(struct ready_queue *queue)
{
	memory_free(queue->memory, queue->scratch, queue->scratch_count * sizeof *queue->scratch);
}

static bool is_task(const struct link *link)
{
	return !container_of(link, struct entry, link)->run;
}

static bool reserve_scratch(struct ready_queue *queue, size_t count)
{
	if (count <= queue->scratch_count)
		return true;
	size_t wanted = 2 * count;
	struct link **scratch = memory_resize(queue->memory, queue->scratch,
	    queue->scratch_count * sizeof *scratch, wanted * sizeof *scratch);
	if (!scratch)
		return false;
	queue->scratch = scratch;
	queue->scratch_count = wanted;
	return true;
}

/* Without memory the turn keeps its order, which is a legal one too. */
void ready_shuffle(struct ready_queue *queue)
{
	size_t count = 0, tasks = 0;
	list_each(link, &queue->entries)
		count++;
	if (!reserve_scratch(queue, 2 * count))
		return;
	struct link **all = queue->scratch, **shuffled = all + count;
	count = 0;
	list_each(link, &queue->entries) {
		all[count++] = link;
		if (!is_task(link))
			continue;
		/* The inside-out Fisher-Yates shuffle. */
		size_t place = random_below(&queue->random, ++tasks);
		shuffled[tasks - 1] = shuffled[place];
		shuffled[place] = link;
	}
	list_init(&queue->entries);
	for (size_t i = 0, next_task = 0; i < count; i++)
		list_push_tail(&queue->entries, is_task(all[i]) ? shuffled[next_task++] : all[i]);
}
