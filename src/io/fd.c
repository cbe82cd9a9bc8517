/* SPDX-License-Identifier: MIT
 * Layer io: descriptors of any kind: wait, read, write, close. */
#include <bide/io.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/fail.h"
#include "base/system.h"
#include "io/call.h"
#include "io/terminal.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

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

/* What fd is, found out once. UNKNOWN if it is not open. */
static enum descriptor_kind kind_of(struct io_call *call)
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

/* A read that does not block, whatever O_NONBLOCK says. Files that know no such thing are asked by
 * poll() first: another process may then still take what was there, and the read block. */
static ssize_t read_pipe(struct io_call *call, void *buf, size_t size)
{
	if (call->descriptor->kind != DESCRIPTOR_POLLED) {
		struct iovec iov = { buf, fault_transfer_size(FAULT_READ, size) };
		ssize_t count = system_preadv2(call->fd, &iov, 1, RWF_NOWAIT);
		if (count >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
			return count;
		call->descriptor->kind = DESCRIPTOR_POLLED;
	}
	int ready = descriptor_poll(call->fd, POLLIN);
	if (ready == 0)
		errno = EAGAIN;
	return ready <= 0 ? -1 : system_read(call->fd, buf, size);
}

static ssize_t read_some(struct io_call *call, void *buf, size_t size)
{
	enum descriptor_kind kind = kind_of(call);
	if (kind == DESCRIPTOR_UNKNOWN)
		return -1;
	if (kind == DESCRIPTOR_FILE)
		return system_read(call->fd, buf, size);
	if (kind != DESCRIPTOR_SOCKET)
		return read_pipe(call, buf, size);
	ssize_t count = system_recv(call->fd, buf, size, MSG_DONTWAIT);
	if (count < 0 && errno == ENOTSOCK) {
		call->descriptor->kind = DESCRIPTOR_UNKNOWN;
		errno = EINTR; /* another file has this number now: begin again */
	}
	return count;
}

ssize_t bide_read(int fd, void *buf, size_t size)
{
	struct io_call call;
	ssize_t count = -1;
	if (!buf && size > 0)
		return fail_with(EINVAL);
	if (io_begin(&call, fd, DESCRIPTOR_IN) < 0)
		return -1;
	if (size == 0)
		return io_check(&call);
	do
		count = io_ready(&call) ? read_some(&call, buf, size) : -1;
	while (io_again(&call, count));
	if (call.descriptor->kind == DESCRIPTOR_SOCKET)
		io_note_read(&call, count, size);
	io_end(&call);
	return count;
}

static bool is_pending(int number)
{
	sigset_t pending;
	sigpending(&pending);
	return sigismember(&pending, number) == 1;
}

/* Takes back the SIGPIPE that this thread has just raised, while it is blocked. One that was pending
 * before stays: sent to the process it is another instance, and the thread's own is taken first; sent to
 * this thread it has merged with the new one, and is raised again. */
static void take_sigpipe_back(const sigset_t *sigpipe, bool was_pending)
{
	struct timespec now = { 0, 0 };
	int taken;
	do
		taken = sigtimedwait(sigpipe, NULL, &now);
	while (taken < 0 && errno == EINTR);
	if (taken > 0 && was_pending && !is_pending(SIGPIPE))
		pthread_kill(pthread_self(), SIGPIPE);
}

/* A write to a pipe without readers raises SIGPIPE in the writing thread. It is blocked for the
 * moment, and taken back. */
static ssize_t without_sigpipe(struct io_call *call, const struct iovec *iov,
    ssize_t (*write_fn)(struct io_call *, const struct iovec *))
{
	sigset_t sigpipe, old_mask;
	sigemptyset(&sigpipe);
	sigaddset(&sigpipe, SIGPIPE);
	bool was_pending = is_pending(SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &sigpipe, &old_mask);
	ssize_t count = write_fn(call, iov);
	int saved = errno;
	if (count < 0 && saved == EPIPE)
		take_sigpipe_back(&sigpipe, was_pending);
	pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
	errno = saved;
	return count;
}

/* A write that does not block. Where the file knows no such thing, poll() promises room for
 * PIPE_BUF bytes, but for terminals. */
static ssize_t write_pipe(struct io_call *call, const struct iovec *iov)
{
	if (call->descriptor->kind != DESCRIPTOR_POLLED) {
		ssize_t count = system_pwritev2(call->fd, iov, 1, RWF_NOWAIT);
		if (count >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
			return count;
		call->descriptor->kind = DESCRIPTOR_POLLED;
	}
	if (is_terminal(call->fd))
		return terminal_write(call->fd, iov->iov_base, iov->iov_len);
	int ready = descriptor_poll(call->fd, POLLOUT);
	if (ready == 0)
		errno = EAGAIN;
	if (ready <= 0)
		return -1;
	return system_write(call->fd, iov->iov_base, iov->iov_len < PIPE_BUF ? iov->iov_len : PIPE_BUF);
}

static ssize_t write_some(struct io_call *call, const void *buf, size_t size)
{
	enum descriptor_kind kind = kind_of(call);
	if (kind == DESCRIPTOR_UNKNOWN)
		return -1;
	if (kind == DESCRIPTOR_FILE)
		return system_write(call->fd, buf, size);
	if (kind != DESCRIPTOR_SOCKET) {
		struct iovec iov = { (void *)(uintptr_t)buf, fault_transfer_size(FAULT_WRITE, size) };
		return without_sigpipe(call, &iov, write_pipe);
	}
	ssize_t count = system_send(call->fd, buf, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (count < 0 && errno == ENOTSOCK) {
		call->descriptor->kind = DESCRIPTOR_UNKNOWN;
		errno = EINTR;
	}
	return count;
}

ssize_t bide_write(int fd, const void *buf, size_t size)
{
	struct io_call call;
	ssize_t count = -1;
	if (!buf && size > 0)
		return fail_with(EINVAL);
	if (io_begin(&call, fd, DESCRIPTOR_OUT) < 0)
		return -1;
	if (size == 0)
		return io_check(&call);
	do
		count = io_ready(&call) ? write_some(&call, buf, size) : -1;
	while (io_again(&call, count));
	io_end(&call);
	return count;
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
	if (loop_current)
		descriptor_forget(loop_current, fd);
	return system_close(fd);
}

int bide_fd_forget(int fd)
{
	if (fd < 0 || !loop_current) {
		errno = fd < 0 ? EBADF : EPERM;
		return -1;
	}
	descriptor_forget(loop_current, fd);
	return 0;
}
