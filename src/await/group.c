/* SPDX-License-Identifier: MIT
 * Layer await: groups: entering and leaving, what a child's end does, which comes up from life.c, and
 * telling of it. How children get in is in group_spawn.c. */
#include "await/group.h"

#include <errno.h>
#include <string.h>

#include "await/record.h"
#include "base/fail.h"

/* ---- the children -------------------------------------------------------------------------------- */

static void cancel_children(struct group *group, const char *reason)
{
	list_each(link, &group->children)
		cancel_request(container_of(link, struct child, link)->task, reason);
}

static void cancel_group(struct group *group, const char *reason)
{
	if (group->is_canceled)
		return;
	group->is_canceled = true;
	cancel_children(group, reason);
	struct link *link;
	while ((link = list_head(&group->room_waiters)))
		task_wake(container_of(link, struct wait, link)->task, ECANCELED);
	scope_cancel(&group->scope);
}

static void note_failure(struct group *group, int err)
{
	if (group->failure_count < FAILURES_KEPT)
		group->failures[group->failure_count] = err;
	group->failure_count++;
	if (!(group->flags & BIDE_KEEP_GOING))
		cancel_group(group, "another child of its group failed");
}

void group_wake_owner(struct group *group)
{
	/* It may be in leave or in next; it looks for itself. */
	struct wait *owner = &group->owner->task.wait;
	if (owner->kind == WAIT_GROUP && owner->object == group)
		task_wake(&group->owner->task, 0);
}

static void drop_child(struct child *child)
{
	struct await_task *task = child->task;
	if (link_is_linked(&child->link))
		link_remove(&child->link);
	task->child = NULL;
	memory_free(task->task.loop->memory, child, sizeof *child);
	task_drop(task);
}

void group_child_ended(struct child *child)
{
	struct group *group = child->group;
	int err = task_outcome(child->task)->err;
	child->task->is_outcome_read = true; /* the group tells of it */
	link_remove(&child->link);
	group->alive--;
	child_end_handshake(child);
	group_offer_room(group);
	if (group->alive == 0 || group->flags & BIDE_COLLECT)
		group_wake_owner(group);
	if (err && err != ECANCELED)
		note_failure(group, err);
	if (group->flags & BIDE_COLLECT)
		list_push_tail(&group->ended, &child->link);
	else
		drop_child(child);
}

void child_free(struct await_task *task)
{
	if (task->child)
		memory_free(task->task.loop->memory, task->child, sizeof *task->child);
	task->child = NULL;
}

/* ---- entering ------------------------------------------------------------------------------------- */

int bide_group_enter(bide_group *public_group, unsigned limit, unsigned flags)
{
	struct group *group = (struct group *)public_group;
	if (!group || (flags & ~(BIDE_KEEP_GOING | BIDE_COLLECT)))
		return fail_with(EINVAL);
	struct await_task *task = await_current();
	if (!task)
		return -1;
	if (scope_contains(&group->scope, task))
		return fail_with(EINVAL);
	memset(group, 0, sizeof *group);
	if (scope_enter(&group->scope, task, BIDE_NEVER, 0) < 0)
		return -1;
	group->scope.is_group = true;
	annex_of(task)->group_depth++;
	group->owner = task;
	group->limit = limit;
	group->flags = flags;
	return 0;
}

struct group *group_resolve(bide_group *public_group)
{
	struct group *group = (struct group *)public_group;
	if (!loop_current)
		return fail_null(EPERM);
	if (!group || !group->owner)
		return fail_null(EINVAL);
	if (group->owner->task.loop != loop_current)
		return fail_null(EPERM);
	return group;
}

/* ---- as completed ---------------------------------------------------------------------------------- */

static struct group *resolve_own(bide_group *public_group)
{
	struct group *group = group_resolve(public_group);
	if (group && (!task_current() || &group->owner->task != task_current()))
		return fail_null(EPERM);
	return group;
}

static void tell_of(struct child *child, bide_task **handle, bide_result *out)
{
	if (handle)
		*handle = handle_of(child->task);
	if (out)
		*out = (bide_result){ task_outcome(child->task)->value, task_outcome(child->task)->err };
	drop_child(child);
}

int bide_group_next(bide_group *public_group, bide_task **handle, bide_result *out)
{
	struct group *group = resolve_own(public_group);
	if (!group)
		return -1;
	if (!(group->flags & BIDE_COLLECT))
		return fail_with(EINVAL);
	struct task *self = checkpoint();
	while (self) {
		struct link *link = list_head(&group->ended);
		if (link) {
			tell_of(container_of(link, struct child, link), handle, out);
			return 0;
		}
		if (group->alive == 0 && group->spawners == 0)
			return fail_with(ECHILD);
		wait_begin(self, NULL, WAIT_GROUP, group);
		int status = park(self, BIDE_NEVER);
		if (status)
			return fail_with(status);
		if (list_is_empty(&group->ended)) /* else an outcome was first, whatever came since */
			self = checkpoint();
	}
	return -1;
}

/* ---- canceling and leaving --------------------------------------------------------------------------- */

int bide_group_cancel(bide_group *public_group, const char *reason)
{
	struct group *group = group_resolve(public_group);
	if (!group)
		return -1;
	cancel_group(group, reason);
	return 0;
}

/* Until no child is left, nor a spawner on its way in. 0, or the errno with which the owner was
 * interrupted from outside the group; a failed child interrupts it too, but that is the group's own. */
static int wait_for_children(struct group *group)
{
	struct await_task *owner = group->owner;
	int interrupted = scope_outer_interrupt(&group->scope, owner);
	if (interrupted)
		cancel_group(group, "its group's owner was canceled");
	while (group->alive > 0 || group->spawners > 0) {
		bool is_over = group->is_canceled;
		wait_begin(&owner->task, NULL, WAIT_GROUP, group)->is_shielded = is_over;
		if (park(&owner->task, BIDE_NEVER) == 0 || is_over)
			continue;
		interrupted = scope_outer_interrupt(&group->scope, owner);
		cancel_group(group, "its group's owner was canceled");
	}
	return interrupted;
}

/* As wait_for_children(). */
static int leave(struct group *group)
{
	struct await_task *owner = group->owner;
	int interrupted = wait_for_children(group);
	struct link *link;
	while ((link = list_head(&group->ended)))
		drop_child(container_of(link, struct child, link));
	if (interrupted)
		owner->task.was_interrupted = 1;
	scope_leave(&group->scope, owner);
	annex_of(owner)->group_depth--;
	group->owner = NULL;
	return interrupted;
}

int bide_group_leave(bide_group *public_group)
{
	struct group *group = resolve_own(public_group);
	if (!group || group->owner->scope != &group->scope)
		return fail_with(EINVAL);
	int interrupted = leave(group);
	if (group->failure_count > 0)
		return fail_with(group->failures[0]);
	return interrupted ? fail_with(interrupted) : 0;
}

void groups_abandon(struct await_task *task)
{
	while (annex_peek(task)->group_depth > 0) {
		struct scope *scope = task->scope;
		if (scope->is_group) {
			struct group *group = container_of(scope, struct group, scope);
			cancel_group(group, "its group's owner ended");
			leave(group);
		} else {
			scope_leave(scope, task);
		}
	}
}

int bide_group_failures(const bide_group *public_group, int err[], int n)
{
	const struct group *group = (const struct group *)public_group;
	if (!group)
		return 0;
	for (int i = 0; err && i < n && i < (int)group->failure_count && i < FAILURES_KEPT; i++)
		err[i] = group->failures[i];
	return (int)group->failure_count;
}
