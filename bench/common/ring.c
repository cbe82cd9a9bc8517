/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: tasks in a ring. */
#include "ring.h"

#include <bide/loop.h>
#include <bide/task.h>

#include "random.h"

bool ring_stopped;

struct ring {
	bench_clock clock;
	unsigned tasks;
	bide_fn *const *bodies;
	unsigned kinds;
	uint64_t turns;
	int64_t spent;
};

void *ring_plain_body(void *arg)
{
	while (!ring_stopped)
		bide_yield();
	return arg;
}

static int spawn_others(const struct ring *ring)
{
	bench_random random = { 1 };
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.flags = BIDE_DETACHED;
	for (unsigned i = 1; i < ring->tasks; i++)
		if (!bide_spawn_with(ring->bodies[bench_random_below(&random, ring->kinds)], NULL, &attr))
			return -1;
	return 0;
}

static void *run_ring(void *arg)
{
	struct ring *ring = arg;
	ring_stopped = false;
	bool spawned = spawn_others(ring) == 0;
	bide_yield();
	int64_t start = bench_now(ring->clock);
	for (uint64_t i = 0; i < ring->turns; i++)
		bide_yield();
	ring->spent = bench_now(ring->clock) - start;
	ring_stopped = true;
	bide_yield();
	return spawned ? ring : NULL;
}

double ring_measure(const bench_case *self, unsigned tasks, bide_fn *const *bodies, unsigned kinds,
		    uint64_t yields)
{
	struct ring ring = { .clock = self->clock, .tasks = tasks, .bodies = bodies, .kinds = kinds,
		      .turns = yields / tasks + 1 };
	bide_result result;
	if (bide_run(run_ring, &ring, NULL, &result) != 0 || !result.value)
		return -1;
	return (double)ring.spent * (double)yields / ((double)ring.turns * tasks);
}
