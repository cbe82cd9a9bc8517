/* SPDX-License-Identifier: MIT
 * Layer sync: channels between loops. As in chan.c two lines of waiters, of which one at least is empty, and who
 * serves a waiter copies the item first; but all of that under a lock, and the waiter may be another loop's.
 *
 *      who serves, with the lock                the waiter's loop
 *      1  copy the item                         1  the record into the line, with the lock; park
 *      2  out of its line, write how it ended   2  woken by the post: the call returns what is written
 *      3  put its post into its loop's inbox    3  woken by a cancel or a deadline: look, with the lock
 *      without the lock                               in the line still: leave it; nothing has happened
 *      4  wake that loop if it sleeps                 served: wait for the post, which is in the inbox, and
 *                                                     return what is written; the cancel stays pending
 *
 * The lock decides between serving and leaving, so that an item changes hands once or not at all. The record
 * lies on the waiter's stack, and so does its post: until that has run the call does not return. Step 3 is one
 * compare-and-swap, so the lock is held for a copy and never over a system call; drop() is called without it.
 * A waiter of the server's own loop is woken at once; one that has just been canceled there is passed over.
 *
 * A loop that ends takes those of its tasks that will never run again out of all lines before its inbox closes:
 * so a post is never refused. What such a task was given goes to drop(). docs/notes/threads.md: what was rejected. */
#include "sync/shared_chan.h"

#include <pthread.h>
#include <stdatomic.h>

#include "await/fork.h"
#include "await/record.h"
#include "await/selectable.h"
#include "base/fail.h"
#include "sync/ring.h"

/* Where another thread may come in between: the test that tries all schedules gives it a body. */
#ifndef SHARED_CHAN_STEP
#define SHARED_CHAN_STEP() ((void)0)
#endif

struct shared_chan {
	struct selectable selectable; /* of LOOPS_ALL */
	unsigned process;       /* constant, as the next one */
	void (*drop)(void *item);

	atomic_uint references; /* the users'; the last one closes the channel */
	atomic_uint holds;      /* who needs its memory: the references together, each waiter, each close */

	pthread_mutex_t lock;   /* over the rest */
	bool is_closed;
	struct list senders;    /* struct shared_wait */
	struct list receivers;
	struct ring ring;
};

#define NOT_SERVED (-1)

/* A call that waits. */
struct shared_wait {
	/* Under the channel's lock. */
	struct link link;       /* in the channel's line */
	int err;                /* NOT_SERVED, or how the call ends */
	void *item;             /* to send, or where one goes */

	/* Constant. */
	struct shared_chan *chan;
	struct loop *loop;
	struct task *task;
	enum shared_chan_side side;
	struct inbox_post post; /* in its loop's inbox once it is served by another thread */

	/* The waiter's loop's alone. */
	struct link of_run;     /* in run.outside_waits */
	bool is_told;           /* that it was served */
};

static struct shared_chan *chan_of(const bide_chan *chan)
{
	return (struct shared_chan *)(uintptr_t)chan;
}

/* ---- the lock, and the memory ------------------------------------------------------------------------ */

static void lock(struct shared_chan *chan)
{
	SHARED_CHAN_STEP();
	pthread_mutex_lock(&chan->lock);
	SHARED_CHAN_STEP();
}

/* A loop that could not be woken finds its post later: nothing is lost, and the call has had its effect. */
static void unlock_and_wake(struct shared_chan *chan, bide_loop *served)
{
	SHARED_CHAN_STEP();
	pthread_mutex_unlock(&chan->lock);
	SHARED_CHAN_STEP();
	int saved = errno;
	if (served)
		inbox_wake_owner(served);
	errno = saved;
}

static void let_go(struct shared_chan *chan)
{
	if (atomic_fetch_sub(&chan->holds, 1) > 1)
		return;
	pthread_mutex_destroy(&chan->lock);
	memory_free(&memory_default, chan, sizeof *chan + chan->ring.item_size * chan->ring.capacity);
}

/* ---- serving: with the lock --------------------------------------------------------------------------- */

/* Has its wait ended already by a cancel or a deadline? Its own thread alone can know. */
static bool has_left(const struct shared_wait *wait)
{
	return wait->loop == loop_current && wait->task->state != TASK_SUSPENDED;
}

static struct shared_wait *first_in(struct list *line)
{
	struct link *link;
	while ((link = list_head(line))) {
		struct shared_wait *wait = container_of(link, struct shared_wait, link);
		if (!has_left(wait))
			return wait;
		link_remove(link);
	}
	return NULL;
}

/* The loop that is to be woken for it, NULL if none is. */
static bide_loop *serve(struct shared_wait *wait, int err)
{
	link_remove(&wait->link);
	wait->err = err;
	if (wait->loop == loop_current) {
		wait->is_told = true;
		task_wake(wait->task, 0);
		return NULL;
	}
	bide_loop *handle = wait->loop->handle;
	SHARED_CHAN_STEP();
	int result = inbox_put(handle, &wait->post);
	CHECK(result == 0, "who waits at a shared channel has a loop");
	return handle;
}

/* 0 sent, EPIPE, or EAGAIN. */
static int send_now(struct shared_chan *chan, void *item, bide_loop **served)
{
	if (chan->is_closed)
		return EPIPE;
	struct shared_wait *receiver = first_in(&chan->receivers);
	if (receiver) {
		ring_copy_item(&chan->ring, receiver->item, item);
		*served = serve(receiver, 0);
		return 0;
	}
	if (chan->ring.length == chan->ring.capacity)
		return EAGAIN;
	ring_push(&chan->ring, item);
	return 0;
}

/* 0 received, EPIPE, or EAGAIN. The room that is made is the first waiting sender's. */
static int recv_now(struct shared_chan *chan, void *item, bide_loop **served)
{
	struct shared_wait *sender = chan->is_closed ? NULL : first_in(&chan->senders);
	if (chan->ring.length == 0 && !sender)
		return chan->is_closed ? EPIPE : EAGAIN;
	if (chan->ring.length == 0) {
		ring_copy_item(&chan->ring, item, sender->item);
	} else {
		ring_pop(&chan->ring, item);
		if (sender)
			ring_push(&chan->ring, sender->item);
	}
	if (sender)
		*served = serve(sender, 0);
	return 0;
}

/* ---- waiting ----------------------------------------------------------------------------------------- */

static void told(struct inbox_post *post)
{
	struct shared_wait *wait = container_of(post, struct shared_wait, post);
	wait->is_told = true;
	task_wake(wait->task, 0);
}

/* After a cancel or a deadline, which is `status`: how the call ends. */
static int leave(struct shared_wait *wait, int status)
{
	lock(wait->chan);
	bool was_served = wait->err != NOT_SERVED;
	if (link_is_linked(&wait->link))
		link_remove(&wait->link);
	unlock_and_wake(wait->chan, NULL);
	if (!was_served)
		return status;
	while (!wait->is_told) {
		wait_begin(wait->task, NULL, WAIT_SHARED_CHAN, wait->chan)->is_shielded = 1;
		park(wait->task, BIDE_NEVER);
	}
	return wait->err;
}

/* At the end of a run, of a task that will never go on. Its post may be in the inbox, and will run. */
static void abandon(struct shared_wait *wait)
{
	struct shared_chan *chan = wait->chan;
	lock(chan);
	bool was_sent_to = wait->err == 0 && wait->side == SHARED_CHAN_RECV;
	if (link_is_linked(&wait->link))
		link_remove(&wait->link);
	unlock_and_wake(chan, NULL);
	if (was_sent_to && chan->drop)
		chan->drop(wait->item);
	link_remove(&wait->of_run);
	let_go(chan);
}

static void abandon_all(struct run *run)
{
	struct link *link;
	while ((link = list_head(&run->outside_waits)))
		abandon(container_of(link, struct shared_wait, of_run));
}

/* Parks. How the call ends. */
static int wait_outside(struct shared_wait *wait)
{
	struct loop *loop = wait->loop;
	struct run *run = run_of(loop);
	run->abandon_outside_waits = abandon_all;
	list_push_tail(&run->outside_waits, &wait->of_run);
	loop->listeners++;
	pace_expect(&loop->pace);
	wait_begin(wait->task, NULL, WAIT_SHARED_CHAN, wait->chan)->detail = (int32_t)wait->side;
	int status = park(wait->task, BIDE_NEVER);
	int err = wait->is_told ? wait->err : leave(wait, status);
	loop->listeners--;
	link_remove(&wait->of_run);
	return err;
}

/* ---- sending and receiving ---------------------------------------------------------------------------- */

/* The process must be the one that made it: in a forked one its lock may be held by a thread that is not there. */
static int check(const struct shared_chan *chan)
{
	return chan->process == inbox_process() ? 0 : fail_with(EPERM);
}

static int check_item(const struct shared_chan *chan, const void *item)
{
	if (check(chan) < 0)
		return -1;
	return item || chan->ring.item_size == 0 ? 0 : fail_with(EINVAL);
}

static int move_now(struct shared_chan *chan, enum shared_chan_side side, void *item, bide_loop **served)
{
	return side == SHARED_CHAN_RECV ? recv_now(chan, item, served) : send_now(chan, item, served);
}

int shared_chan_try(bide_chan *public_chan, enum shared_chan_side side, void *item)
{
	struct shared_chan *chan = chan_of(public_chan);
	bide_loop *served = NULL;
	if (check_item(chan, item) < 0)
		return -1;
	lock(chan);
	int err = move_now(chan, side, item, &served);
	unlock_and_wake(chan, served);
	return err ? fail_with(err) : 0;
}

int shared_chan_move(bide_chan *public_chan, enum shared_chan_side side, void *item)
{
	struct shared_chan *chan = chan_of(public_chan);
	bide_loop *served = NULL;
	if (check_item(chan, item) < 0)
		return -1;
	struct task *self = checkpoint();
	if (!self)
		return -1;
	lock(chan);
	int err = move_now(chan, side, item, &served);
	if (err != EAGAIN) {
		unlock_and_wake(chan, served);
		return err ? fail_with(err) : 0;
	}
	struct shared_wait wait = { .err = NOT_SERVED, .item = item, .chan = chan, .loop = self->loop, .task = self,
		.side = side, .post = { .run = told } };
	list_push_tail(side == SHARED_CHAN_RECV ? &chan->receivers : &chan->senders, &wait.link);
	atomic_fetch_add(&chan->holds, 1);
	unlock_and_wake(chan, NULL);
	err = wait_outside(&wait);
	let_go(chan);
	return err ? fail_with(err) : 0;
}

/* ---- closing ------------------------------------------------------------------------------------------ */

static void tell_all(struct shared_chan *chan, struct list *line)
{
	struct shared_wait *wait;
	do {
		lock(chan);
		wait = first_in(line);
		bide_loop *served = wait ? serve(wait, EPIPE) : NULL;
		unlock_and_wake(chan, served);
	} while (wait);
}

/* The channel is closed: nothing goes where an item was, while drop() has it. */
static void drop_buffered(struct shared_chan *chan)
{
	void *item;
	do {
		lock(chan);
		item = chan->ring.length > 0 ? ring_remove(&chan->ring) : NULL;
		unlock_and_wake(chan, NULL);
		if (item && chan->drop)
			chan->drop(item);
	} while (item);
}

/* False if it was closed already. Once it says so nobody gets into a line any more. */
static bool close_now(struct shared_chan *chan)
{
	lock(chan);
	bool is_first = !chan->is_closed;
	chan->is_closed = true;
	unlock_and_wake(chan, NULL);
	tell_all(chan, &chan->senders);
	tell_all(chan, &chan->receivers);
	return is_first;
}

int shared_chan_close(bide_chan *public_chan, unsigned flags)
{
	struct shared_chan *chan = chan_of(public_chan);
	if (check(chan) < 0)
		return -1;
	atomic_fetch_add(&chan->holds, 1); /* drop() may give the last reference up */
	if (close_now(chan) && (flags & BIDE_DISCARD))
		drop_buffered(chan);
	let_go(chan);
	return 0;
}

/* ---- the rest ----------------------------------------------------------------------------------------- */

bide_chan *shared_chan_new(size_t item_size, size_t capacity, void (*drop)(void *item))
{
	size_t bytes;
	if (ring_bytes(item_size, capacity, &bytes) < 0 || fork_watch() < 0)
		return NULL;
	struct shared_chan *chan = memory_alloc(&memory_default, sizeof *chan + bytes);
	if (!chan)
		return NULL;
	chan->selectable.loop = LOOPS_ALL;
	pthread_mutex_init(&chan->lock, NULL);
	chan->process = inbox_process();
	chan->drop = drop;
	chan->ring.item_size = item_size;
	chan->ring.capacity = capacity;
	atomic_init(&chan->references, 1);
	atomic_init(&chan->holds, 1);
	return (bide_chan *)chan;
}

bool shared_chan_look(const bide_chan *public_chan, size_t *length)
{
	struct shared_chan *chan = chan_of(public_chan);
	*length = 0;
	if (check(chan) < 0)
		return true;
	lock(chan);
	bool is_closed = chan->is_closed;
	*length = chan->ring.length;
	unlock_and_wake(chan, NULL);
	return is_closed;
}

bide_chan *shared_chan_ref(bide_chan *chan)
{
	if (check(chan_of(chan)) < 0)
		return NULL;
	atomic_fetch_add(&chan_of(chan)->references, 1);
	return chan;
}

void shared_chan_unref(bide_chan *public_chan)
{
	struct shared_chan *chan = chan_of(public_chan);
	if (check(chan) < 0 || atomic_fetch_sub(&chan->references, 1) > 1)
		return;
	close_now(chan);
	drop_buffered(chan);
	let_go(chan);
}
