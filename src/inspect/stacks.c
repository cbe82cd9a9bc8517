/* SPDX-License-Identifier: MIT
 * Layer inspect: every stack, and how deep they are used. */
#include <bide/inspect.h>

#include <errno.h>

#include "await/tower.h"
#include "base/fail.h"
#include "base/place.h"

/* ---- every stack ------------------------------------------------------------------------------- */

struct walk {
	void (*visit)(const bide_stack_range *range, void *arg);
	void *arg;
	void *here;      /* where the caller of the walk stands */
	bide_task *task; /* whose tower it is now */
	int count;
};

static void visit_one(const struct stack *stack, struct leave_point left, struct bide_coro *coro, void *arg)
{
	struct walk *walk = arg;
	if (!stack || !stack->low)
		return;
	bide_stack_range range = {
		.low = stack->low,
		.sp = left.sp ? left.sp : walk->here,
		.high = stack->high,
		.frame = left.frame,
		.task = walk->task,
		.coro = coro,
	};
	walk->count++;
	walk->visit(&range, walk->arg);
}

static void visit_task(void *record, void *arg)
{
	struct await_task *task = record;
	struct walk *walk = arg;
	if (!record_is_live(task) || task->task.state == TASK_DONE)
		return;
	walk->task = handle_of(task);
	if (task->task.state == TASK_CREATED)
		visit_one(&task->task.stack, (struct leave_point){ task->task.stack.high, NULL, NULL }, NULL, walk);
	else
		tower_of_task(task, visit_one, walk);
	walk->task = NULL;
}

int bide_stack_each(void (*visit)(const bide_stack_range *range, void *arg), void *arg)
{
	if (!visit)
		return fail_with(EINVAL);
	struct walk walk = { .visit = visit, .arg = arg, .here = __builtin_frame_address(0) };
	struct loop *loop = loop_current;
	bool is_in_task = loop && loop->running;
	struct leave_point thread = is_in_task ? left_at(&loop->strand) : (struct leave_point){ NULL, NULL, NULL };
	tower_each(tower_of_thread(), NULL, thread, visit_one, &walk);
	if (loop)
		slab_each(&loop->tasks, visit_task, &walk);
	coros_each_idle(visit_one, &walk);
	return walk.count;
}

/* ---- how deep ---------------------------------------------------------------------------------- */

int bide_stack_used(const bide_task *handle, size_t *high_water)
{
	if (!high_water)
		return fail_with(EINVAL);
	const struct await_task *task = handle ? handle_resolve(handle) : await_current();
	if (!task)
		return -1;
	if (!task->task.loop->stacks.options.paints)
		return fail_with(ENOTSUP);
	if (task->task.state == TASK_DONE)
		*high_water = task->task.depth.used;
	else
		*high_water = task->task.state == TASK_CREATED ? 0 : stack_used(&task->task.stack);
	return 0;
}

int bide_stack_sites(void (*visit)(const bide_stack_site *site, void *arg), void *arg)
{
	if (!visit)
		return fail_with(EINVAL);
	if (!loop_current)
		return fail_with(EPERM);
	if (!loop_current->stacks.options.paints)
		return fail_with(ENOTSUP);
	const struct sites *sites = &run_of(loop_current)->sites;
	size_t count = sites->count;
	modules_note();
	for (size_t i = 0; i < count; i++) {
		const struct site *site = &sites->all[i];
		char place[PLACE_SIZE];
		bide_stack_site told = { site->address, place_of((uintptr_t)site->address - 1, place), site->tasks,
			site->used, site->size, site->task_id };
		visit(&told, arg);
	}
	return (int)count;
}
