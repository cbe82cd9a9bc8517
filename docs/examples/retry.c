/* SPDX-License-Identifier: MIT
 * retry: try again, waiting twice as long each time, but no longer than the caller's deadline allows.
 *
 *     retry [--virtual] */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bide_time start;

static int ms(void)
{
	return (int)((bide_now() - start) / BIDE_MSEC);
}

/* A service that is down for its first `*failures` calls. */
static int call_service(int *failures)
{
	if (bide_sleep(5 * BIDE_MSEC) < 0)
		return -1;
	if ((*failures)-- > 0) {
		errno = ECONNREFUSED;
		return -1;
	}
	return 0;
}

/* Errors that are worth another try; a cancel or a deadline is not. */
static bool is_worth_it(int err)
{
	return err == ECONNREFUSED || err == ECONNRESET || err == EAGAIN;
}

static int call_with_retries(int *failures, int tries)
{
	bide_time delay = 20 * BIDE_MSEC;
	for (int i = 1;; i++, delay *= 2) {
		if (call_service(failures) == 0)
			return 0;
		printf("%3d ms  try %d: %s\n", ms(), i, strerror(errno));
		if (i == tries || !is_worth_it(errno))
			return -1;
		if (bide_sleep(delay) < 0) /* ends early, and with it the retries, if the task is canceled */
			return -1;
	}
}

static void report(int result)
{
	printf("%3d ms  %s\n", ms(), result == 0 ? "it worked" : strerror(errno));
}

static void *run(void *arg)
{
	bide_scope scope = { { 0 } };
	int failures = 2;
	(void)arg;
	start = bide_now();
	report(call_with_retries(&failures, 5));

	failures = 100;
	if (bide_scope_enter(&scope, bide_after(100 * BIDE_MSEC), 0) < 0)
		return bide_fail(errno);
	report(call_with_retries(&failures, 10));
	if (bide_scope_leave(&scope) < 0)
		printf("%3d ms  the deadline ended the retries\n", ms());
	return NULL;
}

int main(int argc, char **argv)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	if (argc > 1 && strcmp(argv[1], "--virtual") == 0)
		config.flags |= BIDE_VIRTUAL_CLOCK;
	if (bide_run(run, NULL, &config, &result) < 0 || result.err) {
		fprintf(stderr, "retry: %s\n", strerror(result.err));
		return 1;
	}
	return 0;
}
