/* SPDX-License-Identifier: MIT
 * All interleavings of a few actors. See schedules.h. */
#include "schedules.h"

#include <bide/coro.h>

#include "suite.h"

#define DEPTH_MAX 200

/* One schedule. */
static struct {
	int count;
	bide_coro *coro[ACTORS_MAX];
	bool is_done[ACTORS_MAX];
	int running;     /* -1: none */
	int latest;      /* who made the latest step, and how often one was stopped that could have gone on */
	int preemptions;
} world = { .running = -1 };

/* The choices of this schedule, and how many there were each time. */
static struct {
	uint8_t chosen[DEPTH_MAX], options[DEPTH_MAX];
	int depth;
} path;

int schedules_actor(bide_fn *fn, void *arg)
{
	must(world.count < ACTORS_MAX);
	must(world.coro[world.count] = bide_coro_new(fn, arg, 0));
	return world.count++;
}

void schedules_step(void)
{
	if (world.running >= 0)
		bide_coro_yield(NULL);
}

int schedules_running(void)
{
	return world.running;
}

static bool can_run(const struct schedules *schedules, int actor)
{
	return !world.is_done[actor] && !(schedules->is_blocked && schedules->is_blocked(actor));
}

/* Those that can run, the latest first; it alone when there were preemptions enough. */
static int list_able(const struct schedules *schedules, int able[ACTORS_MAX])
{
	int count = 0;
	bool goes_on = can_run(schedules, world.latest);
	if (goes_on)
		able[count++] = world.latest;
	for (int i = 0; i < world.count && (!goes_on || world.preemptions < schedules->preemptions_max); i++)
		if (i != world.latest && can_run(schedules, i))
			able[count++] = i;
	return count;
}

/* Who makes step number `at`; -1 if nobody can. */
static int choose(const struct schedules *schedules, int at)
{
	int able[ACTORS_MAX];
	int count = list_able(schedules, able);
	if (count == 0)
		return -1;
	must(at < DEPTH_MAX);
	if (at >= path.depth) {
		path.chosen[at] = 0;
		path.options[at] = (uint8_t)count;
		path.depth = at + 1;
	}
	must_msg(path.options[at] == count, "step %d can be made by %d actors, and could by %d before", at, count,
	    path.options[at]);
	int actor = able[path.chosen[at]];
	if (actor != world.latest && can_run(schedules, world.latest))
		world.preemptions++;
	world.latest = actor;
	return actor;
}

/* The next path, depth first; false after the last. */
static bool advance(void)
{
	while (path.depth > 0 && path.chosen[path.depth - 1] + 1 == path.options[path.depth - 1])
		path.depth--;
	if (path.depth == 0)
		return false;
	path.chosen[path.depth - 1]++;
	return true;
}

static void run_one(const struct schedules *schedules)
{
	int actor;
	world.latest = world.preemptions = 0;
	memset(world.is_done, 0, sizeof world.is_done);
	for (int at = 0; (actor = choose(schedules, at)) >= 0; at++) {
		world.running = actor;
		world.is_done[actor] = bide_coro_resume(world.coro[actor], NULL, NULL) == 0;
		world.running = -1;
	}
	for (int i = 0; i < world.count; i++) {
		must_msg(world.is_done[i], "actor %d of %d never goes on: a lost wake-up", i, world.count);
		must(bide_coro_close(world.coro[i]) == 0);
	}
	world.count = 0;
}

long schedules_try_all(const struct schedules *schedules)
{
	long count = 0;
	path.depth = 0;
	do {
		schedules->begin();
		run_one(schedules);
		schedules->end();
		count++;
	} while (advance());
	return count;
}
