/* SPDX-License-Identifier: MIT
 * Tasks that are parked at one future, on stacks of any size; and the loop's figures about them. */
#ifndef SUPPORT_PARKED_H
#define SUPPORT_PARKED_H

#include "runs.h"

extern bide_future gate;
void *wait_at_the_gate(void *arg); /* returns arg when the gate is set */

/* NULL if it fails. 0 is the default size. */
bide_task *spawn_sized(bide_fn *fn, void *arg, size_t stack_size);

bide_stats stats(void);

#endif
