/* SPDX-License-Identifier: MIT
 * Layer await: what a task waits for, in words. See describe.h. */
#include "await/describe.h"

#include <stdio.h>

#include "await/crew.h"

/* For whose end, or start, a task waits. */
static const struct await_task *awaited_task(const struct wait *wait)
{
	switch (wait->kind) {
	case WAIT_JOIN:
	case WAIT_START:
		return wait->object;
	case WAIT_CREW:
		return crew_pending(wait->object);
	default:
		return NULL;
	}
}

static void name_object(const struct wait *wait, char object[TASK_LABEL_SIZE])
{
	const struct await_task *awaited = awaited_task(wait);
	object[0] = '\0';
	if (awaited)
		task_label(awaited, object);
	else if (wait->kind == WAIT_FD)
		snprintf(object, TASK_LABEL_SIZE, "%d", wait->detail);
	else if (wait->object)
		snprintf(object, TASK_LABEL_SIZE, "%p", wait->object);
}

const char *wait_describe(const struct await_task *task, char text[DESCRIPTION_SIZE])
{
	const struct wait *wait = &task->task.wait;
	const struct lock_hooks *locks = run_of(task->task.loop)->locks;
	const struct await_task *holder = locks ? locks->holder(wait->kind, wait->object) : NULL;
	char object[TASK_LABEL_SIZE], label[TASK_LABEL_SIZE] = "";
	name_object(wait, object);
	if (holder)
		task_label(holder, label);
	snprintf(text, DESCRIPTION_SIZE, "%s%s%s%s%s", wait_kind_names[wait->kind], object[0] ? " " : "", object,
	    holder ? ", held by task " : "", label);
	return text;
}
