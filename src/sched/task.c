/* SPDX-License-Identifier: MIT
 * Layer sched: task records: made, started, given back. */
#include "sched/task.h"

#include "sched/loop.h"
#include "sched/park.h"

const char *const task_state_names[] = {
	[TASK_CREATED] = "created",
	[TASK_READY] = "ready",
	[TASK_RUNNING] = "running",
	[TASK_SUSPENDED] = "suspended",
	[TASK_DONE] = "done",
	[TASK_FREE] = "free",
};

static void timer_expired(struct timer *timer)
{
	task_wake(container_of(timer, struct task, timer), 0);
}

/* Once in a record's life; what it sets is never changed. */
static void first_use(struct task *task, struct loop *loop)
{
	task->loop = loop;
	task->annex = slab_annex_of_new(&loop->tasks, task);
	task->state = TASK_FREE;
	task->wait.task = task;
	task->timer.expired = timer_expired;
}

struct task *task_new(struct loop *loop, size_t stack_size)
{
	struct task *task = slab_get(&loop->tasks);
	if (unlikely(!task))
		return NULL;
	if (unlikely(!task->loop))
		first_use(task, loop);
	if (stack_size && stack_reserve(&loop->stacks, stack_size, &task->stack) < 0)
		goto put_record;
	if (timers_pledge(&loop->timers, TIMERS_PER_TASK) < 0)
		goto put_stack;
	task->entry.run = NULL;
	task->interrupt = 0;
	task->was_interrupted = 0;
	return task;

put_stack:
	stack_put(&loop->stacks, &task->stack);
put_record:
	slab_put(&loop->tasks, task);
	return NULL;
}

void task_start(struct task *task)
{
	task_set_state(task, TASK_CREATED);
	ready_push(&task->loop->ready, &task->entry);
}

void task_free(struct task *task)
{
	struct loop *loop = task->loop;
	CHECK(!timer_is_armed(&task->timer), "a task that ended has no timer armed");
	if (unlikely(task->state == TASK_CREATED))
		ready_remove(&loop->ready, &task->entry);
	if (likely(task->state != TASK_FREE))
		task_set_state(task, TASK_FREE);
	if (task->stack.low || task->stack.origin)
		stack_put(&loop->stacks, &task->stack);
	timers_unpledge(&loop->timers, TIMERS_PER_TASK);
	slab_put(&loop->tasks, task);
}
