/* SPDX-License-Identifier: MIT
 * Layer host: several loops that begin and end together. */
#include <bide/many.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <bide/task.h>

#include "await/record.h"
#include "base/fail.h"
#include "base/system.h"
#include "sched/inbox.h"
#include "sched/signals.h"

struct many {
	pthread_mutex_t lock;  /* over what follows */
	int err;               /* the first failure; 0: none */
	bool is_ending;
	struct member *members;
	unsigned count;

	bide_fn *main_fn;      /* the rest is set before the threads are there */
	void *arg;
	const bide_config *config;
	unsigned stops;        /* signals to end there had been before */
};

struct member {
	struct many *many;
	pthread_t thread;
	bide_loop *loop;       /* while it runs; under the lock */
	struct inbox_post cancel; /* sent once at most */
	bool is_late;          /* all were to end before it had begun */
	bide_result result;
};

static __thread int number;

static void cancel_main(struct inbox_post *post)
{
	struct run *run = run_of(loop_current);
	(void)post;
	if (run->main && run->main->task.state != TASK_DONE)
		cancel_request(run->main, "another loop failed");
}

/* Under the lock. A loop that has ended meanwhile says ESHUTDOWN. */
static void end_others(struct many *many)
{
	many->is_ending = true;
	for (struct member *member = many->members; member < many->members + many->count; member++) {
		member->cancel.run = cancel_main;
		if (member->loop)
			inbox_post(member->loop, &member->cancel);
	}
}

static void fail(struct many *many, int err)
{
	pthread_mutex_lock(&many->lock);
	if (!many->err)
		many->err = err;
	if (!many->is_ending)
		end_others(many);
	pthread_mutex_unlock(&many->lock);
}

static unsigned stops(void)
{
	return signals_stops(SIGINT) + signals_stops(SIGTERM);
}

/* False if all are to end already: after a failure, or a signal that this loop may have come too late for. */
static bool join_in(struct member *member)
{
	struct many *many = member->many;
	pthread_mutex_lock(&many->lock);
	bool hears_signals = !many->config || !(many->config->flags & BIDE_NO_SIGNALS);
	member->is_late = many->is_ending || (hears_signals && stops() != many->stops);
	member->loop = bide_loop_self();
	pthread_mutex_unlock(&many->lock);
	return !member->is_late;
}

static void leave(struct member *member)
{
	pthread_mutex_lock(&member->many->lock);
	member->loop = NULL;
	pthread_mutex_unlock(&member->many->lock);
}

static void *member_main(void *arg)
{
	struct member *member = arg;
	return join_in(member) ? member->many->main_fn(member->many->arg) : bide_fail(ECANCELED);
}

static void *run_member(void *arg)
{
	struct member *member = arg;
	struct many *many = member->many;
	number = (int)(member - many->members);
	int err = bide_run(member_main, member, many->config, &member->result) < 0 ? errno : member->result.err;
	leave(member);
	number = 0;
	if (err && !member->is_late)
		fail(many, err);
	return NULL;
}

static unsigned processors(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

/* The first is the caller's own thread. */
static void run_all(struct many *many)
{
	unsigned started = 1;
	int err = 0;
	for (; started < many->count && !err; started++)
		err = system_thread_create(&many->members[started].thread, run_member, &many->members[started]);
	if (err) {
		started--;
		fail(many, err);
	}
	run_member(&many->members[0]);
	for (unsigned i = 1; i < started; i++)
		pthread_join(many->members[i].thread, NULL);
}

int bide_run_many(unsigned count, bide_fn *main_fn, void *arg, const bide_config *config, bide_result out[])
{
	if (!main_fn)
		return fail_with(EINVAL);
	if (loop_current)
		return fail_with(EBUSY);
	struct many many = { .count = count ? count : processors(), .main_fn = main_fn, .arg = arg, .config = config,
		.stops = stops() };
	many.members = memory_alloc(&memory_default, many.count * sizeof *many.members);
	if (!many.members)
		return -1;
	pthread_mutex_init(&many.lock, NULL);
	for (unsigned i = 0; i < many.count; i++)
		many.members[i] = (struct member){ .many = &many, .result = { NULL, ECANCELED } };
	run_all(&many);
	for (unsigned i = 0; i < count && out; i++)
		out[i] = many.members[i].result;
	pthread_mutex_destroy(&many.lock);
	memory_free(&memory_default, many.members, many.count * sizeof *many.members);
	return many.err ? fail_with(many.err) : 0;
}

int bide_loop_number(void)
{
	return loop_current ? number : fail_with(EPERM);
}
