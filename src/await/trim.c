/* SPDX-License-Identifier: MIT
 * Layer await: memory given back by parked tasks, when asked and by itself. See trim.h. */
#include <bide/loop.h>

#include "await/tower.h"

static void trim_one(const struct stack *stack, struct leave_point left, struct bide_coro *coro, void *arg)
{
	(void)coro;
	stack_trim(arg, stack, left.sp);
}

/* One that was left on a stack nobody knows, by code that switches stacks itself, stays as it is. */
static void trim_task(struct await_task *task)
{
	tower_of_task(task, trim_one, &task->task.loop->stacks);
}

static void trim_if_parked(void *record, void *arg)
{
	struct await_task *task = record;
	(void)arg;
	if (record_is_live(task) && task->task.state == TASK_SUSPENDED)
		trim_task(task);
}

int bide_trim(void)
{
	struct loop *loop = loop_current;
	if (loop) {
		slab_each(&loop->tasks, trim_if_parked, NULL);
		stack_pool_trim(&loop->stacks);
	}
	coros_trim();
	return 0;
}

/* ---- by itself ----------------------------------------------------------------------------------- */

#define SLICE 256 /* records, between two looks */

/* In wait.sweeps. */
enum { NOT_SEEN, SEEN, TRIMMED };

static void sweep_one(void *record, void *arg)
{
	struct await_task *task = record;
	const struct sweep *sweep = arg;
	if (!record_is_live(task) || task->task.state != TASK_SUSPENDED)
		return;
	uint8_t *sweeps = &task->task.wait.sweeps;
	if (*sweeps == NOT_SEEN && !sweep->is_of_idle) {
		*sweeps = SEEN;
	} else if (*sweeps != TRIMMED) {
		*sweeps = TRIMMED;
		trim_task(task);
	}
}

static void begin(struct sweep *sweep, bool is_of_idle)
{
	sweep->at = (struct slab_cursor){ NULL, 0 };
	sweep->is_under_way = true;
	sweep->is_of_idle = is_of_idle;
}

static void go_on(struct run *run, bide_time now)
{
	struct sweep *sweep = &run->sweep;
	if (slab_walk(&run->loop.tasks, &sweep->at, SLICE, sweep_one, sweep))
		return;
	sweep->is_under_way = false;
	sweep->next_marks = time_add(now, sweep->after);
	if (sweep->is_of_idle) {
		sweep->is_swept = true;
		stack_pool_trim(&run->loop.stacks);
	}
}

/* What was found idle has run since: whoever parked meanwhile has not waited for T. */
static void note_turn(struct sweep *sweep, uint64_t turn, bide_time now)
{
	if (turn == sweep->idle_turn)
		return;
	sweep->idle_turn = turn;
	sweep->idle_since = now;
	sweep->is_swept = false;
	sweep->is_under_way &= !sweep->is_of_idle;
}

static void sweep_tasks(struct loop *loop, bide_time now, bool is_idle)
{
	struct run *run = run_of(loop);
	struct sweep *sweep = &run->sweep;
	note_turn(sweep, loop->ready.turn, now);
	bide_time idle_end = time_add(sweep->idle_since, sweep->after);
	if (is_idle && !sweep->is_swept && now >= idle_end && !(sweep->is_under_way && sweep->is_of_idle))
		begin(sweep, true);
	else if (!sweep->is_under_way && now >= sweep->next_marks && !sweep->is_swept)
		begin(sweep, false);
	if (sweep->is_under_way)
		go_on(run, now);
	loop->sweep_at = sweep->is_under_way ? now : sweep->next_marks;
	loop->sweep_wake = sweep->is_under_way ? now : sweep->is_swept ? BIDE_NEVER : idle_end;
}

void sweep_init(struct run *run, bide_time after)
{
	if (after == 0)
		return;
	bide_time now = clock_monotonic();
	run->sweep = (struct sweep){ .after = after, .next_marks = time_add(now, after), .idle_since = now };
	run->loop.sweep = sweep_tasks;
	run->loop.sweep_at = run->sweep.next_marks;
}
