/* SPDX-License-Identifier: MIT
 * Layer await: what a task waits for, in words. */
#ifndef AWAIT_DESCRIBE_H
#define AWAIT_DESCRIBE_H

#include "await/record.h"

#define DESCRIPTION_SIZE (2 * TASK_LABEL_SIZE + 96)

/* Of a parked task: "mutex 0x1234, held by task 3", "fd 7 to read", "task 2 \"reader\"". Returns `text`. Reads only, on
 * any thread while nothing moves. */
const char *wait_describe(const struct await_task *task, char text[DESCRIPTION_SIZE]);

/* The task without which a parked one cannot go on: whose end it waits for, or who holds what it waits for. NULL: there
 * is no single one. */
struct await_task *wait_culprit(const struct await_task *task);

#endif
