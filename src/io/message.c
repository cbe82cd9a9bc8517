/* SPDX-License-Identifier: MIT
 * Layer io: recv, send and their relatives. All receive, or all send: they differ in the system call
 * alone, which is told by a function and what that needs. */
#include <bide/net.h>

#include <errno.h>

#include "base/fail.h"
#include "base/system.h"
#include "io/call.h"
#include "io/passing.h"

/* One try of a system call. */
typedef ssize_t try_fn(int fd, const void *arg, int flags);

/* The engines below are copied into each call, so that its try is no call through a pointer. */
#define ENGINE static inline __attribute__((always_inline))

/* ---- receiving ---------------------------------------------------------------------------------- */

/* Urgent data and the error queue are beside the input: that they are empty says nothing of it, and
 * who waits for them stands in no line. */
static ssize_t receive_aside(struct io_call *call, int flags, try_fn *try_once, const void *arg)
{
	uint32_t events = flags & MSG_OOB ? POLLER_PRI : 0;
	for (;;) {
		if (!io_is_open(call))
			return -1;
		ssize_t count = try_once(call->fd, arg, flags | MSG_DONTWAIT);
		if (count >= 0 || (errno != EAGAIN && errno != EINTR) || (errno == EAGAIN && call->never_waits))
			return count;
		if (errno == EAGAIN && io_observe(call, events) < 0)
			return -1;
	}
}

/* size: of what was asked for, if a short count tells something; 0: it does not. */
ENGINE ssize_t receive(int fd, int flags, size_t size, try_fn *try_once, const void *arg)
{
	struct io_call call;
	ssize_t count;
	if (flags & MSG_WAITALL)
		return fail_with(EINVAL);
	if (io_begin(&call, fd, DESCRIPTOR_IN) < 0)
		return -1;
	call.never_waits = flags & MSG_DONTWAIT;
	if (flags & (MSG_OOB | MSG_ERRQUEUE)) {
		count = receive_aside(&call, flags, try_once, arg);
	} else {
		do
			count = io_ready_inline(&call) ? try_once(fd, arg, flags | MSG_DONTWAIT) : -1;
		while (io_again(&call, count));
		if (!(flags & ~MSG_DONTWAIT))
			io_note_read(call.descriptor, fd, count, size);
	}
	io_end(&call);
	return count;
}

struct buffer {
	void *bytes;
	size_t size;
	struct sockaddr *from;
	socklen_t *from_length;
};

static ssize_t try_recv(int fd, const void *arg, int flags)
{
	const struct buffer *buffer = arg;
	return system_recv(fd, buffer->bytes, buffer->size, flags);
}

static __attribute__((noinline)) ssize_t recv_in_full(int fd, void *buf, size_t size, int flags)
{
	struct buffer buffer = { buf, size, NULL, NULL };
	if (!buf && size > 0)
		return fail_with(EINVAL);
	return receive(fd, flags, size, try_recv, &buffer);
}

ssize_t bide_recv(int fd, void *buf, size_t size, int flags)
{
	struct descriptor *descriptor = flags || !buf ? NULL : io_at_once(fd, DESCRIPTOR_IN);
	if (descriptor) {
		ssize_t count = system_recv(fd, buf, size, MSG_DONTWAIT);
		if (io_is_over(descriptor, DESCRIPTOR_IN, count, false)) {
			io_note_read(descriptor, fd, count, size);
			return count;
		}
	}
	return recv_in_full(fd, buf, size, flags);
}

static ssize_t try_recvfrom(int fd, const void *arg, int flags)
{
	const struct buffer *buffer = arg;
	return system_recvfrom(fd, buffer->bytes, buffer->size, flags, buffer->from, buffer->from_length);
}

ssize_t bide_recvfrom(int fd, void *buf, size_t size, int flags, struct sockaddr *address, socklen_t *length)
{
	struct buffer buffer = { buf, size, address, length };
	if ((!buf && size > 0) || (address && (!length || *length > INT32_MAX)))
		return fail_with(EINVAL);
	return receive(fd, flags, size, try_recvfrom, &buffer);
}

/* Descriptors that come with a message are close-on-exec from the beginning. */
static ssize_t try_recvmsg(int fd, const void *arg, int flags)
{
	return system_recvmsg(fd, (struct msghdr *)(uintptr_t)arg, flags | MSG_CMSG_CLOEXEC);
}

ssize_t bide_recvmsg(int fd, struct msghdr *message, int flags)
{
	if (!message)
		return fail_with(EINVAL);
	ssize_t count = receive(fd, flags, 0, try_recvmsg, message);
	if (count >= 0)
		passing_note(loop_current, message);
	return count;
}

struct messages {
	struct mmsghdr *all;
	unsigned count;
};

static ssize_t try_recvmmsg(int fd, const void *arg, int flags)
{
	const struct messages *messages = arg;
	return system_recvmmsg(fd, messages->all, messages->count, flags | MSG_CMSG_CLOEXEC);
}

int bide_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	struct messages arg = { messages, count };
	if (!messages)
		return fail_with(EINVAL);
	int received = (int)receive(fd, flags, 0, try_recvmmsg, &arg);
	for (int i = 0; i < received; i++)
		passing_note(loop_current, &messages[i].msg_hdr);
	return received;
}

/* ---- sending ------------------------------------------------------------------------------------ */

ENGINE ssize_t send_out(int fd, int flags, try_fn *try_once, const void *arg)
{
	struct io_call call;
	ssize_t count;
	if (flags & MSG_WAITALL)
		return fail_with(EINVAL);
	if (io_begin(&call, fd, DESCRIPTOR_OUT) < 0)
		return -1;
	call.never_waits = flags & MSG_DONTWAIT;
	do
		count = io_ready(&call) ? try_once(fd, arg, flags | MSG_DONTWAIT | MSG_NOSIGNAL) : -1;
	while (io_again(&call, count));
	io_end(&call);
	return count;
}

struct content {
	const void *bytes;
	size_t size;
	const struct sockaddr *to;
	socklen_t to_length;
};

static ssize_t try_send(int fd, const void *arg, int flags)
{
	const struct content *content = arg;
	return system_send(fd, content->bytes, content->size, flags);
}

static __attribute__((noinline)) ssize_t send_in_full(int fd, const void *buf, size_t size, int flags)
{
	struct content content = { buf, size, NULL, 0 };
	if (!buf && size > 0)
		return fail_with(EINVAL);
	return send_out(fd, flags, try_send, &content);
}

ssize_t bide_send(int fd, const void *buf, size_t size, int flags)
{
	bool is_plain = buf && !(flags & MSG_WAITALL);
	struct descriptor *descriptor = is_plain ? io_at_once(fd, DESCRIPTOR_OUT) : NULL;
	if (descriptor) {
		ssize_t count = system_send(fd, buf, size, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
		if (io_is_over(descriptor, DESCRIPTOR_OUT, count, flags & MSG_DONTWAIT))
			return count;
	}
	return send_in_full(fd, buf, size, flags);
}

static ssize_t try_sendto(int fd, const void *arg, int flags)
{
	const struct content *content = arg;
	return system_sendto(fd, content->bytes, content->size, flags, content->to, content->to_length);
}

ssize_t bide_sendto(int fd, const void *buf, size_t size, int flags, const struct sockaddr *address,
    socklen_t length)
{
	struct content content = { buf, size, address, length };
	if ((!buf && size > 0) || (!address && length > 0))
		return fail_with(EINVAL);
	return send_out(fd, flags, try_sendto, &content);
}

static ssize_t try_sendmsg(int fd, const void *arg, int flags)
{
	return system_sendmsg(fd, arg, flags);
}

ssize_t bide_sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (!message)
		return fail_with(EINVAL);
	return send_out(fd, flags, try_sendmsg, message);
}

static ssize_t try_sendmmsg(int fd, const void *arg, int flags)
{
	const struct messages *messages = arg;
	return system_sendmmsg(fd, messages->all, messages->count, flags);
}

int bide_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	struct messages arg = { messages, count };
	if (!messages)
		return fail_with(EINVAL);
	return (int)send_out(fd, flags, try_sendmmsg, &arg);
}
