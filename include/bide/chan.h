/* SPDX-License-Identifier: MIT
 * Part of bide: channels: typed FIFOs between tasks. What goes in comes out once, in order; senders and
 * receivers are served first come, first served.
 *
 * A channel is its loop's, unless it is made with BIDE_CHAN_SHARED: then the tasks of all loops use it. Each call
 * takes a lock then, which is held for the copy of an item, and needs a reference that lasts until it returns or
 * waits. A task that waits there may be woken by any thread: while one does there is no deadlock, and a virtual
 * clock gives the others 1 ms before it jumps. Who is canceled, or out of time, has sent or taken nothing, or the
 * call returns 0. In bide_select() it fails with ENOTSUP. */
#ifndef BIDE_CHAN_H
#define BIDE_CHAN_H

#include <bide/api.h>

BIDE_BEGIN

typedef struct bide_chan bide_chan; /* counted references; belongs to the loop that made it, or to all */

#define BIDE_CHAN_SHARED 0x2u /* for tasks of all loops; where [T] stands below, for any thread */

/* Items of item_size bytes (0: a signal without content) are copied in and out. capacity 0 is a
 * rendezvous: a send returns when a receiver has taken the item. Otherwise `capacity` items are
 * buffered. `drop` (may be NULL) is called for items that nobody will receive; of a shared channel on the
 * thread that closes it, or of the loop that ends. flags: 0 or BIDE_CHAN_SHARED.
 * Errors: EINVAL flags, or sizes whose product overflows; EPERM outside a loop's thread, unless it is
 * shared; ENOMEM. [T] if it is shared */
BIDE_API bide_chan *bide_chan_new(size_t item_size, size_t capacity, unsigned flags,
    void (*drop)(void *item));

/* Send copies *item in, receive copies one out to *item (NULL where item_size is 0). When a send fails
 * the item was not sent and is still the caller's; when a receive fails none was taken.
 * Errors: EPIPE the channel is closed (a receive: and empty); EINVAL NULL; EPERM another loop's, or
 * another process's: one that was forked. [S] */
BIDE_API int bide_chan_send(bide_chan *chan, const void *item);
BIDE_API int bide_chan_recv(bide_chan *chan, void *item);

/* The same without waiting; may be called from callbacks too. Errors: EAGAIN it would have to wait.
 * [T] if it is shared */
BIDE_API int bide_chan_trysend(bide_chan *chan, const void *item);
BIDE_API int bide_chan_tryrecv(bide_chan *chan, void *item);

#define BIDE_DISCARD 0x1u

/* Senders that wait fail with EPIPE and keep their items; buffered items are still received, then
 * receivers get EPIPE. BIDE_DISCARD: buffered items are dropped at once. A second close does nothing:
 * 0. Errors: EINVAL; EPERM. [T] if it is shared */
BIDE_API int bide_chan_close(bide_chan *chan, unsigned flags);

/* Also of one that belongs to a process this one was forked from. [T] if it is shared */
BIDE_API bool bide_chan_is_closed(const bide_chan *chan);

/* Items buffered now. [T] if it is shared */
BIDE_API size_t bide_chan_len(const bide_chan *chan);

/* ref returns chan. The last unref closes it with BIDE_DISCARD and frees it; who waits at it gets EPIPE.
 * [T] if it is shared */
BIDE_API bide_chan *bide_chan_ref(bide_chan *chan);
BIDE_API void bide_chan_unref(bide_chan *chan);

BIDE_END

#endif
