/* SPDX-License-Identifier: MIT
 * Layer io: one attempt to read or write on a descriptor of any kind. See transfer.h. */
#include "io/transfer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "base/system.h"
#include "host/file.h"
#include "io/sigpipe.h"
#include "io/terminal.h"

enum descriptor_kind transfer_kind(struct io_call *call)
{
	struct descriptor *descriptor = call->descriptor;
	struct stat status;
	if (descriptor->kind != DESCRIPTOR_UNKNOWN && descriptor->kind != DESCRIPTOR_FILE)
		return descriptor->kind;
	if (system_fstat(call->fd, &status) < 0)
		return DESCRIPTOR_UNKNOWN;
	if (S_ISSOCK(status.st_mode))
		descriptor->kind = DESCRIPTOR_SOCKET;
	else if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISBLK(status.st_mode))
		descriptor->kind = DESCRIPTOR_FILE;
	else
		descriptor->kind = DESCRIPTOR_PIPE;
	return descriptor->kind;
}

/* Another file has this number now: begin again. */
static ssize_t forget_kind(struct io_call *call)
{
	call->descriptor->kind = DESCRIPTOR_UNKNOWN;
	errno = EINTR;
	return -1;
}

/* The file knows no transfer without the risk to block: it is asked by poll() first. */
static bool is_polled(struct io_call *call)
{
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return false;
	call->descriptor->kind = DESCRIPTOR_POLLED;
	return true;
}

static int poll_for(struct io_call *call, int event)
{
	int ready = descriptor_poll(call->fd, event);
	if (ready == 0)
		errno = EAGAIN;
	return ready > 0 ? 0 : -1;
}

/* ---- in ----------------------------------------------------------------------------------------- */

/* Between poll() and the read another process may take what was there, and the read block. */
static ssize_t read_pipe(struct io_call *call, const struct iovec *iov, int count)
{
	if (call->descriptor->kind != DESCRIPTOR_POLLED) {
		ssize_t result = system_preadv2(call->fd, iov, count, FILE_POSITION, RWF_NOWAIT);
		if (result >= 0 || !is_polled(call))
			return result;
	}
	return poll_for(call, POLLIN) < 0 ? -1 : system_readv(call->fd, iov, count);
}

static ssize_t recv_pieces(int fd, const struct iovec *iov, int count)
{
	struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)count };
	if (count == 1)
		return system_recv(fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT);
	return system_recvmsg(fd, &message, MSG_DONTWAIT);
}

ssize_t transfer_in(struct io_call *call, const struct iovec *iov, int count)
{
	enum descriptor_kind kind = transfer_kind(call);
	if (kind == DESCRIPTOR_UNKNOWN)
		return -1;
	if (kind == DESCRIPTOR_FILE)
		return file_readv(call->fd, iov, count, FILE_POSITION);
	if (kind != DESCRIPTOR_SOCKET)
		return read_pipe(call, iov, count);
	ssize_t result = recv_pieces(call->fd, iov, count);
	return result < 0 && errno == ENOTSOCK ? forget_kind(call) : result;
}

/* ---- out ---------------------------------------------------------------------------------------- */

static const struct iovec *first_piece(const struct iovec *iov)
{
	while (iov->iov_len == 0)
		iov++;
	return iov;
}

/* poll() promises room for PIPE_BUF bytes, but for terminals. */
static ssize_t write_polled(struct io_call *call, const struct iovec *iov)
{
	if (is_terminal(call->fd))
		return terminal_write(call->fd, iov->iov_base, iov->iov_len);
	if (poll_for(call, POLLOUT) < 0)
		return -1;
	return system_write(call->fd, iov->iov_base, iov->iov_len < PIPE_BUF ? iov->iov_len : PIPE_BUF);
}

static ssize_t write_pipe(struct io_call *call, const struct iovec *iov, int count)
{
	if (call->descriptor->kind != DESCRIPTOR_POLLED) {
		ssize_t result = system_pwritev2(call->fd, iov, count, FILE_POSITION, RWF_NOWAIT);
		if (result >= 0 || !is_polled(call))
			return result;
	}
	return write_polled(call, first_piece(iov));
}

static ssize_t write_pipe_silently(struct io_call *call, const struct iovec *iov, int count)
{
	struct sigpipe sigpipe;
	sigpipe_block(&sigpipe);
	ssize_t result = write_pipe(call, iov, count);
	sigpipe_unblock(&sigpipe, result);
	return result;
}

static ssize_t send_pieces(int fd, const struct iovec *iov, int count)
{
	struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)count };
	if (count == 1)
		return system_send(fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return system_sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

ssize_t transfer_out(struct io_call *call, const struct iovec *iov, int count)
{
	enum descriptor_kind kind = transfer_kind(call);
	if (kind == DESCRIPTOR_UNKNOWN)
		return -1;
	if (kind == DESCRIPTOR_FILE)
		return file_writev(call->fd, iov, count, FILE_POSITION);
	if (kind != DESCRIPTOR_SOCKET)
		return write_pipe_silently(call, iov, count);
	ssize_t result = send_pieces(call->fd, iov, count);
	return result < 0 && errno == ENOTSOCK ? forget_kind(call) : result;
}
