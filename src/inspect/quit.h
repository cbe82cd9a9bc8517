/* SPDX-License-Identifier: MIT
 * Layer inspect: SIGQUIT asks for a dump, where its action is the default: a host that has a handler keeps it. */
#ifndef INSPECT_QUIT_H
#define INSPECT_QUIT_H

#include <stdbool.h>

/* From now on it wakes the watchdog. Counted. */
void quit_begin(void);
void quit_end(void);

/* In a process that has just been forked: it acts as before. */
void quit_forget(void);

/* Whether one has come since the latest quit_take(). */
bool quit_has_come(void);
void quit_take(void);

#endif
