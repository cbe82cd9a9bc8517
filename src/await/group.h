/* SPDX-License-Identifier: MIT
 * Layer await: groups inside. */
#ifndef AWAIT_GROUP_H
#define AWAIT_GROUP_H

#include <bide/group.h>

#include "await/scope.h"
#include "base/list.h"

#define FAILURES_KEPT 32

struct group {
	struct scope scope;        /* of the body: its calls are canceled with the children */
	struct await_task *owner;  /* NULL: not entered */
	struct list children;      /* struct child, alive */
	struct list ended;         /* struct child, not yet told of by next; with BIDE_COLLECT */
	struct list room_waiters;  /* spawners at the limit */
	unsigned alive;
	unsigned spawners;         /* tasks inside bide_group_spawn */
	unsigned promised;         /* of those, woken for room that they have not used yet */
	unsigned limit;
	unsigned flags;
	unsigned failure_count;
	bool is_canceled;          /* no child is spawned any more */
	int32_t failures[FAILURES_KEPT];
};

_Static_assert(sizeof(struct group) <= sizeof(bide_group), "bide_group.opaque");

struct start;

/* A task's membership, allocated with the child. */
struct child {
	struct link link;          /* in group.children or group.ended */
	struct group *group;
	struct await_task *task;
	struct start *start;       /* bide_group_start waits for this child */
};

/* The group of a public call's argument; NULL with EINVAL or EPERM. */
struct group *group_resolve(bide_group *group);
/* The owner may be in leave or in next; it looks for itself. */
void group_wake_owner(struct group *group);
/* A place may be free: it is given to the spawner that has waited longest, and so on. */
void group_offer_room(struct group *group);
/* Whoever waits in bide_group_start() for this child goes on; and who that is, NULL if nobody. */
void child_end_handshake(struct child *child);
struct await_task *child_starter(const struct child *child);

/* From life.c: the child's outcome is there. Waiters of its future have been told. */
void group_child_ended(struct child *child);

/* The task ends in the middle of its groups, whose frames are still there: innermost first their children
 * are canceled and waited for. */
void groups_abandon(struct await_task *task);

/* From a run's end. */
void child_free(struct await_task *task);

#endif
