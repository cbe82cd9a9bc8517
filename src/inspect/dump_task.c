/* SPDX-License-Identifier: MIT
 * Layer inspect: one task of the tree. See dump_task.h. */
#include "inspect/dump_task.h"

#include "await/describe.h"
#include "await/tower.h"
#include "base/place.h"
#include "stack/frames.h"

void dump_indent(struct dump *dump, unsigned depth)
{
	for (unsigned i = 0; i < depth && i < 40; i++)
		writer_add(dump->out, "  ");
}

static void say_time(struct dump *dump, const char *before, bide_time ns, int places, const char *after)
{
	writer_add(dump->out, before);
	writer_add_seconds(dump->out, ns, places);
	writer_add(dump->out, after);
}

/* Rounded to tenths: what was noted is not better than 17 ms. */
static void say_age(struct dump *dump, const char *before, uint32_t since, const char *after)
{
	say_time(dump, before, coarse_since(dump->loop, since) + 50 * BIDE_MSEC, 1, after);
}

void dump_deadline(struct dump *dump, bide_time deadline)
{
	if (deadline != BIDE_NEVER)
		say_time(dump, ", deadline in ", deadline - loop_now(dump->loop), 6, " s");
}

/* ---- what it does ----------------------------------------------------------------------------------- */

static void say_wait(struct dump *dump, const struct await_task *task)
{
	char object[DESCRIPTION_SIZE];
	const struct timer *timer = &task->task.timer;
	writer_add(dump->out, ", waits for ");
	writer_add(dump->out, wait_describe(task, object));
	if (timer_is_armed(timer) && timer->node.key != BIDE_NEVER)
		say_time(dump, ", until ", timer->node.key - loop_now(dump->loop), 6, " s from now");
	say_age(dump, ", for ", task->task.wait.since, " s so far");
}

static void say_cancel(struct dump *dump, const struct await_task *task)
{
	const struct annex *annex = annex_peek(task);
	if (annex->cancel_count == 0)
		return;
	writer_add(dump->out, annex->cancel_reason ? ", canceled: " : ", canceled");
	writer_add(dump->out, annex->cancel_reason ? annex->cancel_reason : "");
}

/* ---- where it stands -------------------------------------------------------------------------------- */

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
	if (now > 0) { /* where the running one stands is not known */
		writer_add(dump->out, ", stack ");
		writer_add_decimal(dump->out, now);
		writer_add(dump->out, " of ");
		writer_add_decimal(dump->out, stack_size(&task->task.stack));
		writer_add(dump->out, " bytes");
	}
	if (task->task.loop->stacks.options.paints) {
		writer_add(dump->out, ", ");
		writer_add_decimal(dump->out, stack_used(&task->task.stack));
		writer_add(dump->out, " at most");
	}
}

struct backtrace {
	struct dump *dump;
	unsigned depth;
};

static void say_frame(struct backtrace *trace, uintptr_t pc)
{
	char place[PLACE_SIZE];
	dump_indent(trace->dump, trace->depth);
	writer_add(trace->dump->out, "    at ");
	writer_add(trace->dump->out, place_of(pc, place));
	writer_add(trace->dump->out, "\n");
}

static void say_frames(struct backtrace *trace, const uintptr_t *pcs, int count)
{
	for (int i = 0; i < count; i++)
		say_frame(trace, pcs[i]);
	if (count != DUMP_FRAMES)
		return;
	dump_indent(trace->dump, trace->depth);
	writer_add(trace->dump->out, "    and more\n");
}

static void say_storey(const struct stack *stack, struct leave_point left, struct bide_coro *coro, void *arg)
{
	struct backtrace *trace = arg;
	uintptr_t pcs[DUMP_FRAMES];
	struct context context = { .sp = left.sp, .fp = left.frame, .resume = left.resume };
	if (left.sp)
		say_frames(trace, pcs, frames_suspended(&context, stack, pcs, DUMP_FRAMES));
	else if (trace->dump->running)
		say_frames(trace, trace->dump->running->pcs, trace->dump->running->count);
	if (!coro)
		return;
	dump_indent(trace->dump, trace->depth);
	writer_add(trace->dump->out, "    in a coroutine resumed\n");
}

static void say_backtrace(struct dump *dump, struct await_task *task, unsigned depth)
{
	struct backtrace trace = { dump, depth };
	if (task->task.state == TASK_CREATED)
		say_frame(&trace, (uintptr_t)task->fn);
	else
		tower_of_task(task, say_storey, &trace);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

void dump_task(struct dump *dump, struct await_task *task, unsigned depth)
{
	char label[TASK_LABEL_SIZE], place[PLACE_SIZE];
	dump_indent(dump, depth);
	writer_add(dump->out, "task ");
	writer_add(dump->out, task_label(task, label));
	writer_add(dump->out, " ");
	writer_add(dump->out, task_state_names[task_state(&task->task)]);
	if (task->task.state == TASK_SUSPENDED)
		say_wait(dump, task);
	dump_deadline(dump, scope_deadline(task));
	say_cancel(dump, task);
	say_age(dump, ", age ", task_born(task), " s");
	say_stack(dump, task);
	writer_add(dump->out, ", spawned at ");
	writer_add(dump->out, place_of((uintptr_t)task->spawn_site - 1, place));
	writer_add(dump->out, "\n");
	if (dump->flags & BIDE_DUMP_BACKTRACES)
		say_backtrace(dump, task, depth);
}
