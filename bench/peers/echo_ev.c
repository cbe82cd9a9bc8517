/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the echo server on libev: one buffer for all reads, writing tried first. */
#include "common/echo_server.h"

#ifdef HAVE_EV

#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char shared[ECHO_SHARED_BUFFER];

struct connection {
	ev_io io;
	char *rest; /* what the socket would not take; NULL: nothing */
	size_t rest_size, rest_sent;
};

static void give_up(struct ev_loop *loop, struct connection *connection)
{
	ev_io_stop(loop, &connection->io);
	close(connection->io.fd);
	free(connection->rest);
	free(connection);
}

static void wait_for(struct ev_loop *loop, struct connection *connection, int events)
{
	ev_io_stop(loop, &connection->io);
	ev_io_set(&connection->io, connection->io.fd, events);
	ev_io_start(loop, &connection->io);
}

static void keep_rest(struct ev_loop *loop, struct connection *connection, const char *bytes, size_t size)
{
	connection->rest = malloc(size);
	if (!connection->rest) {
		give_up(loop, connection);
		return;
	}
	memcpy(connection->rest, bytes, size);
	connection->rest_size = size;
	connection->rest_sent = 0;
	wait_for(loop, connection, EV_WRITE);
}

static void answer(struct ev_loop *loop, struct connection *connection)
{
	ssize_t got = recv(connection->io.fd, shared, sizeof shared, 0);
	if (got < 0 && errno == EAGAIN)
		return;
	ssize_t sent = got > 0 ? send(connection->io.fd, shared, (size_t)got, MSG_NOSIGNAL) : -1;
	if (got <= 0 || (sent < 0 && errno != EAGAIN))
		give_up(loop, connection);
	else if (sent < got)
		keep_rest(loop, connection, shared + (sent > 0 ? sent : 0), (size_t)(got - (sent > 0 ? sent : 0)));
}

static void send_rest(struct ev_loop *loop, struct connection *connection)
{
	ssize_t sent = send(connection->io.fd, connection->rest + connection->rest_sent,
	    connection->rest_size - connection->rest_sent, MSG_NOSIGNAL);
	if (sent < 0 && errno != EAGAIN) {
		give_up(loop, connection);
		return;
	}
	connection->rest_sent += sent > 0 ? (size_t)sent : 0;
	if (connection->rest_sent < connection->rest_size)
		return;
	free(connection->rest);
	connection->rest = NULL;
	wait_for(loop, connection, EV_READ);
}

static void serve_connection(struct ev_loop *loop, ev_io *io, int events)
{
	struct connection *connection = (struct connection *)io;
	if (events & EV_WRITE)
		send_rest(loop, connection);
	else
		answer(loop, connection);
}

static void accept_some(struct ev_loop *loop, ev_io *io, int events)
{
	int fd;
	(void)events;
	while ((fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct connection *connection = calloc(1, sizeof *connection);
		if (!connection) {
			close(fd);
			return;
		}
		ev_io_init(&connection->io, serve_connection, fd, EV_READ);
		ev_io_start(loop, &connection->io);
	}
}

static void serve(int listener)
{
	struct ev_loop *loop = ev_default_loop(EVBACKEND_EPOLL);
	ev_io io;
	if (loop) {
		ev_io_init(&io, accept_some, listener, EV_READ);
		ev_io_start(loop, &io);
		ev_run(loop, 0);
	}
	errno = EIO;
}

const echo_server echo_libev = { .name = "libev", .serve = serve };

#else

static const char *missing(void)
{
	return "it was not there to link with";
}

const echo_server echo_libev = { .name = "libev", .missing = missing };

#endif
