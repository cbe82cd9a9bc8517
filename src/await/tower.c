/* SPDX-License-Identifier: MIT
 * Layer await: towers, and all coroutines there are. See tower.h. */
#include "await/coro.h"

#include <pthread.h>

#include "base/locks.h"

struct coro_pool coro_pool;
static pthread_once_t pool_once = PTHREAD_ONCE_INIT;

static void init_pool(void)
{
	stack_pool_init(&coro_pool.stacks, &memory_default, NULL);
}

void coro_pool_begin(void)
{
	pthread_once(&pool_once, init_pool);
}

void tower_each(struct bide_coro *innermost, const struct stack *base, struct leave_point left,
    tower_visitor *visit, void *arg)
{
	for (struct bide_coro *coro = innermost; coro; coro = coro->below) {
		visit(&coro->stack, left, coro, arg);
		left = left_at(&coro->resumer);
	}
	visit(base, left, NULL, arg);
}

void tower_of_task(const struct await_task *task, tower_visitor *visit, void *arg)
{
	bool runs = task->task.loop->running == &task->task;
	struct leave_point left = runs ? (struct leave_point){ NULL, NULL, NULL } : left_at(&task->task.strand);
	tower_each(task->is_entered ? task->coro : NULL, &task->task.stack, left, visit, arg);
}

struct bide_coro *tower_of_thread(void)
{
	return thread_coro;
}

void coros_each_idle(tower_visitor *visit, void *arg)
{
	lock_take(LOCK_COROS);
	list_each(link, &coro_pool.coros) {
		struct bide_coro *coro = container_of(link, struct bide_coro, all);
		if (coro->thread != &thread_coro)
			continue;
		if (coro->state == BIDE_CORO_CREATED || coro->state == BIDE_CORO_SUSPENDED)
			visit(&coro->stack, left_at(&coro->strand), coro, arg);
	}
	lock_release(LOCK_COROS);
}

size_t coros_left_by(const struct run *run, const void **sites, size_t max)
{
	size_t count = 0;
	coro_pool_begin();
	lock_take(LOCK_COROS);
	list_each(link, &coro_pool.coros) {
		const struct bide_coro *coro = container_of(link, struct bide_coro, all);
		if (coro->run_serial == run->serial && count++ < max)
			sites[count - 1] = coro->site;
	}
	lock_release(LOCK_COROS);
	return count;
}

static void trim_one(const struct stack *stack, struct leave_point left, struct bide_coro *coro, void *arg)
{
	(void)arg;
	if (coro->state == BIDE_CORO_SUSPENDED)
		stack_trim(&coro_pool.stacks, stack, left.sp);
}

void coros_trim(void)
{
	coro_pool_begin();
	coros_each_idle(trim_one, NULL);
	lock_take(LOCK_COROS);
	stack_pool_trim(&coro_pool.stacks);
	lock_release(LOCK_COROS);
}

void coros_figures(struct stack_figures *figures)
{
	coro_pool_begin();
	lock_take(LOCK_COROS);
	stack_pool_figures(&coro_pool.stacks, figures);
	lock_release(LOCK_COROS);
}
