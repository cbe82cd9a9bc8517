/* SPDX-License-Identifier: MIT
 * Layer host: files on threads, as the layer io needs them: a descriptor that a thread is using is closed
 * only afterwards, so that its number does not become another file's under the thread's hands. Rejected: a
 * duplicate for the thread, whose closing would drop the process's record locks on the file. */
#ifndef HOST_FILE_H
#define HOST_FILE_H

#include <stdbool.h>
#include <sys/uio.h>

#include <bide/file.h>

#include "sched/loop.h"

#define FILE_POSITION ((off_t)-1) /* in place of an offset: the file's own, which moves on */

/* As preadv(2) and pwritev(2), in a task. What is in memory is read on the spot. */
ssize_t file_readv(int fd, const struct iovec *iov, int count, off_t offset);
ssize_t file_writev(int fd, const struct iovec *iov, int count, off_t offset);

/* Has a thread read what is not in memory of these bytes, so that whoever reads them next need not wait for a disk,
 * and keeps nobody waiting. Whatever goes wrong the next call will find, an interrupt too. */
void file_load(int fd, off_t offset, size_t size);

/* True if a thread is using fd: it will be closed when that is done. */
bool file_closes_later(struct loop *loop, int fd);

#endif
