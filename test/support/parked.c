/* SPDX-License-Identifier: MIT */
#include "parked.h"

bide_future gate;

void *wait_at_the_gate(void *arg)
{
	return bide_await(&gate, NULL) == 0 ? arg : bide_fail(errno);
}

bide_task *spawn_sized(bide_fn *fn, void *arg, size_t stack_size)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.stack_size = stack_size;
	return bide_spawn_with(fn, arg, &attr);
}

bide_stats stats(void)
{
	bide_stats stats = { .size = sizeof stats };
	must(bide_stats_get(NULL, &stats) == 0);
	return stats;
}
