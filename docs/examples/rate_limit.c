/* SPDX-License-Identifier: MIT
 * rate_limit: two limits on ten requests: at most three at a time, and at most one start every 10 ms.
 *
 *     rate_limit [--virtual]
 *
 * The first is a semaphore. The second is a semaphore too, whose permits a ticker brings back. */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { REQUESTS = 10, AT_ONCE = 3 };

static bide_time start;
static bide_sem places, starts;

static void *request(void *arg)
{
	if (bide_sem_acquire(&starts, 1) < 0)
		return bide_fail(errno);
	if (bide_sem_acquire(&places, 1) < 0)
		return bide_fail(errno);
	printf("%3d ms  request %d\n", (int)((bide_now() - start) / BIDE_MSEC), *(int *)arg);
	int slept = bide_sleep(40 * BIDE_MSEC);
	bide_sem_release(&places, 1); /* never suspends, works in a canceled task too */
	return slept < 0 ? bide_fail(errno) : NULL;
}

/* One permit to start each 10 ms. Unused ones do not pile up: the semaphore has a maximum of 1. */
static void *refill(void *arg)
{
	bide_ticker ticker;
	(void)arg;
	if (bide_ticker_init(&ticker, 10 * BIDE_MSEC, BIDE_TICK_SKIP) < 0)
		return bide_fail(errno);
	while (bide_tick(&ticker, NULL) == 0)
		if (bide_sem_release(&starts, 1) < 0 && errno != EOVERFLOW)
			break;
	return bide_fail(errno); /* ECANCELED, when the requests are through */
}

static void *run(void *arg)
{
	static int numbers[REQUESTS];
	bide_group group = { { 0 } };
	(void)arg;
	start = bide_now();
	bide_sem_init(&places, AT_ONCE, AT_ONCE);
	bide_sem_init(&starts, 1, 1);
	bide_task *refiller = bide_spawn(refill, NULL);
	if (!refiller || bide_group_enter(&group, 0, 0) < 0)
		return bide_fail(errno);
	for (int i = 0; i < REQUESTS; i++) {
		numbers[i] = i + 1;
		if (!bide_group_spawn(&group, request, &numbers[i], NULL))
			break;
	}
	int left = bide_group_leave(&group);
	int err = errno;
	bide_cancel(refiller, "no more requests");
	bide_join(refiller, NULL);
	return left < 0 ? bide_fail(err) : NULL;
}

int main(int argc, char **argv)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	if (argc > 1 && strcmp(argv[1], "--virtual") == 0)
		config.flags |= BIDE_VIRTUAL_CLOCK;
	if (bide_run(run, NULL, &config, &result) < 0 || result.err) {
		fprintf(stderr, "rate_limit: %s\n", strerror(result.err));
		return 1;
	}
	return 0;
}
