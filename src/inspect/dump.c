/* SPDX-License-Identifier: MIT
 * Layer inspect: every live task and what it is doing. */
#include <bide/inspect.h>

#include <errno.h>
#include <stdarg.h>

#include "await/describe.h"
#include "await/group.h"
#include "await/tower.h"
#include "base/fail.h"
#include "base/place.h"

/* A text is made here and not by fprintf(), which needs 10 KiB of stack for an unbuffered stream. */
struct dump {
	FILE *out;
	bool has_failed;
};

__attribute__((format(printf, 2, 3))) static void say(struct dump *dump, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	dump->has_failed |= fputs(text, dump->out) == EOF;
}

static void say_wait(struct dump *dump, const struct await_task *task)
{
	char object[DESCRIPTION_SIZE];
	const struct timer *timer = &task->task.timer;
	say(dump, ", waits for %s", wait_describe(task, object));
	if (timer_is_armed(timer) && timer->node.key != BIDE_NEVER)
		say(dump, ", until %.6f s from now", (double)(timer->node.key - bide_now()) / BIDE_SEC);
}

static void say_scopes(struct dump *dump, const struct await_task *task)
{
	bide_time deadline = scope_deadline(task);
	if (deadline != BIDE_NEVER)
		say(dump, ", deadline in %.6f s", (double)(deadline - bide_now()) / BIDE_SEC);
	if (annex_peek(task)->cancel_count > 0)
		say(dump, ", canceled%s%s", annex_peek(task)->cancel_reason ? ": " : "",
		    annex_peek(task)->cancel_reason ? annex_peek(task)->cancel_reason : "");
}

static void sum_up(const struct stack *stack, struct leave_point left, struct bide_coro *coro, void *arg)
{
	size_t *sum = arg;
	(void)coro;
	if (left.sp)
		*sum += (size_t)((char *)stack->high - (char *)left.sp);
}

static void say_stack(struct dump *dump, struct await_task *task)
{
	size_t now = 0;
	if (task->task.state == TASK_CREATED)
		return;
	tower_of_task(task, sum_up, &now);
	if (now > 0) /* where the running one stands is not known */
		say(dump, ", stack %zu of %zu bytes", now, stack_size(&task->task.stack));
	if (task->task.loop->stacks.options.paints)
		say(dump, ", %zu at most", stack_used(&task->task.stack));
}

static void say_task(void *record, void *arg)
{
	struct await_task *task = record;
	struct dump *dump = arg;
	char label[TASK_LABEL_SIZE], place[PLACE_SIZE];
	if (!record_is_live(task) || task->task.state == TASK_DONE)
		return;
	say(dump, "task %s %s", task_label(task, label), task_state_names[task_state(&task->task)]);
	if (task->task.state == TASK_SUSPENDED)
		say_wait(dump, task);
	say_scopes(dump, task);
	if (task->child)
		say(dump, ", child of task %s", task_label(task->child->group->owner, label));
	say_stack(dump, task);
	say(dump, ", spawned at %s\n", place_of((uintptr_t)task->spawn_site - 1, place));
}

int bide_dump(FILE *out, unsigned flags)
{
	if (!out || flags)
		return fail_with(EINVAL);
	if (!loop_current)
		return fail_with(EPERM);
	struct dump dump = { .out = out };
	int saved = errno;
	modules_note();
	say(&dump, "bide: %u task%s\n", run_of(loop_current)->alive, run_of(loop_current)->alive == 1 ? "" : "s");
	slab_each(&loop_current->tasks, say_task, &dump);
	if (dump.has_failed)
		return -1;
	errno = saved;
	return 0;
}
