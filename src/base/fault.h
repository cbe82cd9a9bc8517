/* SPDX-License-Identifier: MIT
 * Layer base: counted fault injection. Every system call and allocation of the library asks here
 * whether it is to fail (base/system.h, base/memory.c). With no fault set that is one load and one
 * predicted branch. */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "base/check.h"

#define FAULT_POINTS(X)                                                                            \
	X(ACCEPT, "accept")                                                                            \
	X(BIND, "bind")                                                                                \
	X(CLOSE, "close")                                                                              \
	X(CONNECT, "connect")                                                                          \
	X(EPOLL_CREATE, "epoll_create")                                                                \
	X(EPOLL_CTL, "epoll_ctl")                                                                      \
	X(EPOLL_WAIT, "epoll_wait")                                                                    \
	X(EVENTFD, "eventfd")                                                                          \
	X(EVENTFD_WRITE, "eventfd_write")                                                              \
	X(FCNTL, "fcntl")                                                                              \
	X(FSTAT, "fstat")                                                                              \
	X(GETPEERNAME, "getpeername")                                                                  \
	X(GETSOCKNAME, "getsockname")                                                                  \
	X(FSTATFS, "fstatfs")                                                                          \
	X(FSYNC, "fsync")                                                                              \
	X(GETADDRINFO, "getaddrinfo")                                                                  \
	X(GETSOCKOPT, "getsockopt")                                                                    \
	X(LISTEN, "listen")                                                                            \
	X(LSEEK, "lseek")                                                                              \
	X(LSTAT, "lstat")                                                                              \
	X(MADVISE, "madvise")                                                                          \
	X(MALLOC, "malloc")                                                                            \
	X(MMAP, "mmap")                                                                                \
	X(MPROTECT, "mprotect")                                                                        \
	X(MUNMAP, "munmap")                                                                            \
	X(OPEN, "open")                                                                                \
	X(PIDFD_OPEN, "pidfd_open")                                                                    \
	X(PIPE, "pipe")                                                                                \
	X(POLL, "poll")                                                                                \
	X(POSIX_SPAWN, "posix_spawn")                                                                  \
	X(PTHREAD_CREATE, "pthread_create")                                                            \
	X(READ, "read")                                                                                \
	X(RECV, "recv")                                                                                \
	X(SEND, "send")                                                                                \
	X(SENDFILE, "sendfile")                                                                        \
	X(SETSOCKOPT, "setsockopt")                                                                    \
	X(SHUTDOWN, "shutdown")                                                                        \
	X(SIGACTION, "sigaction")                                                                      \
	X(SIGALTSTACK, "sigaltstack")                                                                  \
	X(SOCKET, "socket")                                                                            \
	X(SOCKETPAIR, "socketpair")                                                                    \
	X(UNLINK, "unlink")                                                                            \
	X(STAT, "stat")                                                                                \
	X(TIMERFD, "timerfd")                                                                          \
	X(WAITID, "waitid")                                                                            \
	X(WRITE, "write")

enum fault_point {
#define X(name, text) FAULT_##name,
	FAULT_POINTS(X)
#undef X
	FAULT_COUNT
};

extern atomic_bool fault_armed;

/* While it is set the thread's calls neither fail on purpose nor count: whoever counts may be held up. */
extern __thread bool fault_spares_thread;

/* Counts a call of an armed point; true with errno set if this one is to fail. */
bool fault_strikes(enum fault_point point);

static inline bool fault_is_armed(void)
{
	return unlikely(atomic_load_explicit(&fault_armed, memory_order_relaxed));
}

static inline bool fault_hits(enum fault_point point)
{
	return fault_is_armed() && fault_strikes(point);
}

size_t fault_shortened(enum fault_point point, size_t size);

/* The size a transfer is allowed: 1 where "short" strikes, else `size`. */
static inline size_t fault_transfer_size(enum fault_point point, size_t size)
{
	return fault_is_armed() ? fault_shortened(point, size) : size;
}

/* The same for a transfer of several pieces: where "short" strikes, the first byte of them alone, in
 * *one, and *count is 1. */
const struct iovec *fault_cut_pieces(enum fault_point point, const struct iovec *iov, int *count,
    struct iovec *one);

static inline const struct iovec *fault_transfer_pieces(enum fault_point point, const struct iovec *iov,
    int *count, struct iovec *one)
{
	return fault_is_armed() ? fault_cut_pieces(point, iov, count, one) : iov;
}

/* 0, or -1 with EINVAL; see bide_fault() in bide/testing.h. */
int fault_set(const char *spec);

#endif
