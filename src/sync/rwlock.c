/* SPDX-License-Identifier: MIT
 * Layer sync: the readers-writer lock. One line for both kinds, so that neither starves. */
#include <bide/sync.h>

#include "sync/line.h"

enum {
	READER,
	WRITER
};

struct rwlock {
	struct list line; /* detail: READER or WRITER */
	struct await_task *writer;
	uint64_t writer_id;
	unsigned readers;
};

_Static_assert(sizeof(struct rwlock) <= sizeof(bide_rwlock), "bide_rwlock.opaque");

static bool is_free_for(const struct rwlock *lock, int kind)
{
	return !lock->writer && (kind == READER || lock->readers == 0);
}

static void take(struct rwlock *lock, struct await_task *task, int kind)
{
	if (kind == READER) {
		lock->readers++;
		return;
	}
	lock->writer = task;
	lock->writer_id = task->id;
}

static bool is_writer(const struct rwlock *lock, const struct await_task *task)
{
	return lock->writer == task && lock->writer_id == task->id;
}

/* Serves the line as far as it can be. */
static void serve(struct rwlock *lock)
{
	struct wait *next;
	while ((next = line_head(&lock->line)) && is_free_for(lock, next->detail)) {
		take(lock, await_task_of(next->task), next->detail);
		task_wake(next->task, 0);
	}
}

/* 0, EDEADLK, or EBUSY. */
static int try_take(struct rwlock *lock, struct await_task *self, int kind)
{
	if (is_writer(lock, self))
		return EDEADLK;
	if (!list_is_empty(&lock->line) || !is_free_for(lock, kind))
		return EBUSY;
	take(lock, self, kind);
	return 0;
}

static int lock_for(bide_rwlock *public_lock, int kind)
{
	struct rwlock *lock = (struct rwlock *)public_lock;
	if (!lock)
		return sync_fail(EINVAL);
	struct task *self = checkpoint();
	if (!self || line_check(&lock->line) < 0)
		return -1;
	int err = try_take(lock, await_task_of(self), kind);
	if (err == EBUSY) {
		err = line_wait(self, &lock->line, WAIT_RWLOCK, lock, kind);
		if (err)
			serve(lock); /* a writer that gives up may have held readers up */
	}
	return err ? sync_fail(err) : 0;
}

static int trylock_for(bide_rwlock *public_lock, int kind)
{
	struct rwlock *lock = (struct rwlock *)public_lock;
	struct await_task *self = await_current();
	if (!self || !lock)
		return self ? sync_fail(EINVAL) : -1;
	if (line_check(&lock->line) < 0)
		return -1;
	int err = try_take(lock, self, kind);
	return err ? sync_fail(err) : 0;
}

int bide_rwlock_rdlock(bide_rwlock *lock)
{
	return lock_for(lock, READER);
}

int bide_rwlock_wrlock(bide_rwlock *lock)
{
	return lock_for(lock, WRITER);
}

int bide_rwlock_tryrdlock(bide_rwlock *lock)
{
	return trylock_for(lock, READER);
}

int bide_rwlock_trywrlock(bide_rwlock *lock)
{
	return trylock_for(lock, WRITER);
}

int bide_rwlock_unlock(bide_rwlock *public_lock)
{
	struct rwlock *lock = (struct rwlock *)public_lock;
	struct await_task *self = await_current();
	if (!self || !lock)
		return self ? sync_fail(EINVAL) : -1;
	if (line_check(&lock->line) < 0)
		return -1;
	if (is_writer(lock, self))
		lock->writer = NULL;
	else if (!lock->writer && lock->readers > 0)
		lock->readers--;
	else
		return sync_fail(EPERM);
	serve(lock);
	return 0;
}

int bide_rwlock_destroy(bide_rwlock *public_lock)
{
	struct rwlock *lock = (struct rwlock *)public_lock;
	if (!lock)
		return sync_fail(EINVAL);
	if (lock->writer || lock->readers > 0 || !list_is_empty(&lock->line))
		return sync_fail(EBUSY);
	*lock = (struct rwlock){ 0 };
	return 0;
}
