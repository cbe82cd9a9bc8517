/* SPDX-License-Identifier: MIT
 * Layer sync: standing in line. Whoever serves a waiter first gives it what it waits for and then wakes
 * it; so a wake that succeeds is a grant, and a waiter that was canceled is no longer in the line. */
#ifndef SYNC_LINE_H
#define SYNC_LINE_H

#include <errno.h>

#include "await/record.h"
#include "base/fail.h"
#include "sched/elsewhere.h"
#include "sync/holder.h"

/* How the waiting part of a call is marked, which always switches and is called last: see CONTEXT_RETURNS_BY_JUMP. */
#define LINE_WAITS CONTEXT_RETURNS_BY_JUMP __attribute__((noinline))

/* 0 if it was served, or the errno with which the wait ended. */
static inline int line_wait(struct task *self, struct list *line, enum wait_kind kind,
    const void *object, int detail)
{
	struct wait *wait = wait_begin(self, line, kind, object);
	wait->detail = detail;
	run_of(self->loop)->locks = &lock_hooks;
	return park(self, BIDE_NEVER);
}

static inline struct wait *line_head(const struct list *line)
{
	struct link *link = list_head(line);
	return link ? container_of(link, struct wait, link) : NULL;
}

/* May the caller, a task or a callback, serve this line? 0, or -1 with EPERM. */
static inline int line_check(const struct list *line)
{
	const struct wait *head = line_head(line);
	if (loop_current && (!head || head->task->loop == loop_current))
		return 0;
	return fail_elsewhere();
}

#endif
