/* SPDX-License-Identifier: MIT
 * Layer await: nothing can ever run again. See deadlock.h. */
#include "await/deadlock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "await/cycle.h"
#include "await/describe.h"
#include "base/place.h"
#include "base/text.h"

#define TEXT_SIZE 4096 /* this runs on the loop's stack */
#define TAIL_SIZE 128 /* left for how many are left out, and the seed */
#define ENTRY_SIZE (TASK_LABEL_SIZE + DESCRIPTION_SIZE + PLACE_SIZE + 64)

/* ---- what is told -------------------------------------------------------------------------------------- */

struct report {
	struct text text;
	size_t left_out;
	char room[TEXT_SIZE];
};

/* All of it, or nothing. */
static bool add_entry(struct report *report, const char *entry)
{
	if (strlen(entry) + TAIL_SIZE > text_left(&report->text))
		return false;
	text_add(&report->text, entry);
	return true;
}

static void add_task(struct text *text, const char *before, const struct await_task *task)
{
	char label[TASK_LABEL_SIZE];
	text_add(text, before);
	text_add(text, task_label(task, label));
}

static void add_wait(struct text *text, const char *before, const struct await_task *task)
{
	char object[DESCRIPTION_SIZE];
	text_add(text, before);
	text_add(text, wait_describe(task, object));
}

/* "; a cycle: task 2 waits for mutex 0x1, held by task 3, which waits for mutex 0x2, held by task 2" */
static void add_cycle(struct report *report, const struct await_task *first)
{
	const struct await_task *task = first;
	add_task(&report->text, "; a cycle: task ", first);
	do {
		char entry[ENTRY_SIZE];
		struct text text;
		text_init(&text, entry, sizeof entry);
		add_wait(&text, task == first ? " waits for " : ", which waits for ", task);
		if (wait_culprit(task) != cycle_next(task))
			add_task(&text, ", and so for task ", cycle_next(task));
		task = cycle_next(task);
		if (!add_entry(report, entry))
			break;
	} while (task != first);
	if (task != first)
		text_add(&report->text, ", which waits on");
}

static void add_waiter(void *record, void *arg)
{
	const struct await_task *task = record;
	struct report *report = arg;
	char entry[ENTRY_SIZE], place[PLACE_SIZE];
	struct text text;
	if (!record_is_live(task) || task->task.state != TASK_SUSPENDED)
		return;
	text_init(&text, entry, sizeof entry);
	add_task(&text, "; task ", task);
	add_wait(&text, " waits for ", task);
	text_add(&text, ", spawned at ");
	text_add(&text, place_of((uintptr_t)task->spawn_site - 1, place));
	if (report->left_out > 0 || !add_entry(report, entry))
		report->left_out++;
}

static void tell(struct run *run)
{
	struct report report = { .left_out = 0 };
	const struct await_task *cycle = cycle_find(run);
	modules_note();
	text_init(&report.text, report.room, sizeof report.room);
	text_add(&report.text, "deadlock: nothing can ever run again");
	if (cycle)
		add_cycle(&report, cycle);
	slab_each(&run->loop.tasks, add_waiter, &report);
	if (report.left_out > 0) {
		text_add(&report.text, "; and ");
		text_add_decimal(&report.text, report.left_out);
		text_add(&report.text, " more that wait");
	}
	run_tell(run, BIDE_REPORT_DEADLOCK, report.room, sizeof report.room);
}

/* ---- what is done --------------------------------------------------------------------------------------- */

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
	if (run->deadlock_rounds == 1)
		tell(run);
	if (run->config.deadlock == BIDE_DEADLOCK_ABORT)
		abort();
	if (run->config.deadlock == BIDE_DEADLOCK_WAIT) {
		loop->waits_for_ever = true;
		return true;
	}
	run->is_deadlocked = true;
	slab_each(&loop->tasks, fail_wait, NULL);
	return true;
}
