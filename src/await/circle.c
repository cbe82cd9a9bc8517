/* SPDX-License-Identifier: MIT
 * Layer await: circles of waits. From the task that wants to wait the search goes to those who depend on it,
 * on to those who depend on them, and marks each once. Usually nobody does, and it ends where it began;
 * in the other direction it would look at every child of a large group at every join of its owner. */
#include "await/circle.h"

#include "await/group.h"

struct search {
	uint64_t number;
	struct await_task *found; /* marked, and not looked at yet; linked by annex.circle_next */
};

static void mark(struct search *search, struct await_task *task)
{
	struct annex *annex = annex_of(task);
	if (annex->circle_search == search->number)
		return;
	annex->circle_search = search->number;
	annex->circle_next = search->found;
	search->found = task;
}

/* It was woken, by a cancel perhaps, and has not run since: unless it owns what it waited for, that is over. */
static bool has_been_woken(const struct task *waiter)
{
	return waiter->state != TASK_SUSPENDED && waiter->wait.kind == WAIT_FUTURES;
}

/* Whoever stands in the queue of its completion and can only go on when it comes. */
static void mark_waiters(struct search *search, const struct await_task *task)
{
	list_each(link, &task_outcome(task)->queue) {
		struct task *waiter = future_dependent(container_of(link, struct wait, link));
		if (waiter && !has_been_woken(waiter))
			mark(search, await_task_of(waiter));
	}
}

static void mark_parents(struct search *search, const struct child *child)
{
	struct await_task *starter = child_starter(child);
	mark(search, child->group->owner);
	if (starter && starter->task.state == TASK_SUSPENDED)
		mark(search, starter);
}

void circle_find(struct await_task *self)
{
	struct search search = { .number = ++run_of(self->task.loop)->circle_searches };
	mark(&search, self);
	while (search.found) {
		struct await_task *task = search.found;
		search.found = annex_of(task)->circle_next;
		mark_waiters(&search, task);
		if (task->child)
			mark_parents(&search, task->child);
	}
}
