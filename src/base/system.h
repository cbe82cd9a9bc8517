/* SPDX-License-Identifier: MIT
 * Layer base: every system call the library makes, as a one-line wrapper that fault injection can
 * reach. Names and arguments are the kernel's. */
#ifndef BASE_SYSTEM_H
#define BASE_SYSTEM_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fault.h"

#define SYSTEM_CALL(point, call) (fault_hits(point) ? -1 : (call))

static inline void *system_mmap(size_t size, int protection, int flags)
{
	return fault_hits(FAULT_MMAP) ? MAP_FAILED : mmap(NULL, size, protection, flags, -1, 0);
}

static inline int system_munmap(void *start, size_t size)
{
	return SYSTEM_CALL(FAULT_MUNMAP, munmap(start, size));
}

static inline int system_mprotect(void *start, size_t size, int protection)
{
	return SYSTEM_CALL(FAULT_MPROTECT, mprotect(start, size, protection));
}

static inline int system_madvise(void *start, size_t size, int advice)
{
	return SYSTEM_CALL(FAULT_MADVISE, madvise(start, size, advice));
}

static inline int system_open(const char *path, int flags)
{
	return SYSTEM_CALL(FAULT_OPEN, open(path, flags));
}

static inline int system_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	return SYSTEM_CALL(FAULT_SIGACTION, sigaction(number, action, old));
}

static inline int system_sigaltstack(const stack_t *stack, stack_t *old)
{
	return SYSTEM_CALL(FAULT_SIGALTSTACK, sigaltstack(stack, old));
}

static inline int system_epoll_create(void)
{
	return SYSTEM_CALL(FAULT_EPOLL_CREATE, epoll_create1(EPOLL_CLOEXEC));
}

static inline int system_epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
	return SYSTEM_CALL(FAULT_EPOLL_CTL, epoll_ctl(epoll_fd, operation, fd, event));
}

static inline int system_eventfd(void)
{
	return SYSTEM_CALL(FAULT_EVENTFD, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

/* Injected failures close too, as the kernel does whatever close() returns. */
static inline int system_close(int fd)
{
	int result = close(fd);
	return fault_hits(FAULT_CLOSE) ? -1 : result;
}

static inline int system_fcntl(int fd, int command, int arg)
{
	return SYSTEM_CALL(FAULT_FCNTL, fcntl(fd, command, arg));
}

static inline int system_fstat(int fd, struct stat *status)
{
	return SYSTEM_CALL(FAULT_FSTAT, fstat(fd, status));
}

static inline int system_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	return SYSTEM_CALL(FAULT_POLL, poll(fds, count, timeout_ms));
}

static inline ssize_t system_read(int fd, void *buf, size_t size)
{
	return SYSTEM_CALL(FAULT_READ, read(fd, buf, fault_transfer_size(FAULT_READ, size)));
}

static inline ssize_t system_write(int fd, const void *buf, size_t size)
{
	return SYSTEM_CALL(FAULT_WRITE, write(fd, buf, fault_transfer_size(FAULT_WRITE, size)));
}

static inline ssize_t system_preadv2(int fd, const struct iovec *iov, int count, int flags)
{
	return SYSTEM_CALL(FAULT_READ, preadv2(fd, iov, count, -1, flags));
}

static inline ssize_t system_pwritev2(int fd, const struct iovec *iov, int count, int flags)
{
	return SYSTEM_CALL(FAULT_WRITE, pwritev2(fd, iov, count, -1, flags));
}

static inline ssize_t system_recv(int fd, void *buf, size_t size, int flags)
{
	return SYSTEM_CALL(FAULT_RECV, recv(fd, buf, fault_transfer_size(FAULT_RECV, size), flags));
}

static inline ssize_t system_send(int fd, const void *buf, size_t size, int flags)
{
	return SYSTEM_CALL(FAULT_SEND, send(fd, buf, fault_transfer_size(FAULT_SEND, size), flags));
}

static inline int system_socket(int domain, int type, int protocol)
{
	return SYSTEM_CALL(FAULT_SOCKET, socket(domain, type, protocol));
}

static inline int system_bind(int fd, const struct sockaddr *address, socklen_t length)
{
	return SYSTEM_CALL(FAULT_BIND, bind(fd, address, length));
}

static inline int system_listen(int fd, int backlog)
{
	return SYSTEM_CALL(FAULT_LISTEN, listen(fd, backlog));
}

static inline int system_accept(int fd, struct sockaddr *address, socklen_t *length)
{
	return SYSTEM_CALL(FAULT_ACCEPT, accept4(fd, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

static inline int system_connect(int fd, const struct sockaddr *address, socklen_t length)
{
	return SYSTEM_CALL(FAULT_CONNECT, connect(fd, address, length));
}

static inline int system_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	return SYSTEM_CALL(FAULT_GETSOCKOPT, getsockopt(fd, level, name, value, length));
}

static inline int system_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	return SYSTEM_CALL(FAULT_SETSOCKOPT, setsockopt(fd, level, name, value, length));
}

#endif
