/* SPDX-License-Identifier: MIT
 * Layer sched: the inbox of a loop. See inbox.h for the protocol. */
#include "sched/inbox.h"

#include <sched.h>

#include "base/fail.h"
#include "base/locks.h"
#include "base/memory.h"
#include "base/system.h"

/* Where another thread may come in between: the test that tries all schedules gives it a body. */
#ifndef INBOX_STEP
#define INBOX_STEP() ((void)0)
#endif

#define ADDRESS_MASK (((uintptr_t)1 << INBOX_SHIFT) - 1)
#define LAST_GENERATION (UINTPTR_MAX >> INBOX_SHIFT) /* no loop's */
#define HOLD_SHIFT 32

/* ---- names -------------------------------------------------------------------------------------- */

static uintptr_t generation_of(uintptr_t word)
{
	return word >> INBOX_SHIFT;
}

static struct inbox *inbox_of(bide_loop *handle)
{
	return (struct inbox *)((uintptr_t)handle & ADDRESS_MASK);
}

bide_loop *inbox_handle(struct inbox *inbox)
{
	uintptr_t generation = generation_of(atomic_load_explicit(&inbox->head, memory_order_relaxed));
	return (bide_loop *)((uintptr_t)inbox | generation << INBOX_SHIFT);
}

/* ---- opening and closing ------------------------------------------------------------------------ */

static atomic_uint process; /* see inboxes_forget() */
static struct inbox *spare; /* inboxes that are nobody's */
static struct inbox *spent; /* those that have had all their generations */

static struct inbox *take_spare(void)
{
	lock_take(LOCK_INBOXES);
	struct inbox *inbox = spare;
	if (inbox)
		spare = inbox->next;
	lock_release(LOCK_INBOXES);
	return inbox;
}

static void put_aside(struct inbox *inbox, struct inbox **list)
{
	lock_take(LOCK_INBOXES);
	inbox->next = *list;
	*list = inbox;
	lock_release(LOCK_INBOXES);
}

struct inbox *inbox_open(int wake_fd)
{
	struct inbox *inbox = take_spare();
	if (!inbox)
		inbox = memory_alloc(&memory_default, sizeof *inbox);
	if (!inbox)
		return NULL;
	inbox->wake_fd = wake_fd;
	board_clear(&inbox->board);
	atomic_store_explicit(&inbox->process, atomic_load(&process), memory_order_relaxed);
	atomic_store(&inbox->sleep, INBOX_AWAKE);
	return inbox;
}

static struct inbox_post *turned_round(struct inbox_post *newest)
{
	struct inbox_post *oldest = NULL;
	while (newest) {
		struct inbox_post *next = newest->next;
		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	return oldest;
}

static struct inbox_post *exchange_head(struct inbox *inbox, uintptr_t generation)
{
	uintptr_t head = atomic_exchange(&inbox->head, generation << INBOX_SHIFT);
	return turned_round((struct inbox_post *)(head & ADDRESS_MASK));
}

/* First nothing more comes in, then nobody is about to write: a poster that counted itself in before it
 * saw "closed" is waited for, and holds nothing meanwhile. */
struct inbox_post *inbox_close(struct inbox *inbox)
{
	uintptr_t generation = generation_of(atomic_load(&inbox->head)) + 1;
	struct inbox_post *posts = exchange_head(inbox, generation);
	atomic_store(&inbox->holds, (uint_fast64_t)generation << HOLD_SHIFT);
	INBOX_STEP();
	atomic_store(&inbox->sleep, INBOX_CLOSED);
	INBOX_STEP();
	while (atomic_load(&inbox->wakers) > 0) {
		sched_yield();
		INBOX_STEP();
	}
	put_aside(inbox, generation < LAST_GENERATION ? &spare : &spent);
	return posts;
}

/* ---- the owner ---------------------------------------------------------------------------------- */

struct inbox_post *inbox_take(struct inbox *inbox)
{
	return exchange_head(inbox, generation_of(atomic_load_explicit(&inbox->head, memory_order_relaxed)));
}

bool inbox_fall_asleep(struct inbox *inbox)
{
	atomic_store(&inbox->sleep, INBOX_ASLEEP);
	INBOX_STEP();
	if ((atomic_load(&inbox->head) & ADDRESS_MASK) == 0)
		return true;
	inbox_wake_up(inbox);
	return false;
}

void inbox_wake_up(struct inbox *inbox)
{
	atomic_store_explicit(&inbox->sleep, INBOX_AWAKE, memory_order_relaxed);
}

void inboxes_forget(void)
{
	atomic_fetch_add(&process, 1);
}

/* ---- any thread --------------------------------------------------------------------------------- */

/* EAGAIN: the flag is up as high as it goes. */
static int raise_flag(const struct inbox *inbox)
{
	int result;
	do
		result = system_eventfd_raise(inbox->wake_fd);
	while (result < 0 && errno == EINTR);
	return result < 0 && errno != EAGAIN ? -1 : 0;
}

static int wake(struct inbox *inbox)
{
	int result = 0, asleep = INBOX_ASLEEP;
	if (likely(atomic_load(&inbox->sleep) != INBOX_ASLEEP))
		return 0;
	INBOX_STEP();
	atomic_fetch_add(&inbox->wakers, 1);
	INBOX_STEP();
	if (atomic_compare_exchange_strong(&inbox->sleep, &asleep, INBOX_AWAKE)) {
		INBOX_STEP();
		result = raise_flag(inbox);
		int awake = INBOX_AWAKE;
		if (result < 0) /* the next poster is to try again, and to be told */
			atomic_compare_exchange_strong(&inbox->sleep, &awake, INBOX_ASLEEP);
	}
	INBOX_STEP();
	atomic_fetch_sub(&inbox->wakers, 1);
	return result;
}

unsigned inbox_process(void)
{
	return atomic_load_explicit(&process, memory_order_relaxed);
}

static bool is_of_this_process(const struct inbox *inbox)
{
	return atomic_load_explicit(&inbox->process, memory_order_relaxed) == inbox_process();
}

int inbox_put(bide_loop *handle, struct inbox_post *post)
{
	struct inbox *inbox = inbox_of(handle);
	uintptr_t generation = generation_of((uintptr_t)handle);
	uintptr_t head = atomic_load(&inbox->head);
	if (!is_of_this_process(inbox))
		return fail_with(ESHUTDOWN);
	do {
		if (generation_of(head) != generation)
			return fail_with(ESHUTDOWN);
		post->next = (struct inbox_post *)(head & ADDRESS_MASK);
		INBOX_STEP();
	} while (!atomic_compare_exchange_weak(&inbox->head, &head, (uintptr_t)post | generation << INBOX_SHIFT));
	return 0;
}

/* Another loop may have its inbox by now: then that one wakes for nothing. */
int inbox_wake_owner(bide_loop *handle)
{
	INBOX_STEP();
	return wake(inbox_of(handle));
}

int inbox_post(bide_loop *handle, struct inbox_post *post)
{
	return inbox_put(handle, post) < 0 ? -1 : inbox_wake_owner(handle);
}

/* The holds of the handle's loop change by `change`; how many there are now, -1 if the loop has ended or
 * has none to lose. */
static int64_t change_holds(bide_loop *handle, int change)
{
	struct inbox *inbox = inbox_of(handle);
	uint_fast64_t holds = atomic_load(&inbox->holds), changed;
	do {
		if (holds >> HOLD_SHIFT != generation_of((uintptr_t)handle))
			return fail_with(ESHUTDOWN);
		if (change < 0 && (uint32_t)holds == 0)
			return fail_with(EINVAL);
		changed = holds + (uint_fast64_t)change;
	} while (!atomic_compare_exchange_weak(&inbox->holds, &holds, changed));
	return (uint32_t)changed;
}

int inbox_hold(bide_loop *handle)
{
	return change_holds(handle, 1) < 0 ? -1 : 0;
}

/* A loop that sleeps for nothing else any more has to find out. */
int inbox_release(bide_loop *handle)
{
	int64_t left = change_holds(handle, -1);
	if (left < 0)
		return -1;
	return left == 0 ? wake(inbox_of(handle)) : 0;
}

static bool is_owned(struct inbox *inbox, bide_loop *handle)
{
	return generation_of(atomic_load(&inbox->head)) == generation_of((uintptr_t)handle);
}

/* If the loop still is after the reading, all of it was the loop's. */
int inbox_read_board(bide_loop *handle, bide_stats *out)
{
	struct inbox *inbox = inbox_of(handle);
	if (!is_of_this_process(inbox) || !is_owned(inbox, handle))
		return fail_with(ESHUTDOWN);
	board_read(&inbox->board, out);
	return is_owned(inbox, handle) ? 0 : fail_with(ESHUTDOWN);
}
