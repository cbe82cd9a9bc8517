/* SPDX-License-Identifier: MIT
 * Layer sync: the condition. A signal moves its waiter from the condition's line straight into the
 * mutex's, shielded: from then on it can only end by holding the mutex, so the signal is never lost. */
#include "sync/mutex.h"

#include "base/fail.h"
#include "sync/holder.h"

struct cond {
	struct list line; /* wait records; slot is the mutex */
};

_Static_assert(sizeof(struct cond) <= sizeof(bide_cond), "bide_cond.opaque");

static LINE_WAITS int wait_without(struct mutex *mutex, struct cond *cond, struct task *self)
{
	struct await_task *task = await_task_of(self);
	wait_begin(self, &cond->line, WAIT_COND, cond)->slot = mutex;
	mutex->returning++;
	mutex_release(mutex, task);
	int status = park(self, BIDE_NEVER);
	int owner_died = mutex_is_held_by(mutex, task) ? 0 : mutex_lock_shielded(mutex, self);
	mutex->returning--;
	if (owner_died) /* is told once only; a cancel or a deadline stays pending */
		status = owner_died;
	return status ? fail_with(status) : 0;
}

int bide_cond_wait(bide_cond *public_cond, bide_mutex *public_mutex)
{
	struct cond *cond = (struct cond *)public_cond;
	struct mutex *mutex = (struct mutex *)public_mutex;
	if (!cond || !mutex)
		return fail_with(EINVAL);
	struct task *self = checkpoint();
	if (!self)
		return -1;
	if (!mutex_is_held_by(mutex, await_task_of(self)))
		return sync_misuse(EPERM, "waits for a condition without", WAIT_MUTEX, mutex);
	if (line_check(&cond->line) < 0)
		return -1;
	return wait_without(mutex, cond, self);
}

static inline int signal_some(bide_cond *public_cond, int n)
{
	struct cond *cond = (struct cond *)public_cond;
	if (!cond || n < 0)
		return fail_with(EINVAL);
	if (line_check(&cond->line) < 0)
		return -1;
	for (struct link *link; n > 0 && (link = list_pop_head(&cond->line)); n--) {
		struct wait *wait = container_of(link, struct wait, link);
		mutex_requeue(wait->slot, wait);
	}
	return 0;
}

int bide_cond_signal(bide_cond *cond, int n)
{
	return signal_some(cond, n);
}

int bide_cond_broadcast(bide_cond *cond)
{
	return signal_some(cond, INT32_MAX);
}

int bide_cond_destroy(bide_cond *public_cond)
{
	struct cond *cond = (struct cond *)public_cond;
	if (!cond)
		return fail_with(EINVAL);
	if (!list_is_empty(&cond->line))
		return sync_misuse(EBUSY, "destroys", WAIT_COND, cond);
	*cond = (struct cond){ 0 };
	return 0;
}
