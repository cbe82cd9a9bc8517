/* SPDX-License-Identifier: MIT
 * Layer await: groups. A child's end comes up from life.c; everything else is called by the owner, by
 * spawners, and by whoever cancels. */
#include "await/group.h"

#include <errno.h>
#include <string.h>

#include "await/record.h"
#include "base/fail.h"

static void *fail_null(int err)
{
	errno = err;
	return NULL;
}

/* The parent, in bide_group_start(). */
struct start {
	struct wait *wait; /* of the parent; NULL once the handshake is over */
	void *value;
	bool has_started;
};

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

static bool has_room(const struct group *group)
{
	return !group->limit || group->alive < group->limit;
}

/* There is room: for the spawner that has waited longest. */
static void wake_spawner(struct group *group)
{
	struct link *waiter = list_head(&group->room_waiters);
	if (waiter && has_room(group))
		task_wake(container_of(waiter, struct wait, link)->task, 0);
}

static void wake_owner(struct group *group)
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

static void end_handshake(struct child *child)
{
	if (!child->start)
		return;
	struct start *start = child->start;
	child->start = NULL;
	task_wake(start->wait->task, 0);
}

void group_child_ended(struct child *child)
{
	struct group *group = child->group;
	int err = task_outcome(child->task)->err;
	child->task->is_outcome_read = true; /* the group tells of it */
	link_remove(&child->link);
	group->alive--;
	end_handshake(child);
	wake_spawner(group);
	if (group->alive == 0 || group->flags & BIDE_COLLECT)
		wake_owner(group);
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

/* ---- entering and spawning ------------------------------------------------------------------------ */

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

static struct group *resolve_group(bide_group *public_group)
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

/* Parks while the group is full, first come first served. */
static int wait_for_room(struct group *group)
{
	bool is_new = true;
	while (!has_room(group) || (is_new && !list_is_empty(&group->room_waiters))) {
		struct task *self = checkpoint();
		if (!self)
			return -1;
		is_new = false;
		wait_begin(self, &group->room_waiters, WAIT_GROUP, NULL);
		int status = park(self, BIDE_NEVER);
		if (status)
			return fail_with(status);
	}
	return group->is_canceled ? fail_with(ECANCELED) : 0;
}

static struct child *spawn_child(struct group *group, bide_fn *fn, void *arg, const bide_task_attr *attr,
    void *site)
{
	const struct memory *memory = loop_current->memory;
	struct child *child = memory_alloc(memory, sizeof *child);
	if (!child)
		return NULL;
	struct await_task *task = task_spawn(fn, arg, attr, site);
	if (!task) {
		memory_free(memory, child, sizeof *child);
		return NULL;
	}
	child->group = group;
	child->task = task; /* with the reference that a handle would have */
	task->is_joined = true;
	task->child = child;
	list_push_tail(&group->children, &child->link);
	group->alive++;
	return child;
}

/* Waits for room and spawns. While it does, the owner does not leave; a room that was offered and not
 * taken goes to the next in line. */
static struct child *spawn_when_there_is_room(struct group *group, bide_fn *fn, void *arg,
    const bide_task_attr *attr, void *site)
{
	if (attr && attr->flags & BIDE_DETACHED)
		return fail_null(EINVAL);
	if (group->is_canceled)
		return fail_null(ECANCELED);
	group->spawners++;
	struct child *child = wait_for_room(group) == 0 ? spawn_child(group, fn, arg, attr, site) : NULL;
	group->spawners--;
	int saved = errno;
	wake_spawner(group);
	if (group->alive == 0 && group->spawners == 0)
		wake_owner(group);
	errno = saved;
	return child;
}

bide_task *bide_group_spawn(bide_group *public_group, bide_fn *fn, void *arg, const bide_task_attr *attr)
{
	struct group *group = resolve_group(public_group);
	struct child *child = group
	    ? spawn_when_there_is_room(group, fn, arg, attr, __builtin_return_address(0)) : NULL;
	if (!child)
		return NULL;
	bide_task *handle = handle_of(child->task);
	if (attr && attr->flags & BIDE_EAGER)
		task_enter(&child->task->task);
	return handle;
}

/* ---- the handshake --------------------------------------------------------------------------------- */

static bide_task *await_start(struct task *self, struct child *child, void **started)
{
	struct await_task *task = child->task;
	bide_task *handle = handle_of(task);
	if (self->interrupt) /* since it stood in line for room */
		return (void *)interrupted(self);
	struct start start = { .wait = wait_begin(self, NULL, WAIT_GROUP, NULL) };
	child->start = &start;
	task_hold(task);
	int status = park(self, BIDE_NEVER);
	if (status && task->child)
		task->child->start = NULL;
	int err = task_outcome(task)->err;
	task_drop(task);
	if (status)
		return fail_null(status);
	if (!start.has_started)
		return fail_null(err ? err : EPIPE);
	if (started)
		*started = start.value;
	return handle;
}

bide_task *bide_group_start(bide_group *public_group, bide_fn *fn, void *arg,
    const bide_task_attr *attr, void **started)
{
	struct task *self = checkpoint(); /* first: it may let others run, who leave groups */
	if (!self)
		return NULL;
	struct group *group = resolve_group(public_group);
	if (!group)
		return NULL;
	struct child *child = spawn_when_there_is_room(group, fn, arg, attr, __builtin_return_address(0));
	return child ? await_start(self, child, started) : NULL;
}

int bide_started(void *value)
{
	struct await_task *task = await_current();
	if (!task)
		return -1;
	if (!task->child || !task->child->start)
		return fail_with(EALREADY);
	task->child->start->value = value;
	task->child->start->has_started = true;
	end_handshake(task->child);
	return 0;
}

/* ---- as completed ---------------------------------------------------------------------------------- */

static struct group *resolve_own(bide_group *public_group)
{
	struct group *group = resolve_group(public_group);
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
	for (;;) {
		struct task *self = checkpoint();
		if (!self)
			return -1;
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
	}
}

/* ---- canceling and leaving --------------------------------------------------------------------------- */

int bide_group_cancel(bide_group *public_group, const char *reason)
{
	struct group *group = resolve_group(public_group);
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
