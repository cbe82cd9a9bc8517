/* SPDX-License-Identifier: MIT
 * Layer await: nothing can ever run again. */
#ifndef AWAIT_DEADLOCK_H
#define AWAIT_DEADLOCK_H

#include <stdbool.h>

#define DEADLOCK_ROUNDS_MAX 1000 /* tasks that wait again and again, whatever the errno */

struct loop;

/* Nothing is ready, and no timer, descriptor or other thread can change that: it is reported, once in a run, with the
 * cycle if there is one, and by bide_config.deadlock every wait fails with EDEADLK, so that clean-up code runs and main
 * ends; or the process is aborted; or the loop waits all the same. False if that did not help. */
bool deadlock_report(struct loop *loop);

#endif
