/* SPDX-License-Identifier: MIT
 * Layer sched: doubts about waits. Somebody may close a descriptor behind our back, so that the next file
 * under its number is one the poller does not know. Nothing tells us. So a wait on a descriptor that was
 * registered before it began is doubted: the loop asks the poller whether the registration is still that
 * file's, and registers anew if not.
 *
 * Asking costs a system call, and a busy server makes a wait for each request. So it asks about a wait only
 * when that has lasted for a while: about all, once, when nothing was heard for so long that the asking is
 * a small part of it; until then, since such a while may never come, about a few in passing. A descriptor
 * stays listed when its wait ends: the next wait on it finds it there, and nothing is to be done for
 * either. Who asks passes over those that nobody waits for, or has waited long for. */
#ifndef SCHED_DOUBT_H
#define SCHED_DOUBT_H

#include "sched/descriptor.h"

#define DOUBT_NS (20 * BIDE_MSEC)

struct loop;

void doubt_list(struct descriptors *descriptors, struct descriptor *descriptor);

/* A wait begins on a descriptor that was registered before. */
static inline void doubt_begin(struct descriptors *descriptors, struct descriptor *descriptor)
{
	if (list_is_empty(&descriptor->waiters[0]) && list_is_empty(&descriptor->waiters[1]))
		descriptor->waits_since = descriptors->period;
	if (unlikely(!link_is_linked(&descriptor->doubt)) || unlikely(descriptor->is_asked))
		doubt_list(descriptors, descriptor);
}

/* The descriptor is closed, or known to be new. */
void doubt_end(struct descriptors *descriptors, struct descriptor *descriptor);

/* Asks if it is time. Returns when it wants to be called again, BIDE_NEVER if nothing is doubted. */
bide_time doubts_ask(struct loop *loop, bide_time now);

#endif
