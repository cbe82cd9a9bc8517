/* SPDX-License-Identifier: MIT
 * Layer sched: switching, parking and waking. See park.h for the rules. */
#include "sched/park.h"

#include <errno.h>

#include "base/list.h"
#include "sched/elsewhere.h"

const char *const wait_kind_names[] = {
#define X(name, text) text,
	WAIT_KINDS(X)
#undef X
};

/* ---- switching --------------------------------------------------------------------------------- */

/* The first function on a task's stack. Which task it is need not wait until its stack is known. */
static void task_begin(void *arg)
{
	(void)arg;
	struct loop *loop = loop_current;
	struct task *task = loop->running;
	strand_begin(&task->strand);
	if (loop->dead)
		loop_bury(loop);
	*loop->errno_location = 0;
	loop->task_main(task);
	task_exit(task);
}

/* A task that was never entered gets its stack and a context. */
static __attribute__((noinline)) void prepare(struct loop *loop, struct task *task)
{
	loop->counts.begun++;
	stack_get(&loop->stacks, &task->stack);
	strand_init(&task->strand, &task->stack, stack_top(&loop->stacks, &task->stack), task_begin, task);
}

static inline struct strand *make_running(struct loop *loop, struct task *task)
{
	if (unlikely(task->state == TASK_CREATED)) {
		prepare(loop, task);
		task_set_state(task, TASK_READY);
	}
	loop->running = task;
	loop->budget = CALL_BUDGET;
	return &task->strand;
}

/* The task whose entry is linked by `link`, if it is one that has a stack to go on with. */
static inline const struct task *resumable(const struct link *link)
{
	const struct task *task = container_of(link, struct task, entry.link);
	return likely(!task->entry.run) && likely(task->state == TASK_READY) ? task : NULL;
}

/* For the task behind the next one, while the next one runs. */
static inline __attribute__((always_inline)) void fetch_ahead(const struct ready_queue *queue)
{
	const struct link *link = queue->entries.head.next;
	if (link->next == &queue->entries.head)
		return; /* one at most is there: of two that take turns neither is far */
	const struct task *task = resumable(link);
	if (likely(task != NULL))
		prefetch_stack(task, 2);
}

/* Who runs next: the head of the ready queue, or the loop if that is a callback, if there is none,
 * or if a look is due. */
static inline struct strand *choose_next(struct loop *loop)
{
	struct entry *entry = NULL;
	if (likely(pace_goes_on(&loop->pace)) || !loop_takes_over(loop))
		entry = ready_pop(&loop->ready);
	if (likely(entry != NULL) && likely(!entry->run)) {
		fetch_ahead(&loop->ready);
		return make_running(loop, task_of_entry(entry));
	}
	loop->handed = entry;
	loop->running = NULL;
	return &loop->strand;
}

/* The one switch from a task: to the next one, or to the loop. */
static inline void switch_from(struct loop *loop, struct task *task, struct strand *to)
{
	task->saved_errno = *loop->errno_location;
	strand_switch(&task->strand, to, loop->exceptions);
	if (unlikely(loop->dead != NULL))
		loop_bury(loop); /* may report, and so change errno */
	*loop->errno_location = task->saved_errno;
}

void loop_enter(struct loop *loop, struct task *task)
{
	int saved_errno = *loop->errno_location;
	struct strand *to = make_running(loop, task);
	strand_switch(&loop->strand, to, loop->exceptions);
	if (loop->dead)
		loop_bury(loop);
	*loop->errno_location = saved_errno;
}

/* The loop is found without the task: the queue need not wait until the task's record has been read. */
CONTEXT_RETURNS_BY_JUMP int yield(struct task *task)
{
	struct loop *loop = loop_current;
	ready_push(&loop->ready, &task->entry);
	struct strand *to = choose_next(loop);
	if (likely(to != &task->strand))
		switch_from(loop, task, to);
	return 0;
}

void task_enter(struct task *child)
{
	struct loop *loop = child->loop;
	struct task *task = loop->running;
	slice_changes(loop, child);
	ready_push(&loop->ready, &task->entry);
	ready_remove(&loop->ready, &child->entry);
	switch_from(loop, task, make_running(loop, child));
}

/* Also in a forked process, where the thread has no loop any more. */
_Noreturn void task_exit(struct task *task)
{
	struct loop *loop = task->loop;
	task_set_state(task, TASK_DONE);
	loop->dead = task;
	struct strand *to = choose_next(loop);
	strand_leave(&task->strand, to, loop->exceptions);
}

void loop_bury(struct loop *loop)
{
	struct task *task = loop->dead;
	loop->dead = NULL;
	trace_note(loop->tracer, TRACE_END, task, NULL, 0);
	slice_ends(loop);
	if (unlikely(loop->after_slice != NULL))
		loop->after_slice(loop, task);
	strand_destroy(&task->strand);
	if (unlikely(loop->stacks.options.paints))
		task->depth = (struct depth){ stack_used(&task->stack), stack_size(&task->stack) };
	stack_put(&loop->stacks, &task->stack);
	loop->task_buried(task);
}

/* ---- parking and waking ------------------------------------------------------------------------ */

CONTEXT_RETURNS_BY_JUMP int park(struct task *task, bide_time deadline)
{
	struct loop *loop = loop_current;
	CHECK(task == loop->running, "only the running task parks");
	loop_arm(loop, &task->timer, deadline);
	task->wait.since = loop->coarse_now;
	task_set_state(task, TASK_SUSPENDED);
	loop->counts.parks++;
	switch_from(loop, task, choose_next(loop));
	return task->wait.status;
}

bool task_wake(struct task *task, int status)
{
	if (task->state != TASK_SUSPENDED)
		return false;
	struct loop *loop = task->loop;
	trace_note(loop->tracer, TRACE_WAKE, task, NULL, status);
	task_set_state(task, TASK_READY);
	loop->counts.wakes++;
	for (struct wait *wait = &task->wait; wait; wait = wait->more)
		if (link_is_linked(&wait->link))
			link_remove(&wait->link);
	timer_disarm(&loop->timers, &task->timer);
	task->wait.status = (int16_t)status;
	ready_push(&loop->ready, &task->entry);
	return true;
}

void task_interrupt(struct task *task, int err)
{
	task->interrupt = (int16_t)err;
	if (err && task->state == TASK_SUSPENDED && !task->wait.is_shielded) {
		task->was_interrupted = 1;
		task_wake(task, err);
	}
}

/* A task that calls on and on although every call fails must hold up neither the others nor, at the end
 * of a run, the clock that its grace is measured by. */
static void slow_down(struct task *task)
{
	wait_begin(task, NULL, WAIT_SLEEP, NULL)->is_shielded = 1;
	park(task, time_add(loop_now(task->loop), BIDE_MSEC));
}

struct task *interrupted(struct task *task)
{
	task->was_interrupted = 1;
	errno = task->interrupt;
	return NULL;
}

/* The slow ways of checkpoint(). Yielding comes first: a cancel that arrives meanwhile is seen by
 * this very call, before it has done anything. */
struct task *checkpoint_slowly(struct task *task)
{
	if (!task) {
		errno = EPERM;
		if (!loop_current)
			fail_elsewhere();
		return NULL;
	}
	if (task->interrupt && --task->loop->budget <= CALL_BUDGET - FAILING_CALLS) {
		slow_down(task);
	} else if (!task->interrupt && task->loop->budget <= 0) {
		task->loop->budget = CALL_BUDGET;
		yield(task);
	}
	return task->interrupt ? interrupted(task) : task;
}
