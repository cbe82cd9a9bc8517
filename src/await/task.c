/* SPDX-License-Identifier: MIT
 * Layer await: tasks as their users see them: handles, names, states, yielding.
 * spawn.c has their beginning, life.c their end, join.c who waits for it. */
#include <bide/task.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "await/record.h"
#include "base/place.h"
#include "base/text.h"
#include "sched/elsewhere.h"

_Static_assert((int)BIDE_TASK_CREATED == (int)TASK_CREATED && (int)BIDE_TASK_READY == (int)TASK_READY &&
    (int)BIDE_TASK_RUNNING == (int)TASK_RUNNING && (int)BIDE_TASK_SUSPENDED == (int)TASK_SUSPENDED &&
    (int)BIDE_TASK_DONE == (int)TASK_DONE, "one numbering of states");

/* ---- handles ----------------------------------------------------------------------------------- */

/* Why handle_look() did not take it. */
static int what_is_wrong(const bide_task *handle)
{
	if (!handle)
		return EINVAL;
	uintptr_t bits = (uintptr_t)handle;
	unsigned number = bits & HANDLE_RUN_MASK;
	const struct await_task *task = (void *)((bits & (((uintptr_t)1 << HANDLE_SHIFT) - 1)) - number);
	if (!loop_current || number != handle_number(run_of(loop_current)) || task->task.loop != loop_current)
		return EPERM;
	return ESRCH;
}

struct await_task *handle_resolve(const bide_task *handle)
{
	struct await_task *task = handle_look(handle);
	if (unlikely(!task) && (errno = what_is_wrong(handle)) == EPERM)
		fail_elsewhere();
	return task;
}

void report_unread(struct await_task *task)
{
	char label[TASK_LABEL_SIZE], place[PLACE_SIZE];
	if (task_outcome(task)->err != ECANCELED && !task->is_outcome_read)
		run_report(run_of(task->task.loop), BIDE_REPORT_FAILURE,
		    "task %s failed with errno %d (%s) and nobody read its outcome; spawned at %s", task_label(task, label),
		    task_outcome(task)->err, strerror(task_outcome(task)->err), place_of_call(task->spawn_site, place));
}

/* All but what tells a stale handle from a good one, and what never changes. */
static void forget(struct await_task *task)
{
	poison(task->task.annex, sizeof(struct annex));
	poison(&task->spawn_site, sizeof *task - offsetof(struct await_task, spawn_site));
}

void task_release(struct await_task *task)
{
	if (unlikely(task_outcome(task)->err))
		report_unread(task);
	task->generation++;
	forget(task);
	task_free(&task->task);
}

const char *task_label(const struct await_task *task, char label[TASK_LABEL_SIZE])
{
	struct text text;
	text_init(&text, label, TASK_LABEL_SIZE);
	text_add_decimal(&text, task->id);
	text_add_name(&text, annex_peek(task)->name);
	return label;
}

void task_name_copy(char name[TASK_NAME_SIZE], const char *from)
{
	name[0] = '\0';
	if (from)
		snprintf(name, TASK_NAME_SIZE, "%s", from);
}

/* ---- the annex ---------------------------------------------------------------------------------- */

const struct annex no_annex;

void annex_begin(struct await_task *task)
{
	struct annex *annex = task->task.annex;
	annex->done = (struct future){
		.loop = task->task.loop,
		.run = run_of(task->task.loop)->serial,
		.of_task = task,
	};
	/* One by one, in the order of the fields, which makes few stores of it: all at once is rep stos, and
	 * costs a spawn 4 to 20 ns. */
	annex->cancel_count = 0;
	annex->group_depth = 0;
	annex->held_locks = 0;
	annex->user_references = 0;
	annex->deferred = NULL;
	annex->locals = NULL;
	annex->coros = (struct list){ { NULL, NULL } };
	annex->scratch = NULL;
	annex->held_addresses = 0;
	annex->cancel_reason = NULL;
	annex->drop = NULL;
	annex->scope_timer.node.index = 0;
	annex->scope_timer.expired = scope_timer_expired;
	annex->circle_search = 0;
	annex->name[0] = '\0';
	task->has_annex = true;
}

/* ---- references --------------------------------------------------------------------------------- */

size_t bide_stack_min(void)
{
	return stack_size_min();
}

bide_task *bide_task_ref(bide_task *handle)
{
	struct await_task *task = handle_resolve(handle);
	if (!task)
		return NULL;
	task_hold(task);
	annex_of(task)->user_references++;
	return handle;
}

void bide_task_unref(bide_task *handle)
{
	struct await_task *task = handle_resolve(handle);
	if (task && annex_peek(task)->user_references > 0) {
		annex_of(task)->user_references--;
		task_drop(task);
	}
}

/* ---- the running task, and what there is to know of one ------------------------------------------ */

bide_task *bide_self(void)
{
	struct task *task = task_current();
	return task ? handle_of(await_task_of(task)) : NULL;
}

int bide_task_state(const bide_task *handle)
{
	struct await_task *task = handle_resolve(handle);
	return task ? (int)task_state(&task->task) : -1;
}

uint64_t bide_task_id(const bide_task *handle)
{
	struct await_task *task = handle_resolve(handle);
	return task ? task->id : 0;
}

static struct await_task *resolve_or_self(const bide_task *handle)
{
	return handle ? handle_resolve(handle) : await_current();
}

int bide_task_set_name(bide_task *handle, const char *name)
{
	struct await_task *task = resolve_or_self(handle);
	if (!task)
		return -1;
	task_name_copy(annex_of(task)->name, name);
	trace_note(task->task.loop->tracer, TRACE_NAME, &task->task, NULL, 0);
	return 0;
}

const char *bide_task_name(const bide_task *handle)
{
	struct await_task *task = resolve_or_self(handle);
	return task ? annex_peek(task)->name : NULL;
}

/* The budget of calls that do not block does not matter to one that does. */
int bide_yield(void)
{
	struct task *task = task_current();
	if (unlikely(!task) || unlikely(task->interrupt)) {
		checkpoint_slowly(task);
		return -1;
	}
	return yield(task);
}
