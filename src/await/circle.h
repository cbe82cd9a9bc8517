/* SPDX-License-Identifier: MIT
 * Layer await: who waits for whom, so that a wait that could never end is refused when it is asked for.
 *
 * A task depends on another one if it cannot go on, or cannot end, before that one has ended: it joins or
 * awaits it, gathers it, waits for all of several of which it is one, waits for it to start, or owns a
 * group that it is a child of. A task that would wait for one that depends on it, over any number of
 * steps, closes a circle.
 *
 * Who waits for one of several things (select, the first of some futures, room in a group, the next child
 * to end) depends on none of them as long as another may come. Whether that can be is known only when
 * nothing can run any more; then the loop finds it, and all who still wait are told. */
#ifndef AWAIT_CIRCLE_H
#define AWAIT_CIRCLE_H

#include "await/record.h"

/* Finds all that depend on `self`, itself included, in time linear in their number and that of their waits;
 * then: is `task` one of them? */
void circle_find(struct await_task *self);
static inline bool circle_includes(const struct await_task *task)
{
	return annex_peek(task)->circle_search == run_of(task->task.loop)->circle_searches;
}

/* Would `self`, waiting for `task`, close a circle? A task that runs and owns no group depends on nobody. */
static inline bool circle_closes(struct await_task *self, const struct await_task *task)
{
	if (task == self)
		return true;
	if (task->task.state != TASK_SUSPENDED && annex_peek(task)->group_depth == 0)
		return false;
	circle_find(self);
	return circle_includes(task);
}

#endif
