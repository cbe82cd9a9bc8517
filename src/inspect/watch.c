/* SPDX-License-Identifier: MIT
 * Layer inspect: runs as other threads see them. See watch.h. */
#include "inspect/watch.h"

#include <pthread.h>
#include <time.h>

#include "base/locks.h"
#include "base/memory.h"
#include "base/system.h"

#define SLOW_IN_DEBUG (100 * BIDE_MSEC)
#define STALL_IN_DEBUG (500 * BIDE_MSEC)

struct list watch_list = { { &watch_list.head, &watch_list.head } };

/* What a setting of 0 means. */
static bide_time setting(bide_time set, const struct run *run, bide_time in_debug)
{
	if (set)
		return set;
	return run->config.flags & BIDE_DEBUG ? in_debug : BIDE_NEVER;
}

void watch_begin(struct run *run)
{
	struct watch *watch = memory_alloc(&memory_default, sizeof *watch);
	if (!watch)
		return;
	watch->run = run;
	watch->handle = run->loop.handle;
	watch->thread_id = (pid_t)syscall(SYS_gettid);
	pthread_getcpuclockid(pthread_self(), &watch->cpu_clock);
	watch->leaves_signals_alone = run->config.flags & BIDE_NO_SIGNALS;
	watch->slow = setting(run->config.slow_slice, run, SLOW_IN_DEBUG);
	watch->stall = setting(run->config.stall, run, STALL_IN_DEBUG);
	run->watch = watch;
	lock_take(LOCK_WATCHES);
	list_push_tail(&watch_list, &watch->link);
	lock_release(LOCK_WATCHES);
}

/* Others change the link, too, when its neighbours come and go. */
bool watch_is_listed(const struct watch *watch)
{
	lock_take(LOCK_WATCHES);
	bool is_listed = link_is_linked(&watch->link);
	lock_release(LOCK_WATCHES);
	return is_listed;
}

/* False if it is claimed. */
static bool unlist(struct watch *watch)
{
	lock_take(LOCK_WATCHES);
	bool is_free = watch->claims == 0;
	if (is_free && link_is_linked(&watch->link))
		link_remove(&watch->link);
	lock_release(LOCK_WATCHES);
	return is_free;
}

/* As a rule for microseconds; but who has claimed it may be writing a report, to a pipe that is full (base/output.h says
 * how long). */
static void await_claims(struct watch *watch)
{
	static const struct timespec moment = { .tv_nsec = 50000 };
	while (!unlist(watch))
		nanosleep(&moment, NULL);
}

void watch_end(struct run *run)
{
	if (!run->watch)
		return;
	await_claims(run->watch);
	if (run->watch->was_lost)
		freeze_settle();
	if (run->watch->may_be_held)
		freeze_end();
	memory_free(&memory_default, run->watch, sizeof *run->watch);
	run->watch = NULL;
}

struct watch *watch_claim_next(struct watch *watch)
{
	lock_take(LOCK_WATCHES);
	struct link *link = watch ? watch->link.next : watch_list.head.next;
	if (watch)
		watch->claims--;
	watch = link == &watch_list.head ? NULL : container_of(link, struct watch, link);
	if (watch)
		watch->claims++;
	lock_release(LOCK_WATCHES);
	return watch;
}

struct watch *watch_claim(bide_loop *handle)
{
	struct watch *watch = watch_claim_next(NULL);
	while (watch && watch->handle != handle)
		watch = watch_claim_next(watch);
	return watch;
}

void watch_give_back(struct watch *watch)
{
	lock_take(LOCK_WATCHES);
	watch->claims--;
	lock_release(LOCK_WATCHES);
}

/* The handler stays until the run ends, on its thread: a signal that did not come at once may come till then. */
static bool prepare(struct watch *watch)
{
	if (atomic_load(&watch->may_be_held))
		return true;
	if (watch->leaves_signals_alone || !freeze_begin())
		return false;
	if (atomic_exchange(&watch->may_be_held, true))
		freeze_end(); /* another thread was quicker */
	return true;
}

bool watch_hold(struct watch *watch, struct dump_frames *frames)
{
	if (!prepare(watch))
		return false;
	bool is_held = freeze_hold(watch->thread_id, frames);
	if (!is_held)
		atomic_store(&watch->was_lost, true);
	return is_held;
}

void watches_forget(void)
{
	struct link *link;
	while ((link = list_pop_head(&watch_list))) {
		struct watch *watch = container_of(link, struct watch, link);
		watch->claims = 0;
		watch->may_be_held = watch->was_lost = false;
		watch->run->loop.slices = NULL;
	}
}
