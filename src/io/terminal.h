/* SPDX-License-Identifier: MIT
 * Layer io: writing to terminals without blocking.
 *
 * O_NONBLOCK of a terminal belongs to everybody who shares its description (a shell, the other end of
 * a pipeline), so it is not ours to set; and poll() promises room for one byte only, after which
 * a blocking write would stop the loop until somebody reads (or types Ctrl-Q). So the terminal is
 * opened once more, non-blocking, for the moment of the write. Rejected: setting the flag for that
 * moment, since a program that reads the terminal just then would be told EAGAIN. */
#ifndef IO_TERMINAL_H
#define IO_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

bool is_terminal(int fd);

/* As a non-blocking write(2) would: a count, or -1 with errno, EAGAIN if there is no room. */
ssize_t terminal_write(int fd, const void *buf, size_t size);

#endif
