/* SPDX-License-Identifier: MIT
 * Layer inspect: the watchdog's thread. See watchdog.h.
 *
 *      loop                                   watchdog
 *      1  count the slice's beginning         1  say "asleep"
 *      2  asleep? say "awake" and wake it     2  has any count moved? then do not sleep
 *
 * in one total order: either the loop finds "asleep", or the watchdog finds the slice.
 *
 * Own time is taken in samples. Between two looks at the same slice its thread has used so much of the processor,
 * as its clock tells; if it then is found sleeping in the kernel, it was blocked for the rest of that time, but
 * not for longer than looks should lie apart: when the process was stopped, so was this thread. */
#include "inspect/watchdog.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/locks.h"
#include "base/place.h"
#include "base/system.h"
#include "inspect/canary.h"
#include "inspect/dump_loop.h"
#include "inspect/quit.h"

#define SPARE 64 /* for what is added to a report */

atomic_uint watchdog_state;

/* Under LOCK_WATCHDOG. */
static unsigned runs;
static bool is_there;
static pthread_t thread;
static atomic_uint ended; /* threads that were told to end: the one that runs knows its number */

static bide_time smaller(bide_time a, bide_time b)
{
	return a < b ? a : b;
}

/* ---- one run ------------------------------------------------------------------------------------ */

/* Whether the kernel has put the thread to sleep. False if it does not tell. */
static bool is_blocked(pid_t thread_id)
{
	char path[48], stat[128];
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread_id);
	int fd = system_open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t count = system_read(fd, stat, sizeof stat - 1);
	system_close(fd);
	stat[count > 0 ? count : 0] = '\0';
	const char *name_end = strrchr(stat, ')');
	return name_end && (strncmp(name_end, ") S", 3) == 0 || strncmp(name_end, ") D", 3) == 0);
}

static bide_time cpu_of(const struct watch *watch)
{
	struct timespec used;
	if (clock_gettime(watch->cpu_clock, &used) < 0)
		return watch->seen_cpu;
	return used.tv_sec * BIDE_SEC + used.tv_nsec;
}

static void meet(struct watch *watch, uint64_t slice)
{
	watch->seen_slice = slice;
	watch->used = watch->blocked = 0;
	watch->is_told = false;
}

/* The slice has gone on for `period` at least. */
static void add_own_time(struct watch *watch, bide_time now, bide_time period)
{
	bide_time cpu = cpu_of(watch), used = smaller(cpu - watch->seen_cpu, now - atomic_load(&watch->began));
	watch->seen_cpu = cpu;
	watch->used += used;
	if (used >= period || freeze_holds(watch->thread_id) || !is_blocked(watch->thread_id))
		return;
	watch->blocked += period - used;
	atomic_store(&watch->blocked_for, watch->blocked);
	atomic_store(&watch->blocked_at, now);
	atomic_store(&watch->blocked_slice, watch->seen_slice);
}

/* Where the thread stands, if it is still in the slice. */
static void add_frames(struct watch *watch, struct text *text)
{
	struct dump_frames frames;
	char place[PLACE_SIZE];
	if (!watch_hold(watch, &frames))
		return;
	bool is_over = atomic_load(&watch->slice) != watch->seen_slice;
	freeze_release();
	for (int i = 0; i < frames.count && !is_over; i++) {
		text_add(text, "\n    ");
		text_add(text, place_of(frames.pcs[i], place));
	}
}

static void report(struct watch *watch)
{
	char room[4096];
	struct text text;
	text_init(&text, room, sizeof room - SPARE);
	bool goes_on = canary_add_who(watch, watch->seen_slice, &text);
	text_add(&text, ", is stuck: ");
	canary_add_own_time(&text, watch->used, watch->blocked);
	if (!goes_on)
		return; /* it is just over */
	add_frames(watch, &text);
	run_tell(watch->run, BIDE_REPORT_STALL, room, sizeof room);
	if (watch->run->config.flags & BIDE_DEBUG && !watch->run->config.report)
		dump_loop_to_stderr(watch->handle);
}

/* Whether a slice goes on, or has since the latest look. */
static bool look_at(struct watch *watch)
{
	uint64_t slice = atomic_load(&watch->slice);
	bool has_moved = slice != watch->seen_slice;
	bide_time now = clock_monotonic(), age = now - atomic_load(&watch->began);
	if (has_moved)
		meet(watch, slice);
	if (slice % 2)
		add_own_time(watch, now, smaller(age, watch_period(watch)));
	if (!watch->is_told && watch->used + watch->blocked >= watch->stall) {
		watch->is_told = true;
		report(watch);
	}
	return has_moved || slice % 2;
}

/* ---- all of them -------------------------------------------------------------------------------- */

static bide_time shortest_period(void)
{
	bide_time period = WATCH_LONGEST_PERIOD;
	for (struct watch *watch = watch_claim_next(NULL); watch; watch = watch_claim_next(watch))
		period = smaller(period, watch_period(watch));
	return period;
}

static bool look_at_all(void)
{
	bool any = false;
	for (struct watch *watch = watch_claim_next(NULL); watch; watch = watch_claim_next(watch))
		any |= watch_is_timed(watch) && look_at(watch);
	return any;
}

static bool any_moved(void)
{
	bool any = false;
	for (struct watch *watch = watch_claim_next(NULL); watch; watch = watch_claim_next(watch))
		any |= atomic_load(&watch->slice) != watch->seen_slice;
	return any || quit_has_come();
}

static void answer_quit(void)
{
	quit_take();
	dump_all_loops();
}

/* Unless somebody has begun something, or wants it to end; its successor may be there already, and fall asleep. */
static void fall_asleep(unsigned number)
{
	atomic_store(&watchdog_state, WATCHDOG_ASLEEP);
	if (any_moved() || atomic_load(&ended) != number)
		atomic_store(&watchdog_state, WATCHDOG_AWAKE);
	while (atomic_load(&watchdog_state) == WATCHDOG_ASLEEP && atomic_load(&ended) == number)
		futex_wait(&watchdog_state, WATCHDOG_ASLEEP, BIDE_NEVER);
}

static void *watch_all(void *arg)
{
	unsigned number = (unsigned)(uintptr_t)arg;
	while (atomic_load(&ended) == number) {
		if (quit_has_come())
			answer_quit();
		if (!look_at_all())
			fall_asleep(number);
		else
			futex_wait(&ended, number, time_add(clock_monotonic(), shortest_period()));
	}
	return NULL;
}

/* ---- its life ----------------------------------------------------------------------------------- */

/* No signal of the host's is delivered to it. */
static bool start(void)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = system_thread_create(&thread, watch_all, (void *)(uintptr_t)atomic_load(&ended));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err == 0;
}

void watchdog_begin(void)
{
	lock_take(LOCK_WATCHDOG);
	runs++;
	if (!is_there)
		is_there = start();
	lock_release(LOCK_WATCHDOG);
}

void watchdog_end(void)
{
	lock_take(LOCK_WATCHDOG);
	bool is_last = --runs == 0 && is_there;
	pthread_t last = thread;
	if (is_last) {
		is_there = false;
		atomic_fetch_add(&ended, 1);
		futex_wake(&ended);
		watchdog_wake();
	}
	lock_release(LOCK_WATCHDOG);
	if (is_last)
		pthread_join(last, NULL);
}

void watchdog_forget(void)
{
	runs = 0;
	is_there = false;
	atomic_fetch_add(&ended, 1);
	atomic_store(&watchdog_state, WATCHDOG_AWAKE);
}
