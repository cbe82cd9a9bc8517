/* SPDX-License-Identifier: MIT
 * Layer await: what a task waits for, in words. See describe.h. */
#include "await/describe.h"

#include "await/crew.h"
#include "base/text.h"

#define SELECTS_TOLD 3

/* ---- who is waited for ------------------------------------------------------------------------------ */

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

static const struct await_task *holder_of(const struct await_task *task)
{
	const struct run *run = run_of(task->task.loop);
	const struct wait *wait = &task->task.wait;
	return run->locks ? run->locks->holder(run, (enum wait_kind)wait->kind, wait->object) : NULL;
}

struct await_task *wait_culprit(const struct await_task *task)
{
	const struct await_task *awaited = awaited_task(&task->task.wait);
	return (struct await_task *)(uintptr_t)(awaited ? awaited : holder_of(task));
}

/* ---- in words --------------------------------------------------------------------------------------- */

static void add_label(struct text *text, const struct await_task *task)
{
	char label[TASK_LABEL_SIZE];
	text_add(text, task_label(task, label));
}

static void add_fd(struct text *text, const struct wait *wait)
{
	text_add(text, " ");
	text_add_decimal(text, (uint64_t)wait->detail);
	if (wait->events & (POLLER_IN | POLLER_RDHUP))
		text_add(text, " to read");
	if (wait->events & POLLER_OUT)
		text_add(text, " to write");
}

static void add_purpose(struct text *text, const struct wait *wait)
{
	if (wait->kind == WAIT_CHAN || wait->kind == WAIT_SHARED_CHAN)
		text_add(text, wait->detail == WAIT_TO_PUT ? " to send" : " to receive");
	else if (wait->kind == WAIT_RWLOCK)
		text_add(text, wait->detail == WAIT_TO_PUT ? " to write" : " to read");
}

static void add_wait(struct text *text, const struct wait *wait)
{
	const struct await_task *awaited = awaited_task(wait);
	text_add(text, wait_kind_names[wait->kind]);
	if (wait->kind == WAIT_FD) {
		add_fd(text, wait);
	} else if (awaited) {
		text_add(text, " ");
		add_label(text, awaited);
	} else if (wait->object) {
		text_add(text, " ");
		text_add_address(text, (uintptr_t)wait->object);
		add_purpose(text, wait);
	}
}

/* What lies on the stack of the one that waits. */
static void add_selected(struct text *text, const struct wait *wait)
{
	int told = 0;
	for (const struct wait *one = wait->more; one; one = one->more, told++) {
		if (told == SELECTS_TOLD) {
			text_add(text, ", ...");
			return;
		}
		text_add(text, told == 0 ? " of " : ", ");
		add_wait(text, one);
	}
}

const char *wait_describe(const struct await_task *task, char room[DESCRIPTION_SIZE])
{
	const struct wait *wait = &task->task.wait;
	const struct await_task *holder = holder_of(task);
	struct text text;
	text_init(&text, room, DESCRIPTION_SIZE);
	add_wait(&text, wait);
	if (wait->kind == WAIT_SELECT)
		add_selected(&text, wait);
	if (holder) {
		text_add(&text, ", held by task ");
		add_label(&text, holder);
	}
	return room;
}
