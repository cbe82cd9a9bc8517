/* SPDX-License-Identifier: MIT
 * as_completed: results in the order in which they come, at most three jobs at a time.
 *
 *     as_completed [--virtual] */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const int durations[] = { 50, 20, 40, 10, 30 }; /* ms */
enum { JOBS = sizeof durations / sizeof *durations, AT_ONCE = 3 };

static void *job(void *arg)
{
	const int *ms = arg;
	if (bide_sleep(*ms * BIDE_MSEC) < 0)
		return bide_fail(errno);
	return arg;
}

/* Parks while three are running: the group has a limit. */
static int spawn_all(bide_group *group)
{
	for (int i = 0; i < JOBS; i++)
		if (!bide_group_spawn(group, job, (void *)&durations[i], NULL))
			return -1;
	return 0;
}

static void *run(void *arg)
{
	bide_group group = { { 0 } };
	bide_result result;
	bide_time start = bide_now();
	(void)arg;
	if (bide_group_enter(&group, AT_ONCE, BIDE_COLLECT) < 0)
		return bide_fail(errno);
	int err = spawn_all(&group) < 0 ? errno : 0;
	while (!err && bide_group_next(&group, NULL, &result) == 0)
		printf("job of %d ms: told at %d ms\n", *(const int *)result.value,
		    (int)((bide_now() - start) / BIDE_MSEC));
	/* The only way out of a group; on every path. It waits for all children. */
	if (bide_group_leave(&group) < 0 && !err)
		err = errno;
	return err ? bide_fail(err) : NULL;
}

int main(int argc, char **argv)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	if (argc > 1 && strcmp(argv[1], "--virtual") == 0)
		config.flags |= BIDE_VIRTUAL_CLOCK;
	if (bide_run(run, NULL, &config, &result) < 0 || result.err) {
		fprintf(stderr, "as_completed: %s\n", strerror(result.err));
		return 1;
	}
	return 0;
}
