/* SPDX-License-Identifier: MIT
 * Layer sched: the loop's own side: entering tasks, looking at descriptors and timers, sleeping. */
#include "sched/loop.h"

#include <errno.h>

#include "sched/doubt.h"
#include "sched/lag.h"
#include "sched/park.h"
#include "sched/posts.h"

__thread struct loop *loop_current;

int loop_init(struct loop *loop, const struct loop_settings *settings)
{
	*loop = (struct loop){
		.errno_location = &errno,
		.exceptions = exceptions_here(),
		.clock = { .is_virtual = settings->is_virtual },
		.sweep_at = BIDE_NEVER,
		.sweep_wake = BIDE_NEVER,
		.memory = settings->memory,
		.random = { settings->seed },
		.posts_end = &loop->posts,
		.posts_entry = { .run = posts_run },
		.patience = BIDE_NEVER,
		.task_main = settings->task_main,
		.task_buried = settings->task_buried,
		.deadlocked = settings->deadlocked,
		.publish = settings->publish,
	};
	if (poller_init(&loop->poller) < 0)
		return -1;
	bide_time now = clock_monotonic();
	pace_init(&loop->pace, now, settings->is_virtual);
	loop->inbox = inbox_open(loop->poller.wake_fd);
	if (!loop->inbox) {
		poller_destroy(&loop->poller);
		return -1;
	}
	loop->handle = inbox_handle(loop->inbox);
	loop->board = &loop->inbox->board;
	lag_begin(loop, now);
	ready_init(&loop->ready, settings->memory, settings->is_random, settings->seed);
	timers_init(&loop->timers, settings->memory);
	descriptors_init(&loop->descriptors, settings->memory);
	slab_init(&loop->tasks, settings->record_size, settings->annex_size, settings->memory);
	stack_pool_init(&loop->stacks, settings->memory, settings->stack_hooks);
	loop->stacks.options = settings->stacks;
	list_init(&loop->settlers);
	loop_note_time(loop, clock_monotonic());
#ifdef ANNOTATE_TSAN
	loop->strand.fiber = __tsan_get_current_fiber();
#endif
	return 0;
}

void loop_destroy(struct loop *loop)
{
	strand_forget(&loop->strand);
	slab_destroy(&loop->tasks);
	if (loop->keeps_stacks)
		stack_pool_abandon(&loop->stacks);
	else
		stack_pool_destroy(&loop->stacks);
	descriptors_destroy(&loop->descriptors);
	timers_destroy(&loop->timers);
	ready_destroy(&loop->ready);
	if (loop->inbox)
		inbox_close(loop->inbox);
	poller_destroy(&loop->poller);
}

bide_loop *loop_handle(struct loop *loop)
{
	if (!loop->is_known && loop->inbox) {
		loop->is_known = true;
		pace_expect(&loop->pace);
	}
	return loop->handle;
}

/* ---- looking ----------------------------------------------------------------------------------- */

/* Will, or may, another thread bring something? */
static bool expects_posts(const struct loop *loop)
{
	return loop->outside_work > 0 || (loop->is_known && inbox_holds(loop->inbox) > 0);
}

static bool can_be_woken(const struct loop *loop)
{
	return timers_next(&loop->timers) != BIDE_NEVER || loop->descriptors.waiting > 0 || loop->listeners > 0 ||
	    loop->waits_for_ever || expects_posts(loop);
}

static bool somebody_waits(const struct loop *loop)
{
	return loop->is_known || can_be_woken(loop) || loop->sweep_at != BIDE_NEVER;
}

bool loop_takes_over(struct loop *loop)
{
	bool is_due = pace_is_due(&loop->pace, somebody_waits(loop));
	return is_due || loop->stop || loop_is_watched(loop);
}

#define PLENTY (8 * POLLER_BATCH)

/* Is anything ready but tasks that an event woke? Asked while those are fewer than a handful. */
static bool others_are_ready(const struct loop *loop)
{
	const struct link *end = &loop->ready.entries.head, *link = end->next;
	for (size_t fired = loop->descriptors.fired; fired > 0 && link != end; fired--)
		link = link->next;
	return link != end;
}

/* How many tasks may be woken at a look. What the kernel touched to report an event, and what was fetched
 * for its task, is near when the task runs soon, and far when a thousand others run before. So a loop that
 * serves descriptors alone takes a handful at a time: the next ones come no later for it. But when others are
 * ready, a handful would wait for a turn of theirs, and the rest for many: then whoever is ready is woken. */
static int tasks_to_wake(const struct loop *loop)
{
	return others_are_ready(loop) ? PLENTY : HANDFUL;
}

/* True if there was anything to hear. */
static bool look_at_descriptors(struct loop *loop, bide_time now, bide_time timeout)
{
	struct poller_event events[POLLER_BATCH];
	int most = tasks_to_wake(loop), asked = most < POLLER_BATCH ? most : POLLER_BATCH, count, total = 0;
	trace_note(loop->tracer, TRACE_SLEEP, NULL, NULL, timeout);
	do {
		count = poller_wait(&loop->poller, events, asked, now, timeout);
		trace_note(loop->tracer, TRACE_POLL, NULL, NULL, count);
		descriptors_fire(loop, events, count);
		board_add(loop->board, BOARD_polls, 1);
		total += count;
		timeout = 0;
	} while (count == asked && loop->descriptors.fired < (size_t)most && total < PLENTY);
	board_add(loop->board, BOARD_events, (uint64_t)total);
	return total > 0;
}

static void look_at_timers(struct loop *loop)
{
	if (timers_next(&loop->timers) == BIDE_NEVER)
		return;
	bide_time now = loop_now(loop);
	struct timer *timer;
	while ((timer = timers_pop_expired(&loop->timers, now))) {
		lag_timer(loop, timer->node.key, now);
		trace_note(loop->tracer, TRACE_TIMER, NULL, timer, timer->node.key);
		timer->expired(timer);
	}
}

/* The look between turns: descriptors if anybody waits for one, then posts, then timers. While a handful that
 * were woken have yet to run, the poller is not asked: they run first, and the next look is not far. */
static void look(struct loop *loop)
{
	bide_time now = clock_monotonic();
	loop_note_time(loop, now);
	if (loop->descriptors.waiting > 0) {
		doubts_ask(loop, now);
		if (loop->descriptors.fired >= HANDFUL || look_at_descriptors(loop, now, 0))
			loop->descriptors.heard_at = now;
	}
	posts_take(loop);
	look_at_timers(loop);
	if (unlikely(now >= loop->sweep_at))
		loop->sweep(loop, now, false);
	lag_look(loop, now);
	pace_looked(&loop->pace, now);
}

/* ---- sleeping ---------------------------------------------------------------------------------- */

#define VIRTUAL_IO_GRACE BIDE_MSEC /* real time that I/O has before the virtual clock jumps over it */

static bide_time earlier(bide_time a, bide_time b)
{
	return a < b ? a : b;
}

static bide_time time_until(bide_time moment, bide_time now)
{
	if (moment == BIDE_NEVER)
		return BIDE_NEVER;
	return moment > now ? moment - now : 0;
}

static void wake_settlers(struct loop *loop)
{
	struct link *link;
	while ((link = list_head(&loop->settlers)))
		task_wake(container_of(link, struct wait, link)->task, 0);
}

/* How long the loop may sleep in the kernel. */
static bide_time sleep_limit(struct loop *loop, bide_time now)
{
	bide_time deadline = timers_next(&loop->timers);
	bide_time limit = BIDE_NEVER;
	if (loop->clock.is_virtual) {
		if (deadline != BIDE_NEVER && expects_posts(loop))
			limit = time_until(loop->patience, now);
		else if (deadline != BIDE_NEVER)
			limit = loop->descriptors.waiting > 0 || loop->listeners > 0 ? VIRTUAL_IO_GRACE : 0;
	} else if (deadline != BIDE_NEVER) {
		limit = time_until(deadline, now);
	}
	if (!loop->clock.is_virtual)
		limit = earlier(limit, time_until(loop->sweep_wake, now));
	bide_time asked_again = doubts_ask(loop, now);
	return asked_again == BIDE_NEVER ? limit : earlier(limit, asked_again - now);
}

/* Nothing came in while everybody is parked: the virtual clock goes to the next deadline. */
static void jump(struct loop *loop)
{
	bide_time deadline = timers_next(&loop->timers);
	if (deadline == BIDE_NEVER || deadline <= loop->clock.now)
		return;
	loop->clock.now = deadline;
	trace_note(loop->tracer, TRACE_CLOCK, NULL, NULL, deadline);
}

/* Those who wait for the loop to settle go on once a look brings nothing more. */
static bool settle(struct loop *loop)
{
	if (list_is_empty(&loop->settlers))
		return false;
	look(loop);
	if (ready_is_empty(&loop->ready))
		wake_settlers(loop);
	return true;
}

/* Tells posters that they must wake the loop. Not if one was quicker; nor if the last keep-alive has gone
 * since it was looked at, whose thread found the loop awake. */
static bool fall_asleep(struct loop *loop)
{
	if (!inbox_fall_asleep(loop->inbox))
		return false;
	if (can_be_woken(loop))
		return true;
	inbox_wake_up(loop->inbox);
	return false;
}

/* Waits. True if there was anything to hear of descriptors; *posted tells of posts. */
static bool sleep_for(struct loop *loop, bide_time now, bide_time limit, bool *posted)
{
	bool is_asleep = limit > 0 && loop->inbox && fall_asleep(loop);
	bool has_heard = look_at_descriptors(loop, now, is_asleep || !loop->inbox ? limit : 0);
	if (is_asleep)
		inbox_wake_up(loop->inbox);
	*posted = posts_take(loop);
	return has_heard;
}

/* The same. A virtual clock goes on only when all of the limit is over: neither a signal nor a flag that was
 * left up shortens it, but for the end of what was expected from outside. */
static bool sleep_out(struct loop *loop, bide_time limit, bide_time now, bool *posted)
{
	bool has_heard, expected = expects_posts(loop), is_to_last = loop->clock.is_virtual && limit != BIDE_NEVER;
	bide_time end = time_add(now, limit);
	do
		has_heard = sleep_for(loop, now, limit, posted);
	while (!has_heard && !*posted && is_to_last && expects_posts(loop) == expected &&
	    (limit = time_until(end, now = clock_monotonic())) > 0);
	return has_heard;
}

/* Nothing is ready. Sleeps until something may be; false if nothing ever will. */
static bool idle(struct loop *loop)
{
	bool posted;
	if (settle(loop) || posts_take(loop))
		return true;
	if (!can_be_woken(loop))
		return loop->deadlocked(loop);
	bide_time now = clock_monotonic();
	if (loop->sweep)
		loop->sweep(loop, now, true);
	bide_time limit = sleep_limit(loop, now);
	if (!ready_is_empty(&loop->ready))
		return true; /* a doubted wait ended */
	lag_sleep(loop, now, limit);
	bool has_heard = sleep_out(loop, limit, now, &posted);
	bool may_jump = !expects_posts(loop) || loop->patience != BIDE_NEVER;
	if (!has_heard && !posted && loop->clock.is_virtual && may_jump &&
	    (loop->descriptors.waiting == 0 || list_is_empty(&loop->descriptors.doubted)))
		jump(loop);
	look_at_timers(loop);
	now = clock_monotonic();
	loop_note_time(loop, now);
	if (has_heard)
		loop->descriptors.heard_at = now;
	lag_wake(loop, now);
	pace_looked(&loop->pace, now);
	return true;
}

/* ---- running ----------------------------------------------------------------------------------- */

static struct entry *take_next(struct loop *loop)
{
	struct entry *entry = loop->handed;
	loop->handed = NULL;
	return entry ? entry : ready_pop(&loop->ready);
}

static void run_callback(struct loop *loop, struct entry *entry)
{
	if (!pace_goes_on(&loop->pace))
		loop_takes_over(loop);
	entry->run(entry);
}

/* The next switch comes back here, whatever is ready. */
static void enter_watched(struct loop *loop, struct task *task)
{
	pace_check_now(&loop->pace);
	slice_begins(loop, task);
	loop_enter(loop, task);
	slice_ends(loop);
	if (loop->after_slice)
		loop->after_slice(loop, loop->entered);
}

static void run_watched(struct loop *loop, struct entry *entry)
{
	if (!entry->run) {
		enter_watched(loop, task_of_entry(entry));
		return;
	}
	slice_begins(loop, NULL);
	run_callback(loop, entry);
	slice_ends(loop);
}

void loop_run(struct loop *loop)
{
	loop->stop = false;
	while (!loop->stop) {
		if (!loop->handed && pace_is_look_due(&loop->pace)) {
			look(loop);
			if (loop->stop) /* by a timer */
				break;
		}
		struct entry *entry = take_next(loop);
		if (!entry) {
			if (!idle(loop))
				return;
		} else if (unlikely(loop_is_watched(loop))) {
			run_watched(loop, entry);
		} else if (entry->run) {
			run_callback(loop, entry);
		} else {
			loop_enter(loop, task_of_entry(entry));
			trace_note(loop->tracer, TRACE_LEAVE, loop->entered, NULL, 0); /* it has begun in this slice */
		}
	}
}

void loop_stop(struct loop *loop)
{
	loop->stop = true;
	pace_check_now(&loop->pace); /* the running task gives control back at its next switch */
}

void loop_forget(void)
{
	struct loop *loop = loop_current;
	if (!loop)
		return;
	loop_stop(loop);
	loop->tracer = NULL;
	poller_destroy(&loop->poller); /* this process's copies of the descriptors */
	loop_current = NULL;
}
