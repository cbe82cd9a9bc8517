/* SPDX-License-Identifier: MIT
 * countdown: two loops that sleep, interleaved on one thread.
 *
 *     countdown              in real time: 20 seconds
 *     countdown --virtual    the same, on a clock that jumps over the sleeps: no time at all
 *     countdown --quick      in real time, with seconds of 10 ms
 *
 * Each line is the second it was printed in and what was counted. Where both wake in the same second
 * the countdown comes first: its sleep began earlier, and equal deadlines are served in that order. */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Static, like the arguments below: if run() fails early its frame is gone before its tasks are. */
static bide_time second = BIDE_SEC;
static bide_time start;

/* Code between two suspending calls is atomic: no lock is needed around a line of output. */
static void say(const char *what, int n)
{
	printf("%d %s %d\n", (int)((bide_now() - start) / second), what, n);
}

static void *countdown(void *arg)
{
	for (int n = *(int *)arg; n > 0; n--) {
		say("Down", n);
		if (bide_sleep(4 * second) != 0) /* suspends; fails when the task is canceled */
			return bide_fail(errno);
	}
	return NULL;
}

static void *countup(void *arg)
{
	for (int n = 0; n < *(int *)arg; n++) {
		say("Up", n);
		if (bide_sleep(second) != 0)
			return bide_fail(errno);
	}
	return NULL;
}

/* Waits for a task; 0, or the errno that stopped the task or the wait. */
static int finish(bide_task *task)
{
	bide_result result;

	return bide_join(task, &result) == 0 ? result.err : errno;
}

/* The first task of the run. When it returns, tasks that are left are canceled: so a failed spawn
 * needs no clean-up here. */
static void *run(void *arg)
{
	static int from = 5, to = 20;
	bide_task *down, *up;
	int err;

	(void)arg;
	start = bide_now();
	if ((down = bide_spawn(countdown, &from)) == NULL || (up = bide_spawn(countup, &to)) == NULL)
		return bide_fail(errno);
	if ((err = finish(down)) != 0 || (err = finish(up)) != 0)
		return bide_fail(err);
	return NULL;
}

int main(int argc, char **argv)
{
	bide_config config = BIDE_CONFIG_INIT;
	const char *option = argc > 1 ? argv[1] : "";
	bide_result end;
	int err;

	if (strcmp(option, "--virtual") == 0) {
		config.flags |= BIDE_VIRTUAL_CLOCK;
	} else if (strcmp(option, "--quick") == 0) {
		second = 10 * BIDE_MSEC;
	} else if (argc > 1) {
		fprintf(stderr, "usage: countdown [--virtual | --quick]\n");
		return 2;
	}
	err = bide_run(run, NULL, &config, &end) != 0 ? errno : end.err;
	if (err == 0 && fflush(stdout) != 0) /* a full disk shows only now */
		err = errno;
	if (err != 0)
		fprintf(stderr, "countdown: %s\n", strerror(err));
	return err != 0;
}
