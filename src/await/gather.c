/* SPDX-License-Identifier: MIT
 * Layer await: owning calls over tasks that exist: gather and wait_for. Whatever happens to the caller,
 * they do not return before what they own has ended. */
#include <bide/combine.h>

#include <errno.h>

#include "await/circle.h"
#include "await/crew.h"
#include "base/fail.h"

/* ---- gather ------------------------------------------------------------------------------------- */

static int check_members(struct task *self, bide_task *const tasks[], int count)
{
	for (int i = 0; i < count; i++)
		if (!task_resolve_joinable(tasks[i]))
			return -1;
	circle_find(await_task_of(self));
	for (int i = 0; i < count; i++)
		if (circle_includes(task_resolve_joinable(tasks[i])))
			return fail_with(EDEADLK);
	return 0;
}

/* Until all have ended. 0, or the errno with which the caller was interrupted meanwhile. */
static int wait_for_all(struct crew *crew)
{
	int status = crew->self->interrupt;
	while (!status && crew->pending > 0 && !(crew->fails_fast && crew->failed > 0))
		status = crew_wait(crew, BIDE_NEVER);
	if (status)
		crew->self->was_interrupted = 1;
	if (crew->pending > 0)
		crew_end(crew, status ? "gather was canceled" : "another one failed");
	return status;
}

static void hand_out(const struct crew *crew, bide_result out[])
{
	for (int i = 0; i < crew->count; i++) {
		struct await_task *task = crew->members[i].task;
		if (out)
			out[i] = (bide_result){ task_outcome(task)->value, task_outcome(task)->err };
		task_give_handle_back(task);
	}
}

int bide_gather(bide_task *const tasks[], int count, bide_result out[], unsigned flags)
{
	struct task *self = task_current();
	struct crew crew;
	if (!self)
		return fail_with(EPERM);
	if (count < 0 || (count > 0 && !tasks) || (flags & ~BIDE_FAIL_FAST))
		return fail_with(EINVAL);
	if (check_members(self, tasks, count) < 0 || crew_init(&crew, self, count) < 0)
		return -1;
	crew.fails_fast = flags & BIDE_FAIL_FAST;
	for (int i = 0; i < count; i++)
		crew_add(&crew, task_resolve_joinable(tasks[i]));
	int interrupted = wait_for_all(&crew);
	hand_out(&crew, out);
	crew_destroy(&crew);
	if (interrupted)
		return fail_with(interrupted);
	return crew.first_err ? fail_with(crew.first_err) : 0;
}

/* ---- wait_for ----------------------------------------------------------------------------------- */

/* 0 if the task has ended by `deadline`; else the errno for the caller, should its end turn out to be
 * the cancel's doing. */
static int wait_until(struct crew *crew, bide_time deadline)
{
	if (crew->pending == 0)
		return 0;
	if (!crew->self->interrupt && deadline <= loop_now(crew->self->loop))
		return ETIMEDOUT;
	int status = crew_wait(crew, deadline);
	if (status)
		return status;
	return crew->pending == 0 ? 0 : ETIMEDOUT;
}

int bide_wait_for(bide_task *handle, bide_time timeout, bide_result *out)
{
	struct task *self = task_current();
	struct crew crew;
	if (!self)
		return fail_with(EPERM);
	if (check_members(self, &handle, 1) < 0 || crew_init(&crew, self, 1) < 0)
		return -1;
	struct await_task *task = task_resolve_joinable(handle);
	uint8_t was_interrupted = self->was_interrupted;
	crew_add(&crew, task);
	int err = wait_until(&crew, time_add(loop_now(self->loop), timeout));
	if (err) {
		crew_end(&crew, err == ETIMEDOUT ? "timeout" : "its waiter was canceled");
	}
	if (err && task_outcome(task)->err != ECANCELED) { /* it answered the cancel with an outcome of its own */
		self->was_interrupted = was_interrupted;
		err = 0;
	}
	hand_out(&crew, out);
	crew_destroy(&crew);
	return err ? fail_with(err) : 0;
}
