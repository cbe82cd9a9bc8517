/* SPDX-License-Identifier: MIT
 * Layer await: stacks that overflowed, are nearly full, or could not be had. */
#include "await/stackwatch.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "await/tower.h"

/* ---- overflow ----------------------------------------------------------------------------------- */

struct search {
	const struct overflow_trace *trace;
	struct overflow_victim *victim;
	const struct await_task *task; /* whose tower is searched; NULL: the thread's */
	bool is_running;               /* it is what runs */
	bool is_found;
};

static void accuse(struct search *search, const struct stack *stack, const struct bide_coro *coro)
{
	search->is_found = true;
	search->victim->stack = *stack;
	search->victim->is_coroutine = coro != NULL;
	if (!search->task)
		return;
	search->victim->task_id = search->task->id;
	search->victim->task_name = annex_peek(search->task)->name;
	search->victim->spawn_site = (uintptr_t)search->task->spawn_site;
}

static void compare(const struct stack *stack, struct leave_point left, struct bide_coro *coro, void *arg)
{
	struct search *search = arg;
	(void)left;
	if (search->is_found || !stack || !overflow_is_of(search->trace, stack, search->is_running))
		return;
	accuse(search, stack, coro);
}

static void compare_innermost(const struct stack *stack, struct leave_point left, struct bide_coro *coro, void *arg)
{
	struct search *search = arg;
	bool is_innermost = !left.sp, beyond_guard;
	if (!is_innermost || !overflow_stepped_over(search->trace, stack, &loop_current->stacks, &beyond_guard))
		return;
	search->victim->has_stepped_over = beyond_guard;
	accuse(search, stack, coro);
}

static void search_task(void *record, void *arg)
{
	struct search *search = arg;
	search->task = record;
	if (record_is_live(search->task))
		tower_of_task(search->task, compare, search);
}

static void search_running(struct search *search, tower_visitor *visit)
{
	if (search->is_found || !loop_current || !loop_current->running)
		return;
	search->task = await_task_of(loop_current->running);
	tower_of_task(search->task, visit, search);
}

/* In a signal handler. What runs comes first. Then all records are searched, since the thread may be in the
 * middle of a switch: then it is on one task's stack and the loop says that another one runs. */
bool find_victim(const struct overflow_trace *trace, struct overflow_victim *victim)
{
	struct search search = { .trace = trace, .victim = victim, .is_running = true };
	struct leave_point nowhere = { NULL, NULL, NULL };
	tower_each(tower_of_thread(), NULL, nowhere, compare, &search);
	search_running(&search, compare);
	search.is_running = false;
	if (!search.is_found && loop_current)
		slab_each(&loop_current->tasks, search_task, &search);
	search_running(&search, compare_innermost);
	return search.is_found;
}

/* ---- nearly full --------------------------------------------------------------------------------- */

#define MARGIN 1024 /* less is left: the next call may be one too many */

/* A stack is complained of once: its canary is made good, or the task remembers. */
static void check_one(const struct stack *stack, struct leave_point left, struct bide_coro *coro, void *arg)
{
	struct await_task *task = arg;
	struct run *run = run_of(task->task.loop);
	char label[TASK_LABEL_SIZE];
	if (!stack->low)
		return;
	if (!coro && !stack_canary_is_whole(stack)) {
		stack_canary_set(stack);
		run_report(run, BIDE_REPORT_STACK, "task %s overran its stack %p-%p of %zu bytes: the last words "
		    "of it are overwritten; raise its stack_size", task_label(task, label), (void *)stack->low,
		    (void *)stack->high, stack_size(stack));
	}
	size_t room = (size_t)((char *)left.sp - stack->low);
	if (!stack_contains(stack, left.sp) || room >= MARGIN || task->was_nearly_full)
		return;
	task->was_nearly_full = true;
	run_report(run, BIDE_REPORT_STACK, "%stask %s has only %zu bytes left on its stack %p-%p of %zu bytes; "
	    "raise its stack_size", coro ? "a coroutine of " : "", task_label(task, label), room,
	    (void *)stack->low, (void *)stack->high, stack_size(stack));
}

/* Of a task that has ended on a stack of ours: its result must not lie there. */
static void check_result(struct await_task *task)
{
	char label[TASK_LABEL_SIZE];
	const struct stack *stack = &task->task.stack;
	if (stack->origin != STACK_ADOPTED && stack_contains(stack, task_outcome(task)->value))
		run_report(run_of(task->task.loop), BIDE_REPORT_STACK, "the result %p of task %s points into the task's stack "
		    "%p-%p, which is no more", task_outcome(task)->value, task_label(task, label), (void *)stack->low,
		    (void *)stack->high);
}

void check_slice(struct loop *loop, struct task *task)
{
	(void)loop;
	if (!task->stack.low)
		return;
	tower_of_task(await_task_of(task), check_one, await_task_of(task));
	if (task->state == TASK_DONE)
		check_result(await_task_of(task));
}

/* ---- not to be had ------------------------------------------------------------------------------- */

static void report_mappings(struct run *run)
{
	long limit = stack_mapping_limit();
	run_report(run, BIDE_REPORT_LIMIT, "no mapping is left for the guard of a further stack%s: guards have %ld "
	    "of the %ld that vm.max_map_count allows this process. Raise it (sysctl -w vm.max_map_count=%ld), "
	    "or use Linux 6.13 or later, where guards need none",
	    run->config.flags & BIDE_UNGUARDED_STACKS ? ", which has none" : "", stack_guard_mappings(), limit,
	    4 * limit);
}

static const struct {
	int resource;
	const char *name;
} space_limits[] = { { RLIMIT_AS, "RLIMIT_AS (ulimit -v)" }, { RLIMIT_DATA, "RLIMIT_DATA (ulimit -d)" } };

static void report_space(struct run *run)
{
	struct rlimit space;
	for (size_t i = 0; i < sizeof space_limits / sizeof *space_limits; i++) {
		if (getrlimit(space_limits[i].resource, &space) < 0 || space.rlim_cur == RLIM_INFINITY)
			continue;
		run_report(run, BIDE_REPORT_LIMIT, "no address space is left for a further stack: %s allows this "
		    "process %llu bytes", space_limits[i].name, (unsigned long long)space.rlim_cur);
		return;
	}
	run_report(run, BIDE_REPORT_LIMIT, "the system has no memory for a further stack; if it has, look at "
	    "vm.max_map_count (%ld) and vm.overcommit_memory", stack_mapping_limit());
}

void report_limit(struct run *run, enum stack_trouble *trouble)
{
	int saved = errno;
	bide_time now = clock_monotonic();
	enum stack_trouble which = *trouble;
	*trouble = STACK_TROUBLE_NONE;
	if (which == STACK_TROUBLE_NONE || (run->limit_reported_at && now < run->limit_reported_at + BIDE_SEC))
		return;
	run->limit_reported_at = now;
	if (which == STACK_TROUBLE_MAPPINGS)
		report_mappings(run);
	else
		report_space(run);
	errno = saved;
}
