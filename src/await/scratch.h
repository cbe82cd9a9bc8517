/* SPDX-License-Identifier: MIT
 * Layer await: memory that a suspending call needs while it waits, where its stack has no room for it. It
 * is the task's: if that is given up while it waits, it goes with the task. */
#ifndef AWAIT_SCRATCH_H
#define AWAIT_SCRATCH_H

#include <stddef.h>

struct await_task;
struct task;

/* All zero; NULL with ENOMEM. */
void *scratch_get(struct task *self, size_t size);
/* The one that was got last. Leaves errno alone. */
void scratch_put(struct task *self, void *memory);

/* For a task that will never run again. */
void scratch_free(struct await_task *task);

#endif
