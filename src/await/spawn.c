/* SPDX-License-Identifier: MIT
 * Layer await: spawning. Everything that can fail fails here, before the argument is anybody's but the
 * caller's: the record, the address space of the stack with its guard, room for the task's timers. */
#include <bide/task.h>

#include <errno.h>

#include "await/record.h"
#include "base/fail.h"
#include "sched/elsewhere.h"

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
		return fail_elsewhere();
	struct run *run = run_of(loop);
	if (run->is_main_done || (run->config.max_tasks && run->alive >= run->config.max_tasks))
		return fail_with(EAGAIN);
	return 0;
}

static __attribute__((noinline)) struct task *make_record_on(struct loop *loop, const bide_task_attr *attr)
{
	struct stack stack;
	if (stack_adopt(&stack, attr->stack, attr->stack_size) < 0)
		return NULL;
	struct task *task = task_new(loop, 0);
	if (task)
		task->stack = stack;
	return task;
}

/* What follows is part of its callers: where the attributes are the defaults, nothing is left of looking at
 * them. */
#define PART_OF_CALLER static inline __attribute__((always_inline))

/* The scheduler's part of a new record, with a stack reserved or adopted. */
PART_OF_CALLER struct task *make_record(struct loop *loop, const bide_task_attr *attr)
{
	if (attr->stack)
		return make_record_on(loop, attr);
	return task_new(loop, attr->stack_size ? attr->stack_size : run_of(loop)->config.stack_size);
}

PART_OF_CALLER void fill_in(struct await_task *task, bide_fn *fn, void *arg, const bide_task_attr *attr)
{
	task->id = ++run_of(loop_current)->next_id;
	task->flags = 0;
	if (attr->flags & BIDE_DETACHED)
		task->is_detached = true;
	if (attr->flags & BIDE_START_ALWAYS)
		task->starts_always = true;
	task->references = attr->flags & BIDE_DETACHED ? 1 : 2;
	task->fn = fn;
	task->arg = arg;
	task->scope = NULL;
	task->child = NULL;
	task->task.timer.node.note = loop_current->coarse_now;
	if (attr->name)
		task_name_copy(annex_of(task)->name, attr->name);
	if (attr->drop)
		annex_of(task)->drop = attr->drop;
}

static const bide_task_attr defaults = BIDE_TASK_ATTR_INIT;

PART_OF_CALLER struct await_task *make_task(bide_fn *fn, void *arg, const bide_task_attr *attr, void *site)
{
	struct loop *loop = loop_current;
	if (!fn) {
		errno = EINVAL;
		return NULL;
	}
	if (unlikely(check_loop(loop) < 0) || (attr != &defaults && check_attr(attr) < 0))
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
	if (spawner && unlikely(spawner->has_annex) && annex_of(spawner)->locals && locals_inherit(task, spawner) < 0) {
		task_free(record);
		return NULL;
	}
	run_of(loop)->alive++;
	task_start(record);
	trace_note(loop->tracer, TRACE_SPAWN, record, NULL, 0);
	return task;
}

struct await_task *task_spawn(bide_fn *fn, void *arg, const bide_task_attr *attr, void *site)
{
	return make_task(fn, arg, attr ? attr : &defaults, site);
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
	struct await_task *task = make_task(fn, arg, &defaults, __builtin_return_address(0));
	return task ? handle_of(task) : NULL;
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
