/* SPDX-License-Identifier: MIT
 * Layer inspect: one task of the tree. See dump_task.h. */
#include "inspect/dump_task.h"

#include "await/coro.h"
#include "await/describe.h"
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
	writer_add(dump->out, sound_wait(dump->sound, &task->task.wait) ? wait_describe(task, object) : "?");
	if (timer_is_armed(timer) && timer->node.key != BIDE_NEVER)
		say_time(dump, ", until ", timer->node.key - loop_now(dump->loop), 6, " s from now");
	say_age(dump, ", for ", task->task.wait.since, " s so far");
}

static void say_cancel(struct dump *dump, const struct await_task *task)
{
	const struct annex *annex = annex_peek(task);
	const char *reason = annex->cancel_reason;
	if (annex->cancel_count == 0)
		return;
	if (reason && !sound_memory(dump->sound, reason, 1))
		reason = "?";
	writer_add(dump->out, reason ? ", canceled: " : ", canceled");
	writer_add(dump->out, reason ? reason : "");
}

static bool are_sound(struct dump *dump, const struct await_task *task)
{
	const struct scope *scope = task->scope;
	while (scope && sound_scope(dump->sound, task, scope))
		scope = scope->outer;
	return !scope;
}

/* ---- where it stands -------------------------------------------------------------------------------- */

/* A held thread. Then what the stack was left with last time is no more. */
static bool stands_on(const struct dump *dump, const struct stack *stack)
{
	return dump->sound && dump->running->sp >= (uintptr_t)stack->low && dump->running->sp < (uintptr_t)stack->high;
}

static bool was_left(const struct dump *dump, const struct stack *stack, struct leave_point left)
{
	return left.sp && !stands_on(dump, stack) && sound_stack(dump->sound, stack, left.sp);
}

/* Whether the thread stands on one of the stacks: then it runs, whether loop->running says so already or not. A thread
 * that is in between stands where it came from until the switch is complete. */
static bool carries_thread(const struct dump *dump, const struct await_task *task)
{
	if (stands_on(dump, &task->task.stack))
		return true;
	for (const struct bide_coro *coro = task->is_entered ? task->coro : NULL; coro; coro = coro->below)
		if (stands_on(dump, &coro->stack))
			return true;
	return false;
}

static void each_storey(struct dump *dump, const struct await_task *task, tower_visitor *visit, void *arg)
{
	if (task->task.state == TASK_DONE || !sound_tower(dump->sound, task))
		return;
	if (carries_thread(dump, task))
		tower_each(task->is_entered ? task->coro : NULL, &task->task.stack, (struct leave_point){ NULL, NULL, NULL },
		    visit, arg);
	else
		tower_of_task(task, visit, arg);
}

struct depth_sum {
	const struct dump *dump;
	size_t bytes;
};

static void sum_up(const struct stack *stack, struct leave_point left, struct bide_coro *coro, void *arg)
{
	struct depth_sum *sum = arg;
	(void)coro;
	if (was_left(sum->dump, stack, left))
		sum->bytes += (size_t)((char *)stack->high - (char *)left.sp);
}

static void say_stack(struct dump *dump, struct await_task *task)
{
	const struct stack *stack = &task->task.stack;
	struct depth_sum now = { dump, 0 };
	if (task->task.state == TASK_CREATED)
		return;
	each_storey(dump, task, sum_up, &now);
	if (now.bytes > 0) { /* where the running one stands is not known */
		writer_add(dump->out, ", stack ");
		writer_add_decimal(dump->out, now.bytes);
		writer_add(dump->out, " of ");
		writer_add_decimal(dump->out, stack_size(stack));
		writer_add(dump->out, " bytes");
	}
	if (task->task.loop->stacks.options.paints && sound_stack(dump->sound, stack, stack->low)) {
		writer_add(dump->out, ", ");
		writer_add_decimal(dump->out, stack_used(stack));
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
	if (was_left(trace->dump, stack, left))
		say_frames(trace, pcs, frames_suspended(&context, stack, pcs, DUMP_FRAMES));
	else if (!left.sp && trace->dump->running)
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
		each_storey(dump, task, say_storey, &trace);
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
	dump_deadline(dump, are_sound(dump, task) ? scope_deadline(task) : BIDE_NEVER);
	say_cancel(dump, task);
	say_age(dump, ", age ", task_born(task), " s");
	say_stack(dump, task);
	writer_add(dump->out, ", spawned at ");
	writer_add(dump->out, place_of((uintptr_t)task->spawn_site - 1, place));
	writer_add(dump->out, "\n");
	if (dump->flags & BIDE_DUMP_BACKTRACES)
		say_backtrace(dump, task, depth);
}
