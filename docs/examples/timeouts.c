/* SPDX-License-Identifier: MIT
 * timeouts: a deadline for a part of a task, whatever the calls in it are.
 *
 *     timeouts [--virtual]
 *
 * An answer of four bytes comes dribbling, one byte every 30 ms. A limit for each call would never
 * strike; the scope around all of them does, after 100 ms. */
#include <bide.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static bide_time start;

static int ms(void)
{
	return (int)((bide_now() - start) / BIDE_MSEC);
}

static void *dribble(void *arg)
{
	int fd = *(int *)arg;
	for (const char *byte = "pong"; *byte; byte++)
		if (bide_sleep(30 * BIDE_MSEC) < 0 || bide_write_all(fd, byte, 1, NULL) < 0)
			return bide_fail(errno);
	return NULL;
}

/* Reads an answer of `size` bytes within `limit`. How much came is in *done in any case. */
static int read_answer(int fd, char *buf, size_t size, size_t *done, bide_time limit)
{
	bide_scope scope = { { 0 } };
	if (bide_scope_enter(&scope, bide_after(limit), 0) < 0)
		return -1;
	ssize_t count = bide_read_exact(fd, buf, size, done);
	if (bide_scope_leave(&scope) < 0) /* ETIMEDOUT: this scope ended a call in it */
		return -1;
	return count < 0 ? -1 : 0;
}

static void *run(void *arg)
{
	static int ends[2]; /* the task that writes may outlive this frame */
	char buf[4];
	size_t done = 0;
	(void)arg;
	start = bide_now();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return bide_fail(errno);
	bide_task *peer = bide_spawn(dribble, &ends[1]);
	if (!peer)
		return bide_fail(errno);
	if (read_answer(ends[0], buf, sizeof buf, &done, 100 * BIDE_MSEC) < 0)
		printf("%d ms: %s, %zu bytes had come\n", ms(), strerror(errno), done);

	/* Nothing was lost: the rest is still to be read. */
	if (read_answer(ends[0], buf + done, sizeof buf - done, NULL, BIDE_SEC) == 0)
		printf("%d ms: the answer is \"%.4s\"\n", ms(), buf);

	/* The same as a block, for code that need not know whose deadline it was. */
	BIDE_TIMEOUT(50 * BIDE_MSEC) {
		if (bide_read(ends[0], buf, 1) < 0)
			printf("%d ms: %s\n", ms(), strerror(errno));
	}
	bide_join(peer, NULL);
	bide_close(ends[0]);
	bide_close(ends[1]);
	return NULL;
}

int main(int argc, char **argv)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	if (argc > 1 && strcmp(argv[1], "--virtual") == 0)
		config.flags |= BIDE_VIRTUAL_CLOCK;
	if (bide_run(run, NULL, &config, &result) < 0 || result.err) {
		fprintf(stderr, "timeouts: %s\n", strerror(result.err));
		return 1;
	}
	return 0;
}
