/* SPDX-License-Identifier: MIT
 * Layer base: every system call the library makes, as a one-line wrapper that fault injection can
 * reach. Names and arguments are the kernel's. */
#ifndef BASE_SYSTEM_H
#define BASE_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"

#define SYSTEM_CALL(point, call) (fault_hits(point) ? -1 : (call))

static inline void *system_mmap(size_t size, int protection, int flags)
{
	return fault_hits(FAULT_MMAP) ? MAP_FAILED : mmap(NULL, size, protection, flags, -1, 0);
}

/* To read from. */
static inline void *system_mmap_file(int fd, size_t size)
{
	return fault_hits(FAULT_MMAP) ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
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

/* A file in memory. */
static inline int system_memfd(void)
{
	return SYSTEM_CALL(FAULT_OPEN, memfd_create("bide", MFD_CLOEXEC));
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

static inline int system_epoll_wait(int epoll_fd, struct epoll_event *events, int count, int timeout_ms)
{
	return SYSTEM_CALL(FAULT_EPOLL_WAIT, epoll_wait(epoll_fd, events, count, timeout_ms));
}

static inline int system_epoll_pwait2(int epoll_fd, struct epoll_event *events, int count,
    const struct timespec *timeout)
{
	return SYSTEM_CALL(FAULT_EPOLL_WAIT, epoll_pwait2(epoll_fd, events, count, timeout, NULL));
}

static inline int system_eventfd(void)
{
	return SYSTEM_CALL(FAULT_EVENTFD, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

static inline int system_timerfd_create(void)
{
	return SYSTEM_CALL(FAULT_TIMERFD, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
}

static inline int system_timerfd_settime(int fd, const struct itimerspec *when)
{
	return SYSTEM_CALL(FAULT_TIMERFD, timerfd_settime(fd, TFD_TIMER_ABSTIME, when, NULL));
}

/* Not by write(2), where a thread that is being canceled would end, and with it what its caller has begun. */
static inline int system_eventfd_raise(int fd)
{
	static const uint64_t one = 1;
	return SYSTEM_CALL(FAULT_EVENTFD_WRITE, syscall(SYS_write, fd, &one, sizeof one) < 0 ? -1 : 0);
}

/* 0, or an errno: this one has always been different. */
static inline int system_thread_create(pthread_t *thread, void *(*start)(void *arg), void *arg)
{
	return fault_hits(FAULT_PTHREAD_CREATE) ? errno : pthread_create(thread, NULL, start, arg);
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

/* Whether the byte can be read: the kernel copies it to the beginning of the file, if so. Not by pwrite(2), where a
 * sanitizer would look at the byte first; and never failing on purpose: that would say something of the byte. */
static inline bool system_can_read(int file, const void *byte)
{
	return syscall(SYS_pwrite64, file, byte, (size_t)1, (long)0) == 1;
}

static inline int system_access(const char *path, int mode)
{
	return SYSTEM_CALL(FAULT_STAT, access(path, mode));
}

static inline int system_lstat(const char *path, struct stat *status)
{
	return SYSTEM_CALL(FAULT_LSTAT, lstat(path, status));
}

static inline int system_unlink(const char *path)
{
	return SYSTEM_CALL(FAULT_UNLINK, unlink(path));
}

static inline int system_fstat(int fd, struct stat *status)
{
	return SYSTEM_CALL(FAULT_FSTAT, fstat(fd, status));
}

static inline int system_fstatfs(int fd, struct statfs *status)
{
	return SYSTEM_CALL(FAULT_FSTATFS, fstatfs(fd, status));
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

static inline ssize_t system_pread(int fd, void *buf, size_t size, off_t offset)
{
	return SYSTEM_CALL(FAULT_READ, pread(fd, buf, fault_transfer_size(FAULT_READ, size), offset));
}

static inline off_t system_lseek(int fd, off_t offset, int whence)
{
	return SYSTEM_CALL(FAULT_LSEEK, lseek(fd, offset, whence));
}

static inline ssize_t system_readv(int fd, const struct iovec *iov, int count)
{
	struct iovec one;
	iov = fault_transfer_pieces(FAULT_READ, iov, &count, &one);
	return SYSTEM_CALL(FAULT_READ, readv(fd, iov, count));
}

/* offset -1: the file's own position. */
static inline ssize_t system_preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	struct iovec one;
	iov = fault_transfer_pieces(FAULT_READ, iov, &count, &one);
	return SYSTEM_CALL(FAULT_READ, preadv2(fd, iov, count, offset, flags));
}

static inline ssize_t system_pwritev2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	struct iovec one;
	iov = fault_transfer_pieces(FAULT_WRITE, iov, &count, &one);
	return SYSTEM_CALL(FAULT_WRITE, pwritev2(fd, iov, count, offset, flags));
}

static inline int system_open_file(const char *path, int flags, mode_t mode)
{
	return SYSTEM_CALL(FAULT_OPEN, open(path, flags, mode));
}

static inline int system_stat(const char *path, struct stat *status)
{
	return SYSTEM_CALL(FAULT_STAT, stat(path, status));
}

static inline int system_fsync(int fd)
{
	return SYSTEM_CALL(FAULT_FSYNC, fsync(fd));
}

static inline int system_fdatasync(int fd)
{
	return SYSTEM_CALL(FAULT_FSYNC, fdatasync(fd));
}

/* It makes a socket to ask with. 0 with errno. */
static inline unsigned system_if_nametoindex(const char *name)
{
	return fault_hits(FAULT_SOCKET) ? 0 : if_nametoindex(name);
}

/* An injected failure is EAI_SYSTEM. */
static inline int system_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
    struct addrinfo **list)
{
	return fault_hits(FAULT_GETADDRINFO) ? EAI_SYSTEM : getaddrinfo(host, service, hints, list);
}

static inline ssize_t system_recv(int fd, void *buf, size_t size, int flags)
{
	return SYSTEM_CALL(FAULT_RECV, recv(fd, buf, fault_transfer_size(FAULT_RECV, size), flags));
}

static inline ssize_t system_send(int fd, const void *buf, size_t size, int flags)
{
	return SYSTEM_CALL(FAULT_SEND, send(fd, buf, fault_transfer_size(FAULT_SEND, size), flags));
}

static inline ssize_t system_recvfrom(int fd, void *buf, size_t size, int flags, struct sockaddr *address,
    socklen_t *length)
{
	size = fault_transfer_size(FAULT_RECV, size);
	return SYSTEM_CALL(FAULT_RECV, recvfrom(fd, buf, size, flags, address, length));
}

static inline ssize_t system_sendto(int fd, const void *buf, size_t size, int flags,
    const struct sockaddr *address, socklen_t length)
{
	size = fault_transfer_size(FAULT_SEND, size);
	return SYSTEM_CALL(FAULT_SEND, sendto(fd, buf, size, flags, address, length));
}

static inline int system_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	count = (unsigned)fault_transfer_size(FAULT_RECV, count);
	return SYSTEM_CALL(FAULT_RECV, recvmmsg(fd, messages, count, flags, NULL));
}

static inline int system_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	count = (unsigned)fault_transfer_size(FAULT_SEND, count);
	return SYSTEM_CALL(FAULT_SEND, sendmmsg(fd, messages, count, flags));
}

static inline ssize_t system_sendfile(int out, int in, off_t *offset, size_t size)
{
	size = fault_transfer_size(FAULT_SENDFILE, size);
	return SYSTEM_CALL(FAULT_SENDFILE, sendfile(out, in, offset, size));
}

/* Where "short" strikes, a message has room for one byte, or is one byte, during the call. */
static inline ssize_t system_recvmsg(int fd, struct msghdr *message, int flags)
{
	struct iovec one, *iov = message->msg_iov;
	size_t iov_count = message->msg_iovlen;
	int count = (int)iov_count;
	message->msg_iov = (struct iovec *)(uintptr_t)fault_transfer_pieces(FAULT_RECV, iov, &count, &one);
	message->msg_iovlen = (size_t)count;
	ssize_t result = SYSTEM_CALL(FAULT_RECV, recvmsg(fd, message, flags));
	message->msg_iov = iov;
	message->msg_iovlen = iov_count;
	return result;
}

static inline ssize_t system_sendmsg(int fd, const struct msghdr *message, int flags)
{
	struct iovec one;
	struct msghdr sent = *message;
	int count = (int)sent.msg_iovlen;
	sent.msg_iov = (struct iovec *)(uintptr_t)fault_transfer_pieces(FAULT_SEND, sent.msg_iov, &count, &one);
	sent.msg_iovlen = (size_t)count;
	return SYSTEM_CALL(FAULT_SEND, sendmsg(fd, &sent, flags));
}

static inline int system_socket(int domain, int type, int protocol)
{
	return SYSTEM_CALL(FAULT_SOCKET, socket(domain, type, protocol));
}

static inline int system_socketpair(int domain, int type, int protocol, int fds[2])
{
	type |= SOCK_NONBLOCK | SOCK_CLOEXEC;
	return SYSTEM_CALL(FAULT_SOCKETPAIR, socketpair(domain, type, protocol, fds));
}

static inline int system_shutdown(int fd, int how)
{
	return SYSTEM_CALL(FAULT_SHUTDOWN, shutdown(fd, how));
}

static inline int system_getsockname(int fd, struct sockaddr *address, socklen_t *length)
{
	return SYSTEM_CALL(FAULT_GETSOCKNAME, getsockname(fd, address, length));
}

static inline int system_getpeername(int fd, struct sockaddr *address, socklen_t *length)
{
	return SYSTEM_CALL(FAULT_GETPEERNAME, getpeername(fd, address, length));
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

static inline int system_pipe(int fds[2])
{
	return SYSTEM_CALL(FAULT_PIPE, pipe2(fds, O_CLOEXEC));
}

static inline int system_pidfd_open(pid_t pid)
{
	return SYSTEM_CALL(FAULT_PIDFD_OPEN, (int)syscall(SYS_pidfd_open, pid, 0));
}

static inline int system_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	return SYSTEM_CALL(FAULT_WAITID, waitid(type, id, info, options));
}

/* 0 or an errno, as the function it calls. */
static inline int system_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
    const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
	return fault_hits(FAULT_POSIX_SPAWN) ? errno : posix_spawnp(pid, file, actions, attributes, argv, env);
}

#endif
