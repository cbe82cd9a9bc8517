/* SPDX-License-Identifier: MIT
 * Layer sched: its invariants, executable. Tests call sched_check() after every step. */
#include "sched/loop.h"

static void check_record(void *record, void *arg)
{
	const struct task *task = record;
	const struct loop *loop = arg;
	if (!task->loop)
		return;
	CHECK(task->loop == loop, "a record belongs to its loop");
	CHECK(task->state != TASK_RUNNING && (task != loop->running || task->state == TASK_READY),
	    "one task runs at most, and it is not parked");
	CHECK(task->state == TASK_SUSPENDED || !timer_is_armed(&task->timer),
	    "only a parked task has its timer armed");
	if (task != loop->running && (task->state == TASK_CREATED || task->state == TASK_READY))
		CHECK(link_is_linked(&task->entry.link), "a task that can run is in the ready queue");
}

void sched_check(const struct loop *loop)
{
	CHECK(heap_check(&loop->timers.heap), "the timer heap is in order");
	for (const struct link *link = &loop->ready.entries.head;;) {
		CHECK(link->next->prev == link, "the ready queue is linked both ways");
		link = link->next;
		if (link == &loop->ready.entries.head)
			break;
	}
	slab_each(&loop->tasks, check_record, (void *)(uintptr_t)loop);
}
