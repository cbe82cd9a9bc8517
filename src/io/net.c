/* SPDX-License-Identifier: MIT
 * Layer io: connections: accept, connect. */
#include <bide/net.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <bide/io.h>

#include "base/fail.h"
#include "base/system.h"
#include "io/call.h"

/* ---- accept ------------------------------------------------------------------------------------- */

/* A listener must be non-blocking: a connection can go away between readiness and accept. Looked at
 * before each try, for the number may be another file's by now, and a blocking accept would stop the
 * loop. What does not listen is left as it is: accept refuses it at once. */
static int make_listener_nonblocking(int fd)
{
	int flags = system_fcntl(fd, F_GETFL, 0);
	if (flags < 0 || (flags & O_NONBLOCK))
		return flags < 0 ? -1 : 0;
	int listens = 0;
	socklen_t length = sizeof listens;
	if (system_getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) < 0 || !listens)
		return 0;
	return system_fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

/* An accept() that finds nothing makes a socket before it looks, and costs sixteen times what this does. So a listener
 * whose connections events tell of is asked first, but for a task that was woken by one. (A socket of AF_ALG always
 * accepts, and poll() tells nothing of it.) */
static bool has_backlog(const struct io_call *call)
{
	if (!call->descriptor->is_listener || call->place.has_claim)
		return true;
	return descriptor_poll(call->fd, POLLIN) != 0; /* an error it tells accept() */
}

/* Errors of the connection, not of the listener (accept(2), "Error handling"). */
static bool is_of_the_connection(int err)
{
	return err == ECONNABORTED || err == EPROTO || err == ENETDOWN || err == ENOPROTOOPT ||
	    err == EHOSTDOWN || err == ENONET || err == EHOSTUNREACH || err == ENETUNREACH;
}

/* Of a unix listener that was shut down accept() says EAGAIN for good, where it would not wait. */
static bool is_shut_down(const struct io_call *call)
{
	int events = call->descriptor->is_hung_up ? descriptor_poll(call->fd, POLLRDHUP) : 0;
	return events > 0 && (events & (POLLRDHUP | POLLHUP));
}

static int accept_some(struct io_call *call, struct sockaddr *address, socklen_t *length)
{
	if (!has_backlog(call))
		return fail_with(EAGAIN);
	if (make_listener_nonblocking(call->fd) < 0)
		return -1;
	int fd = system_accept(call->fd, address, length);
	if (fd < 0 && is_of_the_connection(errno))
		return fail_with(EINTR);
	if (fd < 0 && errno == EAGAIN)
		return fail_with(is_shut_down(call) ? EINVAL : EAGAIN);
	return fd;
}

/* What the listener is, its connections are. A peer's first bytes are rarely there yet, so the first read
 * does not try before it waits: it has to be registered anyway, and that tells. */
static void connection_fresh(struct io_call *call, int fd)
{
	if (call->place.has_claim) /* so it is registered, and will be doubted when the number is another file's */
		call->descriptor->is_listener = 1;
	descriptor_fresh(call->loop, fd, DESCRIPTOR_SOCKET, io_is_tcp(call->descriptor, call->fd));
	struct descriptor *descriptor = descriptor_find(&call->loop->descriptors, fd);
	if (descriptor)
		descriptor->is_ready[DESCRIPTOR_IN] = 0;
}

int bide_accept(int fd, struct sockaddr *address, socklen_t *length)
{
	struct io_call call;
	int accepted = -1;
	if (address && (!length || *length > INT32_MAX)) /* the kernel finds it after it has accepted */
		return fail_with(EINVAL);
	if (io_begin(&call, fd, DESCRIPTOR_IN) < 0)
		return -1;
	socklen_t size = length ? *length : 0;
	do {
		if (length)
			*length = size;
		accepted = io_ready(&call) ? accept_some(&call, address, length) : -1;
	} while (io_again(&call, accepted));
	if (accepted >= 0)
		connection_fresh(&call, accepted);
	io_end(&call);
	return accepted;
}

/* ---- connect ------------------------------------------------------------------------------------ */

/* As after a connect(2) that failed, the socket may try again. */
static void leave_failed_attempt(int fd)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	(void)!system_connect(fd, &none, sizeof none);
}

/* What became of the attempt: 0 connected, EINPROGRESS still on its way, or the errno it failed with.
 * Readiness alone tells nothing: it may be spurious, and a failure may show as ERR or HUP only. A
 * second connect() tells the kernel's own opinion; it must not be the first to ask for the error, since
 * on some families it would begin a new attempt. */
static int connect_status(int fd, const struct sockaddr *address, socklen_t length)
{
	int err = 0;
	socklen_t size = sizeof err;
	if (system_getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) < 0)
		return errno;
	if (err) {
		leave_failed_attempt(fd);
		return err;
	}
	int result;
	do
		result = system_connect(fd, address, length);
	while (result < 0 && errno == EINTR);
	if (result == 0 || errno == EISCONN)
		return 0;
	return errno == EALREADY ? EINPROGRESS : errno;
}

static int finish_connect(struct io_call *call, const struct sockaddr *address, socklen_t length)
{
	for (;;) {
		call->descriptor->is_ready[DESCRIPTOR_OUT] = 0;
		if (!io_ready(call))
			return -1;
		int status = connect_status(call->fd, address, length);
		if (status == 0)
			return 0;
		if (status != EINPROGRESS)
			return fail_with(status);
	}
}

#define BACKLOG_DELAY_MIN BIDE_MSEC
#define BACKLOG_DELAY_MAX (16 * BIDE_MSEC)

/* A unix listener's backlog is full: EAGAIN, no attempt is under way, and nothing will tell when there
 * is room. So it is tried again after a while; closing the socket is noticed then. */
static void wait_for_room(struct io_call *call, bide_time *delay)
{
	struct task *task = task_current();
	struct wait *wait = wait_begin(task, NULL, WAIT_FD, call->descriptor);
	wait->detail = call->fd;
	wait->events = POLLER_OUT;
	park(task, time_add(loop_now(call->loop), *delay)); /* an interrupt is found by the next io_ready */
	if (*delay < BACKLOG_DELAY_MAX)
		*delay *= 2;
}

static int connect_nonblocking(struct io_call *call, const struct sockaddr *address, socklen_t length)
{
	bide_time delay = BACKLOG_DELAY_MIN;
	while (io_ready(call)) {
		if (system_connect(call->fd, address, length) == 0)
			return 0;
		if (errno == EINPROGRESS)
			return finish_connect(call, address, length);
		if (errno == EAGAIN && address->sa_family == AF_UNIX)
			wait_for_room(call, &delay);
		else if (errno != EINTR)
			return -1;
	}
	return -1;
}

int bide_connect(int fd, const struct sockaddr *address, socklen_t length)
{
	struct io_call call;
	if (!address)
		return fail_with(EINVAL);
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
