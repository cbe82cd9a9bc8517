/* SPDX-License-Identifier: MIT
 * Layer io: descriptors of any kind: wait, read, write, close. */
#include <bide/io.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "base/fail.h"
#include "base/system.h"
#include "host/file.h"
#include "io/transfer.h"

/* ---- waiting ----------------------------------------------------------------------------------- */

#define WAITABLE (POLLIN | POLLOUT | POLLPRI | POLLRDHUP)

static int wait_for_events(struct io_call *call, int events)
{
	while (io_is_open(call)) {
		int ready = descriptor_poll(call->fd, events);
		if (ready != 0)
			return ready;
		if (io_observe(call, poller_events_of_poll(events)) < 0)
			return -1;
		if (call->descriptor->kind == DESCRIPTOR_FILE)
			return events;
	}
	return -1;
}

int bide_fd_wait(int fd, int events)
{
	struct io_call call;
	if (!events || (events & ~WAITABLE))
		return fail_with(EINVAL);
	if (io_begin(&call, fd, DESCRIPTOR_IN) < 0)
		return -1;
	return wait_for_events(&call, events);
}

/* ---- reading and writing ------------------------------------------------------------------------ */

/* The pieces' bytes, or -1 with EINVAL: a piece without memory, too many of them. */
static ssize_t size_of(const struct iovec *iov, int count)
{
	size_t total = 0;
	bool is_good = count >= 0 && count <= IOV_MAX && (iov || count == 0);
	for (int i = 0; is_good && i < count; i++) {
		is_good = (iov[i].iov_base || iov[i].iov_len == 0) && iov[i].iov_len <= SSIZE_MAX - total;
		total += iov[i].iov_len;
	}
	return is_good ? (ssize_t)total : fail_with(EINVAL);
}

static ssize_t read_pieces(int fd, const struct iovec *iov, int iov_count, size_t size)
{
	struct io_call call;
	ssize_t count;
	if (io_begin(&call, fd, DESCRIPTOR_IN) < 0)
		return -1;
	if (size == 0)
		return io_check(&call);
	do
		count = io_ready(&call) ? transfer_in(&call, iov, iov_count) : -1;
	while (io_again(&call, count));
	if (call.descriptor->kind == DESCRIPTOR_SOCKET)
		io_note_read(call.descriptor, fd, count, size);
	io_end(&call);
	return count;
}

static ssize_t write_pieces(int fd, const struct iovec *iov, int iov_count, size_t size)
{
	struct io_call call;
	ssize_t count;
	if (io_begin(&call, fd, DESCRIPTOR_OUT) < 0)
		return -1;
	if (size == 0)
		return io_check(&call);
	do
		count = io_ready(&call) ? transfer_out(&call, iov, iov_count) : -1;
	while (io_again(&call, count));
	io_end(&call);
	return count;
}

/* The kernel cuts what is larger. */
static struct iovec piece(const void *buf, size_t size)
{
	return (struct iovec){ (void *)(uintptr_t)buf, size < SSIZE_MAX ? size : SSIZE_MAX };
}

ssize_t bide_read(int fd, void *buf, size_t size)
{
	struct iovec iov = piece(buf, size);
	if (!buf && size > 0)
		return fail_with(EINVAL);
	return read_pieces(fd, &iov, 1, size);
}

ssize_t bide_write(int fd, const void *buf, size_t size)
{
	struct iovec iov = piece(buf, size);
	if (!buf && size > 0)
		return fail_with(EINVAL);
	return write_pieces(fd, &iov, 1, size);
}

ssize_t bide_readv(int fd, const struct iovec *iov, int count)
{
	ssize_t size = size_of(iov, count);
	return size < 0 ? -1 : read_pieces(fd, iov, count, (size_t)size);
}

ssize_t bide_writev(int fd, const struct iovec *iov, int count)
{
	ssize_t size = size_of(iov, count);
	return size < 0 ? -1 : write_pieces(fd, iov, count, (size_t)size);
}

ssize_t bide_read_exact(int fd, void *buf, size_t size, size_t *done)
{
	size_t total = 0;
	ssize_t count = 0;
	do {
		count = bide_read(fd, buf ? (char *)buf + total : NULL, size - total);
		if (count > 0)
			total += (size_t)count;
	} while (count > 0 && total < size);
	if (done)
		*done = total;
	return count < 0 ? -1 : (ssize_t)total;
}

ssize_t bide_write_all(int fd, const void *buf, size_t size, size_t *done)
{
	size_t total = 0;
	ssize_t count = 0;
	do {
		count = bide_write(fd, buf ? (const char *)buf + total : NULL, size - total);
		if (count > 0)
			total += (size_t)count;
	} while (count > 0 && total < size);
	if (done)
		*done = total;
	return count < 0 ? -1 : (ssize_t)total;
}

/* ---- closing ----------------------------------------------------------------------------------- */

int bide_close(int fd)
{
	if (loop_current) {
		descriptor_forget(loop_current, fd);
		if (file_closes_later(loop_current, fd))
			return 0;
	}
	return system_close(fd);
}

int bide_fd_forget(int fd)
{
	if (fd < 0 || !loop_current)
		return fail_with(fd < 0 ? EBADF : EPERM);
	descriptor_forget(loop_current, fd);
	return 0;
}
