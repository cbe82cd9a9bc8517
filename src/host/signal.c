/* SPDX-License-Identifier: MIT
 * Layer host: signals as something to wait for. sched/signals.h brings them here. */
#include <bide/signal.h>

#include <string.h>

#include "base/fail.h"
#include "host/room.h"
#include "sched/signals.h"

/* One bide_signal_open(). */
struct listener {
	struct link link;     /* in the room */
	int number;           /* of the handle */
	struct signal_watch *watch;
	struct list waiters;
};

static struct listener *find(int handle)
{
	struct host_room *room = loop_current ? loop_current->rooms[LOOP_ROOM_HOST] : NULL;
	if (!room)
		return NULL;
	list_each(link, &room->listeners) {
		struct listener *listener = container_of(link, struct listener, link);
		if (listener->number == handle)
			return listener;
	}
	return NULL;
}

/* What was raised goes to those who wait, first come, first served; the rest is kept. */
static void heard(struct signal_watch *watch, void *arg)
{
	struct listener *listener = arg;
	struct link *link;
	int number;
	while ((link = list_head(&listener->waiters)) && (number = signals_take(watch))) {
		struct wait *wait = container_of(link, struct wait, link);
		wait->detail = number;
		task_wake(wait->task, 0);
	}
}

static signal_mask mask_of(const sigset_t *set)
{
	signal_mask mask = 0;
	for (int number = 1; number <= 64; number++)
		if (sigismember(set, number) == 1)
			mask |= signal_bit(number);
	return mask;
}

int bide_signal_open(const sigset_t *set)
{
	static atomic_int handles;
	struct loop *loop = loop_current;
	if (!set)
		return fail_with(EINVAL);
	if (!loop)
		return fail_with(EPERM);
	struct host_room *room = host_room(loop);
	struct listener *listener = room ? memory_alloc(loop->memory, sizeof *listener) : NULL;
	if (!listener)
		return -1;
	list_init(&listener->waiters);
	listener->watch = signals_watch(loop, mask_of(set), false, heard, listener);
	if (!listener->watch) {
		int err = errno;
		memory_free(loop->memory, listener, sizeof *listener);
		return fail_with(err);
	}
	listener->number = (int)((unsigned)atomic_fetch_add(&handles, 1) & INT32_MAX);
	list_push_tail(&room->listeners, &listener->link);
	return listener->number;
}

static int wait_for_signal(struct task *task, struct listener *listener)
{
	int number = list_is_empty(&listener->waiters) ? signals_take(listener->watch) : 0;
	if (number)
		return number;
	wait_begin(task, &listener->waiters, WAIT_SIGNAL, listener);
	task->loop->listeners++;
	pace_expect(&task->loop->pace);
	int status = park(task, BIDE_NEVER);
	task->loop->listeners--;
	return status ? fail_with(status) : task->wait.detail;
}

static void tell(int number, bide_signal_info *info)
{
	siginfo_t told;
	signals_info(number, &told);
	*info = (bide_signal_info){ number, told.si_code, told.si_pid, told.si_uid, told.si_value.sival_int };
}

int bide_signal_wait(int handle, bide_signal_info *info)
{
	struct task *task = checkpoint();
	if (!task)
		return -1;
	struct listener *listener = find(handle);
	if (!listener)
		return fail_with(EBADF);
	int number = wait_for_signal(task, listener);
	if (number > 0 && info)
		tell(number, info);
	return number;
}

static void close_listener(struct loop *loop, struct listener *listener)
{
	struct link *link;
	while ((link = list_head(&listener->waiters)))
		task_wake(container_of(link, struct wait, link)->task, EBADF);
	signals_unwatch(loop, listener->watch);
	link_remove(&listener->link);
	memory_free(loop->memory, listener, sizeof *listener);
}

int bide_signal_close(int handle)
{
	if (!loop_current)
		return fail_with(EPERM);
	struct listener *listener = find(handle);
	if (!listener)
		return fail_with(EBADF);
	close_listener(loop_current, listener);
	return 0;
}

void listeners_close(struct loop *loop, struct list *listeners)
{
	struct link *link;
	while ((link = list_head(listeners)))
		close_listener(loop, container_of(link, struct listener, link));
}
