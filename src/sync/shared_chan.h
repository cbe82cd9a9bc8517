/* SPDX-License-Identifier: MIT
 * Layer sync: channels between loops: what bide_chan_...() is for a channel made with BIDE_CHAN_SHARED. Any
 * thread may call these, but for move, which is a task's. */
#ifndef SYNC_SHARED_CHAN_H
#define SYNC_SHARED_CHAN_H

#include <bide/chan.h>

#include "sched/wait.h"

enum shared_chan_side {
	SHARED_CHAN_SEND = WAIT_TO_PUT,
	SHARED_CHAN_RECV = WAIT_TO_TAKE
};

bide_chan *shared_chan_new(size_t item_size, size_t capacity, void (*drop)(void *item));
int shared_chan_move(bide_chan *chan, enum shared_chan_side side, void *item); /* waits */
int shared_chan_try(bide_chan *chan, enum shared_chan_side side, void *item);  /* does not */
int shared_chan_close(bide_chan *chan, unsigned flags);
/* Whether it is closed; *length: how many items are buffered. */
bool shared_chan_look(const bide_chan *chan, size_t *length);
bide_chan *shared_chan_ref(bide_chan *chan);
void shared_chan_unref(bide_chan *chan);

#endif
