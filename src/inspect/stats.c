/* SPDX-License-Identifier: MIT
 * Layer inspect: figures. */
#include <bide/inspect.h>

#include <errno.h>

#include "await/tower.h"
#include "base/fail.h"

_Static_assert((int)BIDE_GUARD_ADVICE == (int)STACK_GUARD_ADVICE &&
    (int)BIDE_GUARD_PROTECT == (int)STACK_GUARD_PROTECT, "one numbering of guards");

static void add_tasks(const struct run *run, bide_stats *stats)
{
	stats->tasks_alive = run->alive;
	stats->tasks_spawned = run->next_id;
}

static void add_stacks(const struct run *run, bide_stats *stats)
{
	struct stack_figures figures;
	stack_pool_figures(&run->loop.stacks, &figures);
	stats->stack_guard = (int)stack_guard_kind();
	stats->stacks_in_use = figures.in_use;
	stats->stacks_warm = figures.warm;
	stats->stacks_cold = figures.cold;
	stats->stacks_unguarded = figures.unguarded;
	stats->stack_bytes = figures.mapped;
	stats->stack_resident = figures.resident;
	stats->stack_mappings = figures.mappings;
	stats->mapping_limit = (size_t)stack_mapping_limit();
}

static void add_coros(bide_stats *stats)
{
	struct stack_figures figures;
	coros_figures(&figures);
	stats->coro_stacks_in_use = figures.in_use;
	stats->coro_stack_bytes = figures.mapped;
	stats->coro_stack_resident = figures.resident;
}

int bide_stats_get(bide_loop *loop, bide_stats *stats)
{
	if (!stats || stats->size != sizeof *stats)
		return fail_with(EINVAL);
	if (!loop_current || (loop && loop != bide_loop_self()))
		return fail_with(EPERM);
	const struct run *run = run_of(loop_current);
	*stats = (bide_stats){ .size = sizeof *stats };
	add_tasks(run, stats);
	add_stacks(run, stats);
	add_coros(stats);
	return 0;
}
