/* SPDX-License-Identifier: MIT
 * Part of bide: groups. A group owns its children: bide_group_leave() is the only way out of it and
 * waits for all of them, whatever happened. When one fails, the others and the calls of the body (the
 * code between enter and leave) are canceled, and leave tells the failure.
 *
 *	bide_group group;
 *	bide_group_enter(&group, 0, 0);
 *	for (int i = 0; i < count; i++)
 *		bide_group_spawn(&group, fetch, &pages[i], NULL);
 *	if (bide_group_leave(&group) < 0)
 *		... errno is that of the first fetch that failed; all have ended
 */
#ifndef BIDE_GROUP_H
#define BIDE_GROUP_H

#include <bide/api.h>
#include <bide/cancel.h>
#include <bide/task.h>

BIDE_BEGIN

/* Caller-owned. */
typedef struct bide_group {
	uint64_t opaque[32];
} bide_group;

/* bide_group_enter() flags */
#define BIDE_KEEP_GOING 0x1u /* a failure cancels nobody; leave still tells the first */
#define BIDE_COLLECT 0x2u    /* outcomes are kept for bide_group_next() */

/* limit: how many children may live at once; 0: no limit. A group is a scope too: it is left in order
 * with the scopes around it. Never suspends.
 * Errors: EINVAL group is NULL, the task is in it already, unknown flags; EPERM outside a task. */
BIDE_API int bide_group_enter(bide_group *group, unsigned limit, unsigned flags);

/* As bide_spawn_with() (attr may be NULL), and parks first while the limit is reached: [S] only then.
 * Room goes to those who wait for it in the order in which they came.
 * Any task of the loop may spawn into the group. The handle is good while the child lives; it may be
 * joined, canceled and referred to, and need not be given back.
 * Errors, with arg not consumed: EINVAL the group is not entered, or BIDE_DETACHED; ECANCELED the
 * group was canceled, or a child failed; those of bide_spawn_with(). */
BIDE_API bide_task *bide_group_spawn(bide_group *group, bide_fn *fn, void *arg, const bide_task_attr *attr);

/* The same, and parks until the child has called bide_started(); *started (may be NULL) is its value.
 * If the child ends before: NULL with its failure's errno, or EPIPE if it had none. When the call
 * itself is canceled the child runs on, in the group. [S] */
BIDE_API bide_task *bide_group_start(bide_group *group, bide_fn *fn, void *arg,
    const bide_task_attr *attr, void **started);

/* From the child: lets bide_group_start() return. Errors: EPERM outside a task; EALREADY a second
 * time, or nobody waits for it. */
BIDE_API int bide_started(void *value);

/* Parks until a child has ended and tells which (*task may be NULL; the handle is stale then, and
 * good for comparison) and how: each child once, in the order in which they ended. Needs
 * BIDE_COLLECT. Errors: ECHILD no child is left to be told of; EINVAL no BIDE_COLLECT, not entered;
 * EPERM not the task that entered the group. [S] */
BIDE_API int bide_group_next(bide_group *group, bide_task **task, bide_result *out);

/* Cancels the children and the calls of the body. leave then returns 0 unless one failed. From any
 * task or callback of the loop; no cancellation point. Errors: EINVAL not entered; EPERM. */
BIDE_API int bide_group_cancel(bide_group *group, const char *reason);

/* Waits until every child has ended, also those spawned meanwhile. When the task is canceled, or a
 * deadline passes, the children are canceled, and it goes on waiting.
 * 0, or -1 with the errno of the first child that failed (a canceled child is no failure); else with
 * ECANCELED or ETIMEDOUT if that ended it. The group is left in any case but: EINVAL not entered by
 * this task, or scopes entered after it are not left. [S], but never fails on entry.
 * bide_exit() inside a group cancels the children and waits for them. A body that returns without leaving
 * its group is a mistake that ends the process: the children would go on with memory that is no more. */
BIDE_API int bide_group_leave(bide_group *group);

/* How many children have failed, and in err[0 .. n-1] their errnos, in the order in which they failed
 * (the first 32 of them are kept); also after the group was left. 0 if group is NULL. */
BIDE_API int bide_group_failures(const bide_group *group, int err[], int n);

BIDE_END

#endif
