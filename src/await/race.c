/* SPDX-License-Identifier: MIT
 * Layer await: racing bodies against each other, with a staggered start. */
#include <bide/combine.h>

#include <errno.h>

#include "await/crew.h"
#include "base/fail.h"

struct race {
	struct crew crew;
	bide_fn *const *fns;
	void *const *args;
	int count;
	int started;
	bide_time stagger;
	bide_time next_start;
	int spawn_err;
};

/* Nobody has won: so if it has ended, it has failed. */
static bool latest_has_ended(const struct race *race)
{
	const struct crew *crew = &race->crew;
	return crew->count == 0 || task_outcome(crew->members[crew->count - 1].task)->is_done;
}

/* The next one's turn: the first, after the stagger, or because the one before it has failed. */
static bool is_next_due(const struct race *race)
{
	return race->started < race->count && !race->spawn_err &&
	    (latest_has_ended(race) || loop_now(race->crew.self->loop) >= race->next_start);
}

static void start_next(struct race *race, void *site)
{
	int index = race->started++;
	struct await_task *task = task_spawn(race->fns[index], race->args ? race->args[index] : NULL, NULL, site);
	if (!task) {
		race->spawn_err = errno;
		return;
	}
	crew_add(&race->crew, task);
	race->next_start = time_add(loop_now(race->crew.self->loop), race->stagger);
}

/* Until one has won, all have failed, or the caller is interrupted: its errno then. */
static int run_race(struct race *race, void *site)
{
	int status = race->crew.self->interrupt;
	if (status)
		race->crew.self->was_interrupted = 1;
	while (!status && race->crew.winner < 0) {
		if (is_next_due(race))
			start_next(race, site);
		else if (race->crew.pending > 0)
			status = crew_wait(&race->crew, race->started < race->count ? race->next_start : BIDE_NEVER);
		else
			break;
	}
	return status;
}

/* The handles nobody was given. */
static void give_handles_back(struct crew *crew)
{
	for (int i = 0; i < crew->count; i++)
		task_give_handle_back(crew->members[i].task);
}

int bide_race(bide_fn *const fns[], void *const args[], int count, bide_time stagger, bide_result *winner)
{
	struct task *self = task_current();
	if (!self)
		return fail_with(EPERM);
	if (!fns || count < 1 || stagger < 0)
		return fail_with(EINVAL);
	for (int i = 0; i < count; i++)
		if (!fns[i])
			return fail_with(EINVAL);
	struct race race = { .fns = fns, .args = args, .count = count, .stagger = stagger };
	if (crew_init(&race.crew, self, count) < 0)
		return -1;
	race.crew.wakes_always = true;
	uint8_t was_interrupted = self->was_interrupted;
	int status = run_race(&race, __builtin_return_address(0));
	crew_end(&race.crew, "another one won the race");
	int index = race.crew.winner;
	if (index >= 0 && winner)
		*winner = (bide_result){ task_outcome(race.crew.members[index].task)->value, 0 };
	give_handles_back(&race.crew);
	crew_destroy(&race.crew);
	if (index >= 0) {
		self->was_interrupted = was_interrupted; /* by a cancel that came too late */
		return index;
	}
	if (status)
		return fail_with(status);
	return fail_with(race.spawn_err ? race.spawn_err : race.crew.last_err ? race.crew.last_err : ECANCELED);
}
