/* SPDX-License-Identifier: MIT
 * Layer sync: channels. Senders and receivers wait in two lines, of which one at least is empty. An item
 * goes straight from a sender to a waiting receiver, else into the buffer, else its sender waits; so
 * the buffer is full while a sender waits, and empty while a receiver does. Whoever serves a waiter
 * copies the item first and wakes then: a waiter that was served has its item, whatever comes after. */
#include <bide/chan.h>

#include "await/selectable.h"
#include "base/fail.h"
#include "sync/line.h"
#include "sync/ring.h"
#include "sync/shared_chan.h"

struct bide_chan {
	struct selectable selectable; /* of LOOPS_ALL: a shared channel, which is another struct */
	struct list senders;    /* wait records; slot is the item */
	struct list receivers;  /* wait records; slot is where the item goes */
	void (*drop)(void *item);
	unsigned references;
	unsigned holds;         /* selects that look at it */
	bool is_closed;
	struct ring ring;
};

/* An item is out before drop() sees it, which may call the channel. */
static void drop_buffered(bide_chan *chan)
{
	while (chan->ring.length > 0) {
		void *item = ring_remove(&chan->ring);
		if (chan->drop)
			chan->drop(item);
	}
}

/* ---- serving -------------------------------------------------------------------------------------- */

static void tell(struct wait *wait, int status)
{
	wait->events |= FUTURE_TOLD;
	task_wake(wait->task, status);
}

static void tell_all(struct list *line, int status)
{
	struct wait *next;
	while ((next = line_head(line)))
		tell(next, status);
}

/* 0 sent, EPIPE, or EAGAIN. */
static int try_send(bide_chan *chan, const void *item)
{
	if (chan->is_closed)
		return EPIPE;
	struct wait *receiver = line_head(&chan->receivers);
	if (receiver) {
		ring_copy_item(&chan->ring, receiver->slot, item);
		tell(receiver, 0);
		return 0;
	}
	if (chan->ring.length == chan->ring.capacity)
		return EAGAIN;
	ring_push(&chan->ring, item);
	return 0;
}

/* 0 received, EPIPE, or EAGAIN. The room that is made is the first waiting sender's. */
static int try_recv(bide_chan *chan, void *item)
{
	struct wait *sender = line_head(&chan->senders);
	if (chan->ring.length > 0) {
		ring_pop(&chan->ring, item);
		if (sender) {
			ring_push(&chan->ring, sender->slot);
			tell(sender, 0);
		}
		return 0;
	}
	if (sender) {
		ring_copy_item(&chan->ring, item, sender->slot);
		tell(sender, 0);
		return 0;
	}
	return chan->is_closed ? EPIPE : EAGAIN;
}

/* ---- in bide_select -------------------------------------------------------------------------------- */

static int check(const bide_case *c)
{
	return c->item || c->chan->ring.item_size == 0 ? 0 : EINVAL;
}

static bool fire(bide_case *c)
{
	int err = c->op == BIDE_CASE_SEND ? try_send(c->chan, c->item) : try_recv(c->chan, c->item);
	c->err = err == EAGAIN ? 0 : err;
	return err != EAGAIN;
}

static void enqueue(bide_case *c, struct wait *record)
{
	record->kind = WAIT_CHAN;
	record->object = c->chan;
	record->slot = c->item;
	record->detail = c->op == BIDE_CASE_SEND ? WAIT_TO_PUT : WAIT_TO_TAKE;
	list_push_tail(c->op == BIDE_CASE_SEND ? &c->chan->senders : &c->chan->receivers, &record->link);
}

static void free_if_unused(bide_chan *chan)
{
	if (chan->references == 0 && chan->holds == 0)
		memory_free(chan->selectable.loop->memory, chan, sizeof *chan + chan->ring.item_size * chan->ring.capacity);
}

static void hold_chan(bide_case *c)
{
	c->chan->holds++;
}

static void let_go_of_chan(bide_case *c)
{
	c->chan->holds--;
	free_if_unused(c->chan);
}

static const struct selectable_ops ops = { check, fire, enqueue, hold_chan, let_go_of_chan };

/* ---- the public calls ------------------------------------------------------------------------------ */

static bide_chan *new_here(size_t item_size, size_t capacity, void (*drop)(void *item))
{
	struct loop *loop = loop_current;
	size_t bytes;
	if (!loop)
		return fail_null(EPERM);
	if (ring_bytes(item_size, capacity, &bytes) < 0)
		return NULL;
	bide_chan *chan = memory_alloc(loop->memory, sizeof *chan + bytes);
	if (!chan)
		return NULL;
	chan->selectable = (struct selectable){ &ops, loop };
	chan->ring.item_size = item_size;
	chan->ring.capacity = capacity;
	chan->drop = drop;
	chan->references = 1;
	return chan;
}

bide_chan *bide_chan_new(size_t item_size, size_t capacity, unsigned flags, void (*drop)(void *item))
{
	if (flags & ~BIDE_CHAN_SHARED)
		return fail_null(EINVAL);
	return flags ? shared_chan_new(item_size, capacity, drop) : new_here(item_size, capacity, drop);
}

/* What the check says of a shared channel. */
#define SHARED 1

static inline int check_chan(const bide_chan *chan)
{
	if (!chan)
		return fail_with(EINVAL);
	if (likely(chan->selectable.loop == loop_current))
		return 0;
	return chan->selectable.loop == LOOPS_ALL ? SHARED : fail_elsewhere();
}

static inline bool is_ours(const bide_chan *chan, const void *item)
{
	return likely(chan != NULL) && likely(chan->selectable.loop == loop_current) &&
	    (likely(item != NULL) || chan->ring.item_size == 0);
}

/* The call on a channel that is not ours: shared, or refused. Apart, so that calls on ours are no longer for it. */
static __attribute__((noinline, cold)) int not_ours(bide_chan *chan, void *item, enum shared_chan_side side, bool waits)
{
	int checked = check_chan(chan);
	if (checked == SHARED)
		return waits ? shared_chan_move(chan, side, item) : shared_chan_try(chan, side, item);
	return checked < 0 ? -1 : fail_with(EINVAL);
}

/* As checkpoint(), which may let others run: if the last reference goes meanwhile the channel is closed and
 * freed, but not under our feet. */
static struct task *chan_checkpoint(bide_chan *chan)
{
	chan->holds++;
	struct task *self = checkpoint();
	chan->holds--;
	if (likely(chan->references > 0))
		return self;
	free_if_unused(chan);
	return self ? fail_null(EPIPE) : NULL;
}

static LINE_WAITS int wait_with_item(struct task *self, struct list *line, bide_chan *chan, void *item)
{
	struct wait *wait = wait_begin(self, line, WAIT_CHAN, chan);
	wait->slot = item;
	wait->detail = line == &chan->senders ? WAIT_TO_PUT : WAIT_TO_TAKE;
	int status = park(self, BIDE_NEVER);
	return status ? fail_with(status) : 0;
}

int bide_chan_send(bide_chan *chan, const void *item)
{
	if (unlikely(!is_ours(chan, item)))
		return not_ours(chan, (void *)(uintptr_t)item, SHARED_CHAN_SEND, true);
	struct task *self = chan_checkpoint(chan);
	if (!self)
		return -1;
	int err = try_send(chan, item);
	if (err == EAGAIN)
		return wait_with_item(self, &chan->senders, chan, (void *)(uintptr_t)item);
	return err ? fail_with(err) : 0;
}

int bide_chan_recv(bide_chan *chan, void *item)
{
	if (unlikely(!is_ours(chan, item)))
		return not_ours(chan, item, SHARED_CHAN_RECV, true);
	struct task *self = chan_checkpoint(chan);
	if (!self)
		return -1;
	int err = try_recv(chan, item);
	if (err == EAGAIN)
		return wait_with_item(self, &chan->receivers, chan, item);
	return err ? fail_with(err) : 0;
}

int bide_chan_trysend(bide_chan *chan, const void *item)
{
	if (unlikely(!is_ours(chan, item)))
		return not_ours(chan, (void *)(uintptr_t)item, SHARED_CHAN_SEND, false);
	int err = try_send(chan, item);
	return err ? fail_with(err) : 0;
}

int bide_chan_tryrecv(bide_chan *chan, void *item)
{
	if (unlikely(!is_ours(chan, item)))
		return not_ours(chan, item, SHARED_CHAN_RECV, false);
	int err = try_recv(chan, item);
	return err ? fail_with(err) : 0;
}

static void close_now(bide_chan *chan)
{
	chan->is_closed = true;
	tell_all(&chan->senders, EPIPE);
	tell_all(&chan->receivers, EPIPE);
}

int bide_chan_close(bide_chan *chan, unsigned flags)
{
	int checked = check_chan(chan);
	if (checked < 0)
		return -1;
	if (flags & ~BIDE_DISCARD)
		return fail_with(EINVAL);
	if (checked == SHARED)
		return shared_chan_close(chan, flags);
	if (chan->is_closed)
		return 0;
	close_now(chan);
	if (flags & BIDE_DISCARD)
		drop_buffered(chan);
	return 0;
}

bool bide_chan_is_closed(const bide_chan *chan)
{
	size_t length;
	if (!chan)
		return false;
	return chan->selectable.loop == LOOPS_ALL ? shared_chan_look(chan, &length) : chan->is_closed;
}

size_t bide_chan_len(const bide_chan *chan)
{
	size_t length;
	if (!chan)
		return 0;
	if (chan->selectable.loop != LOOPS_ALL)
		return chan->ring.length;
	shared_chan_look(chan, &length);
	return length;
}

bide_chan *bide_chan_ref(bide_chan *chan)
{
	int checked = check_chan(chan);
	if (checked)
		return checked < 0 ? NULL : shared_chan_ref(chan);
	chan->references++;
	return chan;
}

void bide_chan_unref(bide_chan *chan)
{
	int checked = check_chan(chan);
	if (checked == SHARED)
		shared_chan_unref(chan);
	if (checked || --chan->references > 0)
		return;
	close_now(chan);
	drop_buffered(chan);
	free_if_unused(chan);
}
