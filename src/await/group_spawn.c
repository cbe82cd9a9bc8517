/* SPDX-License-Identifier: MIT
 * Layer await: how children get into a group: waiting for room, spawning, the handshake at the start.
 *
 * Room is handed over: a spawner that is woken for it has it, and nobody who comes meanwhile can take it.
 * So there is never both room and somebody who waits for it. */
#include <errno.h>

#include "await/group.h"
#include "await/record.h"
#include "base/fail.h"

/* ---- room ---------------------------------------------------------------------------------------- */

static bool has_room(const struct group *group)
{
	return !group->limit || group->alive + group->promised < group->limit;
}

void group_offer_room(struct group *group)
{
	struct link *waiter;
	while (has_room(group) && (waiter = list_head(&group->room_waiters))) {
		group->promised++;
		task_wake(container_of(waiter, struct wait, link)->task, 0);
	}
}

/* Parks while the group is full, first come first served. */
static int wait_for_room(struct group *group)
{
	if (has_room(group))
		return 0;
	struct task *self = checkpoint(); /* may let others run, who make room or cancel the group */
	if (!self)
		return -1;
	if (has_room(group) || group->is_canceled)
		return 0;
	wait_begin(self, &group->room_waiters, WAIT_ROOM, group);
	int status = park(self, BIDE_NEVER);
	if (status)
		return fail_with(status);
	group->promised--;
	return 0;
}

/* ---- spawning ------------------------------------------------------------------------------------- */

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

static struct child *wait_and_spawn(struct group *group, bide_fn *fn, void *arg, const bide_task_attr *attr,
    void *site)
{
	if (wait_for_room(group) < 0)
		return NULL;
	if (group->is_canceled)
		return fail_null(ECANCELED);
	return spawn_child(group, fn, arg, attr, site);
}

/* While it waits for room, the owner does not leave; room that was given and not used goes to the next
 * in line. */
static struct child *spawn_when_there_is_room(struct group *group, bide_fn *fn, void *arg,
    const bide_task_attr *attr, void *site)
{
	if (attr && attr->flags & BIDE_DETACHED)
		return fail_null(EINVAL);
	if (group->is_canceled)
		return fail_null(ECANCELED);
	group->spawners++;
	struct child *child = wait_and_spawn(group, fn, arg, attr, site);
	group->spawners--;
	int saved = errno;
	group_offer_room(group);
	if (group->alive == 0 && group->spawners == 0)
		group_wake_owner(group);
	errno = saved;
	return child;
}

bide_task *bide_group_spawn(bide_group *public_group, bide_fn *fn, void *arg, const bide_task_attr *attr)
{
	struct group *group = group_resolve(public_group);
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

/* The parent, in bide_group_start(). */
struct start {
	struct task *parent;
	void *value;
	bool has_started;
};

void child_end_handshake(struct child *child)
{
	if (!child->start)
		return;
	struct start *start = child->start;
	child->start = NULL;
	task_wake(start->parent, 0);
}

struct await_task *child_starter(const struct child *child)
{
	return child->start ? await_task_of(child->start->parent) : NULL;
}

static bide_task *await_start(struct task *self, struct child *child, void **started)
{
	struct await_task *task = child->task;
	bide_task *handle = handle_of(task);
	if (self->interrupt) { /* since it stood in line for room */
		interrupted(self);
		return NULL;
	}
	struct start start = { .parent = self };
	child->start = &start;
	task_hold(task);
	wait_begin(self, NULL, WAIT_START, task);
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
	struct group *group = group_resolve(public_group);
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
	child_end_handshake(task->child);
	return 0;
}
