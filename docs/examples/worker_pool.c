/* SPDX-License-Identifier: MIT
 * worker_pool: three workers take jobs from one channel and put results into another.
 *
 *     worker_pool [--virtual] */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { WORKERS = 3, JOBS = 7 };

struct result {
	int job, worker, at_ms;
};

static bide_time start;
static bide_chan *jobs, *results;

static void *work(void *arg)
{
	int job;
	while (bide_chan_recv(jobs, &job) == 0) {
		if (bide_sleep(10 * job * BIDE_MSEC) < 0)
			return bide_fail(errno);
		struct result result = { job, *(int *)arg, (int)((bide_now() - start) / BIDE_MSEC) };
		if (bide_chan_send(results, &result) < 0)
			return bide_fail(errno);
	}
	return errno == EPIPE ? NULL : bide_fail(errno); /* EPIPE: closed and empty, the end of the work */
}

/* Sends the jobs, waits for the workers, and closes what they wrote to. */
static void *manage(void *arg)
{
	static int numbers[WORKERS];
	bide_group workers = { { 0 } };
	(void)arg;
	if (bide_group_enter(&workers, 0, 0) < 0)
		return bide_fail(errno);
	for (int i = 0; i < WORKERS; i++) {
		numbers[i] = i + 1;
		if (!bide_group_spawn(&workers, work, &numbers[i], NULL))
			break; /* fewer workers will do */
	}
	for (int job = 1; job <= JOBS; job++)
		if (bide_chan_send(jobs, &job) < 0) /* a rendezvous: waits for a free worker */
			break;
	bide_chan_close(jobs, 0);
	int left = bide_group_leave(&workers);
	int err = errno;
	bide_chan_close(results, 0);
	return left < 0 ? bide_fail(err) : NULL;
}

static void *run(void *arg)
{
	struct result result;
	bide_result managed;
	(void)arg;
	start = bide_now();
	jobs = bide_chan_new(sizeof(int), 0, 0, NULL);
	results = bide_chan_new(sizeof(struct result), 1, 0, NULL);
	if (!jobs || !results)
		return bide_fail(errno);
	bide_task *manager = bide_spawn(manage, NULL);
	if (!manager)
		return bide_fail(errno);
	while (bide_chan_recv(results, &result) == 0)
		printf("%3d ms  job %d by worker %d\n", result.at_ms, result.job, result.worker);
	bide_join(manager, &managed);
	bide_chan_unref(jobs);
	bide_chan_unref(results);
	return managed.err ? bide_fail(managed.err) : NULL;
}

int main(int argc, char **argv)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	if (argc > 1 && strcmp(argv[1], "--virtual") == 0)
		config.flags |= BIDE_VIRTUAL_CLOCK;
	if (bide_run(run, NULL, &config, &result) < 0 || result.err) {
		fprintf(stderr, "worker_pool: %s\n", strerror(result.err));
		return 1;
	}
	return 0;
}
