/* SPDX-License-Identifier: MIT
 * Layer inspect: the canary, which tells of a slice that took too long, when it is over. */
#ifndef INSPECT_CANARY_H
#define INSPECT_CANARY_H

#include "inspect/watch.h"

#define SLICE_LABEL_SIZE (TASK_LABEL_SIZE + 80)

/* From now on the run's slices are counted, and timed. */
void canary_begin(struct watch *watch);

/* Who runs: "task 2 \"reader\"", "the callback server+0x1234". On the loop's thread, or another one that has
 * seen the slice begin. */
const char *canary_label(const struct watch *watch, char label[SLICE_LABEL_SIZE]);

#endif
