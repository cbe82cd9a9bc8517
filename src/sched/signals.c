/* SPDX-License-Identifier: MIT
 * Layer sched: signals, brought from their handlers to loops. See signals.h. */
#include "sched/signals.h"

#include <sched.h>
#include <string.h>

#include "base/fail.h"
#include "base/locks.h"
#include "base/memory.h"
#include "base/system.h"
#include "sched/loop.h"
#include "sched/posts.h"

#define SIGNALS 64

/* What there is to know of one signal. */
struct disposition {
	unsigned watches;        /* under the lock: how many have it */
	struct sigaction before; /* the host's; set before our handler is */
	atomic_uint stops;       /* see signals_stops() */
	atomic_flag info_is_used;
	siginfo_t info;
};

static struct disposition dispositions[SIGNALS + 1]; /* by number */
static _Atomic(struct signal_watch *) watches;

/* ---- in the handler ----------------------------------------------------------------------------- */

/* A handler that finds it in use, by another one or by a reader that it has interrupted, lets the older
 * one stand. */
static void note_info(struct disposition *disposition, const siginfo_t *info)
{
	if (atomic_flag_test_and_set(&disposition->info_is_used))
		return;
	disposition->info = *info;
	atomic_flag_clear(&disposition->info_is_used);
}

static void deliver(struct signal_watch *watch, bide_loop *loop)
{
	if (!loop || (inbox_post(loop, &watch->post) < 0 && errno == ESHUTDOWN))
		atomic_store(&watch->is_posted, false);
}

static void raise_in(struct signal_watch *watch, signal_mask bit)
{
	atomic_fetch_or(&watch->raised, bit);
	if (!atomic_exchange(&watch->is_posted, true))
		deliver(watch, atomic_load(&watch->loop));
}

/* Whether there was a watch of this kind. */
static bool raise_all(signal_mask bit, bool is_stop)
{
	bool any = false;
	for (struct signal_watch *watch = atomic_load(&watches); watch; watch = watch->next) {
		if (!(atomic_load(&watch->mask) & bit) || watch->is_stop != is_stop)
			continue;
		raise_in(watch, bit);
		any = true;
	}
	return any;
}

static void call_host(int number, siginfo_t *info, void *context)
{
	const struct sigaction *before = &dispositions[number].before;
	if (before->sa_flags & SA_SIGINFO)
		before->sa_sigaction(number, info, context);
	else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
		before->sa_handler(number);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int saved = errno;
	signal_mask bit = signal_bit(number);
	note_info(&dispositions[number], info);
	if (!raise_all(bit, false)) {
		atomic_fetch_add(&dispositions[number].stops, 1); /* first: who opens a watch looks at it then */
		if (raise_all(bit, true))
			sigaction(number, &dispositions[number].before, NULL);
	}
	call_host(number, info, context);
	errno = saved;
}

/* ---- dispositions ------------------------------------------------------------------------------- */

static bool is_default(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_signal;
}

#define RESTORER 0x04000000 /* SA_RESTORER, which the C library may have added */

static bool is_same(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_handler == b->sa_handler && ((a->sa_flags ^ b->sa_flags) & ~RESTORER) == 0 &&
	    memcmp(&a->sa_mask, &b->sa_mask, SIGNALS / 8) == 0;
}

/* What a signal's disposition is now becomes what it was before. That is not written anew where it is so already,
 * since a signal made somebody stop: a handler on another thread may be reading it still. */
static int take_over(int number, const struct sigaction *now)
{
	struct sigaction ours = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct disposition *disposition = &dispositions[number];
	sigfillset(&ours.sa_mask);
	if (!is_same(now, &disposition->before))
		disposition->before = *now;
	return system_sigaction(number, &ours, NULL);
}

static int add_watch(int number, bool is_stop)
{
	struct sigaction now;
	if (system_sigaction(number, NULL, &now) < 0)
		return -1;
	if (is_stop && !is_default(&now) && !is_ours(&now))
		return 0; /* the host's own */
	if (!is_ours(&now) && take_over(number, &now) < 0)
		return -1;
	dispositions[number].watches++;
	return 1;
}

static void drop_watch(int number)
{
	struct sigaction now;
	if (--dispositions[number].watches > 0)
		return;
	if (sigaction(number, NULL, &now) == 0 && is_ours(&now))
		sigaction(number, &dispositions[number].before, NULL);
}

static void drop_watches(signal_mask mask)
{
	for (int number = 1; number <= SIGNALS; number++)
		if (mask & signal_bit(number))
			drop_watch(number);
}

/* *watched: the signals of `mask` that are watched now; none, with -1 and errno, if one cannot be. */
static int add_watches(signal_mask mask, bool is_stop, signal_mask *watched)
{
	signal_mask added = 0;
	*watched = 0;
	for (int number = 1; number <= SIGNALS; number++) {
		int result = mask & signal_bit(number) ? add_watch(number, is_stop) : 0;
		if (result > 0)
			added |= signal_bit(number);
		if (result >= 0)
			continue;
		int err = errno;
		drop_watches(added);
		return fail_with(err);
	}
	*watched = added;
	return 0;
}

/* ---- watches ------------------------------------------------------------------------------------ */

/* Under the lock. */
static struct signal_watch *find_closed(void)
{
	struct signal_watch *watch = atomic_load(&watches);
	while (watch && atomic_load(&watch->loop))
		watch = watch->next;
	if (watch)
		return watch;
	watch = memory_alloc(&memory_default, sizeof *watch);
	if (watch) {
		watch->next = atomic_load(&watches);
		atomic_store(&watches, watch);
	}
	return watch;
}

/* A handler that was held up may have sent it to the loop whose watch it was before. */
static void arrive(struct inbox_post *post)
{
	struct signal_watch *watch = container_of(post, struct signal_watch, post);
	bide_loop *loop = atomic_load(&watch->loop);
	if (loop != loop_current->handle) {
		deliver(watch, loop);
	} else {
		atomic_store(&watch->is_posted, false);
		watch->heard(watch, watch->arg);
	}
}

static const int fault_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

static bool has_fault_signal(signal_mask mask)
{
	for (size_t i = 0; i < sizeof fault_signals / sizeof *fault_signals; i++)
		if (mask & signal_bit(fault_signals[i]))
			return true;
	return false;
}

/* Handlers may see it from here on. */
static bool open_watch(struct signal_watch *watch, struct loop *loop, signal_mask mask, bool is_stop)
{
	watch->post.run = arrive;
	atomic_store(&watch->is_stop, is_stop);
	atomic_store(&watch->raised, 0);
	atomic_store(&watch->loop, loop->handle);
	atomic_store(&watch->mask, mask);
	signal_mask watched;
	int result = add_watches(mask, is_stop, &watched);
	atomic_store(&watch->mask, watched);
	if (result < 0)
		atomic_store(&watch->loop, NULL);
	return result == 0;
}

struct signal_watch *signals_watch(struct loop *loop, signal_mask mask, bool is_stop,
    void (*heard)(struct signal_watch *watch, void *arg), void *arg)
{
	if (!mask || has_fault_signal(mask)) {
		errno = EINVAL;
		return NULL;
	}
	lock_take(LOCK_SIGNALS);
	struct signal_watch *watch = find_closed();
	if (watch) {
		watch->heard = heard;
		watch->arg = arg;
		if (!open_watch(watch, loop, mask, is_stop))
			watch = NULL;
	}
	lock_release(LOCK_SIGNALS);
	return watch;
}

void signals_unwatch(struct loop *loop, struct signal_watch *watch)
{
	lock_take(LOCK_SIGNALS);
	drop_watches(atomic_exchange(&watch->mask, 0));
	lock_release(LOCK_SIGNALS);
	while (atomic_load(&watch->is_posted) && !posts_withdraw(loop, &watch->post))
		sched_yield(); /* a handler on another thread is about to send it */
	atomic_store(&watch->is_posted, false);
	atomic_store(&watch->loop, NULL);
}

void signals_forget(void)
{
	for (struct signal_watch *watch = atomic_load(&watches); watch; watch = watch->next) {
		drop_watches(atomic_exchange(&watch->mask, 0));
		atomic_store(&watch->is_posted, false);
		atomic_store(&watch->loop, NULL);
	}
}

unsigned signals_stops(int number)
{
	return atomic_load(&dispositions[number].stops);
}

int signals_take(struct signal_watch *watch)
{
	signal_mask raised = atomic_load(&watch->raised);
	if (!raised)
		return 0;
	int number = __builtin_ctzll(raised) + 1;
	atomic_fetch_and(&watch->raised, ~signal_bit(number));
	return number;
}

void signals_info(int number, siginfo_t *info)
{
	struct disposition *disposition = &dispositions[number];
	while (atomic_flag_test_and_set(&disposition->info_is_used))
		sched_yield();
	*info = disposition->info;
	atomic_flag_clear(&disposition->info_is_used);
}
