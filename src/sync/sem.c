/* SPDX-License-Identifier: MIT
 * Layer sync: the semaphore. Permits go to the line first, strictly in order: a big request at its head
 * is not starved by small ones behind it. */
#include <bide/sync.h>

#include <limits.h>

#include "base/fail.h"
#include "sync/holder.h"
#include "sync/line.h"

struct sem {
	struct list line; /* detail: how many are wanted */
	int value;
	int max;          /* 0: no limit */
	unsigned unserved; /* those in line, and those who left it by a cancel and have not returned yet */
};

_Static_assert(sizeof(struct sem) <= sizeof(bide_sem), "bide_sem.opaque");

int bide_sem_init(bide_sem *public_sem, int value, int max)
{
	struct sem *sem = (struct sem *)public_sem;
	if (!sem || value < 0 || max < 0 || (max > 0 && value > max))
		return fail_with(EINVAL);
	*sem = (struct sem){ .value = value, .max = max };
	return 0;
}

static void serve(struct sem *sem)
{
	struct wait *next;
	while ((next = line_head(&sem->line)) && next->detail <= sem->value) {
		sem->value -= next->detail;
		sem->unserved--;
		task_wake(next->task, 0);
	}
}

static int check(const struct sem *sem, int n)
{
	return !sem || n < 1 || (sem->max > 0 && n > sem->max) ? fail_with(EINVAL) : 0;
}

static bool try_take(struct sem *sem, int n)
{
	if (!list_is_empty(&sem->line) || sem->value < n)
		return false;
	sem->value -= n;
	return true;
}

static LINE_WAITS int wait_for(struct sem *sem, struct task *self, int n)
{
	sem->unserved++;
	int status = line_wait(self, &sem->line, WAIT_SEM, sem, n);
	if (!status)
		return 0;
	sem->unserved--;
	serve(sem); /* the one that left may have held smaller requests up */
	return fail_with(status);
}

int bide_sem_acquire(bide_sem *public_sem, int n)
{
	struct sem *sem = (struct sem *)public_sem;
	if (check(sem, n) < 0)
		return -1;
	struct task *self = checkpoint();
	if (!self || line_check(&sem->line) < 0)
		return -1;
	return try_take(sem, n) ? 0 : wait_for(sem, self, n);
}

int bide_sem_tryacquire(bide_sem *public_sem, int n)
{
	struct sem *sem = (struct sem *)public_sem;
	if (check(sem, n) < 0 || line_check(&sem->line) < 0)
		return -1;
	return try_take(sem, n) ? 0 : fail_with(EAGAIN);
}

int bide_sem_release(bide_sem *public_sem, int n)
{
	struct sem *sem = (struct sem *)public_sem;
	if (!sem || n < 1)
		return fail_with(EINVAL);
	if (line_check(&sem->line) < 0)
		return -1;
	int limit = sem->max > 0 ? sem->max : INT_MAX;
	if (n > limit - sem->value)
		return sync_misuse(EOVERFLOW, "releases", WAIT_SEM, sem);
	sem->value += n;
	serve(sem);
	return 0;
}

int bide_sem_value(const bide_sem *sem)
{
	return sem ? ((const struct sem *)sem)->value : fail_with(EINVAL);
}

int bide_sem_destroy(bide_sem *public_sem)
{
	struct sem *sem = (struct sem *)public_sem;
	if (!sem)
		return fail_with(EINVAL);
	if (sem->unserved > 0)
		return sync_misuse(EBUSY, "destroys", WAIT_SEM, sem);
	*sem = (struct sem){ .value = 0 };
	return 0;
}
