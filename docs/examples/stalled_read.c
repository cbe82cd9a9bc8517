/* SPDX-License-Identifier: MIT
 * stalled_read: a read from a peer that never sends is canceled after two seconds.
 *
 *     stalled_read [--virtual]    with --virtual on a clock that jumps over the wait
 *
 * Each line begins with the second it was printed in. Cancellation is an error return: the call that
 * the task is parked in fails with ECANCELED, clean-up runs as for any other error, nothing is lost.
 * Two tasks show how it works; in a program of yours one bide_scope does it (bide/cancel.h). */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static bide_time start;
static int sockets[2];    /* [0] is read; [1] belongs to the peer */
static bide_task *reader; /* for time_out(); good until main has joined it */

static int seconds(void)
{
	return (int)((bide_now() - start) / BIDE_SEC);
}

static void *read_stalled(void *arg)
{
	char text[64];

	printf("%d reader: waits for the peer\n", seconds());
	if (bide_recv(sockets[0], text, sizeof text, 0) >= 0) /* parks here, for two seconds */
		return arg;
	printf("%d reader: recv failed: %s\n", seconds(), strerror(errno));
	return bide_fail(errno);
}

static void *time_out(void *arg)
{
	printf("%d timeout: sleeps for 2 s\n", seconds());
	if (bide_sleep(2 * BIDE_SEC) != 0)
		return bide_fail(errno); /* canceled: the reader was done in time */
	if (bide_cancel(reader, "too slow") != 0)
		return bide_fail(errno);
	/* So far a request: the reader is queued, and runs when this task parks or ends. */
	printf("%d timeout: canceled the reader, which is %s\n", seconds(),
	       bide_task_state(reader) == BIDE_TASK_DONE ? "done" : "not done yet");
	return arg;
}

/* The master rule: the canceled call took nothing, so what comes later is there for the next one. */
static int read_late_bytes(void)
{
	char text[5];

	if (bide_write_all(sockets[1], "late\n", 5, NULL) < 0 ||
	    bide_read_exact(sockets[0], text, 5, NULL) < 0)
		return -1;
	printf("%d main: the socket still works: %.5s", seconds(), text);
	return 0;
}

static void *run(void *arg)
{
	bide_result result;
	bide_task *timeout;

	start = bide_now();
	if ((reader = bide_spawn(read_stalled, NULL)) == NULL ||
	    (timeout = bide_spawn(time_out, NULL)) == NULL)
		return bide_fail(errno); /* a task that is left is canceled by the end of the run */
	printf("%d main: spawned the reader and its timeout\n", seconds());
	if (bide_join(reader, &result) != 0)
		return bide_fail(errno);
	bide_cancel(timeout, "not needed"); /* ESRCH if it has ended, as here */
	if (bide_join(timeout, NULL) != 0)
		return bide_fail(errno);
	printf("%d main: the reader ended: %s\n", seconds(), strerror(result.err));
	return read_late_bytes() == 0 ? arg : bide_fail(errno);
}

int main(int argc, char **argv)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result end;
	int err;

	if (argc > 1 && strcmp(argv[1], "--virtual") == 0)
		config.flags |= BIDE_VIRTUAL_CLOCK;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
		perror("stalled_read");
		return 1;
	}
	err = bide_run(run, NULL, &config, &end) != 0 ? errno : end.err;
	bide_close(sockets[0]);
	bide_close(sockets[1]);
	if (err != 0)
		fprintf(stderr, "stalled_read: %s\n", strerror(err));
	return err != 0;
}
