/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: waiting for a result, scopes, and canceling many.
 *
 * A hop is what one task costs another that waits for it: set the future, wake the waiter, switch to it;
 * and the waiter makes the future of the way back pending again and parks on it, which is in the clock too.
 * Scopes are entered and left with nothing in them. For the cancels, n tasks are parked on one future; in
 * the clock are n calls of bide_cancel() and the turn in which all of them fail, take the cancel back, and
 * park again. A cost that grew with n would be a hundred times as much for 10,000 as for 100; what it does grow
 * by is the price of memory: so many stacks and records are in no cache. */
#include <bide.h>

#include "common/bench.h"

#define HOP "future: set + wake + resume"
#define YIELD "bide_yield, two tasks"
#define MANY 10000

struct job {
	const bench_case *self;
	uint64_t count;
	int64_t spent;
};

static double run_main(const bench_case *self, bide_fn *main_fn, uint64_t count)
{
	struct job job = { self, count, 0 };
	bide_result result;
	if (bide_run(main_fn, &job, NULL, &result) != 0 || result.value != &job)
		return -1;
	return (double)job.spent;
}

/* ---- a hop ---------------------------------------------------------------------------------------------- */

static bide_future there, back;

static void *answer(void *arg)
{
	for (;;) {
		bide_result result;
		if (bide_await(&there, &result) < 0 || !result.value)
			return arg;
		bide_future_init(&there, NULL);
		bide_future_set(&back, arg);
	}
}

static bool hop(uint64_t count)
{
	bool worked = true;
	for (uint64_t i = 0; i < count; i += 2) {
		worked &= bide_future_set(&there, &there) == 0;
		worked &= bide_await(&back, NULL) == 0;
		bide_future_init(&back, NULL);
	}
	return worked;
}

static void *hop_main(void *arg)
{
	struct job *job = arg;
	bide_future_init(&there, NULL);
	bide_future_init(&back, NULL);
	bide_task *task = bide_spawn(answer, &there);
	bool worked = hop(1000);
	int64_t start = bench_now(job->self->clock);
	worked &= hop(job->count);
	job->spent = bench_now(job->self->clock) - start;
	bide_future_set(&there, NULL);
	worked &= bide_join(task, NULL) == 0;
	return worked ? job : NULL;
}

static double hops(const bench_case *self, uint64_t count)
{
	return run_main(self, hop_main, count);
}

static bool yields_on;

static void *yield_on(void *arg)
{
	while (yields_on)
		bide_yield();
	return arg;
}

static void *yield_main(void *arg)
{
	struct job *job = arg;
	yields_on = true;
	bide_task *task = bide_spawn(yield_on, NULL);
	bide_yield();
	int64_t start = bench_now(job->self->clock);
	for (uint64_t i = 0; i < job->count; i += 2)
		bide_yield();
	job->spent = bench_now(job->self->clock) - start;
	yields_on = false;
	return bide_join(task, NULL) == 0 ? job : NULL;
}

static double yields(const bench_case *self, uint64_t count)
{
	return run_main(self, yield_main, count);
}

/* ---- scopes --------------------------------------------------------------------------------------------- */

enum { NO_DEADLINE, DEADLINE, LATER_DEADLINE, SHIELD };

static void *scope_main(void *arg)
{
	struct job *job = arg;
	bide_scope outer, scope;
	int kind = job->self->number;
	bool worked = bide_scope_enter(&outer, kind == LATER_DEADLINE ? bide_after(3600 * BIDE_SEC) : BIDE_NEVER, 0) == 0;
	bide_time deadline = kind == NO_DEADLINE || kind == SHIELD ? BIDE_NEVER : bide_after(7200 * BIDE_SEC);
	int64_t start = bench_now(job->self->clock);
	for (uint64_t i = 0; i < job->count; i++) {
		worked &= bide_scope_enter(&scope, deadline, kind == SHIELD ? BIDE_SHIELD : 0) == 0;
		worked &= bide_scope_leave(&scope) == 0;
	}
	job->spent = bench_now(job->self->clock) - start;
	worked &= bide_scope_leave(&outer) == 0;
	return worked ? job : NULL;
}

static double scopes(const bench_case *self, uint64_t count)
{
	return run_main(self, scope_main, count);
}

/* ---- many cancels --------------------------------------------------------------------------------------- */

static int canceled;

static void *wait_again_and_again(void *arg)
{
	while (bide_await(arg, NULL) < 0 && bide_uncancel() == 0)
		canceled++;
	return NULL;
}

static bool cancel_all(bide_task **tasks, int n)
{
	canceled = 0;
	for (int i = 0; i < n; i++)
		bide_cancel(tasks[i], NULL);
	bide_yield();
	return canceled == n;
}

static void *cancel_main(void *arg)
{
	static bide_task *tasks[MANY];
	struct job *job = arg;
	bide_future future = { { 0 } };
	int n = job->self->number;
	for (int i = 0; i < n; i++)
		tasks[i] = bide_spawn(wait_again_and_again, &future);
	bide_yield();
	bool worked = cancel_all(tasks, n);
	int64_t start = bench_now(job->self->clock);
	for (uint64_t done = 0; done < job->count; done += (uint64_t)n)
		worked &= cancel_all(tasks, n);
	job->spent = bench_now(job->self->clock) - start;
	bide_future_set(&future, NULL);
	for (int i = 0; i < n; i++)
		worked &= bide_join(tasks[i], NULL) == 0;
	return worked ? job : NULL;
}

static double cancels(const bench_case *self, uint64_t count)
{
	return run_main(self, cancel_main, count);
}

static bench_case hop_cases[] = {
	{ .name = YIELD, .run = yields },
	{ .name = HOP, .vs = YIELD, .run = hops },
};

static bench_case scope_cases[] = {
	{ .name = "scope: enter + leave, no deadline", .run = scopes, .number = NO_DEADLINE },
	{ .name = "scope: enter + leave, a deadline", .run = scopes, .number = DEADLINE,
	  .vs = "scope: enter + leave, no deadline" },
	{ .name = "scope: enter + leave, one later than outside", .run = scopes, .number = LATER_DEADLINE,
	  .vs = "scope: enter + leave, no deadline" },
	{ .name = "scope: enter + leave, a shield", .run = scopes, .number = SHIELD,
	  .vs = "scope: enter + leave, no deadline" },
};

static bench_case cancel_cases[] = {
	{ .name = "cancel 100 parked tasks, each", .run = cancels, .number = 100, .count = 10 * MANY },
	{ .name = "cancel 1000 parked tasks, each", .run = cancels, .number = 1000, .count = 10 * MANY,
	  .vs = "cancel 100 parked tasks, each" },
	{ .name = "cancel 10000 parked tasks, each", .run = cancels, .number = MANY, .count = 10 * MANY,
	  .vs = "cancel 100 parked tasks, each" },
};

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "future", "futures, scopes, cancels");
	bench_group("a result handed over, nanoseconds a hop", hop_cases, sizeof hop_cases / sizeof *hop_cases);
	bench_group("scopes", scope_cases, sizeof scope_cases / sizeof *scope_cases);
	bench_group("cancel + wake + fail + park again, nanoseconds a task", cancel_cases,
	    sizeof cancel_cases / sizeof *cancel_cases);
	bench_bar(HOP, BENCH_MEDIAN_AT_MOST, 40);
	return bench_end();
}
