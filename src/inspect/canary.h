/* SPDX-License-Identifier: MIT
 * Layer inspect: the canary, which tells of a slice that took too long, when it is over. */
#ifndef INSPECT_CANARY_H
#define INSPECT_CANARY_H

#include "base/text.h"
#include "inspect/watch.h"

/* From now on the run's slices are counted, and timed. */
void canary_begin(const struct watch *watch);

/* Adds who runs, and where it comes from. False if the slice has ended meanwhile: then it may be another. [T] */
bool canary_add_who(const struct watch *watch, uint64_t slice, struct text *text);
void canary_add_seconds(struct text *text, bide_time time);
void canary_add_own_time(struct text *text, bide_time used, bide_time blocked);

#endif
