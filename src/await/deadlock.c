/* SPDX-License-Identifier: MIT
 * Layer await: nothing can ever run again. See deadlock.h. */
#include "await/deadlock.h"

#include <errno.h>
#include <stdio.h>

#include "await/describe.h"

struct deadlock_text {
	char text[800];
	size_t length;
};

static void add_waiter(void *record, void *arg)
{
	const struct await_task *task = record;
	struct deadlock_text *out = arg;
	char label[TASK_LABEL_SIZE], object[DESCRIPTION_SIZE];
	if (!record_is_live(task) || task->task.state != TASK_SUSPENDED || out->length >= sizeof out->text)
		return;
	out->length += (size_t)snprintf(out->text + out->length, sizeof out->text - out->length,
	    "; task %s waits for %s", task_label(task, label), wait_describe(task, object));
}

static void fail_wait(void *record, void *arg)
{
	struct await_task *task = record;
	(void)arg;
	if (record_is_live(task) && task->task.state == TASK_SUSPENDED)
		task_wake(&task->task, EDEADLK);
}

bool deadlock_report(struct loop *loop)
{
	struct run *run = run_of(loop);
	if (run->deadlock_rounds++ >= DEADLOCK_ROUNDS_MAX)
		return false;
	if (!run->is_deadlocked) {
		struct deadlock_text out = { .length = 0 };
		slab_each(&loop->tasks, add_waiter, &out);
		run_report(run, BIDE_REPORT_DEADLOCK, "deadlock: nothing can ever run again%s", out.text);
	}
	run->is_deadlocked = true;
	slab_each(&loop->tasks, fail_wait, NULL);
	return true;
}
