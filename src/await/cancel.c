/* SPDX-License-Identifier: MIT
 * Layer await: cancel requests. What they mean for a suspending call is one errno in the task, set
 * here and looked at by the scheduler. */
#include <bide/cancel.h>

#include <errno.h>

#include "await/record.h"
#include "base/fail.h"

int bide_cancel(bide_task *handle, const char *reason)
{
	struct await_task *task = handle_resolve(handle);
	if (!task)
		return -1;
	if (task_outcome(task)->is_done)
		return fail_with(ESRCH);
	trace_note(loop_current->tracer, TRACE_AT, NULL, __builtin_return_address(0), 0);
	cancel_request(task, reason);
	return 0;
}

int bide_canceling(void)
{
	struct task *task = task_current();
	return task ? (int)annex_peek(await_task_of(task))->cancel_count : 0;
}

int bide_uncancel(void)
{
	struct await_task *task = await_current();
	if (!task)
		return -1;
	struct annex *annex = annex_of(task);
	if (annex->cancel_count > 0 && --annex->cancel_count == 0) {
		annex->cancel_reason = NULL;
		interrupt_update(task);
		if (!task->task.interrupt) /* else a scope's turn comes: it claims the call that failed */
			task->task.was_interrupted = 0;
	}
	return (int)annex->cancel_count;
}

const char *bide_cancel_reason(void)
{
	struct task *task = task_current();
	return task ? annex_peek(await_task_of(task))->cancel_reason : NULL;
}

int bide_checkpoint(void)
{
	struct await_task *task = await_current();
	if (!task)
		return -1;
	return task->task.interrupt ? (interrupted(&task->task), -1) : 0;
}
