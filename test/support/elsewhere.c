/* SPDX-License-Identifier: MIT */
#include "elsewhere.h"

#include <pthread.h>

#include "runs.h"

struct call {
	int (*call)(void);
	int err;
};

static void make(void *arg)
{
	struct call *call = arg;
	call->err = call->call() < 0 ? errno : 0;
}

int errno_in_callback(int (*fn)(void))
{
	struct call call = { fn, -1 };
	must(bide_call_soon(make, &call) == 0);
	settle();
	return call.err;
}

static void *thread(void *arg)
{
	make(arg);
	return NULL;
}

static void *looping_thread(void *arg)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	config.flags = BIDE_VIRTUAL_CLOCK;
	return bide_run(thread, arg, &config, &result) < 0 ? arg : NULL;
}

static int errno_on(void *(*start)(void *), int (*fn)(void))
{
	struct call call = { fn, -1 };
	pthread_t other;
	void *failed;
	must(pthread_create(&other, NULL, start, &call) == 0);
	must(pthread_join(other, &failed) == 0 && !failed);
	return call.err;
}

int errno_on_plain_thread(int (*fn)(void))
{
	return errno_on(thread, fn);
}

int errno_in_other_loop(int (*fn)(void))
{
	return errno_on(looping_thread, fn);
}

pthread_t thread_start(void *(*fn)(void *arg), void *arg)
{
	pthread_t thread;
	must(pthread_create(&thread, NULL, fn, arg) == 0);
	return thread;
}

void thread_finish(pthread_t thread)
{
	must(pthread_join(thread, NULL) == 0);
}
