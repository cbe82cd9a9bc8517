/* SPDX-License-Identifier: MIT
 * Layer inspect: the canary. See canary.h.
 *
 * The clock is read at both ends of a slice. How much of it the thread used the processor would cost a system
 * call each time: so it is asked for at a beginning only if the last time was long ago, and at the end of a slow
 * one. */
#include "inspect/canary.h"

#include <string.h>

#include "base/place.h"
#include "inspect/watchdog.h"

#define SAMPLES 8 /* in the time of the setting */

/* ---- who runs ------------------------------------------------------------------------------------- */

static void note_task(struct watched_task *note, const struct await_task *task)
{
	uint64_t words[WATCH_NAME_WORDS];
	memcpy(words, annex_peek(task)->name, sizeof words);
	for (int i = 0; i < WATCH_NAME_WORDS; i++)
		atomic_store_explicit(&note->name[i], words[i], memory_order_relaxed);
	atomic_store_explicit(&note->spawn_site, (uintptr_t)task->spawn_site, memory_order_relaxed);
	atomic_store_explicit(&note->id, task->id, memory_order_relaxed);
}

static void add_task(const struct watched_task *note, struct text *text)
{
	char place[PLACE_SIZE];
	uint64_t words[WATCH_NAME_WORDS + 1] = { 0 };
	for (int i = 0; i < WATCH_NAME_WORDS; i++)
		words[i] = atomic_load(&note->name[i]);
	text_add(text, "task ");
	text_add_decimal(text, atomic_load(&note->id));
	text_add_name(text, (const char *)words);
	text_add(text, ", spawned at ");
	text_add(text, place_of(atomic_load(&note->spawn_site) - 1, place));
}

bool canary_add_who(const struct watch *watch, uint64_t slice, struct text *text)
{
	uintptr_t callback = atomic_load(&watch->run->loop.callback);
	char place[PLACE_SIZE];
	if (atomic_load(&watch->task.id)) {
		add_task(&watch->task, text);
	} else {
		text_add(text, callback ? "the callback " : "a callback");
		text_add(text, callback ? place_of(callback, place) : "");
	}
	return atomic_load(&watch->slice) == slice;
}

void canary_add_seconds(struct text *text, bide_time time)
{
	text_add_seconds(text, (uint64_t)time, 3);
	text_add(text, " s");
}

void canary_add_own_time(struct text *text, bide_time used, bide_time blocked)
{
	canary_add_seconds(text, used);
	text_add(text, " on the processor, ");
	canary_add_seconds(text, blocked);
	text_add(text, " blocked");
}

/* ---- how long ------------------------------------------------------------------------------------- */

static void sample(struct watch *watch, bide_time now)
{
	watch->cpu_at_sample = clock_of_thread();
	watch->sampled_at = now;
}

static void begins(struct loop *loop)
{
	struct watch *watch = run_of(loop)->watch;
	atomic_store_explicit(&loop->callback, 0, memory_order_relaxed);
	if (loop->entered)
		note_task(&watch->task, await_task_of(loop->entered));
	else
		atomic_store_explicit(&watch->task.id, 0, memory_order_relaxed);
	bide_time now = clock_monotonic();
	atomic_store_explicit(&watch->began, now, memory_order_relaxed);
	if (watch->slow != BIDE_NEVER && now - watch->sampled_at >= watch->slow / SAMPLES)
		sample(watch, now);
	atomic_store(&watch->slice, atomic_load_explicit(&watch->slice, memory_order_relaxed) + 1);
	watchdog_wake();
}

static void report(struct watch *watch, uint64_t slice, bide_time wall, bide_time used, bide_time blocked)
{
	char room[512];
	struct text text;
	text_init(&text, room, sizeof room);
	modules_note();
	canary_add_who(watch, slice, &text);
	text_add(&text, ", ran for ");
	canary_add_seconds(&text, wall);
	text_add(&text, " without giving way: ");
	canary_add_own_time(&text, used, blocked);
	run_tell(watch->run, BIDE_REPORT_SLOW, room, sizeof room);
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
	if (used + blocked < watch->slow)
		return;
	board_add(watch->run->loop.board, BOARD_slow_slices, 1);
	report(watch, slice, wall, used, blocked);
}

static void measure(struct watch *watch, uint64_t slice)
{
	bide_time now = clock_monotonic(), wall = now - atomic_load_explicit(&watch->began, memory_order_relaxed);
	if (unlikely(wall >= watch->slow))
		judge(watch, slice, now, wall);
}

static void ends(struct loop *loop)
{
	struct watch *watch = run_of(loop)->watch;
	uint64_t slice = atomic_load_explicit(&watch->slice, memory_order_relaxed);
	if (slice % 2 == 0)
		return;
	if (watch->slow != BIDE_NEVER)
		measure(watch, slice);
	atomic_store_explicit(&watch->slice, slice + 1, memory_order_release);
}

void canary_begin(const struct watch *watch)
{
	static const struct slice_hooks hooks = { begins, ends };
	modules_note();
	watch->run->loop.slices = &hooks;
}
