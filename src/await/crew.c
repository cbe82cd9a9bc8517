/* SPDX-License-Identifier: MIT
 * Layer await: tasks that an owning call holds until they have ended. */
#include "await/crew.h"

#include "await/scratch.h"

int crew_init(struct crew *crew, struct task *self, int capacity)
{
	crew->self = self;
	crew->count = crew->pending = crew->failed = 0;
	crew->first_err = crew->last_err = 0;
	crew->winner = -1;
	crew->wakes_always = crew->fails_fast = false;
	crew->members = capacity <= CREW_FEW ? crew->few : scratch_get(self, (size_t)capacity * sizeof *crew->members);
	return crew->members ? 0 : -1;
}

static void note_outcome(struct crew *crew, int index)
{
	int err = task_outcome(crew->members[index].task)->err;
	if (!err && crew->winner < 0)
		crew->winner = index;
	if (!err || err == ECANCELED)
		return;
	crew->failed++;
	crew->last_err = err;
	/* Those that had ended before came in the order of the arguments. */
	uint64_t number = annex_peek(crew->members[index].task)->end_number;
	if (!crew->first_err || number < crew->first_number) {
		crew->first_err = err;
		crew->first_number = number;
	}
}

static void member_done(struct observer *observer, struct future *future)
{
	struct crew_member *member = container_of(observer, struct crew_member, observer);
	struct crew *crew = member->crew;
	(void)future;
	crew->pending--;
	note_outcome(crew, (int)(member - crew->members));
	if (crew->wakes_always || crew->pending == 0 || (crew->fails_fast && crew->failed > 0))
		task_wake(crew->self, 0);
}

void crew_add(struct crew *crew, struct await_task *task)
{
	struct crew_member *member = &crew->members[crew->count++];
	*member = (struct crew_member){ .observer.dependent = crew->self, .task = task, .crew = crew };
	task_hold(task);
	if (task_outcome(task)->is_done) {
		note_outcome(crew, crew->count - 1);
		return;
	}
	crew->pending++;
	future_observe(task_future(task), &member->observer, member_done);
}

int crew_wait(struct crew *crew, bide_time deadline)
{
	struct task *self = crew->self;
	if (self->interrupt) {
		self->was_interrupted = 1;
		return self->interrupt;
	}
	wait_begin(self, NULL, WAIT_CREW, crew);
	return park(self, deadline);
}

void crew_end(struct crew *crew, const char *reason)
{
	for (int i = 0; i < crew->count; i++)
		if (!task_outcome(crew->members[i].task)->is_done)
			cancel_request(crew->members[i].task, reason);
	while (crew->pending > 0) {
		wait_begin(crew->self, NULL, WAIT_CREW, crew)->is_shielded = 1;
		park(crew->self, BIDE_NEVER);
	}
}

static struct await_task *pending_from(const struct crew *crew, int first)
{
	for (int i = first; i < crew->count; i++)
		if (!task_outcome(crew->members[i].task)->is_done)
			return crew->members[i].task;
	return NULL;
}

const struct await_task *crew_pending(const struct crew *crew)
{
	return pending_from(crew, 0);
}

struct await_task *crew_pending_after(const struct crew *crew, const struct await_task *task)
{
	int index = 0;
	while (index < crew->count && crew->members[index].task != task)
		index++;
	return pending_from(crew, index + 1);
}

void crew_destroy(struct crew *crew)
{
	for (int i = 0; i < crew->count; i++)
		task_drop(crew->members[i].task);
	if (crew->members != crew->few)
		scratch_put(crew->self, crew->members);
}
