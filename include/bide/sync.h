/* SPDX-License-Identifier: MIT
 * Part of bide: mutex, rwlock, condition, semaphore, event, barrier, once; and the system's mutex.
 *
 * All are caller-owned, valid when all zero (a semaphore of value 0, a barrier must be initialized),
 * and allocate nothing while tasks wait. Waiters are served first come, first served, and what they
 * wait for is handed over: nobody who comes later can take it from them, and a waiter that is canceled
 * after it was served keeps what it got (its call returns 0, the cancel stays pending). A waiter
 * canceled before that leaves the line, and the next one moves up.
 *
 * They are for the tasks of one loop: the first task that waits decides which. They protect what
 * several suspending calls must do together; between two suspending calls nothing else runs anyway.
 * Errors of all: EINVAL NULL; EPERM outside a task (calls that cannot suspend and need no owner may
 * be made from callbacks too: release, set, signal, broadcast, abort), another loop's object. destroy
 * is needed only to be told EBUSY if somebody waits or holds; it leaves the object all zero. Who was
 * canceled waits until the call has returned; who was served does not look at the object again. */
#ifndef BIDE_SYNC_H
#define BIDE_SYNC_H

#include <bide/api.h>

#include <pthread.h>

BIDE_BEGIN

/* MUTEX. Not recursive, owned by a task. */
typedef struct bide_mutex {
	uint64_t opaque[6];
} bide_mutex;

/* Errors: EDEADLK the caller holds it; EOWNERDEAD the caller holds it NOW, but the task that held it
 * before ended without unlocking: what it protects may be half done. [S] */
BIDE_API int bide_mutex_lock(bide_mutex *mutex);
/* Errors: EBUSY somebody holds it, or waits; EDEADLK; EOWNERDEAD as above. */
BIDE_API int bide_mutex_trylock(bide_mutex *mutex);
/* Errors: EPERM the caller does not hold it. */
BIDE_API int bide_mutex_unlock(bide_mutex *mutex);
BIDE_API int bide_mutex_destroy(bide_mutex *mutex);

/* RWLOCK. Many readers or one writer. A reader that comes while a writer waits queues behind it. */
typedef struct bide_rwlock {
	uint64_t opaque[6];
} bide_rwlock;

/* Errors: EDEADLK the caller holds it for writing. [S] */
BIDE_API int bide_rwlock_rdlock(bide_rwlock *lock);
BIDE_API int bide_rwlock_wrlock(bide_rwlock *lock);
/* Errors: EBUSY it would have to wait. */
BIDE_API int bide_rwlock_tryrdlock(bide_rwlock *lock);
BIDE_API int bide_rwlock_trywrlock(bide_rwlock *lock);
/* Gives up the caller's reading or writing. Errors: EPERM nobody holds it, or another task holds it for
 * writing. */
BIDE_API int bide_rwlock_unlock(bide_rwlock *lock);
BIDE_API int bide_rwlock_destroy(bide_rwlock *lock);

/* CONDITION. Has no memory: a signal with nobody waiting is gone. */
typedef struct bide_cond {
	uint64_t opaque[4];
} bide_cond;

/* Unlocks `mutex`, waits for a signal, and holds it again when it returns, whatever it returns. A
 * signal that was taken is never lost: a waiter that is canceled after it returns 0.
 * With a cancel pending on entry it fails with the mutex held throughout. Test the condition in a
 * loop all the same. Errors: EPERM the caller does not hold the mutex. [S] */
BIDE_API int bide_cond_wait(bide_cond *cond, bide_mutex *mutex);
/* Wakes the n longest waiting (fewer if there are fewer), or all. */
BIDE_API int bide_cond_signal(bide_cond *cond, int n);
BIDE_API int bide_cond_broadcast(bide_cond *cond);
BIDE_API int bide_cond_destroy(bide_cond *cond);

/* SEMAPHORE. */
typedef struct bide_sem {
	uint64_t opaque[5];
} bide_sem;

/* max: the value never exceeds it; 0: no limit. All zero is value 0 without limit.
 * Errors: EINVAL value < 0, max < 0, or value > max where there is one. */
BIDE_API int bide_sem_init(bide_sem *sem, int value, int max);
/* Takes n permits at once. A big request at the head of the line is not overtaken by small ones.
 * Errors: EINVAL n < 1, or more than max. [S] */
BIDE_API int bide_sem_acquire(bide_sem *sem, int n);
/* Errors: EAGAIN fewer are free, or others wait. */
BIDE_API int bide_sem_tryacquire(bide_sem *sem, int n);
/* Errors: EOVERFLOW the value would exceed max, or INT_MAX; EINVAL n < 1. */
BIDE_API int bide_sem_release(bide_sem *sem, int n);
/* Permits free now; -1 on error. */
BIDE_API int bide_sem_value(const bide_sem *sem);
BIDE_API int bide_sem_destroy(bide_sem *sem);

/* EVENT. A flag to wait for. Who waits when it is set wakes, also if it is cleared in the same turn. */
typedef struct bide_event {
	uint64_t opaque[4];
} bide_event;

BIDE_API int bide_event_set(bide_event *event);
BIDE_API int bide_event_clear(bide_event *event);
BIDE_API bool bide_event_is_set(const bide_event *event);
BIDE_API int bide_event_wait(bide_event *event); /* [S] */
BIDE_API int bide_event_destroy(bide_event *event);

/* BARRIER. The n-th task to arrive frees all; then it starts over. */
typedef struct bide_barrier {
	uint64_t opaque[5];
} bide_barrier;

/* Errors: EINVAL n is 0. */
BIDE_API int bide_barrier_init(bide_barrier *barrier, unsigned n);
/* Returns the caller's place among the n, from 0. A canceled waiter does not count as arrived.
 * Errors: EPIPE aborted; EINVAL not initialized. [S] */
BIDE_API int bide_barrier_wait(bide_barrier *barrier);
/* Waiters, and whoever comes, fail with EPIPE until it is initialized anew. */
BIDE_API int bide_barrier_abort(bide_barrier *barrier);
BIDE_API int bide_barrier_destroy(bide_barrier *barrier);

/* ONCE. */
typedef struct bide_once {
	uint64_t opaque[4];
} bide_once;

/* Calls fn(arg), which may suspend, unless a call of it has succeeded (returned 0) before. While one
 * is under way others wait for it; if it fails, its caller gets its -1 and errno, and the next in
 * line calls fn. fn must return: bide_exit() in it leaves the others waiting.
 * 0 when it has succeeded. Errors: EDEADLK fn calls it on the same object. [S] */
BIDE_API int bide_once_run(bide_once *once, int (*fn)(void *arg), void *arg);

/* MUTEXES OF THE SYSTEM are for what threads share. A task that waits for one stops its whole loop; and if
 * another task of the loop holds one while it waits for anything, the next that wants it stops the loop for
 * ever. So: unlock it before the next [S] call, or use a bide_mutex. These two are pthread_mutex_lock() and
 * pthread_mutex_unlock(), and with BIDE_DEBUG they look after that: a task that parks, yields or ends with one
 * in its hand is reported (BIDE_REPORT_MISUSE), and a lock that could never come is refused, with a
 * report. Errors, besides those of the two: EINVAL mutex is NULL; EDEADLK as said. [T] */
BIDE_API int bide_os_mutex_lock(pthread_mutex_t *mutex);
BIDE_API int bide_os_mutex_unlock(pthread_mutex_t *mutex);

BIDE_END

#endif
