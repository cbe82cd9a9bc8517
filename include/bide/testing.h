/* SPDX-License-Identifier: MIT
 * Part of bide: aids for testing programs that use it.
 *
 * A virtual clock (BIDE_VIRTUAL_CLOCK in bide_config.flags) starts at zero and stands still while
 * anything runs. When every task is parked, it jumps to the next deadline: a sleep of an hour takes
 * no time and ends at exactly that hour. While descriptors are waited for, it first gives real I/O a
 * millisecond to come.
 *
 * A random order (BIDE_RANDOM_ORDER) shuffles the tasks of each turn, by bide_config.seed: the same
 * seed gives the same run. Callbacks keep their order. */
#ifndef BIDE_TESTING_H
#define BIDE_TESTING_H

#include <bide/api.h>
#include <bide/time.h>

BIDE_BEGIN

/* Parks until every other task of the loop is parked and no callback is ready. [S] */
BIDE_API int bide_settle(void);

/* Moves the virtual clock on by `delay`, firing what falls due on the way in order and letting it
 * run until it has settled. Errors: EINVAL delay < 0; ENOTSUP the clock is a real one. [S] */
BIDE_API int bide_clock_advance(bide_time delay);

/* Makes system calls and allocations of the library fail on purpose. spec is a list, separated by
 * commas, of  call:ERRNO@N  (the N-th call from now, once),  call:ERRNO%N  (every N-th), or
 * call:ERRNO  (each); call is a name from the list below, or "malloc"; for read, write, recv, send and
 * sendfile ERRNO may be "short": one byte at a time. NULL or "" ends all faults. For the whole process.
 *     accept bind close connect epoll_create epoll_ctl epoll_wait eventfd eventfd_write fcntl fstat fstatfs
 *     fsync getaddrinfo getpeername getsockname getsockopt listen lseek lstat madvise malloc mmap mprotect
 *     munmap open pidfd_open pipe poll posix_spawn pthread_create read recv send sendfile setsockopt
 *     shutdown sigaction sigaltstack socket socketpair stat timerfd unlink waitid write
 * A call and its relatives are one: read is also readv, preadv and pread, recv also recvfrom, recvmsg and
 * recvmmsg ("short": one message), and so on.
 * Errors: EINVAL the spec does not parse; nothing is changed then. [T] */
BIDE_API int bide_fault(const char *spec);

BIDE_END

#endif
