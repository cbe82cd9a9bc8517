/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the floor for an echo, a raw edge-triggered epoll loop written for
 * nothing else.
 *
 * A descriptor is added once, for both directions, and never changed. Writing is tried first and
 * waited for only when the socket is full; reading follows an event, since trying it right after the
 * accept too was measured to gain nothing. A short read has drained the socket. One buffer serves
 * all connections; only bytes that the socket would not take are kept, in memory of their own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "echo_server.h"

#define EVENTS 256
#define ACCEPTS_A_TURN 64

/* What a connection still has to send. */
struct rest {
	char *bytes; /* NULL: nothing */
	size_t size;
	size_t sent;
};

static char buffer[ECHO_SHARED_BUFFER];
static struct rest *rests; /* by descriptor */
static unsigned rest_count; /* how many have bytes; looking there is needed only if any has */
static int epoll_fd;

static bool has_rest(int fd)
{
	return rest_count > 0 && rests[fd].bytes;
}

static void drop_rest(int fd)
{
	free(rests[fd].bytes);
	rests[fd].bytes = NULL;
	rest_count--;
}

static void end_connection(int fd)
{
	if (has_rest(fd))
		drop_rest(fd);
	close(fd);
}

static bool keep_rest(int fd, const char *bytes, size_t size)
{
	char *copy = malloc(size);
	if (!copy)
		return false;
	memcpy(copy, bytes, size);
	rests[fd] = (struct rest){ copy, size, 0 };
	rest_count++;
	return true;
}

/* Sends from the buffer. false: the connection is at its end. */
static bool answer(int fd, size_t size)
{
	ssize_t sent = send(fd, buffer, size, MSG_NOSIGNAL);
	if (sent == (ssize_t)size)
		return true;
	if (sent < 0 && errno != EAGAIN)
		return false;
	size_t done = sent > 0 ? (size_t)sent : 0;
	return keep_rest(fd, buffer + done, size - done);
}

/* Reads until nothing more is there. After the other side's end of input a short read does not mean
 * that: the end itself is still to be read. */
static void echo_input(int fd, bool ending)
{
	for (;;) {
		ssize_t got = recv(fd, buffer, sizeof buffer, 0);
		if (got < 0 && errno == EAGAIN)
			return;
		if (got <= 0 || !answer(fd, (size_t)got)) {
			end_connection(fd);
			return;
		}
		if (has_rest(fd) || (got < (ssize_t)sizeof buffer && !ending))
			return;
	}
}

/* true: all is sent, and input may be read again. */
static bool send_rest(int fd)
{
	struct rest *rest = &rests[fd];
	ssize_t sent = send(fd, rest->bytes + rest->sent, rest->size - rest->sent, MSG_NOSIGNAL);
	if (sent > 0)
		rest->sent += (size_t)sent;
	if (rest->sent < rest->size)
		return false;
	drop_rest(fd);
	return true;
}

static void serve_connection(int fd, unsigned events)
{
	if (events & (EPOLLERR | EPOLLHUP)) {
		end_connection(fd);
		return;
	}
	bool readable = events & (EPOLLIN | EPOLLRDHUP);
	if (has_rest(fd))
		readable = (events & EPOLLOUT) && send_rest(fd);
	if (readable)
		echo_input(fd, events & EPOLLRDHUP);
}

static bool add(int fd, unsigned events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };
	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool accept_some(int listener)
{
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0)
			return errno == EAGAIN || errno == ECONNABORTED;
		if (!add(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET))
			return false;
	}
	return true;
}

static bool serve_events(int listener, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		if (events[i].data.fd != listener)
			serve_connection(events[i].data.fd, events[i].events);
		else if (!accept_some(listener))
			return false;
	}
	return true;
}

static void serve(int listener)
{
	static struct epoll_event events[EVENTS];
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	rests = calloc(limit.rlim_cur, sizeof *rests);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!rests || epoll_fd < 0 || !add(listener, EPOLLIN))
		return;
	int count;
	do {
		count = epoll_wait(epoll_fd, events, EVENTS, -1);
	} while (count >= 0 && serve_events(listener, events, count));
}

const echo_server echo_epoll = { .name = "raw epoll", .serve = serve };
