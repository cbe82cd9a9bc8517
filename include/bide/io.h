/* SPDX-License-Identifier: MIT
 * Part of bide: descriptors of any kind. Names and arguments are those of the POSIX calls; a call
 * tries first and parks only if it would block. EINTR and EAGAIN never reach the caller.
 *
 * (So a background job that reads its terminal gets SIGTTIN, as any program does.)
 *
 * A descriptor may be anything and need not be non-blocking: its flags are left as they are, except
 * for listening and connecting sockets (bide/net.h). The loop remembers descriptors; close them with
 * bide_close(), or tell it with bide_fd_forget() before something else closes them. One that was
 * closed behind its back is noticed, but late.
 *
 * One task may read a descriptor while another writes it. Several readers, or several writers, are
 * served first come, first served.
 *
 * Errors of every call here, besides those of the system call: EBADF fd is negative, not open, or
 * was closed with bide_close() during the call; EPERM outside a task; ENOMEM. */
#ifndef BIDE_IO_H
#define BIDE_IO_H

#include <sys/types.h>
#include <sys/uio.h>

#include <bide/api.h>

BIDE_BEGIN

/* Parks until one of `events` (POLLIN, POLLOUT, POLLPRI, POLLRDHUP of <poll.h>) holds for fd.
 * Returns those that do, with POLLERR and POLLHUP added as poll() adds them; reads nothing. Files
 * that cannot be polled are always ready. Errors: EINVAL events is 0 or has other bits. [S] */
BIDE_API int bide_fd_wait(int fd, int events);

/* As read(2) and write(2): whatever one system call gives once the descriptor is ready, so a count
 * may be short. On sockets no SIGPIPE is raised. A zero-size call returns 0 at once. Regular files
 * are read and written on threads (bide/file.h). [S] */
BIDE_API ssize_t bide_read(int fd, void *buf, size_t size);
BIDE_API ssize_t bide_write(int fd, const void *buf, size_t size);

/* The same with several pieces of memory, as readv(2) and writev(2). A count may also stop at the end
 * of a piece. No pieces, or only empty ones: 0 at once.
 * Errors: EINVAL iov is NULL, a piece that is NULL but has a size, more than IOV_MAX pieces or more
 * than SSIZE_MAX bytes; nothing is transferred then. [S] */
BIDE_API ssize_t bide_readv(int fd, const struct iovec *iov, int count);
BIDE_API ssize_t bide_writev(int fd, const struct iovec *iov, int count);

/* Read until `size` bytes are there or the input ends; write until all is written. They return the
 * count done, short only at the end of input; *done (may be NULL) has it also when they fail midway.
 * [S] */
BIDE_API ssize_t bide_read_exact(int fd, void *buf, size_t size, size_t *done);
BIDE_API ssize_t bide_write_all(int fd, const void *buf, size_t size, size_t *done);

/* As sendfile(2): sends up to `count` bytes of the file `in`, from *offset, which moves on, or from the
 * file's own position if offset is NULL. A count may be short; 0 is the end of the file. `out` may be
 * anything: the kernel copies if it is non-blocking, as all that bide makes is, else the call does, and
 * slower. What of the file is not in memory is first read on a thread. count 0: 0 at once.
 * Errors: EBADF; EINVAL a negative *offset; those of sendfile(2); EPIPE nobody reads. [S] */
BIDE_API ssize_t bide_sendfile(int out, int in, off_t *offset, size_t count);

/* Closes fd. Tasks that wait on it wake with EBADF, before the number is free for the next file.
 * Never suspends, may be called from callbacks and, for descriptors no loop knows, anywhere.
 * Errors: those of close(2); after EINTR and EIO too the descriptor is closed. */
BIDE_API int bide_close(int fd);

/* Makes the loop forget fd and leaves it open, to be given to other code. Waiting tasks wake with
 * EBADF. Errors: EBADF fd is negative; EPERM outside a loop's thread. */
BIDE_API int bide_fd_forget(int fd);

BIDE_END

#endif
