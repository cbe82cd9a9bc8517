/* SPDX-License-Identifier: MIT
 * Layer io: writing to terminals without blocking. See terminal.h. */
#include "io/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "base/system.h"
#include "sched/descriptor.h"

bool is_terminal(int fd)
{
	return isatty(fd);
}

/* To open a pseudo-terminal's master again makes another pseudo-terminal. */
static bool is_master(int fd)
{
	int number;
	return ioctl(fd, TIOCGPTN, &number) == 0;
}

/* -1 if it cannot be done: a master, no /proc, no permission, no number left. */
static int open_again(int fd)
{
	char path[32];
	if (is_master(fd))
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return system_open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

#define BYTES_AT_ONCE 256 /* others want to run too */

/* One byte after the other, each when poll() has said that there is room for it. */
static ssize_t write_by_bytes(int fd, const char *bytes, size_t size)
{
	size_t total = 0;
	while (total < size && total < BYTES_AT_ONCE) {
		int ready = descriptor_poll(fd, POLLOUT);
		if (ready == 0)
			errno = EAGAIN;
		if (ready <= 0 || system_write(fd, bytes + total, 1) != 1)
			break;
		total++;
	}
	return total > 0 ? (ssize_t)total : -1;
}

ssize_t terminal_write(int fd, const void *buf, size_t size)
{
	int own = open_again(fd);
	if (own < 0)
		return write_by_bytes(fd, buf, size);
	ssize_t count = system_write(own, buf, size);
	int saved = errno;
	close(own);
	errno = saved;
	return count;
}
