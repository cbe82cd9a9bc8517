/* SPDX-License-Identifier: MIT
 * Layer await: cycles of waits. Depth first from every task along what it waits for. The way back is kept in
 * the annexes (circle_next), as are the marks: one number for tasks on the way, the next for those that lead
 * nowhere. See cycle.h. */
#include "await/cycle.h"

#include "await/crew.h"
#include "await/describe.h"
#include "await/group.h"

struct search {
	uint64_t on_way, done;
	struct await_task *found;
};

/* ---- what a task waits for ------------------------------------------------------------------------------ */

static struct await_task *child_at(struct link *link)
{
	return link ? container_of(link, struct child, link)->task : NULL;
}

/* The one behind `task` among several that `waiter` waits for. */
static struct await_task *edge_after(const struct await_task *waiter, const struct await_task *task)
{
	const struct wait *wait = &waiter->task.wait;
	if (wait->kind == WAIT_CREW)
		return crew_pending_after(wait->object, task);
	if (wait->kind != WAIT_GROUP || !task->child || task->child->group != wait->object)
		return NULL;
	struct link *next = task->child->link.next;
	return next == &task->child->group->children.head ? NULL : child_at(next);
}

static struct await_task *first_edge(const struct await_task *waiter)
{
	const struct wait *wait = &waiter->task.wait;
	if (waiter->task.state != TASK_SUSPENDED)
		return NULL;
	if (wait->kind == WAIT_GROUP && wait->object)
		return child_at(list_head(&((const struct group *)wait->object)->children));
	return wait_culprit(waiter);
}

/* ---- the search ----------------------------------------------------------------------------------------- */

static bool was_met(const struct search *search, const struct await_task *task)
{
	return annex_peek(task)->circle_search == search->on_way || annex_peek(task)->circle_search == search->done;
}

/* The first edge, from `next` on, to a task that was not met before; *cycle tells of one to the way itself. */
static struct await_task *new_edge(const struct search *search, const struct await_task *task, struct await_task *next,
    struct await_task **cycle)
{
	for (; next && was_met(search, next); next = edge_after(task, next))
		if (annex_peek(next)->circle_search == search->on_way) {
			*cycle = next;
			return NULL;
		}
	return next;
}

static void step_to(const struct search *search, struct await_task *task, struct await_task *from)
{
	annex_of(task)->circle_search = search->on_way;
	annex_of(task)->circle_next = from;
}

/* The way back from `last` to `first` becomes the way there, and closes. */
static struct await_task *turn_around(struct await_task *first, struct await_task *last)
{
	struct await_task *task = last, *next = first;
	while (next != NULL) {
		struct await_task *before = annex_of(task)->circle_next;
		annex_of(task)->circle_next = next;
		next = task == first ? NULL : task;
		task = before;
	}
	return first;
}

static struct await_task *search_from(const struct search *search, struct await_task *start)
{
	struct await_task *task = start, *next = first_edge(start), *cycle = NULL;
	step_to(search, start, NULL);
	while (task) {
		next = new_edge(search, task, next, &cycle);
		if (cycle)
			return turn_around(cycle, task);
		if (next) {
			step_to(search, next, task);
			task = next;
			next = first_edge(task);
			continue;
		}
		struct await_task *back = annex_of(task)->circle_next;
		annex_of(task)->circle_search = search->done;
		next = back ? edge_after(back, task) : NULL;
		task = back;
	}
	return NULL;
}

static void visit(void *record, void *arg)
{
	struct await_task *task = record;
	struct search *search = arg;
	if (!search->found && record_is_live(task) && task->task.state == TASK_SUSPENDED && !was_met(search, task))
		search->found = search_from(search, task);
}

struct await_task *cycle_find(struct run *run)
{
	struct search search = { .on_way = run->circle_searches + 1, .done = run->circle_searches + 2 };
	run->circle_searches += 2;
	slab_each(&run->loop.tasks, visit, &search);
	return search.found;
}
