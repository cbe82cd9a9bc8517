/* SPDX-License-Identifier: MIT
 * Layer await: how a task's body is entered and how it ends: by return, by bide_exit(), or by a cancel
 * before its first run. */
#include <bide/task.h>

#include <errno.h>
#include <stdlib.h>

#include "await/group.h"
#include "await/record.h"
#include "await/tower.h"

/* `return bide_fail(err)` returns this address; the errno is in the task. */
static char failed;

static int err_of(const struct await_task *task, const struct annex *annex, const void *value)
{
	if (unlikely(value == &failed))
		return annex->fail_err;
	/* A body that saw its cancel and has nothing to show for itself was ended by it. */
	if (!value && annex->cancel_count > 0 && task->task.was_interrupted)
		return ECANCELED;
	return 0;
}

/* The outcome is there: waiters wake, the group is told. */
static inline void conclude(struct await_task *task, struct annex *annex, void *value, int err)
{
	struct run *run = run_of(task->task.loop);
	annex->end_number = ++run->ends;
	future_complete(&annex->done, value, err);
	if (unlikely(task->child != NULL))
		group_child_ended(task->child);
	run->alive--;
	if (task == run->main)
		run->is_main_done = true;
	if (task == run->main || unlikely(run->alive == 0))
		loop_stop(&run->loop);
}

/* What a body has left behind. */
static __attribute__((noinline)) void clear_up(struct await_task *task)
{
	if (task->scope || annex_peek(task)->cancel_count > 0)
		scopes_abandon(task);
	ending_run(task);
	if (task->scope)
		scopes_abandon(task);
	if (annex_peek(task)->held_locks > 0)
		run_of(task->task.loop)->locks->abandoned(task);
	if (!list_is_empty(&annex_of(task)->coros))
		coros_disown(task);
}

/* The end of every body, on its own stack. */
static void finish(struct await_task *task, void *value)
{
	struct annex *annex = annex_of(task);
	int err = err_of(task, annex, value);
	task->is_ending = true;
	if (unlikely(task->scope || annex->cancel_count || annex->deferred || annex->locals || annex->held_locks ||
	    link_is_linked(&annex->coros.head)))
		clear_up(task);
	conclude(task, annex, value, err);
}

void life_main(struct task *sched_task)
{
	struct await_task *task = await_task_of(sched_task);
	void *arg = task->arg;
	task->coro = NULL;
	task->is_entered = true;
	void *value = task->fn(arg);
	/* Its children would go on with a group that is no more. */
	CHECK(!task->has_annex || annex_of(task)->group_depth == 0, "a body leaves the groups that it entered");
	finish(task, value);
}

void life_buried(struct task *sched_task)
{
	struct await_task *task = await_task_of(sched_task);
	if (unlikely(sched_task->loop->stacks.options.paints))
		sites_note(run_of(sched_task->loop), task->spawn_site, task->id, &sched_task->depth);
	task_drop(task);
}

/* Stands in the ready queue in place of a task that was canceled before its first run. */
static void abandon(struct entry *entry)
{
	struct await_task *task = await_task_of(task_of_entry(entry));
	entry->run = NULL;
	if (annex_of(task)->drop)
		annex_of(task)->drop(task->arg);
	locals_free(task);
	task_set_state(&task->task, TASK_DONE);
	task->task.loop->counts.begun++;
	stack_put(&task->task.loop->stacks, &task->task.stack);
	task->task.depth = (struct depth){ 0, 0 };
	conclude(task, annex_of(task), NULL, ECANCELED);
	trace_note(task->task.loop->tracer, TRACE_END, &task->task, NULL, 0);
	task_drop(task);
}

void cancel_request(struct await_task *task, const char *reason)
{
	struct annex *annex = annex_of(task);
	if (annex->cancel_count++ == 0)
		annex->cancel_reason = reason;
	trace_note(task->task.loop->tracer, TRACE_CANCEL, &task->task, reason, 0);
	interrupt_update(task);
	if (task->task.state == TASK_CREATED && !task->starts_always)
		task->task.entry.run = abandon;
}

void *bide_fail(int err)
{
	struct await_task *task = await_current();
	if (!task)
		return NULL;
	annex_of(task)->fail_err = err > 0 ? err : EINVAL;
	return &failed;
}

_Noreturn void bide_exit(void *value)
{
	struct await_task *task = await_current();
	if (!task)
		abort();
	if (task->coro)
		coro_exit(task->coro, value);
	groups_abandon(task);
	finish(task, value);
	task_exit(&task->task);
}
