/* SPDX-License-Identifier: MIT
 * philosophers: five of them, five forks, and a deadlock that is an error instead of a hang.
 *
 *     philosophers          each takes the fork at the left first: all starve, and are told so
 *     philosophers --polite the last one takes the right fork first: all eat */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SEATS = 5 };

static bide_mutex forks[SEATS];
static bool is_polite;

static int eat(int seat, bide_mutex *first, bide_mutex *second)
{
	if (bide_mutex_lock(first) < 0)
		return -1;
	int result = bide_sleep(BIDE_MSEC); /* long enough for the others to take their first fork */
	if (result == 0)
		result = bide_mutex_lock(second); /* here they wait for each other: EDEADLK */
	if (result == 0) {
		printf("philosopher %d eats\n", seat);
		bide_mutex_unlock(second);
	}
	int err = errno;
	bide_mutex_unlock(first); /* the ordinary clean-up, also after EDEADLK */
	errno = err;
	return result;
}

static void *philosopher(void *arg)
{
	int seat = (int)((bide_mutex *)arg - forks);
	bide_mutex *left = &forks[seat], *right = &forks[(seat + 1) % SEATS];
	bool swaps = is_polite && seat == SEATS - 1;
	if (eat(seat, swaps ? right : left, swaps ? left : right) < 0) {
		printf("philosopher %d: %s\n", seat, strerror(errno));
		return bide_fail(errno);
	}
	return NULL;
}

static void *run(void *arg)
{
	bide_task *tasks[SEATS];
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	(void)arg;
	for (int seat = 0; seat < SEATS; seat++) {
		attr.name = "philosopher";
		tasks[seat] = bide_spawn_with(philosopher, &forks[seat], &attr);
		if (!tasks[seat])
			return bide_fail(errno);
	}
	return bide_gather(tasks, SEATS, NULL, 0) < 0 ? bide_fail(errno) : NULL;
}

int main(int argc, char **argv)
{
	bide_result result;
	is_polite = argc > 1 && strcmp(argv[1], "--polite") == 0;
	if (bide_run(run, NULL, NULL, &result) < 0 || result.err) {
		fprintf(stderr, "philosophers: %s\n", strerror(errno ? errno : result.err));
		return 1;
	}
	return 0;
}
