/* SPDX-License-Identifier: MIT
 * Tests of what ends a process: in a child of our own, whatever libcheck's fork mode is. */
#ifndef SUPPORT_DEATH_H
#define SUPPORT_DEATH_H

#include <signal.h>
#include <stdbool.h>

/* What became of a child. */
struct death {
	int signal;      /* that ended it, 0 if it exited */
	int exit_status; /* if it exited */
	char text[4096]; /* what it wrote to stderr, cut */
};

/* Forks a child that calls fn(arg) and, if that returns, exits with status 0 without running exit
 * handlers. Signals have their default action in it, also in sanitizer builds. */
struct death death_of(void (*fn)(void *arg), void *arg);

/* Ended by an access to memory that is not there. */
bool died_of_access(const struct death *death);
/* Ended by CHECK(), which names the rule. */
bool died_of_rule(const struct death *death, const char *rule);

#endif
