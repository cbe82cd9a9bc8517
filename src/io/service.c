/* SPDX-License-Identifier: MIT
 * Layer io: what a service manager passes to the program, and what it wants to be told: the protocols of
 * sd_listen_fds(3) and sd_notify(3). */
#include <bide/net.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <bide/io.h>

#include "base/fail.h"
#include "base/system.h"
#include "io/socket.h"

/* Of a variable: a number >= 0; -1 with EINVAL if it is none. */
static int number_in(const char *text)
{
	char *end;
	int saved = errno;
	errno = 0;
	long number = strtol(text, &end, 10);
	bool is_good = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 &&
	    number <= INT_MAX - BIDE_LISTEN_FDS_FIRST;
	errno = saved;
	return is_good ? (int)number : fail_with(EINVAL);
}

int bide_listen_fds(void)
{
	const char *pid_text = getenv("LISTEN_PID"), *count_text = getenv("LISTEN_FDS");
	if (!pid_text || !count_text)
		return 0;
	int pid = number_in(pid_text);
	if (pid != getpid())
		return pid < 0 ? -1 : 0;
	int count = number_in(count_text);
	for (int i = 0; i < count; i++)
		if (system_fcntl(BIDE_LISTEN_FDS_FIRST + i, F_SETFD, FD_CLOEXEC) < 0)
			return -1;
	return count;
}

/* Without waiting: a manager that reads nothing must not stop what it watches. */
static int send_datagram(const struct address *to, const char *text)
{
	int fd = socket_new(to);
	if (fd < 0)
		return -1;
	ssize_t sent;
	do
		sent = system_sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, &to->socket.any, to->length);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return socket_discard(fd);
	bide_close(fd);
	return 1;
}

int bide_notify(const char *state)
{
	struct address addresses[ADDRESSES_MAX];
	const char *path = getenv("NOTIFY_SOCKET");
	if (!state)
		return fail_with(EINVAL);
	if (!path)
		return 0;
	if (*path != '/' && *path != '@')
		return fail_with(EAFNOSUPPORT);
	if (address_resolve(addresses, net_find("unix"), path, true) < 0)
		return -1;
	addresses->type = SOCK_DGRAM;
	return send_datagram(addresses, state);
}
