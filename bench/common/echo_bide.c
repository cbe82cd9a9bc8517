/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the echo server with tasks, in two forms.
 *
 * "bide" is what a server of many connections does: all tasks read into one buffer. That is safe
 * because code between two suspending calls is atomic: a receive that returned bytes has just put
 * them there, and the answer is sent in one call that does not suspend. Only bytes that the socket
 * would not take at once are first copied to memory of the task's own, before it suspends.
 *
 * "bide, own buffers" is the simplest thing: a buffer on each task's stack. It costs each connection
 * the pages that its messages touched, and the processor's caches hold as many buffers as there are
 * connections. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <bide/io.h>
#include <bide/loop.h>
#include <bide/net.h>
#include <bide/task.h>

#include "echo_server.h"

static char shared[ECHO_SHARED_BUFFER];

static int send_copy(int fd, const char *bytes, size_t size)
{
	char *copy = malloc(size);
	if (!copy)
		return -1;
	memcpy(copy, bytes, size);
	ssize_t sent = bide_write_all(fd, copy, size, NULL);
	free(copy);
	return sent < 0 ? -1 : 0;
}

/* Sends from the shared buffer, which must not be relied on once this task has suspended. */
static int send_shared(int fd, size_t size)
{
	ssize_t sent = bide_send(fd, shared, size, MSG_DONTWAIT);
	if (sent == (ssize_t)size)
		return 0;
	if (sent < 0 && errno != EAGAIN)
		return -1;
	size_t done = sent > 0 ? (size_t)sent : 0;
	return send_copy(fd, shared + done, size - done);
}

static void *echo_with_shared(void *arg)
{
	int fd = (int)(intptr_t)arg;
	ssize_t got;
	while ((got = bide_recv(fd, shared, sizeof shared, 0)) > 0)
		if (send_shared(fd, (size_t)got) != 0)
			break;
	bide_close(fd);
	return NULL;
}

static void *echo_with_own(void *arg)
{
	char own[ECHO_STACK_BUFFER];
	int fd = (int)(intptr_t)arg;
	ssize_t got;
	while ((got = bide_recv(fd, own, sizeof own, 0)) > 0)
		if (bide_write_all(fd, own, (size_t)got, NULL) < 0)
			break;
	bide_close(fd);
	return NULL;
}

struct listening {
	int listener;
	bide_fn *body;
};

static void *accept_all(void *arg)
{
	const struct listening *listening = arg;
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.flags = BIDE_DETACHED;
	for (;;) {
		int fd = bide_accept(listening->listener, NULL, NULL);
		if (fd < 0 || !bide_spawn_with(listening->body, (void *)(intptr_t)fd, &attr))
			return bide_fail(errno);
	}
}

static void run(struct listening listening)
{
	bide_result result = { NULL, 0 };
	if (bide_run(accept_all, &listening, NULL, &result) == 0)
		errno = result.err;
}

static void serve_with_shared(int listener)
{
	run((struct listening){ listener, echo_with_shared });
}

static void serve_with_own(int listener)
{
	run((struct listening){ listener, echo_with_own });
}

const echo_server echo_bide = { .name = "bide", .serve = serve_with_shared };
const echo_server echo_bide_own = { .name = "bide, own buffers", .serve = serve_with_own };
