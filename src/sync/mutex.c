/* SPDX-License-Identifier: MIT
 * Layer sync: the mutex. Ownership is handed over by unlock; the new owner may run later, but nobody
 * comes between. The record of the owner tells whether it has ended without unlocking. */
#include "sync/mutex.h"

#include "base/fail.h"
#include "base/place.h"
#include "sync/holder.h"

/* Of a mutex of this run: has its owner ended? The record is there still, or another task's. */
static inline bool is_owner_dead(const struct mutex *mutex)
{
	return mutex->owner->id != mutex->owner_id || mutex->owner->task.state >= TASK_DONE;
}

const struct await_task *mutex_holder(const struct run *run, const void *object)
{
	const struct mutex *mutex = object;
	bool is_ours = mutex->owner && mutex->run_serial == run->serial;
	return is_ours && !is_owner_dead(mutex) ? mutex->owner : NULL;
}

/* ---- owners that end ------------------------------------------------------------------------------ */

static void hand_over_if_abandoned(void *record, void *arg)
{
	const struct await_task *waiter = record, *owner = arg;
	if (!record_is_live(waiter) || waiter->task.state != TASK_SUSPENDED || waiter->task.wait.kind != WAIT_MUTEX)
		return;
	struct mutex *mutex = (struct mutex *)(uintptr_t)waiter->task.wait.object;
	if (mutex_is_held_by(mutex, owner))
		mutex_hand_over(mutex, EOWNERDEAD);
}

/* A task ends with locks held. Only mutexes that somebody waits for are sure to exist still, and they are
 * found through their waiters. If it held one, the address of that is left of all it took and gave. */
void mutexes_abandoned(struct await_task *owner)
{
	char label[TASK_LABEL_SIZE], place[PLACE_SIZE];
	struct run *run = run_of(owner->task.loop);
	place_of_call(owner->spawn_site, place);
	if (annex_peek(owner)->held_locks == 1)
		run_report(run, BIDE_REPORT_OWNER_DEAD, "task %s ended while holding mutex %p; spawned at %s",
		    task_label(owner, label), (void *)annex_peek(owner)->held_addresses, place);
	else
		run_report(run, BIDE_REPORT_OWNER_DEAD, "task %s ended while holding %u mutexes; spawned at %s",
		    task_label(owner, label), annex_peek(owner)->held_locks, place);
	slab_each(&owner->task.loop->tasks, hand_over_if_abandoned, owner);
}

/* ---- taking and giving ------------------------------------------------------------------------------ */

static inline __attribute__((always_inline)) void take(struct mutex *mutex, struct await_task *task)
{
	struct run *run = run_of(task->task.loop);
	struct annex *annex = annex_of(task);
	mutex->owner = task;
	mutex->owner_id = task->id;
	mutex->run_serial = run->serial;
	annex->held_locks++;
	annex->held_addresses ^= (uintptr_t)mutex;
	run->locks = &lock_hooks;
}

/* Takes it if that needs no waiting: 0, EOWNERDEAD (taken too), EDEADLK, EPERM, or EBUSY. */
static inline int try_take(struct mutex *mutex, struct await_task *self)
{
	if (!mutex->owner) {
		take(mutex, self);
		return 0;
	}
	if (mutex_is_held_by(mutex, self))
		return EDEADLK;
	if (mutex->run_serial != run_of(self->task.loop)->serial)
		return EPERM;
	if (!is_owner_dead(mutex))
		return EBUSY;
	take(mutex, self);
	return EOWNERDEAD;
}

static inline void hand_over(struct mutex *mutex, int status)
{
	struct wait *next = line_head(&mutex->line);
	mutex->owner = NULL;
	if (!next)
		return;
	take(mutex, await_task_of(next->task));
	task_wake(next->task, status);
}

void mutex_hand_over(struct mutex *mutex, int status)
{
	hand_over(mutex, status);
}

void mutex_release(struct mutex *mutex, struct await_task *owner)
{
	struct annex *annex = owner->task.annex;
	annex->held_locks--;
	annex->held_addresses ^= (uintptr_t)mutex;
	hand_over(mutex, 0);
}

void mutex_requeue(struct mutex *mutex, struct wait *wait)
{
	bool is_abandoned = mutex->owner && is_owner_dead(mutex);
	if (!mutex->owner || is_abandoned) {
		take(mutex, await_task_of(wait->task));
		task_wake(wait->task, is_abandoned ? EOWNERDEAD : 0);
		return;
	}
	wait->kind = WAIT_MUTEX;
	wait->object = mutex;
	wait->is_shielded = 1;
	list_push_tail(&mutex->line, &wait->link);
}

int mutex_lock_shielded(struct mutex *mutex, struct task *self)
{
	while (!mutex_is_held_by(mutex, await_task_of(self))) {
		int err = try_take(mutex, await_task_of(self));
		if (err != EBUSY)
			return err;
		struct wait *wait = wait_begin(self, &mutex->line, WAIT_MUTEX, mutex);
		wait->is_shielded = 1;
		if (park(self, BIDE_NEVER) == EOWNERDEAD)
			return EOWNERDEAD;
	}
	return 0;
}

static LINE_WAITS int wait_for(struct mutex *mutex, struct task *self)
{
	int err = line_wait(self, &mutex->line, WAIT_MUTEX, mutex, 0);
	return err ? fail_with(err) : 0;
}

int bide_mutex_lock(bide_mutex *public_mutex)
{
	struct mutex *mutex = (struct mutex *)public_mutex;
	if (!mutex)
		return fail_with(EINVAL);
	struct task *self = checkpoint();
	if (!self)
		return -1;
	int err = try_take(mutex, await_task_of(self));
	if (err == EBUSY)
		return wait_for(mutex, self);
	if (err == EDEADLK)
		return sync_misuse(EDEADLK, "locks", WAIT_MUTEX, mutex);
	return err ? fail_with(err) : 0;
}

int bide_mutex_trylock(bide_mutex *public_mutex)
{
	struct mutex *mutex = (struct mutex *)public_mutex;
	struct await_task *self = await_current();
	if (!self || !mutex)
		return self ? fail_with(EINVAL) : -1;
	int err = try_take(mutex, self);
	if (err == EDEADLK)
		return sync_misuse(EDEADLK, "locks", WAIT_MUTEX, mutex);
	return err ? fail_with(err) : 0;
}

int bide_mutex_unlock(bide_mutex *public_mutex)
{
	struct mutex *mutex = (struct mutex *)public_mutex;
	struct await_task *self = await_current();
	if (!self || !mutex)
		return self ? fail_with(EINVAL) : -1;
	if (!mutex_is_held_by(mutex, self))
		return sync_misuse(EPERM, "unlocks", WAIT_MUTEX, mutex);
	mutex_release(mutex, self);
	return 0;
}

int bide_mutex_destroy(bide_mutex *public_mutex)
{
	struct mutex *mutex = (struct mutex *)public_mutex;
	if (!mutex)
		return fail_with(EINVAL);
	if (mutex->owner || mutex->returning > 0)
		return sync_misuse(EBUSY, "destroys", WAIT_MUTEX, mutex);
	*mutex = (struct mutex){ 0 };
	return 0;
}
