/* SPDX-License-Identifier: MIT
 * Layer io: streams over descriptors. A socket is asked only when it may be ready: the bits that the
 * scheduler keeps of it (sched/descriptor.h) tell that no more input is there without a system call. Of
 * other files poll() tells it. */
#include <bide/io.h>
#include <bide/net.h>

#include <errno.h>
#include <poll.h>

#include "base/system.h"
#include "io/call.h"
#include "io/stream.h"

static void *context_of(int fd)
{
	return (void *)(intptr_t)fd;
}

static int number_of(const void *ctx)
{
	return (int)(intptr_t)ctx;
}

/* ---- sockets ----------------------------------------------------------------------------------- */

static bool is_known_empty(int fd)
{
	const struct descriptor *descriptor = descriptor_find(&loop_current->descriptors, fd);
	return descriptor && !descriptor->is_ready[DESCRIPTOR_IN];
}

static ssize_t socket_read(void *ctx, void *buf, size_t size)
{
	int fd = number_of(ctx);
	return is_known_empty(fd) ? fail_with(EAGAIN) : bide_recv(fd, buf, size, MSG_DONTWAIT);
}

static ssize_t socket_write(void *ctx, const void *buf, size_t size)
{
	return bide_send(number_of(ctx), buf, size, MSG_DONTWAIT);
}

static int wait_until_ready(int fd, int direction)
{
	struct io_call call;
	if (io_begin(&call, fd, direction) < 0)
		return -1;
	int result = io_ready(&call) ? 0 : -1;
	io_end(&call);
	return result;
}

static int socket_wait(void *ctx, int events)
{
	int fd = number_of(ctx);
	if (events == POLLIN)
		return wait_until_ready(fd, DESCRIPTOR_IN);
	if (events == POLLOUT)
		return wait_until_ready(fd, DESCRIPTOR_OUT);
	return bide_fd_wait(fd, events) < 0 ? -1 : 0;
}

static int fd_shutdown(void *ctx)
{
	return system_shutdown(number_of(ctx), SHUT_WR);
}

/* After EINTR it is closed all the same. */
static int fd_close(void *ctx)
{
	int result = bide_close(number_of(ctx));
	return result < 0 && errno == EINTR ? 0 : result;
}

/* ---- pipes, terminals, files ------------------------------------------------------------------- */

static int check_ready(int fd, int events)
{
	int ready = descriptor_poll(fd, events);
	return ready == 0 ? fail_with(EAGAIN) : ready;
}

static ssize_t file_read(void *ctx, void *buf, size_t size)
{
	return check_ready(number_of(ctx), POLLIN) < 0 ? -1 : bide_read(number_of(ctx), buf, size);
}

static ssize_t file_write(void *ctx, const void *buf, size_t size)
{
	return check_ready(number_of(ctx), POLLOUT) < 0 ? -1 : bide_write(number_of(ctx), buf, size);
}

/* poll() would never say that a pipe's other end is not this one. */
static ssize_t refuse_read(void *ctx, void *buf, size_t size)
{
	(void)ctx, (void)buf, (void)size;
	return fail_with(EBADF);
}

static ssize_t refuse_write(void *ctx, const void *buf, size_t size)
{
	(void)ctx, (void)buf, (void)size;
	return fail_with(EBADF);
}

static int file_wait(void *ctx, int events)
{
	return bide_fd_wait(number_of(ctx), events) < 0 ? -1 : 0;
}

/* ---- opening ----------------------------------------------------------------------------------- */

enum { SOCKET = O_ACCMODE + 1 }; /* beside O_RDONLY, O_WRONLY and O_RDWR */

#define OPS(reads, writes, waits)                                                                  \
	{                                                                                              \
		.size = sizeof(bide_stream_ops), .read = reads, .write = writes, .wait = waits,            \
		.shutdown = fd_shutdown, .close = fd_close                                                 \
	}
static const bide_stream_ops fd_ops[] = {
	[O_RDONLY] = OPS(file_read, refuse_write, file_wait),
	[O_WRONLY] = OPS(refuse_read, file_write, file_wait),
	[O_RDWR] = OPS(file_read, file_write, file_wait),
	[SOCKET] = OPS(socket_read, socket_write, socket_wait),
};

static int access_mode(int fd)
{
	int flags = system_fcntl(fd, F_GETFL, 0);
	return flags < 0 ? -1 : flags & O_ACCMODE;
}

/* An index of fd_ops, or -1 with errno. What the loop remembers of the number may be another file's, that
 * was closed behind its back. */
static int kind_of(int fd)
{
	struct stat status;
	if (system_fstat(fd, &status) < 0)
		return -1;
	return S_ISSOCK(status.st_mode) ? SOCKET : access_mode(fd);
}

bide_stream *bide_stream_open(int fd)
{
	if (!loop_current) {
		errno = EPERM;
		return NULL;
	}
	int kind = kind_of(fd);
	if (kind == O_ACCMODE) /* open(2): neither reading nor writing */
		errno = EBADF;
	return kind < 0 || kind == O_ACCMODE ? NULL : bide_stream_open_with(&fd_ops[kind], context_of(fd));
}

int bide_stream_fd(const bide_stream *handle)
{
	const struct stream *stream = (const struct stream *)handle;
	if (!stream || stream->ops->close != fd_close)
		return fail_with(stream ? ENOTSUP : EINVAL);
	return number_of(stream->ctx);
}
