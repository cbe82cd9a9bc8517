/* SPDX-License-Identifier: MIT
 * Layer inspect: figures. Of another thread's loop they come from its board (sched/board.h). */
#include "inspect/stats.h"

#include <errno.h>

#include "await/tower.h"
#include "base/fail.h"

_Static_assert((int)BIDE_GUARD_ADVICE == (int)STACK_GUARD_ADVICE &&
    (int)BIDE_GUARD_PROTECT == (int)STACK_GUARD_PROTECT, "one numbering of guards");

static bool is_own(bide_loop *loop)
{
	return loop_current && (!loop || loop == loop_current->handle);
}

/* All is of now, for the others as well. */
static void read_own(bide_stats *stats)
{
	loop_current->publish(loop_current);
	board_read(loop_current->board, stats);
	stats->busy_since = clock_monotonic();
}

int stats_read(bide_loop *loop, bide_stats *stats)
{
	*stats = (bide_stats){ .size = sizeof *stats, .stack_guard = (int)stack_guard_kind() };
	if (!loop && !loop_current)
		return fail_with(EPERM);
	if (!is_own(loop))
		return inbox_read_board(loop, stats);
	read_own(stats);
	return 0;
}

static void walk_stacks(bide_stats *stats)
{
	struct stack_figures figures;
	stack_pool_figures(&loop_current->stacks, &figures);
	stats->stacks_unguarded = figures.unguarded;
	stats->stack_resident = figures.resident;
	stats->stack_mappings = figures.mappings;
}

static void walk_coros(bide_stats *stats)
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
	if (stats_read(loop, stats) < 0)
		return -1;
	stats->mapping_limit = (size_t)stack_mapping_limit();
	if (is_own(loop)) {
		walk_stacks(stats);
		walk_coros(stats);
	}
	return 0;
}
