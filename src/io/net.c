/* SPDX-License-Identifier: MIT
 * Layer io: sockets: recv, send, accept, connect. */
#include <bide/net.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <bide/io.h>

#include "base/system.h"
#include "io/call.h"

/* ---- recv and send ------------------------------------------------------------------------------ */

/* The caller asked not to wait: EAGAIN is the answer then. */
static bool again_unless(struct io_call *call, ssize_t result, int flags)
{
	bool again = io_again(call, result);
	return again && !(flags & MSG_DONTWAIT && errno != EINTR);
}

static int check_transfer(const void *buf, size_t size, int flags)
{
	if ((!buf && size > 0) || (flags & MSG_WAITALL)) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

ssize_t bide_recv(int fd, void *buf, size_t size, int flags)
{
	struct io_call call;
	ssize_t count = -1;
	if (check_transfer(buf, size, flags) < 0 || io_begin(&call, fd, DESCRIPTOR_IN) < 0)
		return -1;
	do
		count = io_ready(&call) ? system_recv(fd, buf, size, flags | MSG_DONTWAIT) : -1;
	while (again_unless(&call, count, flags));
	if (!(flags & ~MSG_DONTWAIT))
		io_note_read(&call, count, size);
	io_end(&call);
	return count;
}

ssize_t bide_send(int fd, const void *buf, size_t size, int flags)
{
	struct io_call call;
	ssize_t count = -1;
	if (check_transfer(buf, size, flags) < 0 || io_begin(&call, fd, DESCRIPTOR_OUT) < 0)
		return -1;
	do
		count = io_ready(&call) ? system_send(fd, buf, size, flags | MSG_DONTWAIT | MSG_NOSIGNAL) : -1;
	while (again_unless(&call, count, flags));
	io_end(&call);
	return count;
}

/* ---- accept ------------------------------------------------------------------------------------- */

/* A listener must be non-blocking: a connection can go away between readiness and accept. */
static int make_listener_nonblocking(struct io_call *call)
{
	if (call->descriptor->is_nonblocking)
		return 0;
	int flags = system_fcntl(call->fd, F_GETFL, 0);
	if (flags < 0 || (!(flags & O_NONBLOCK) && system_fcntl(call->fd, F_SETFL, flags | O_NONBLOCK) < 0))
		return -1;
	call->descriptor->is_nonblocking = 1;
	return 0;
}

/* Errors of the connection, not of the listener (accept(2), "Error handling"). */
static bool is_of_the_connection(int err)
{
	return err == ECONNABORTED || err == EPROTO || err == ENETDOWN || err == ENOPROTOOPT ||
	    err == EHOSTDOWN || err == ENONET || err == EHOSTUNREACH || err == ENETUNREACH;
}

static int accept_some(struct io_call *call, struct sockaddr *address, socklen_t *length)
{
	int fd = system_accept(call->fd, address, length);
	if (fd < 0 && is_of_the_connection(errno))
		errno = EINTR;
	return fd;
}

/* What the listener is, its connections are. */
static int welcome(struct io_call *call, int fd)
{
	if (descriptor_fresh(call->loop, fd, DESCRIPTOR_SOCKET, io_is_tcp(call)))
		return fd;
	system_close(fd);
	errno = ENOMEM;
	return -1;
}

int bide_accept(int fd, struct sockaddr *address, socklen_t *length)
{
	struct io_call call;
	int accepted = -1;
	if (address && !length) {
		errno = EINVAL;
		return -1;
	}
	if (io_begin(&call, fd, DESCRIPTOR_IN) < 0)
		return -1;
	socklen_t size = length ? *length : 0;
	do {
		if (length)
			*length = size;
		accepted = io_ready(&call) && make_listener_nonblocking(&call) == 0
		    ? accept_some(&call, address, length) : -1;
	} while (io_again(&call, accepted));
	if (accepted >= 0)
		accepted = welcome(&call, accepted);
	io_end(&call);
	return accepted;
}

/* ---- connect ------------------------------------------------------------------------------------ */

/* What became of the attempt: 0 connected, EINPROGRESS still on its way, or the errno it failed with.
 * Readiness alone tells nothing: it may be spurious, and a failure may show as ERR or HUP only. */
static int connect_status(int fd)
{
	int err = 0;
	socklen_t length = sizeof err;
	if (system_getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &length) < 0)
		return errno;
	if (err)
		return err;
	struct sockaddr_storage peer;
	length = sizeof peer;
	if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0)
		return 0;
	return errno == ENOTCONN ? EINPROGRESS : errno;
}

static int finish_connect(struct io_call *call)
{
	for (;;) {
		call->descriptor->is_ready[DESCRIPTOR_OUT] = 0;
		if (!io_ready(call))
			return -1;
		int status = connect_status(call->fd);
		if (status == 0)
			return 0;
		if (status != EINPROGRESS) {
			errno = status;
			return -1;
		}
	}
}

static int connect_nonblocking(struct io_call *call, const struct sockaddr *address, socklen_t length)
{
	int result;
	do
		result = io_ready(call) ? system_connect(call->fd, address, length) : -1;
	while (result < 0 && errno == EINTR && !call->has_failed);
	/* A unix socket answers EAGAIN when the backlog is full, and has no attempt under way. */
	if (result == 0 || call->has_failed || errno != EINPROGRESS)
		return result;
	return finish_connect(call);
}

int bide_connect(int fd, const struct sockaddr *address, socklen_t length)
{
	struct io_call call;
	if (!address) {
		errno = EINVAL;
		return -1;
	}
	if (io_begin(&call, fd, DESCRIPTOR_OUT) < 0)
		return -1;
	int flags = system_fcntl(fd, F_GETFL, 0);
	if (flags < 0 || (!(flags & O_NONBLOCK) && system_fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0))
		return -1;
	int result = connect_nonblocking(&call, address, length);
	int saved = errno;
	if (!(flags & O_NONBLOCK) && call.descriptor->generation == call.generation)
		system_fcntl(fd, F_SETFL, flags);
	io_end(&call);
	errno = saved;
	return result;
}
