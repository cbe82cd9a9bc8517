/* SPDX-License-Identifier: MIT
 * Layer base: the locks of the process. See locks.h. */
#include "base/locks.h"

#include <pthread.h>

static pthread_mutex_t locks[LOCK_COUNT] = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
};

void lock_take(enum process_lock lock)
{
	pthread_mutex_lock(&locks[lock]);
}

void lock_release(enum process_lock lock)
{
	pthread_mutex_unlock(&locks[lock]);
}

void locks_take_all(void)
{
	for (int i = 0; i < LOCK_COUNT; i++)
		pthread_mutex_lock(&locks[i]);
}

void locks_release_all(void)
{
	for (int i = LOCK_COUNT; i-- > 0;)
		pthread_mutex_unlock(&locks[i]);
}
