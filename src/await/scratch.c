/* SPDX-License-Identifier: MIT
 * Layer await: memory of calls that wait. A call that waits returns before the one that it was made in, so a
 * task's pieces are a stack of their own. */
#include "await/scratch.h"

#include "await/record.h"

struct scratch {
	struct scratch *below;
	size_t size; /* with this head */
	_Alignas(max_align_t) char memory[];
};

void *scratch_get(struct task *self, size_t size)
{
	struct scratch *scratch = memory_alloc(self->loop->memory, sizeof *scratch + size);
	if (!scratch)
		return NULL;
	struct annex *annex = annex_of(await_task_of(self));
	scratch->below = annex->scratch;
	scratch->size = sizeof *scratch + size;
	annex->scratch = scratch;
	return scratch->memory;
}

static void pop(struct await_task *task)
{
	struct annex *annex = annex_of(task);
	struct scratch *scratch = annex->scratch;
	annex->scratch = scratch->below;
	memory_free(task->task.loop->memory, scratch, scratch->size);
}

void scratch_put(struct task *self, void *memory)
{
	struct await_task *task = await_task_of(self);
	CHECK(annex_peek(task)->scratch == container_of(memory, struct scratch, memory), "calls end in order");
	int saved = errno;
	pop(task);
	errno = saved;
}

void scratch_free(struct await_task *task)
{
	while (annex_peek(task)->scratch)
		pop(task);
}
