/* SPDX-License-Identifier: MIT
 * Layer await: SIGINT and SIGTERM end a run as bide_stop() does, so that clean-up code runs; the second
 * one acts by default. A host that has a handler of its own keeps it. */
#ifndef AWAIT_STOP_H
#define AWAIT_STOP_H

#include "await/record.h"

/* 0, or -1 with ENOMEM. */
int stop_watch_begin(struct run *run);
void stop_watch_end(struct run *run);

#endif
