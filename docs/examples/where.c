/* SPDX-License-Identifier: MIT
 * where: a small server in which everybody waits for something else, and bide_dump(), which tells for what.
 *
 *     where              the tree of tasks
 *     where --backtraces with the calls that each stands in */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bide_chan *jobs;
static bide_mutex log_lock;
static unsigned flags;

static void *serve_connection(void *arg)
{
	char byte;
	return bide_read(*(int *)arg, &byte, 1) < 0 ? bide_fail(errno) : NULL;
}

static void *work(void *arg)
{
	int job;
	while (bide_chan_recv(jobs, &job) == 0)
		continue;
	return arg;
}

static void *flush_log(void *arg)
{
	if (bide_mutex_lock(&log_lock) < 0)
		return bide_fail(errno);
	bide_sleep(30 * BIDE_SEC); /* a disk that is slow */
	bide_mutex_unlock(&log_lock);
	return arg;
}

static void *rotate_log(void *arg)
{
	if (bide_mutex_lock(&log_lock) < 0)
		return bide_fail(errno);
	bide_mutex_unlock(&log_lock);
	return arg;
}

static bide_task *child(bide_group *group, const char *name, bide_fn *fn, void *arg)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.name = name;
	return bide_group_spawn(group, fn, arg, &attr);
}

static void *run(void *arg)
{
	int pipe_fds[2];
	bide_scope hour = { { 0 } };
	bide_group server = { { 0 } }, workers = { { 0 } };
	jobs = bide_chan_new(sizeof(int), 16, 0, NULL);
	if (!jobs || pipe(pipe_fds) < 0 || bide_scope_enter(&hour, bide_after(3600 * BIDE_SEC), 0) < 0 ||
	    bide_group_enter(&server, 10, 0) < 0)
		return bide_fail(errno);
	child(&server, "connection", serve_connection, &pipe_fds[0]);
	child(&server, "flusher", flush_log, NULL);
	child(&server, "rotator", rotate_log, NULL);
	if (bide_group_enter(&workers, 0, 0) == 0) {
		child(&workers, "worker", work, NULL);
		child(&workers, "worker", work, NULL);
		bide_sleep(10 * BIDE_SEC);
		bide_dump(stdout, flags);
		bide_group_cancel(&workers, "the tour is over");
		bide_group_leave(&workers);
	}
	bide_group_cancel(&server, "the tour is over");
	bide_group_leave(&server);
	bide_scope_leave(&hour);
	bide_chan_unref(jobs);
	bide_close(pipe_fds[0]);
	bide_close(pipe_fds[1]);
	return arg;
}

int main(int argc, char **argv)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = BIDE_VIRTUAL_CLOCK; /* ten seconds take no time */
	flags = argc > 1 && strcmp(argv[1], "--backtraces") == 0 ? BIDE_DUMP_BACKTRACES : 0;
	return bide_run(run, NULL, &config, NULL) < 0;
}
