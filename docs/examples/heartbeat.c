/* SPDX-License-Identifier: MIT
 * heartbeat: work that computes, beside a task that must be on time. In a task it would stop the loop for as
 * long as it takes; given to the pool it stops nobody, and its result is awaited like any other.
 *
 *     heartbeat [--here]
 *
 * With --here the work is done in the task, to show the difference. */
#include <bide.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define JOBS 2
#define LIMIT 400000

/* How many primes there are below the limit, found the slow way. */
static void *count_primes(void *arg)
{
	uintptr_t limit = (uintptr_t)arg, count = 0;
	for (uintptr_t n = 2; n < limit; n++) {
		uintptr_t divisor = 2;
		while (divisor * divisor <= n && n % divisor != 0)
			divisor++;
		count += divisor * divisor > n;
	}
	return (void *)count;
}

struct pulse {
	int beats;
	bide_time longest; /* between two beats */
};

/* Beats every millisecond until it is canceled. */
static void *beat(void *arg)
{
	struct pulse *pulse = arg;
	bide_ticker ticker;
	bide_time latest = bide_now();
	bide_ticker_init(&ticker, BIDE_MSEC, BIDE_TICK_SKIP);
	while (bide_tick(&ticker, NULL) == 0) {
		bide_time now = bide_now();
		if (now - latest > pulse->longest)
			pulse->longest = now - latest;
		latest = now;
		pulse->beats++;
	}
	return NULL;
}

static void *work(void *arg)
{
	bool here = *(bool *)arg;
	bide_result result = { NULL, 0 };
	if (here)
		result.value = count_primes((void *)LIMIT);
	else if (bide_offload(count_primes, (void *)LIMIT, 0, &result) < 0)
		return bide_fail(errno);
	printf("%d primes below %d\n", (int)(uintptr_t)result.value, LIMIT);
	return NULL;
}

static void *run(void *arg)
{
	struct pulse pulse = { 0, 0 };
	bide_task *heart = bide_spawn(beat, &pulse);
	bide_task *workers[JOBS];
	for (int i = 0; i < JOBS; i++)
		workers[i] = bide_spawn(work, arg);
	for (int i = 0; i < JOBS; i++)
		if (!workers[i] || bide_join(workers[i], NULL) < 0)
			return bide_fail(errno);
	if (!heart || bide_cancel(heart, NULL) < 0 || bide_join(heart, NULL) < 0)
		return bide_fail(errno);
	printf("%d beats, %d ms the longest gap\n", pulse.beats, (int)(pulse.longest / BIDE_MSEC));
	return NULL;
}

int main(int argc, char **argv)
{
	bool here = argc > 1 && strcmp(argv[1], "--here") == 0;
	if (argc > 2 || (argc == 2 && !here)) {
		fprintf(stderr, "usage: heartbeat [--here]\n");
		return 2;
	}
	if (bide_run(run, &here, NULL, NULL) < 0) {
		perror("heartbeat");
		return 1;
	}
	return 0;
}
