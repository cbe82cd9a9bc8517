/* SPDX-License-Identifier: MIT
 * Layer await: joining. */
#include <bide/task.h>

#include <errno.h>

#include "await/circle.h"
#include "base/fail.h"

static inline struct await_task *resolve_joinable(const bide_task *handle)
{
	struct await_task *task = handle_look(handle);
	if (unlikely(!task))
		return handle_resolve(handle);
	if (unlikely(task->is_detached)) {
		errno = EINVAL;
		return NULL;
	}
	return task;
}

struct await_task *task_resolve_joinable(const bide_task *handle)
{
	return resolve_joinable(handle);
}

static inline void give_handle_back(struct await_task *task)
{
	task->is_outcome_read = true;
	if (!task->is_joined && !task->child) {
		task->is_joined = true;
		task_drop(task);
	}
}

void task_give_handle_back(struct await_task *task)
{
	give_handle_back(task);
}

static inline int hand_out(struct await_task *task, bide_result *out)
{
	if (out)
		*out = (bide_result){ task_outcome(task)->value, task_outcome(task)->err };
	give_handle_back(task);
	return 0;
}

/* Always parks, but for an error: apart from bide_join() because of how it returns. Drops the reference
 * that bide_join() holds. */
static CONTEXT_RETURNS_BY_JUMP __attribute__((noinline)) int join_running(struct await_task *task,
    struct task *self, bide_result *out)
{
	int result = -1;
	if (circle_closes(await_task_of(self), task))
		errno = EDEADLK;
	else
		result = future_await(self, task_future(task), WAIT_JOIN, task, NULL);
	if (result == 0)
		hand_out(task, out);
	task_drop(task);
	return result;
}

int bide_join(bide_task *handle, bide_result *out)
{
	if (!task_current())
		return fail_with(EPERM);
	struct await_task *task = resolve_joinable(handle);
	if (!task)
		return -1;
	task_hold(task); /* the checkpoint may let others run, and they the task go */
	struct task *self = checkpoint();
	if (self && !task_outcome(task)->is_done)
		return join_running(task, self, out);
	int result = self ? hand_out(task, out) : -1;
	task_drop(task);
	return result;
}

int bide_detach(bide_task *handle)
{
	struct await_task *task = task_resolve_joinable(handle);
	if (!task)
		return -1;
	bool was_read = task->is_outcome_read;
	task_hold(task);
	task->is_detached = true;
	task_give_handle_back(task);
	task->is_outcome_read = was_read;
	task_drop(task);
	return 0;
}
