/* SPDX-License-Identifier: MIT
 * Layer await: the clock, sleeping, timers with a callback, tickers. */
#include <bide/time.h>

#include <errno.h>

#include "await/record.h"
#include "await/run.h"
#include "base/fail.h"
#include "sched/elsewhere.h"

bide_time bide_now(void)
{
	struct loop *loop = loop_current;
	return loop ? loop_now(loop) : clock_monotonic();
}

bide_time bide_after(bide_time delay)
{
	return time_add(bide_now(), delay);
}

/* ---- sleeping ---------------------------------------------------------------------------------- */

static CONTEXT_RETURNS_BY_JUMP int sleep_until(struct task *task, bide_time deadline)
{
	wait_begin(task, NULL, WAIT_SLEEP, NULL);
	int status = park(task, deadline);
	return status ? fail_with(status) : 0;
}

/* A sleep of nothing is one turn, also where the budget of calls that do not block is used up. */
int bide_sleep(bide_time delay)
{
	if (delay <= 0)
		return bide_yield();
	struct task *task = checkpoint();
	return task ? sleep_until(task, time_add(loop_now(task->loop), delay)) : -1;
}

int bide_sleep_until(bide_time deadline)
{
	struct task *task = task_current();
	if (task && deadline <= loop_now(task->loop))
		return bide_yield();
	task = checkpoint();
	return task ? sleep_until(task, deadline) : -1;
}

/* ---- callbacks --------------------------------------------------------------------------------- */

struct soon {
	struct entry entry;
	struct link pending; /* in run.soons, so that a run that ends can free it */
	struct loop *loop;
	void (*fn)(void *arg);
	void *arg;
};

static void soon_run(struct entry *entry)
{
	struct soon soon = *container_of(entry, struct soon, entry);
	struct soon *memory = container_of(entry, struct soon, entry);
	link_remove(&memory->pending);
	memory_free(soon.loop->memory, memory, sizeof soon);
	loop_calls(soon.loop, (uintptr_t)soon.fn);
	soon.fn(soon.arg);
}

int bide_call_soon(void (*fn)(void *arg), void *arg)
{
	struct loop *loop = loop_current;
	if (!loop || !fn)
		return fn ? fail_elsewhere() : fail_with(EINVAL);
	struct soon *soon = memory_alloc(loop->memory, sizeof *soon);
	if (!soon)
		return -1;
	*soon = (struct soon){ .entry.run = soon_run, .loop = loop, .fn = fn, .arg = arg };
	list_push_tail(&run_of(loop)->soons, &soon->pending);
	ready_push(&loop->ready, &soon->entry);
	return 0;
}

void soons_free(struct run *run)
{
	struct link *link;
	while ((link = list_pop_head(&run->soons)))
		memory_free(run->loop.memory, container_of(link, struct soon, pending), sizeof(struct soon));
}

/* ---- timers ------------------------------------------------------------------------------------ */

/* A bide_timer: in the heap until its deadline, in the ready queue until its turn, else idle. */
struct callback_timer {
	struct timer timer;
	struct entry entry;
	struct loop *loop; /* NULL: idle */
	void (*fn)(void *arg);
	void *arg;
	const void *site; /* the return address of the call that armed it */
};

_Static_assert(sizeof(struct callback_timer) <= sizeof(bide_timer), "bide_timer.opaque");

static void become_idle(struct callback_timer *timer)
{
	timers_unpledge(&timer->loop->timers, 1);
	timer->loop = NULL;
}

static void callback_run(struct entry *entry)
{
	struct callback_timer *timer = container_of(entry, struct callback_timer, entry);
	loop_calls(timer->loop, (uintptr_t)timer->fn);
	become_idle(timer);
	timer->fn(timer->arg);
}

static void callback_due(struct timer *due)
{
	struct callback_timer *timer = container_of(due, struct callback_timer, timer);
	ready_push(&timer->loop->ready, &timer->entry);
}

static void take_out(struct callback_timer *timer)
{
	timer_disarm(&timer->loop->timers, &timer->timer);
	loop_withdraw(timer->loop, &timer->entry);
}

static inline __attribute__((always_inline)) int arm(bide_timer *public_timer, bide_time deadline,
    void (*fn)(void *arg), void *arg, const void *site)
{
	struct callback_timer *timer = (struct callback_timer *)public_timer;
	struct loop *loop = loop_current;
	if (!timer || !fn)
		return fail_with(EINVAL);
	if (!loop || (timer->loop && timer->loop != loop))
		return fail_elsewhere();
	if (timer->loop)
		take_out(timer);
	else if (timers_pledge(&loop->timers, 1) < 0)
		return -1;
	timer->loop = loop;
	timer->fn = fn;
	timer->arg = arg;
	timer->site = site;
	timer->timer.expired = callback_due;
	timer->entry.run = callback_run;
	timer->entry.link.next = NULL;
	timer_arm(&loop->timers, &timer->timer, deadline);
	pace_expect(&loop->pace);
	return 0;
}

__attribute__((noinline)) int bide_call_at(bide_timer *timer, bide_time deadline, void (*fn)(void *arg), void *arg)
{
	return arm(timer, deadline, fn, arg, __builtin_return_address(0));
}

__attribute__((noinline)) int bide_call_later(bide_timer *timer, bide_time delay, void (*fn)(void *arg), void *arg)
{
	return arm(timer, bide_after(delay), fn, arg, __builtin_return_address(0));
}

int bide_timer_cancel(bide_timer *public_timer)
{
	struct callback_timer *timer = (struct callback_timer *)public_timer;
	if (!timer)
		return fail_with(EINVAL);
	if (!timer->loop)
		return 0;
	if (timer->loop != loop_current)
		return fail_elsewhere();
	take_out(timer);
	become_idle(timer);
	return 1;
}

void timers_each_armed(struct run *run, void (*visit)(bide_time deadline, const void *site, void *arg), void *arg)
{
	const struct heap *heap = &run->loop.timers.heap;
	for (size_t i = 0; i < heap->count; i++) {
		struct timer *timer = container_of(heap->slots[HEAP_ROOT + i].node, struct timer, node);
		if (timer->expired == callback_due)
			visit(timer->node.key, container_of(timer, struct callback_timer, timer)->site, arg);
	}
}

/* When a run ends: timers of the user's that are still armed, or due, are idle again. */
void timers_abandon(struct run *run)
{
	struct loop *loop = &run->loop;
	struct heap_node *node;
	while ((node = heap_min(&loop->timers.heap))) {
		struct timer *timer = container_of(node, struct timer, node);
		timer_disarm(&loop->timers, timer);
		if (timer->expired == callback_due)
			become_idle(container_of(timer, struct callback_timer, timer));
	}
	struct entry *entry;
	while ((entry = ready_pop(&loop->ready)))
		if (entry->run == callback_run)
			become_idle(container_of(entry, struct callback_timer, entry));
}

/* ---- tickers ----------------------------------------------------------------------------------- */

struct ticker {
	bide_time period; /* 0: not initialized */
	bide_time next;
	int policy;
};

_Static_assert(sizeof(struct ticker) <= sizeof(bide_ticker), "bide_ticker.opaque");

int bide_ticker_init(bide_ticker *public_ticker, bide_time period, int missed_tick_policy)
{
	struct ticker *ticker = (struct ticker *)public_ticker;
	if (!ticker || period <= 0 || missed_tick_policy < BIDE_TICK_SKIP || missed_tick_policy > BIDE_TICK_DELAY)
		return fail_with(EINVAL);
	if (!loop_current)
		return fail_with(EPERM);
	*ticker = (struct ticker){ period, bide_after(period), missed_tick_policy };
	return 0;
}

/* The tick at ticker->next is being served at `now`: moves on, and tells how many went by. */
static uint64_t advance(struct ticker *ticker, bide_time now)
{
	bide_time missed = (now - ticker->next) / ticker->period;
	bide_time step = ticker->period;
	if (ticker->policy == BIDE_TICK_SKIP)
		ticker->next += missed * step;
	else if (ticker->policy == BIDE_TICK_DELAY && missed > 0)
		ticker->next = now;
	ticker->next = time_add(ticker->next, step);
	return (uint64_t)missed;
}

int bide_tick(bide_ticker *public_ticker, uint64_t *missed)
{
	struct ticker *ticker = (struct ticker *)public_ticker;
	if (!ticker || ticker->period <= 0)
		return fail_with(EINVAL);
	struct task *task = checkpoint();
	if (!task)
		return -1;
	if (ticker->next > loop_now(task->loop) && sleep_until(task, ticker->next) < 0)
		return -1;
	uint64_t count = advance(ticker, loop_now(task->loop));
	if (missed)
		*missed = count;
	return 0;
}
