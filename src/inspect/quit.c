/* SPDX-License-Identifier: MIT
 * Layer inspect: SIGQUIT asks for a dump. See quit.h. */
#include "inspect/quit.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/locks.h"
#include "base/system.h"
#include "inspect/watchdog.h"

static unsigned users; /* under LOCK_QUIT */
static atomic_bool has_come;

static void on_quit(int number)
{
	int saved = errno;
	(void)number;
	atomic_store(&has_come, true);
	watchdog_wake();
	errno = saved;
}

static void install(void)
{
	struct sigaction ours = { .sa_handler = on_quit, .sa_flags = SA_RESTART | SA_ONSTACK }, now;
	sigfillset(&ours.sa_mask);
	if (system_sigaction(SIGQUIT, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
		system_sigaction(SIGQUIT, &ours, NULL);
}

/* Unless the host has put its own there meanwhile. */
static void restore(void)
{
	struct sigaction now;
	if (sigaction(SIGQUIT, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == on_quit)
		signal(SIGQUIT, SIG_DFL);
}

void quit_begin(void)
{
	lock_take(LOCK_QUIT);
	if (users++ == 0)
		install();
	lock_release(LOCK_QUIT);
}

void quit_end(void)
{
	lock_take(LOCK_QUIT);
	if (--users == 0)
		restore();
	lock_release(LOCK_QUIT);
}

void quit_forget(void)
{
	if (users > 0)
		restore();
	users = 0;
	atomic_store(&has_come, false);
}

bool quit_has_come(void)
{
	return atomic_load(&has_come);
}

void quit_take(void)
{
	atomic_store(&has_come, false);
}
