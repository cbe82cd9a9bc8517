/* SPDX-License-Identifier: MIT
 * Layer io: system calls without SIGPIPE. See sigpipe.h. */
#include "io/sigpipe.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static bool is_pending(int number)
{
	sigset_t pending;
	sigpending(&pending);
	return sigismember(&pending, number) == 1;
}

static void set_of_sigpipe(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGPIPE);
}

/* Takes back the SIGPIPE that this thread has just raised, while it is blocked. One that was pending
 * before stays: sent to the process it is another instance, and the thread's own is taken first; sent to
 * this thread it has merged with the new one, and is raised again. */
static void take_back(bool was_pending)
{
	struct timespec now = { 0, 0 };
	sigset_t set;
	int taken;
	set_of_sigpipe(&set);
	do
		taken = sigtimedwait(&set, NULL, &now);
	while (taken < 0 && errno == EINTR);
	if (taken > 0 && was_pending && !is_pending(SIGPIPE))
		pthread_kill(pthread_self(), SIGPIPE);
}

void sigpipe_block(struct sigpipe *sigpipe)
{
	sigset_t set;
	set_of_sigpipe(&set);
	sigpipe->was_pending = is_pending(SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, &sigpipe->old_mask);
}

void sigpipe_unblock(const struct sigpipe *sigpipe, ssize_t count)
{
	int saved = errno;
	if (count < 0 && saved == EPIPE)
		take_back(sigpipe->was_pending);
	pthread_sigmask(SIG_SETMASK, &sigpipe->old_mask, NULL);
	errno = saved;
}
