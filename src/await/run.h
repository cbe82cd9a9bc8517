/* SPDX-License-Identifier: MIT
 * Layer await: what bide_run() asks of the other files at its end. */
#ifndef AWAIT_RUN_H
#define AWAIT_RUN_H

#include <bide/time.h>

struct run;

void soons_free(struct run *run);
void timers_abandon(struct run *run);
/* Those of the user's that are armed, with the call that did it. */
void timers_each_armed(struct run *run, void (*visit)(bide_time deadline, const void *site, void *arg), void *arg);

#endif
