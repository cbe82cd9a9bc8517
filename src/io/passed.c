/* SPDX-License-Identifier: MIT
 * Layer io: sockets that who started the program has passed to it, as sd_listen_fds(3) has it. */
#include <bide/net.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/system.h"

/* Of a variable: a number >= 0; -1 with EINVAL if it is none. */
static int number_in(const char *text)
{
	char *end;
	errno = 0;
	long number = strtol(text, &end, 10);
	bool is_good = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 &&
	    number <= INT_MAX - BIDE_LISTEN_FDS_FIRST;
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
