/* SPDX-License-Identifier: MIT
 * Layer await: deadlines, cancel scopes and shields. See scope.h. */
#include "await/scope.h"

#include <errno.h>
#include <string.h>

#include "await/record.h"
#include "base/fail.h"

/* ---- what is in force --------------------------------------------------------------------------- */

/* Of `innermost` and the scopes around it, the outermost that asks the task to stop and is not shielded
 * off; NULL if none does. Sets *is_shielded if the task's own cancel requests are shielded off too. */
static struct scope *source_from(const struct await_task *task, struct scope *innermost, bool *is_shielded)
{
	struct scope *source = NULL;
	*is_shielded = task->is_ending;
	for (struct scope *scope = innermost; scope; scope = scope->outer) {
		if (scope->is_expired || scope->is_canceled)
			source = scope;
		if (scope->is_shield) {
			*is_shielded = true;
			break;
		}
	}
	return source;
}

static int errno_of(const struct scope *scope)
{
	return scope->is_expired ? ETIMEDOUT : ECANCELED;
}

static int interrupt_from(const struct await_task *task, struct scope *innermost)
{
	bool is_shielded;
	struct scope *source = source_from(task, innermost, &is_shielded);
	if (annex_peek(task)->cancel_count > 0 && !is_shielded)
		return ECANCELED;
	return source ? errno_of(source) : 0;
}

int scope_outer_interrupt(const struct scope *scope, const struct await_task *task)
{
	return interrupt_from(task, scope->outer);
}

bide_time scope_deadline(const struct await_task *task)
{
	bide_time nearest = BIDE_NEVER;
	for (const struct scope *scope = task->scope; scope; scope = scope->outer) {
		if (scope->deadline < nearest && !scope->is_expired)
			nearest = scope->deadline;
		if (scope->is_shield)
			break;
	}
	return nearest;
}

static void timer_update(struct await_task *task)
{
	struct loop *loop = task->task.loop;
	bide_time nearest = scope_deadline(task);
	if (nearest == BIDE_NEVER && !task->has_annex)
		return;
	struct timer *timer = &annex_of(task)->scope_timer;
	if (timer_is_armed(timer) && timer->node.key == nearest)
		return;
	timer_disarm(&loop->timers, timer);
	loop_arm(loop, timer, nearest);
}

void interrupt_update(struct await_task *task)
{
	int err = interrupt_from(task, task->scope);
	timer_update(task);
	if (err != task->task.interrupt)
		task_interrupt(&task->task, err);
}

/* ---- expiry -------------------------------------------------------------------------------------- */

/* Notes which scopes have expired by `now`, also those a shield keeps from taking effect. */
static void note_expired(struct await_task *task, bide_time now)
{
	for (struct scope *scope = task->scope; scope; scope = scope->outer)
		if (scope->deadline <= now)
			scope->is_expired = true;
}

void scope_timer_expired(struct timer *timer)
{
	struct await_task *task = container_of(timer, struct annex, scope_timer)->done.of_task;
	note_expired(task, loop_now(task->task.loop));
	interrupt_update(task);
}

/* ---- entering and leaving ------------------------------------------------------------------------ */

bool scope_contains(const struct scope *scope, const struct await_task *task)
{
	for (const struct scope *inner = task->scope; inner; inner = inner->outer)
		if (inner == scope)
			return true;
	return false;
}

int scope_enter(struct scope *scope, struct await_task *task, bide_time deadline, unsigned flags)
{
	if ((flags & ~BIDE_SHIELD) || scope_contains(scope, task))
		return fail_with(EINVAL);
	*scope = (struct scope){
		.task = task,
		.outer = task->scope,
		.deadline = deadline,
		.is_shield = flags & BIDE_SHIELD,
		.was_interrupted = task->task.was_interrupted,
	};
	task->scope = scope;
	task->task.was_interrupted = 0;
	if (deadline != BIDE_NEVER && deadline <= loop_now(task->task.loop))
		scope->is_expired = true;
	if (deadline != BIDE_NEVER || scope->is_shield)
		interrupt_update(task);
	return 0;
}

/* What has expired unnoticed: the scope itself, for bide_scope_expired(); and, when a shield goes, what it
 * kept away, so that the next call fails. */
static void note_on_leaving(struct scope *scope, struct await_task *task)
{
	if (scope->is_shield)
		note_expired(task, loop_now(task->task.loop));
	else if (scope->deadline != BIDE_NEVER && !scope->is_expired)
		scope->is_expired = scope->deadline <= loop_now(task->task.loop);
}

/* A call that failed inside is claimed by this scope if this scope was the reason; else whoever is
 * outside may. */
int scope_leave(struct scope *scope, struct await_task *task)
{
	if (!scope->task || scope->task != task || task->scope != scope)
		return fail_with(EINVAL);
	bool is_shielded;
	bool has_failed = task->task.was_interrupted;
	bool is_mine = source_from(task, scope, &is_shielded) == scope && (is_shielded || annex_peek(task)->cancel_count == 0);
	int claimed = has_failed && is_mine ? errno_of(scope) : 0;
	note_on_leaving(scope, task);
	task->scope = scope->outer;
	scope->task = NULL;
	task->task.was_interrupted = scope->was_interrupted || (has_failed && !is_mine && !scope->is_shield);
	interrupt_update(task);
	return claimed ? fail_with(claimed) : 0;
}

void scope_cancel(struct scope *scope)
{
	scope->is_canceled = true;
	interrupt_update(scope->task);
}

void scopes_abandon(struct await_task *task)
{
	task->scope = NULL;
	interrupt_update(task);
}

/* ---- the public calls ---------------------------------------------------------------------------- */

int bide_scope_enter(bide_scope *scope, bide_time deadline, unsigned flags)
{
	if (!scope)
		return fail_with(EINVAL);
	struct await_task *task = await_current();
	return task ? scope_enter((struct scope *)scope, task, deadline, flags) : -1;
}

int bide_scope_leave(bide_scope *scope)
{
	struct task *task = task_current();
	if (!scope || !task)
		return fail_with(EINVAL);
	return scope_leave((struct scope *)scope, await_task_of(task));
}

int bide_scope_reset(bide_scope *public_scope, bide_time deadline)
{
	struct scope *scope = (struct scope *)public_scope;
	struct task *self = task_current();
	struct await_task *task = self ? await_task_of(self) : NULL;
	if (!scope || !task || !scope_contains(scope, task))
		return fail_with(EINVAL);
	if (bide_scope_expired(public_scope))
		return fail_with(ETIMEDOUT);
	scope->deadline = deadline;
	scope->is_expired = deadline != BIDE_NEVER && deadline <= loop_now(self->loop);
	interrupt_update(task);
	return 0;
}

int bide_scope_cancel(bide_scope *public_scope)
{
	struct scope *scope = (struct scope *)public_scope;
	if (!loop_current)
		return fail_with(EPERM);
	if (!scope || !scope->task)
		return fail_with(EINVAL);
	if (scope->task->task.loop != loop_current)
		return fail_with(EPERM);
	scope_cancel(scope);
	return 0;
}

bool bide_scope_expired(const bide_scope *public_scope)
{
	const struct scope *scope = (const struct scope *)public_scope;
	if (!scope)
		return false;
	return scope->is_expired || (scope->task && scope->deadline != BIDE_NEVER &&
	    scope->deadline <= loop_now(scope->task->task.loop));
}

bide_time bide_deadline(void)
{
	struct task *task = task_current();
	bide_time nearest = BIDE_NEVER;
	for (struct scope *scope = task ? await_task_of(task)->scope : NULL; scope; scope = scope->outer) {
		if (scope->deadline < nearest)
			nearest = scope->deadline;
		if (scope->is_shield)
			break;
	}
	return nearest;
}

bide_scope *bide_scope_enter_for(bide_scope *scope, bide_time delay)
{
	memset(scope, 0, sizeof *scope);
	return bide_scope_enter(scope, bide_after(delay), 0) == 0 ? scope : NULL;
}

void bide_scope_leave_quietly(bide_scope *scope)
{
	int saved = errno;
	bide_scope_leave(scope);
	errno = saved;
}
