/* SPDX-License-Identifier: MIT
 * Layer inspect: the canary. See canary.h.
 *
 * The clock is read at both ends of a slice. How much of it the thread used the processor would cost a system
 * call each time: so it is asked for at a beginning only if the last time was long ago, and at the end of a slow
 * one. */
#include "inspect/canary.h"

#include <stdio.h>

#include "base/modules.h"
#include "inspect/watchdog.h"

#define SAMPLES 8 /* in the time of the setting */

static double seconds(bide_time time)
{
	return (double)time / BIDE_SEC;
}

const char *canary_label(const struct watch *watch, char label[SLICE_LABEL_SIZE])
{
	const struct loop *loop = &watch->run->loop;
	uintptr_t callback = atomic_load_explicit(&loop->callback, memory_order_relaxed);
	char text[TASK_LABEL_SIZE + MODULE_PLACE_SIZE];
	if (loop->entered)
		snprintf(label, SLICE_LABEL_SIZE, "task %s", task_label(await_task_of(loop->entered), text));
	else if (callback)
		snprintf(label, SLICE_LABEL_SIZE, "the callback %s", modules_place(callback, text));
	else
		snprintf(label, SLICE_LABEL_SIZE, "a callback");
	return label;
}

static void sample(struct watch *watch, bide_time now)
{
	watch->cpu_at_sample = clock_of_thread();
	watch->sampled_at = now;
}

static void begins(struct loop *loop)
{
	struct watch *watch = run_of(loop)->watch;
	loop_calls(loop, 0);
	bide_time now = clock_monotonic();
	atomic_store_explicit(&watch->began, now, memory_order_relaxed);
	if (watch->slow != BIDE_NEVER && now - watch->sampled_at >= watch->slow / SAMPLES)
		sample(watch, now);
	atomic_store(&watch->slice, atomic_load_explicit(&watch->slice, memory_order_relaxed) + 1);
	watchdog_wake();
}

static void report(struct watch *watch, bide_time wall, bide_time used, bide_time blocked)
{
	const struct task *task = watch->run->loop.entered;
	char label[SLICE_LABEL_SIZE], place[MODULE_PLACE_SIZE];
	modules_note();
	run_report(watch->run, BIDE_REPORT_SLOW, "%s ran for %.3f s without giving way, %.3f s of it on the processor "
	    "and %.3f s blocked%s%s", canary_label(watch, label), seconds(wall), seconds(used), seconds(blocked),
	    task ? "; spawned at " : "",
	    task ? modules_place((uintptr_t)await_task_of((struct task *)task)->spawn_site - 1, place) : "");
}

static bide_time smaller(bide_time a, bide_time b)
{
	return a < b ? a : b;
}

/* As far as it was seen; if it was blocked at the latest look, until now, or as long as a look counts. */
static bide_time blocked_in(const struct watch *watch, uint64_t slice, bide_time now)
{
	if (atomic_load(&watch->blocked_slice) != slice)
		return 0;
	return atomic_load(&watch->blocked_for) + smaller(now - atomic_load(&watch->blocked_at), watch_period(watch));
}

/* Of a slice that took long: whether by its own time. */
static void judge(struct watch *watch, uint64_t slice, bide_time now, bide_time wall)
{
	bide_time used = smaller(clock_of_thread() - watch->cpu_at_sample, wall);
	bide_time blocked = smaller(blocked_in(watch, slice, now), wall - used);
	watch->sampled_at = 0;
	if (used + blocked >= watch->slow)
		report(watch, wall, used, blocked);
}

static void ends(struct loop *loop)
{
	struct watch *watch = run_of(loop)->watch;
	uint64_t slice = atomic_load_explicit(&watch->slice, memory_order_relaxed);
	if (slice % 2 == 0)
		return;
	bide_time now = clock_monotonic(), wall = now - atomic_load_explicit(&watch->began, memory_order_relaxed);
	if (unlikely(wall >= watch->slow))
		judge(watch, slice, now, wall);
	atomic_store_explicit(&watch->slice, slice + 1, memory_order_release);
}

void canary_begin(struct watch *watch)
{
	static const struct slice_hooks hooks = { begins, ends };
	modules_note();
	watch->run->loop.slices = &hooks;
}
