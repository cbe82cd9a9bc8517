/* SPDX-License-Identifier: MIT
 * Layer await: what a task waits for, in words. */
#ifndef AWAIT_DESCRIBE_H
#define AWAIT_DESCRIBE_H

#include "await/record.h"

#define DESCRIPTION_SIZE (2 * TASK_LABEL_SIZE + 64)

/* Of a parked task: "mutex 0x1234, held by task 3", "fd 7", "task 2 \"reader\"". Returns `text`. */
const char *wait_describe(const struct await_task *task, char text[DESCRIPTION_SIZE]);

#endif
