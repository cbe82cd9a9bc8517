/* SPDX-License-Identifier: MIT
 * Layer sched: a call that is for the thread of its loop, made on another one. */
#ifndef SCHED_ELSEWHERE_H
#define SCHED_ELSEWHERE_H

/* -1 with EPERM. While a run in debug mode is on, stderr is told, once a second at most, what any thread may call. */
int fail_elsewhere(void);

/* Such a run begins: 1, or ends: -1. */
void elsewhere_debug(int change);

#endif
