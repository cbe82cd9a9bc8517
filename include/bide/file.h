/* SPDX-License-Identifier: MIT
 * Part of bide: files and names. The disk and the resolver make a thread wait, whatever flags one sets. So these
 * calls, and bide_read() and bide_write() of bide/io.h where the descriptor is a regular file, do their
 * work on threads: the loop's own pool (bide/offload.h), and one of its own for names, so that a resolver
 * that does not answer holds up no file. What the system has in memory is read on the spot.
 *
 * Names, arguments and results are those of the POSIX calls.
 *
 * A cancel, or a deadline: what has not begun is not done. A read or a write that a thread has begun uses the
 * caller's memory: it is waited for, and its result returned. bide_open(), bide_stat() and bide_getaddrinfo()
 * are left behind; a file that is opened all the same is closed again. */
#ifndef BIDE_FILE_H
#define BIDE_FILE_H

#include <sys/types.h>

#include <bide/api.h>

BIDE_BEGIN

struct addrinfo;
struct stat;

/* As open(2), with O_CLOEXEC. To be closed with bide_close(). Errors: those of open(2); EINVAL path is NULL;
 * ENOMEM no memory, or no thread could be made. [S] */
BIDE_API int bide_open(const char *path, int flags, mode_t mode);

/* As pread(2) and pwrite(2): of files that have positions. Errors: those; EINVAL NULL with a size, or a negative
 * offset; ENOMEM as above. [S] */
BIDE_API ssize_t bide_pread(int fd, void *buf, size_t size, off_t offset);
BIDE_API ssize_t bide_pwrite(int fd, const void *buf, size_t size, off_t offset);

/* As fsync(2) and fdatasync(2). [S] */
BIDE_API int bide_fsync(int fd);
BIDE_API int bide_fdatasync(int fd);

/* As stat(2). (fstat(2) asks no disk: call it as it is.) Errors: EINVAL NULL. [S] */
BIDE_API int bide_stat(const char *path, struct stat *status);

/* As getaddrinfo(3), whose codes it returns; *list is to be freed with freeaddrinfo(3). EAI_SYSTEM with errno
 * also where a bide call fails: ECANCELED, ETIMEDOUT, EPERM, EAGAIN (no thread); EAI_MEMORY without memory. [S] */
BIDE_API int bide_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
    struct addrinfo **list);

BIDE_END

#endif
