/* SPDX-License-Identifier: MIT
 * Layer sync: who holds what, for reports. */
#include "sync/holder.h"

#include <stdio.h>
#include <string.h>

#include "base/fail.h"

static const struct await_task *holder(const struct run *run, enum wait_kind kind, const void *object)
{
	switch (kind) {
	case WAIT_MUTEX:
		return mutex_holder(run, object);
	case WAIT_RWLOCK:
		return rwlock_holder(run, object);
	case WAIT_ONCE:
		return once_holder(run, object);
	default:
		return NULL;
	}
}

const struct lock_hooks lock_hooks = { mutexes_abandoned, holder, os_mutexes_check, os_mutexes_forget };

static void report(int err, const char *verb, enum wait_kind kind, const void *object)
{
	char by[TASK_LABEL_SIZE], held[TASK_LABEL_SIZE] = "";
	const struct task *self = task_current();
	const struct await_task *owner = holder(run_of(loop_current), kind, object);
	if (owner)
		task_label(owner, held);
	run_report(run_of(loop_current), BIDE_REPORT_MISUSE, "%s%s %s %s %p%s%s: %s", self ? "task " : "a callback",
	    self ? task_label(container_of(self, const struct await_task, task), by) : "", verb,
	    wait_kind_names[kind], object, owner ? ", held by task " : "", held, strerror(err));
}

int sync_misuse(int err, const char *verb, enum wait_kind kind, const void *object)
{
	if (loop_current && (run_of(loop_current)->config.flags & BIDE_DEBUG))
		report(err, verb, kind, object);
	return fail_with(err);
}
