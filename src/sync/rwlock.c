/* SPDX-License-Identifier: MIT
 * Layer sync: the readers-writer lock. One line for both kinds, so that neither starves. */
#include <bide/sync.h>

#include "base/fail.h"
#include "sync/holder.h"
#include "sync/line.h"

enum {
	READER = WAIT_TO_TAKE,
	WRITER = WAIT_TO_PUT
};

struct rwlock {
	struct list line; /* detail: READER or WRITER */
	struct await_task *writer;
	uint64_t writer_id;
	uint64_t run_serial; /* the run whose tasks hold it */
	unsigned readers;
	unsigned unserved; /* those in line, and those who left it by a cancel and have not returned yet */
};

_Static_assert(sizeof(struct rwlock) <= sizeof(bide_rwlock), "bide_rwlock.opaque");

static bool is_free_for(const struct rwlock *lock, int kind)
{
	return !lock->writer && (kind == READER || lock->readers == 0);
}

static uint64_t run_serial_of(const struct await_task *task)
{
	return run_of(task->task.loop)->serial;
}

static void take(struct rwlock *lock, struct await_task *task, int kind)
{
	lock->run_serial = run_serial_of(task);
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

/* Held by tasks of another loop? */
static bool is_foreign(const struct rwlock *lock)
{
	return (lock->writer || lock->readers > 0) && lock->run_serial != run_of(loop_current)->serial;
}

const struct await_task *rwlock_holder(const struct run *run, const void *object)
{
	const struct rwlock *lock = object;
	bool is_ours = lock->writer && lock->run_serial == run->serial;
	return is_ours && lock->writer->id == lock->writer_id ? lock->writer : NULL;
}

/* Serves the line as far as it can be. */
static void serve(struct rwlock *lock)
{
	struct wait *next;
	while ((next = line_head(&lock->line)) && is_free_for(lock, next->detail)) {
		take(lock, await_task_of(next->task), next->detail);
		lock->unserved--;
		task_wake(next->task, 0);
	}
}

/* 0, EDEADLK, EPERM, or EBUSY. */
static int try_take(struct rwlock *lock, struct await_task *self, int kind)
{
	if (is_foreign(lock))
		return EPERM;
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
		return fail_with(EINVAL);
	struct task *self = checkpoint();
	if (!self || line_check(&lock->line) < 0)
		return -1;
	int err = try_take(lock, await_task_of(self), kind);
	if (err == EDEADLK)
		return sync_misuse(EDEADLK, "locks", WAIT_RWLOCK, lock);
	if (err != EBUSY)
		return err ? fail_with(err) : 0;
	lock->unserved++;
	err = line_wait(self, &lock->line, WAIT_RWLOCK, lock, kind);
	if (!err)
		return 0;
	lock->unserved--;
	serve(lock); /* a writer that gives up may have held readers up */
	return fail_with(err);
}

static int trylock_for(bide_rwlock *public_lock, int kind)
{
	struct rwlock *lock = (struct rwlock *)public_lock;
	struct await_task *self = await_current();
	if (!self || !lock)
		return self ? fail_with(EINVAL) : -1;
	if (line_check(&lock->line) < 0)
		return -1;
	int err = try_take(lock, self, kind);
	if (err == EDEADLK)
		return sync_misuse(EDEADLK, "locks", WAIT_RWLOCK, lock);
	return err ? fail_with(err) : 0;
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
		return self ? fail_with(EINVAL) : -1;
	if (line_check(&lock->line) < 0)
		return -1;
	if (is_foreign(lock))
		return fail_with(EPERM);
	if (is_writer(lock, self))
		lock->writer = NULL;
	else if (!lock->writer && lock->readers > 0)
		lock->readers--;
	else
		return sync_misuse(EPERM, "unlocks", WAIT_RWLOCK, lock);
	serve(lock);
	return 0;
}

int bide_rwlock_destroy(bide_rwlock *public_lock)
{
	struct rwlock *lock = (struct rwlock *)public_lock;
	if (!lock)
		return fail_with(EINVAL);
	if (lock->writer || lock->readers > 0 || lock->unserved > 0)
		return sync_misuse(EBUSY, "destroys", WAIT_RWLOCK, lock);
	*lock = (struct rwlock){ 0 };
	return 0;
}
