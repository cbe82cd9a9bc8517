/* SPDX-License-Identifier: MIT
 * Layer await: a process that was forked leaves its parent's loops alone. An epoll set, an eventfd and
 * everything that is registered are shared with the parent: a child that ran a task, or closed its loop in
 * the usual way, would take events and registrations from it. So the child's copy of the loop is let lie. */
#include "await/fork.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include <bide/loop.h>

#include "await/record.h"
#include "base/fail.h"
#include "base/locks.h"
#include "sched/signals.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int watch_err;
static atomic_int process; /* whose loops these are */

static void forget_parent(void)
{
	atomic_store(&process, (int)getpid());
	inboxes_forget();
	signals_forget();
	loop_forget();
	inspector.forked();
}

static void after_in_child(void)
{
	locks_release_all();
	forget_parent();
}

static void begin(void)
{
	watch_err = pthread_atfork(locks_take_all, locks_release_all, after_in_child);
}

/* Whether this is another process than the loops'. */
static bool is_forked(void)
{
	int owner = atomic_load(&process);
	return owner && owner != (int)getpid();
}

int fork_watch(void)
{
	pthread_once(&once, begin);
	if (watch_err)
		return fail_with(watch_err);
	if (is_forked())
		forget_parent();
	atomic_store(&process, (int)getpid());
	return 0;
}

int bide_after_fork(void)
{
	if (is_forked())
		forget_parent();
	return loop_current ? fail_with(EINVAL) : 0;
}
