/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the echo server with a thread a connection, blocking calls, and stacks
 * as small as those of bide's tasks. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "echo_server.h"

#define STACK (48 * 1024)

static bool send_all(int fd, const char *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t sent = send(fd, bytes + done, size - done, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		done += (size_t)sent;
	}
	return true;
}

static void *echo(void *arg)
{
	char buffer[ECHO_STACK_BUFFER];
	int fd = (int)(intptr_t)arg;
	ssize_t got;
	while ((got = recv(fd, buffer, sizeof buffer, 0)) > 0)
		if (!send_all(fd, buffer, (size_t)got))
			break;
	close(fd);
	return NULL;
}

static void serve(int listener)
{
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	errno = pthread_attr_setstacksize(&attr, STACK);
	if (errno != 0 || fcntl(listener, F_SETFL, 0) != 0)
		return;
	for (;;) {
		pthread_t thread;
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0 && errno == ECONNABORTED)
			continue;
		if (fd < 0)
			return;
		errno = pthread_create(&thread, &attr, echo, (void *)(intptr_t)fd);
		if (errno != 0)
			return;
	}
}

const echo_server echo_threads = { .name = "threads", .serve = serve, .limited = true };
