/* SPDX-License-Identifier: MIT
 * Layer await: spawning. Everything that can fail fails here, before the argument is anybody's but the
 * caller's: the record, the address space of the stack with its guard, room for the task's timers. */
#include <bide/task.h>

#include <errno.h>

#include "await/record.h"
#include "base/fail.h"

#define KNOWN_FLAGS (BIDE_EAGER | BIDE_DETACHED | BIDE_START_ALWAYS)

static int check_attr(const bide_task_attr *attr)
{
	if (attr->size != sizeof *attr || (attr->flags & ~KNOWN_FLAGS) || (attr->stack && !attr->stack_size) ||
	    ((attr->flags & BIDE_EAGER) && !task_current()))
		return fail_with(EINVAL);
	return 0;
}

static int check_loop(struct loop *loop)
{
	if (!loop)
		return fail_with(EPERM);
	struct run *run = run_of(loop);
	if (run->is_main_done || (run->config.max_tasks && run->alive >= run->config.max_tasks))
		return fail_with(EAGAIN);
	return 0;
}

/* The scheduler's part of a new record, with a stack reserved or adopted. */
static struct task *make_record(struct loop *loop, const bide_task_attr *attr)
{
	if (!attr->stack)
		return task_new(loop, attr->stack_size ? attr->stack_size : run_of(loop)->config.stack_size);
	struct stack stack;
	if (stack_adopt(&stack, attr->stack, attr->stack_size) < 0)
		return NULL;
	struct task *task = task_new(loop, 0);
	if (task)
		task->stack = stack;
	return task;
}

static void fill_in(struct await_task *task, bide_fn *fn, void *arg, const bide_task_attr *attr)
{
	struct run *run = run_of(task->task.loop);
	task->id = ++run->next_id;
	task->flags = 0;
	task->is_detached = attr->flags & BIDE_DETACHED;
	task->starts_always = attr->flags & BIDE_START_ALWAYS;
	task->references = task->is_detached ? 1 : 2;
	task->fn = fn;
	task->arg = arg;
	task->scope = NULL;
	task->child = NULL;
	if (attr->name)
		task_name_copy(annex_of(task)->name, attr->name);
	if (attr->drop)
		annex_of(task)->drop = attr->drop;
}

struct await_task *task_spawn(bide_fn *fn, void *arg, const bide_task_attr *attr, void *site)
{
	static const bide_task_attr defaults = BIDE_TASK_ATTR_INIT;
	struct loop *loop = loop_current;
	if (!attr)
		attr = &defaults;
	if (!fn) {
		errno = EINVAL;
		return NULL;
	}
	if (check_loop(loop) < 0 || (attr != &defaults && check_attr(attr) < 0))
		return NULL;
	struct task *record = make_record(loop, attr);
	if (unlikely(loop->stacks.trouble != STACK_TROUBLE_NONE))
		report_limit(run_of(loop), &loop->stacks.trouble);
	if (!record)
		return NULL;
	struct await_task *task = await_task_of(record);
	fill_in(task, fn, arg, attr);
	task->spawn_site = site;
	struct await_task *spawner = loop->running ? await_task_of(loop->running) : NULL;
	if (spawner && unlikely(annex_peek(spawner)->locals) && locals_inherit(task, spawner) < 0) {
		task_free(record);
		return NULL;
	}
	run_of(loop)->alive++;
	task_start(record);
	return task;
}

static bide_task *spawn(bide_fn *fn, void *arg, const bide_task_attr *attr, void *site)
{
	struct await_task *task = task_spawn(fn, arg, attr, site);
	if (!task)
		return NULL;
	bide_task *handle = handle_of(task);
	if (attr && attr->flags & BIDE_EAGER)
		task_enter(&task->task);
	return handle;
}

/* Never inlined, whatever is optimised across files: the return address is the spawn site. */
__attribute__((noinline)) bide_task *bide_spawn(bide_fn *fn, void *arg)
{
	return spawn(fn, arg, NULL, __builtin_return_address(0));
}

int bide_go(bide_fn *fn, void *arg)
{
	static const bide_task_attr detached = { .size = sizeof detached, .flags = BIDE_DETACHED };
	return spawn(fn, arg, &detached, __builtin_return_address(0)) ? 0 : -1;
}

__attribute__((noinline)) bide_task *bide_spawn_with(bide_fn *fn, void *arg, const bide_task_attr *attr)
{
	return spawn(fn, arg, attr, __builtin_return_address(0));
}
