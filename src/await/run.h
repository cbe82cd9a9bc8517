/* SPDX-License-Identifier: MIT
 * Layer await: what bide_run() asks of the other files at its end. */
#ifndef AWAIT_RUN_H
#define AWAIT_RUN_H

struct run;

void soons_free(struct run *run);
void timers_abandon(struct run *run);

#endif
