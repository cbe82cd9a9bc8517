/* SPDX-License-Identifier: MIT
 * sleepers: many tasks, each asleep for a random time of up to a second.
 *
 *     sleepers [COUNT]    default 100000
 *
 * Prints how long they took together and what each cost in memory. */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static long peak_rss(void) /* in KiB */
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

static void *sleep_a_while(void *arg)
{
	bide_time delay = (bide_time)(rand() / (RAND_MAX + 1.0) * BIDE_SEC);

	return bide_sleep(delay) == 0 ? arg : bide_fail(errno);
}

/* Joins them all, in whatever order they end: one that has ended is joined without a wait. Returns
 * how many slept to the end, -1 if the caller itself was canceled. */
static long join_all(bide_task **tasks, long count)
{
	bide_result result;
	long slept = 0;

	for (long i = 0; i < count; i++) {
		if (bide_join(tasks[i], &result) != 0)
			return -1;
		slept += result.err == 0;
	}
	return slept;
}

static int sleep_all(bide_task **tasks, long count)
{
	bide_time start = bide_now();
	long before = peak_rss(), slept;

	for (long i = 0; i < count; i++)
		if ((tasks[i] = bide_spawn(sleep_a_while, NULL)) == NULL)
			return -1; /* those that run are canceled when the run ends */
	if ((slept = join_all(tasks, count)) < 0)
		return -1;
	printf("%ld of %ld tasks slept for up to 1 s each\n", slept, count);
	printf("%.3f s elapsed\n", (double)(bide_now() - start) / BIDE_SEC);
	printf("%.1f KiB of memory per task at the peak\n", (double)(peak_rss() - before) / (double)count);
	return 0;
}

static void *run(void *arg)
{
	long count = *(long *)arg;
	bide_task **tasks = calloc((size_t)count, sizeof *tasks);
	int err = 0;

	if (tasks == NULL)
		return bide_fail(ENOMEM);
	if (sleep_all(tasks, count) != 0)
		err = errno;
	free(tasks);
	return err != 0 ? bide_fail(err) : NULL;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
	bide_result end;
	int err;

	if (count <= 0) {
		fprintf(stderr, "usage: sleepers [COUNT]\n");
		return 2;
	}
	err = bide_run(run, &count, NULL, &end) != 0 ? errno : end.err;
	if (err == 0 && fflush(stdout) != 0)
		err = errno;
	if (err != 0)
		fprintf(stderr, "sleepers: %s\n", strerror(err));
	return err != 0;
}
