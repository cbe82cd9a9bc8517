/* SPDX-License-Identifier: MIT
 * Layer sync: the system's mutexes, in tasks. A thread that waits for one stops its whole loop; if it is held
 * by another task of that loop, for ever. In debug those that tasks hold are noted, so that one that is
 * kept over a switch is told, and a lock that could never come is refused. */
#include <bide/sync.h>

#include <string.h>

#include "base/fail.h"
#include "base/place.h"
#include "sync/holder.h"

/* One that a task has locked; in run.os_mutexes. */
struct held {
	struct link link;
	pthread_mutex_t *mutex;
	struct await_task *task; /* NULL: it has ended */
	void *site;
	bool is_told; /* that it is kept over a switch */
};

static struct held *find(struct run *run, const pthread_mutex_t *mutex)
{
	list_each(link, &run->os_mutexes) {
		struct held *held = container_of(link, struct held, link);
		if (held->mutex == mutex)
			return held;
	}
	return NULL;
}

/* Without memory it goes unwatched. */
static void watch(struct run *run, pthread_mutex_t *mutex, struct await_task *task, void *site)
{
	struct held *held = memory_alloc(run->loop.memory, sizeof *held);
	if (!held)
		return;
	held->mutex = mutex;
	held->task = task;
	held->site = site;
	list_push_tail(&run->os_mutexes, &held->link);
	run->locks = &lock_hooks;
}

static void forget(struct run *run, struct held *held)
{
	link_remove(&held->link);
	memory_free(run->loop.memory, held, sizeof *held);
}

static int refuse(struct run *run, const struct held *held, const struct await_task *task)
{
	char by[TASK_LABEL_SIZE], owner[TASK_LABEL_SIZE], place[PLACE_SIZE];
	run_report(run, BIDE_REPORT_MISUSE, "task %s would stop the loop for ever at pthread mutex %p, held by task %s, "
	    "locked at %s", task_label(task, by), (void *)held->mutex,
	    held->task ? task_label(held->task, owner) : "that has ended", place_of_call(held->site, place));
	return fail_with(EDEADLK);
}

static int lock_watched(struct run *run, pthread_mutex_t *mutex, struct await_task *task, void *site)
{
	int err = pthread_mutex_trylock(mutex);
	struct held *held = err == EBUSY ? find(run, mutex) : NULL;
	if (held)
		return refuse(run, held, task);
	if (err == EBUSY)
		err = pthread_mutex_lock(mutex); /* another thread has it, and will give it back */
	if (err)
		return fail_with(err);
	watch(run, mutex, task, site);
	return 0;
}

/* The run of a task in debug mode; NULL elsewhere. */
static struct run *watching_run(void)
{
	struct run *run = task_current() ? run_of(loop_current) : NULL;
	return run && run->config.flags & BIDE_DEBUG ? run : NULL;
}

__attribute__((noinline)) int bide_os_mutex_lock(pthread_mutex_t *mutex)
{
	struct run *run = watching_run();
	if (!mutex)
		return fail_with(EINVAL);
	if (run)
		return lock_watched(run, mutex, await_task_of(task_current()), __builtin_return_address(0));
	int err = pthread_mutex_lock(mutex);
	return err ? fail_with(err) : 0;
}

int bide_os_mutex_unlock(pthread_mutex_t *mutex)
{
	struct run *run = watching_run();
	if (!mutex)
		return fail_with(EINVAL);
	struct held *held = run ? find(run, mutex) : NULL;
	if (held)
		forget(run, held);
	int err = pthread_mutex_unlock(mutex);
	return err ? fail_with(err) : 0;
}

static void tell(struct held *held)
{
	char label[TASK_LABEL_SIZE], lock_place[PLACE_SIZE], spawn_place[PLACE_SIZE];
	enum task_state state = held->task->task.state;
	if (held->is_told)
		return;
	held->is_told = true;
	run_report(run_of(loop_current), BIDE_REPORT_MISUSE, "task %s %s while it holds pthread mutex %p, locked at %s: "
	    "a task that wants it stops the loop; spawned at %s", task_label(held->task, label),
	    state == TASK_DONE ? "ended" : state == TASK_SUSPENDED ? "waits" : "gave way", (void *)held->mutex,
	    place_of_call(held->site, lock_place), place_of_call(held->task->spawn_site, spawn_place));
}

void os_mutexes_check(struct await_task *task)
{
	list_each(link, &run_of(task->task.loop)->os_mutexes) {
		struct held *held = container_of(link, struct held, link);
		if (held->task != task)
			continue;
		tell(held);
		if (task->task.state == TASK_DONE)
			held->task = NULL;
	}
}

void os_mutexes_forget(struct run *run)
{
	struct link *link;
	while ((link = list_head(&run->os_mutexes)))
		forget(run, container_of(link, struct held, link));
}
