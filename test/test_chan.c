/* SPDX-License-Identifier: MIT
 * Channels: bide/chan.h. Semantics 153 to 158; scenarios G1, G4, G8. What a shared one does within a loop, too. */
#include <stdlib.h>

#include "base/random.h"
#include "elsewhere.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

static void cancel(bide_task *task)
{
	must_msg(bide_cancel(task, NULL) == 0, "bide_cancel: %s", strerror(errno));
}

static unsigned flags; /* of the channels: within one loop a shared one does all that another does */
static bide_chan *chan;

static void open_chan(size_t capacity)
{
	chan = bide_chan_new(sizeof(int), capacity, flags, NULL);
	must(chan);
}

/* Closes the channel's life: whoever waits is told. */
static void drop_chan(void)
{
	bide_chan_unref(chan);
	chan = NULL;
}

static const char *failure(void)
{
	switch (errno) {
	case ECANCELED: return "canceled";
	case ETIMEDOUT: return "late";
	case EPIPE: return "closed";
	case EAGAIN: return "again";
	default: return strerror(errno);
	}
}

static void *send_and_note(void *arg)
{
	int item = (int)(intptr_t)arg;
	if (bide_chan_send(chan, &item) == 0)
		note("sent%d", item);
	else
		note("sent%d:%s", item, failure());
	return NULL;
}

static void *recv_and_note(void *arg)
{
	int item = -77;
	if (bide_chan_recv(chan, &item) == 0) {
		note("%s%d", (char *)arg, item);
	} else {
		must(item == -77); /* untouched */
		note("%s:%s", (char *)arg, failure());
	}
	return NULL;
}

static bide_task *start_send(int item)
{
	bide_task *task = must_spawn(send_and_note, (void *)(intptr_t)item);
	settle();
	return task;
}

static bide_task *start_recv(const char *name)
{
	bide_task *task = must_spawn(recv_and_note, (void *)(uintptr_t)name);
	settle();
	return task;
}

static int try_recv(void)
{
	int item;
	return bide_chan_tryrecv(chan, &item) == 0 ? item : -1;
}

static int try_send(int item)
{
	return bide_chan_trysend(chan, &item);
}

/* ---- order: semantics 153 ---------------------------------------------------------------------------- */

VIRTUAL_TEST(a_send_without_a_buffer_returns_when_the_item_was_taken)
{
	open_chan(0);
	start_send(1);
	expect_notes("");
	ck_assert_uint_eq(bide_chan_len(chan), 0);
	start_recv("a");
	expect_notes("a1 sent1");
	forget_notes();
	start_recv("b"); /* and the receiver first */
	start_send(2);
	expect_notes("sent2 b2");
	drop_chan();
}

VIRTUAL_TEST(a_buffer_takes_as_many_items_as_it_has_room_for)
{
	open_chan(3);
	for (int i = 1; i <= 5; i++)
		start_send(i);
	expect_notes("sent1 sent2 sent3");
	ck_assert_uint_eq(bide_chan_len(chan), 3);
	ck_assert_int_eq(try_recv(), 1); /* and the first who waits has its room */
	ck_assert_uint_eq(bide_chan_len(chan), 3);
	settle();
	expect_notes("sent1 sent2 sent3 sent4");
	for (int i = 2; i <= 5; i++)
		ck_assert_int_eq(try_recv(), i);
	ck_assert_int_eq(try_recv(), -1);
	settle();
	expect_notes("sent1 sent2 sent3 sent4 sent5");
	drop_chan();
}

ORDERED_TEST(items_senders_and_receivers_are_served_in_order)
{
	open_chan((size_t)_i);
	static const char *names[] = { "a", "b", "c" };
	for (int i = 0; i < 3; i++)
		start_recv(names[i]);
	for (int i = 1; i <= 3; i++)
		must(try_send(i) == 0);
	settle();
	expect_notes("a1 b2 c3");
	forget_notes();
	for (int i = 1; i <= 6; i++)
		start_send(i);
	forget_notes();
	for (int i = 1; i <= 6; i++)
		ck_assert_int_eq(try_recv(), i);
	settle();
	static const char *const unblocked[] = { "sent1 sent2 sent3 sent4 sent5 sent6", "sent2 sent3 sent4 sent5 sent6",
		"sent3 sent4 sent5 sent6" };
	expect_notes(unblocked[_i]);
	drop_chan();
}

VIRTUAL_TEST(a_buffer_goes_round_and_round)
{
	open_chan(3);
	for (int i = 0; i < 100; i++) {
		must(try_send(2 * i) == 0 && try_send(2 * i + 1) == 0);
		must(try_recv() == 2 * i && bide_chan_len(chan) == 1);
		must(try_recv() == 2 * i + 1);
	}
	drop_chan();
}

enum {
	CROWD = 1000
};
static int order[CROWD], order_count;

static void *recv_in_line(void *arg)
{
	int item;
	if (bide_chan_recv(chan, &item) == 0)
		order[order_count++] = (int)(intptr_t)arg;
	return NULL;
}

static void *send_in_line(void *arg)
{
	int item = (int)(intptr_t)arg;
	if (bide_chan_send(chan, &item) == 0)
		order[order_count++] = item;
	return NULL;
}

/* Scenario G1: receivers, or senders, in line, some canceled before they are served and between. */
ORDERED_TEST(the_order_of_waking_is_the_order_of_waiting)
{
	static bide_task *tasks[CROWD];
	bool canceled[CROWD] = { false };
	struct random random = { (uint64_t)_i + 1 };
	int next = 0, item = 0;
	open_chan(0);
	order_count = 0;
	for (intptr_t i = 0; i < CROWD; i++)
		tasks[i] = must_spawn(_i % 2 ? send_in_line : recv_in_line, (void *)i);
	settle();
	do {
		size_t victim = random_below(&random, CROWD);
		if (bide_task_state(tasks[victim]) == BIDE_TASK_SUSPENDED) { /* not served yet */
			cancel(tasks[victim]);
			canceled[victim] = true;
		}
		if (random_below(&random, 3) == 0)
			must(bide_yield() == 0);
	} while ((_i % 2 ? bide_chan_tryrecv(chan, &item) : bide_chan_trysend(chan, &item)) == 0);
	settle();
	for (int i = 0; i < CROWD; i++)
		if (!canceled[i])
			must(next < order_count && order[next++] == i);
	ck_assert_int_eq(next, order_count);
	drop_chan();
}

/* semantics 158 */
VIRTUAL_TEST(the_try_forms_do_not_wait)
{
	int item = 7;
	open_chan((size_t)_i);
	ck_fails(bide_chan_tryrecv(chan, &item), EAGAIN);
	ck_assert_int_eq(item, 7);
	for (int i = 0; i < _i; i++)
		ck_assert_int_eq(bide_chan_trysend(chan, &item), 0);
	ck_fails(bide_chan_trysend(chan, &item), EAGAIN);
	ck_assert_uint_eq(bide_chan_len(chan), (size_t)_i);
	drop_chan();
}

/* ---- cancels: semantics 157; scenario G8 ------------------------------------------------------------------- */

ORDERED_TEST(the_item_of_a_canceled_sender_is_never_seen)
{
	open_chan((size_t)_i);
	if (_i)
		must(try_send(0) == 0);
	bide_task *sender = start_send(1);
	start_send(2);
	cancel(sender);
	if (_i)
		ck_assert_int_eq(try_recv(), 0);
	ck_assert_int_eq(try_recv(), 2);
	ck_assert_int_eq(try_recv(), -1);
	settle();
	expect_notes("sent1:canceled sent2");
	drop_chan();
}

VIRTUAL_TEST(an_item_that_was_taken_is_sent_though_the_sender_is_canceled_then)
{
	open_chan(0);
	bide_task *sender = start_send(1);
	ck_assert_int_eq(try_recv(), 1);
	cancel(sender);
	settle();
	expect_notes("sent1");
	drop_chan();
}

ORDERED_TEST(a_receiver_that_got_an_item_keeps_it_and_one_that_left_gets_none)
{
	open_chan((size_t)_i);
	bide_task *a = start_recv("a"), *b = start_recv("b");
	start_recv("c");
	cancel(a);
	must(try_send(1) == 0);
	cancel(b);
	must(try_send(2) == 0);
	settle();
	expect_notes("a:canceled b1 c2");
	drop_chan();
}

static void *push_two(void *arg)
{
	int one = 1, two = 2;
	must(bide_chan_send(chan, &one) == 0);
	ck_fails(bide_chan_send(chan, &two), ECANCELED);
	return arg;
}

/* scenario G8 */
VIRTUAL_TEST(after_the_cancel_of_the_only_sender_the_next_receiver_waits)
{
	int item = 0;
	open_chan(0);
	bide_task *sender = must_spawn(push_two, "x");
	must(bide_chan_recv(chan, &item) == 0 && item == 1);
	must(bide_yield() == 0);
	must(bide_yield() == 0);
	cancel(sender);
	start_recv("a");
	expect_notes("");
	must(try_send(3) == 0);
	settle();
	expect_notes("a3");
	must_end_well(sender);
	drop_chan();
}

VIRTUAL_TEST(with_a_cancel_pending_nothing_is_sent_or_taken)
{
	int item = 5;
	open_chan(2);
	must(try_send(1) == 0);
	cancel(bide_self());
	ck_fails(bide_chan_send(chan, &item), ECANCELED);
	ck_fails(bide_chan_recv(chan, &item), ECANCELED);
	ck_assert_int_eq(item, 5);
	ck_assert_uint_eq(bide_chan_len(chan), 1);
	ck_assert_int_eq(bide_chan_close(chan, 0), 0); /* semantics 51 */
	ck_assert_int_eq(bide_uncancel(), 0);
	ck_assert_int_eq(try_recv(), 1);
	drop_chan();
}

static void *recv_for_a_second(void *arg)
{
	bide_scope scope = { { 0 } };
	must(bide_scope_enter(&scope, bide_after(BIDE_SEC), 0) == 0);
	recv_and_note(arg);
	must(bide_scope_leave(&scope) < 0);
	return NULL;
}

VIRTUAL_TEST(a_deadline_ends_the_wait)
{
	open_chan(0);
	must_spawn(recv_for_a_second, "a");
	pass(2 * BIDE_SEC);
	expect_notes("a:late");
	ck_assert_int_eq(try_send(1), -1);
	drop_chan();
}

/* ---- closing: semantics 154, 155; scenario G4 ------------------------------------------------------------------ */

ORDERED_TEST(after_a_close_what_is_buffered_is_still_received)
{
	int item = 9;
	open_chan(2);
	for (int i = 1; i <= 4; i++)
		start_send(i);
	ck_assert(!bide_chan_is_closed(chan));
	ck_assert_int_eq(bide_chan_close(chan, 0), 0);
	ck_assert(bide_chan_is_closed(chan));
	settle();
	expect_notes("sent1 sent2 sent3:closed sent4:closed");
	ck_fails(bide_chan_send(chan, &item), EPIPE);
	ck_fails(bide_chan_trysend(chan, &item), EPIPE);
	ck_assert_int_eq(bide_chan_close(chan, 0), 0);
	ck_assert_int_eq(bide_chan_close(chan, BIDE_DISCARD), 0); /* does nothing */
	ck_assert_int_eq(try_recv(), 1);
	ck_assert_int_eq(bide_chan_recv(chan, &item), 0);
	ck_assert_int_eq(item, 2);
	ck_fails(bide_chan_recv(chan, &item), EPIPE);
	ck_fails(bide_chan_tryrecv(chan, &item), EPIPE);
	ck_assert_int_eq(item, 2);
	drop_chan();
}

ORDERED_TEST(a_close_wakes_receivers_and_one_that_was_promised_an_item_gets_it)
{
	open_chan((size_t)_i);
	start_recv("a");
	start_recv("b");
	start_recv("c");
	must(try_send(1) == 0);
	must(bide_chan_close(chan, 0) == 0);
	settle();
	expect_notes("a1 b:closed c:closed");
	drop_chan();
}

static int dropped, dropped_sum;

static void count_drop(void *item)
{
	dropped++;
	dropped_sum += *(int *)item;
}

static void open_with_drop(size_t capacity)
{
	dropped = dropped_sum = 0;
	chan = bide_chan_new(sizeof(int), capacity, flags, count_drop);
	must(chan);
}

/* semantics 155 */
ORDERED_TEST(a_close_with_discard_drops_each_buffered_item_once)
{
	open_with_drop(3);
	must(try_send(8) == 0 && try_recv() == 8); /* the items go over the buffer's end */
	for (int i = 1; i <= 5; i++)
		start_send(i);
	ck_assert_int_eq(bide_chan_close(chan, BIDE_DISCARD), 0);
	ck_assert_int_eq(dropped, 3);
	ck_assert_int_eq(dropped_sum, 1 + 2 + 3);
	ck_assert_uint_eq(bide_chan_len(chan), 0);
	settle();
	expect_notes("sent1 sent2 sent3 sent4:closed sent5:closed"); /* those are theirs still */
	ck_assert_int_eq(try_recv(), -1);
	ck_assert_int_eq(errno, EPIPE);
	ck_assert_int_eq(bide_chan_close(chan, BIDE_DISCARD), 0);
	drop_chan();
	ck_assert_int_eq(dropped, 3);
}

VIRTUAL_TEST(the_last_unref_drops_what_is_buffered_and_tells_who_waits)
{
	open_with_drop(2);
	ck_assert_ptr_eq(bide_chan_ref(chan), chan);
	must(try_send(1) == 0 && try_send(2) == 0);
	start_send(3);
	bide_chan_unref(chan);
	ck_assert_int_eq(dropped, 0);
	ck_assert(!bide_chan_is_closed(chan));
	ck_assert_int_eq(try_recv(), 1);
	settle();
	start_send(4);
	forget_notes();
	drop_chan();
	ck_assert_int_eq(dropped, 2);
	ck_assert_int_eq(dropped_sum, 2 + 3);
	settle();
	expect_notes("sent4:closed");

	open_with_drop(0);
	start_recv("a");
	drop_chan();
	settle();
	expect_notes("sent4:closed a:closed");
	ck_assert_int_eq(dropped, 0);
}

/* What is left after a plain close, too. */
VIRTUAL_TEST(the_last_unref_after_a_close_drops_what_nobody_received)
{
	open_with_drop(2);
	must(try_send(1) == 0 && try_send(2) == 0);
	must(bide_chan_close(chan, 0) == 0);
	ck_assert_int_eq(try_recv(), 1);
	ck_assert_int_eq(dropped, 0);
	drop_chan();
	ck_assert_int_eq(dropped, 1);
	ck_assert_int_eq(dropped_sum, 2);
}

static void look_at_the_channel(void *item)
{
	int other = -1;
	count_drop(item);
	ck_fails(bide_chan_trysend(chan, &other), EPIPE);
	must(bide_chan_close(chan, BIDE_DISCARD) == 0);
	if (*(int *)item == 1)
		must(bide_chan_tryrecv(chan, &other) == 0 && other == 2); /* the next one, not this one */
}

VIRTUAL_TEST(a_drop_may_call_the_channel)
{
	dropped = dropped_sum = 0;
	chan = bide_chan_new(sizeof(int), 3, flags, look_at_the_channel);
	must(chan && try_send(1) == 0 && try_send(2) == 0 && try_send(3) == 0);
	ck_assert_int_eq(bide_chan_close(chan, BIDE_DISCARD), 0);
	ck_assert_int_eq(dropped, 2);
	ck_assert_int_eq(dropped_sum, 1 + 3);
	drop_chan();
}

/* A woken waiter does not look at the channel again: it may be gone. */
ORDERED_TEST(a_waiter_that_was_served_or_canceled_outlives_the_channel)
{
	open_chan(0);
	start_recv("a");
	bide_task *b = start_recv("b");
	must(try_send(1) == 0);
	cancel(b);
	drop_chan();
	settle();
	expect_notes("a1 b:canceled");
}

/* ---- sizes ------------------------------------------------------------------------------------------------------------ */

VIRTUAL_TEST(an_item_of_no_size_is_a_signal)
{
	chan = bide_chan_new(0, 2, flags, NULL);
	must(chan);
	ck_assert_int_eq(bide_chan_send(chan, NULL), 0);
	ck_assert_int_eq(bide_chan_trysend(chan, NULL), 0);
	ck_fails(bide_chan_trysend(chan, NULL), EAGAIN);
	ck_assert_uint_eq(bide_chan_len(chan), 2);
	ck_assert_int_eq(bide_chan_recv(chan, NULL), 0);
	ck_assert_int_eq(bide_chan_tryrecv(chan, NULL), 0);
	ck_fails(bide_chan_tryrecv(chan, NULL), EAGAIN);
	drop_chan();
	chan = bide_chan_new(0, SIZE_MAX, flags, NULL); /* that takes no memory */
	must(chan);
	for (int i = 0; i < 1000; i++)
		must(bide_chan_trysend(chan, NULL) == 0);
	ck_assert_uint_eq(bide_chan_len(chan), 1000);
	drop_chan();
}

struct large {
	unsigned char bytes[10001];
};

static void must_be(const struct large *item, int value)
{
	for (size_t i = 0; i < sizeof item->bytes; i++)
		must(item->bytes[i] == (unsigned char)(value + (int)i));
}

static struct large large(int value)
{
	struct large item;
	for (size_t i = 0; i < sizeof item.bytes; i++)
		item.bytes[i] = (unsigned char)(value + (int)i);
	return item;
}

static struct large from_below;

static void *send_large(void *arg)
{
	static struct large item;
	item = large(9);
	must(bide_chan_send(chan, &item) == 0);
	return arg;
}

VIRTUAL_TEST(large_items_are_copied_whole)
{
	static struct large item;
	chan = bide_chan_new(sizeof item, (size_t)_i, flags, NULL);
	must(chan);
	for (int i = 0; i < _i; i++) {
		item = large(i);
		must(bide_chan_trysend(chan, &item) == 0);
	}
	bide_task *sender = must_spawn(send_large, NULL);
	settle();
	for (int i = 0; i < _i; i++) {
		must(bide_chan_recv(chan, &from_below) == 0);
		must_be(&from_below, i);
	}
	must(bide_chan_recv(chan, &from_below) == 0);
	must_be(&from_below, 9);
	must_end_well(sender);
	drop_chan();
}

static void want_alignment(void *item)
{
	must((uintptr_t)item % _Alignof(max_align_t) == 0);
	dropped++;
}

/* drop() is shown an item where it lies: its type must be allowed to be there. */
VIRTUAL_TEST(items_are_aligned_as_an_array_of_them_would_be)
{
	union { max_align_t align; char bytes[1]; } item;
	memset(&item, 0, sizeof item);
	dropped = 0;
	chan = bide_chan_new(sizeof item, 2, flags, want_alignment);
	must(chan && bide_chan_trysend(chan, &item) == 0 && bide_chan_trysend(chan, &item) == 0);
	drop_chan();
	ck_assert_int_eq(dropped, 2);
}

static const struct {
	size_t item_size, capacity;
	unsigned flags;
	int err;
} makes[] = { { 1, 1, 1, EINVAL }, { 1, 1, 0x80000000u, EINVAL }, { SIZE_MAX, 2, 0, EINVAL }, { 2, SIZE_MAX, 0, EINVAL },
	{ SIZE_MAX / 4, 8, 0, EINVAL }, { SIZE_MAX / 2 + 1, 2, 0, EINVAL }, { SIZE_MAX, 1, 0, EINVAL },
	{ SIZE_MAX / 4, 1, 0, ENOMEM }, { SIZE_MAX, 0, 0, 0 }, { 0, 0, 0, 0 }, { 1, 0, 0, 0 } };

VIRTUAL_TEST(sizes_are_checked)
{
	if (makes[_i].err) {
		ck_fails_null(bide_chan_new(makes[_i].item_size, makes[_i].capacity, makes[_i].flags, NULL), makes[_i].err);
		return;
	}
	chan = bide_chan_new(makes[_i].item_size, makes[_i].capacity, 0, NULL);
	ck_assert_ptr_nonnull(chan);
	drop_chan();
}

/* A call lets others run now and then, before it looks. */
static void *drop_the_last_reference(void *arg)
{
	bide_chan_unref(chan);
	return arg;
}

VIRTUAL_TEST(a_channel_whose_last_reference_goes_while_a_call_lets_others_run_is_closed)
{
	int item = 1;
	open_chan(1);
	must_spawn(drop_the_last_reference, NULL);
	for (int calls = 0; calls < 50; calls++) {
		loop_current->budget = 1;
		if ((_i ? bide_chan_send(chan, &item) : bide_chan_recv(chan, &item)) == 0)
			continue;
		ck_assert_int_eq(errno, EPIPE);
		break;
	}
	chan = NULL;
}

/* ---- memory ------------------------------------------------------------------------------------------------------------ */

static struct counting counting;

static void *without_memory(void *arg)
{
	must(bide_fault("malloc:ENOMEM@1") == 0);
	ck_fails_null(bide_chan_new(4, 4, 0, NULL), ENOMEM);
	must(bide_fault(NULL) == 0);
	counting.fail_at = counting.allocs + 1;
	ck_fails_null(bide_chan_new(4, 4, 0, NULL), ENOMEM);
	open_chan(1); /* and now it works, and waiting takes no memory */
	bide_task *sender = must_spawn(send_and_note, (void *)(intptr_t)2);
	must(try_send(1) == 0);
	settle();
	size_t blocks = counting.blocks, allocs = counting.allocs;
	settle();
	ck_assert_int_eq(try_recv(), 1);
	settle();
	ck_assert_int_eq(try_recv(), 2);
	ck_assert_uint_le(counting.blocks, blocks);
	ck_assert_uint_eq(counting.allocs, allocs);
	must_join(sender);
	drop_chan();
	return arg;
}

START_TEST(only_making_one_takes_memory_and_all_is_given_back)
{
	counting_init(&counting, false);
	run_counted(&counting, BIDE_VIRTUAL_CLOCK, without_memory, NULL);
}
END_TEST

/* ---- misuse -------------------------------------------------------------------------------------------------------------- */

static int callback_item;
static int call_send(void) { return bide_chan_send(chan, &callback_item); }
static int call_recv(void) { return bide_chan_recv(chan, &callback_item); }
static int call_trysend(void) { return bide_chan_trysend(chan, &callback_item); }
static int call_tryrecv(void) { return bide_chan_tryrecv(chan, &callback_item); }
static int call_close(void) { return bide_chan_close(chan, 0); }
static int call_ref(void) { return bide_chan_ref(chan) ? 0 : -1; }
static int call_unref(void) { errno = 0; bide_chan_unref(chan); return errno ? -1 : 0; }
static int call_new(void) { return bide_chan_new(1, 1, 0, NULL) ? 0 : -1; }

VIRTUAL_TEST(callbacks_may_send_and_receive_without_waiting)
{
	open_chan(1);
	ck_assert_int_eq(errno_in_callback(call_send), EPERM);
	ck_assert_int_eq(errno_in_callback(call_recv), EPERM);
	start_recv("a");
	callback_item = 3;
	ck_assert_int_eq(errno_in_callback(call_trysend), 0);
	settle();
	expect_notes("a3");
	ck_assert_int_eq(errno_in_callback(call_tryrecv), EAGAIN);
	ck_assert_int_eq(errno_in_callback(call_trysend), 0);
	ck_assert_int_eq(errno_in_callback(call_trysend), EAGAIN);
	start_send(4);
	callback_item = 0;
	ck_assert_int_eq(errno_in_callback(call_tryrecv), 0);
	ck_assert_int_eq(callback_item, 3);
	settle();
	expect_notes("a3 sent4");
	ck_assert_int_eq(errno_in_callback(call_close), 0);
	ck_assert_int_eq(errno_in_callback(call_trysend), EPIPE);
	ck_assert_int_eq(errno_in_callback(call_ref), 0);
	ck_assert_int_eq(errno_in_callback(call_unref), 0);
	drop_chan();
}

VIRTUAL_TEST(misuse_fails_and_changes_nothing)
{
	int item = 0;
	open_chan(1);
	ck_fails(bide_chan_send(NULL, &item), EINVAL);
	ck_fails(bide_chan_recv(NULL, &item), EINVAL);
	ck_fails(bide_chan_trysend(NULL, &item), EINVAL);
	ck_fails(bide_chan_tryrecv(NULL, &item), EINVAL);
	ck_fails(bide_chan_send(chan, NULL), EINVAL);
	ck_fails(bide_chan_recv(chan, NULL), EINVAL);
	ck_fails(bide_chan_trysend(chan, NULL), EINVAL);
	ck_fails(bide_chan_tryrecv(chan, NULL), EINVAL);
	ck_fails(bide_chan_close(NULL, 0), EINVAL);
	ck_fails(bide_chan_close(chan, 2), EINVAL);
	ck_fails_null(bide_chan_ref(NULL), EINVAL);
	bide_chan_unref(NULL);
	ck_assert(!bide_chan_is_closed(NULL));
	ck_assert_uint_eq(bide_chan_len(NULL), 0);
	static int (*const calls[])(void) = { call_send, call_recv, call_trysend, call_tryrecv, call_close, call_ref,
		call_unref };
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		ck_assert_int_eq(errno_on_plain_thread(calls[i]), EPERM);
		ck_assert_int_eq(errno_in_other_loop(calls[i]), EPERM);
	}
	ck_assert_int_eq(errno_on_plain_thread(call_new), EPERM);
	ck_assert(!bide_chan_is_closed(chan));
	ck_assert_uint_eq(bide_chan_len(chan), 0);
	drop_chan();
}

static struct reports reports;

static void *recv_for_ever(void *arg)
{
	int item;
	open_chan(0);
	ck_fails(bide_chan_recv(chan, &item), EDEADLK);
	drop_chan();
	return arg;
}

START_TEST(a_receiver_that_nobody_will_send_to_is_told)
{
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	ck_fails(bide_run(recv_for_ever, NULL, &config, NULL), EDEADLK);
	ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_DEADLOCK], "\"main\" waits for channel 0x"));
}
END_TEST

/* Of either kind. */
#define OF_ALL_CHANNELS \
	TEST(a_send_without_a_buffer_returns_when_the_item_was_taken), \
	TEST(a_buffer_takes_as_many_items_as_it_has_room_for), \
	LOOP(items_senders_and_receivers_are_served_in_order, 0, 3), \
	TEST(a_buffer_goes_round_and_round), \
	LOOP(the_order_of_waking_is_the_order_of_waiting, 0, 4), \
	LOOP(the_try_forms_do_not_wait, 0, 3), \
	LOOP(the_item_of_a_canceled_sender_is_never_seen, 0, 2), \
	TEST(an_item_that_was_taken_is_sent_though_the_sender_is_canceled_then), \
	LOOP(a_receiver_that_got_an_item_keeps_it_and_one_that_left_gets_none, 0, 2), \
	TEST(after_the_cancel_of_the_only_sender_the_next_receiver_waits), \
	TEST(with_a_cancel_pending_nothing_is_sent_or_taken), \
	TEST(a_deadline_ends_the_wait), \
	TEST(after_a_close_what_is_buffered_is_still_received), \
	LOOP(a_close_wakes_receivers_and_one_that_was_promised_an_item_gets_it, 0, 2), \
	TEST(a_close_with_discard_drops_each_buffered_item_once), \
	TEST(the_last_unref_drops_what_is_buffered_and_tells_who_waits), \
	TEST(the_last_unref_after_a_close_drops_what_nobody_received), \
	TEST(a_drop_may_call_the_channel), \
	TEST(a_waiter_that_was_served_or_canceled_outlives_the_channel), \
	TEST(an_item_of_no_size_is_a_signal), \
	LOOP(large_items_are_copied_whole, 0, 4), \
	TEST(items_are_aligned_as_an_array_of_them_would_be), \
	TEST(callbacks_may_send_and_receive_without_waiting)

int main(void)
{
	int failed = SUITE("chan", OF_ALL_CHANNELS,
	    LOOP(a_channel_whose_last_reference_goes_while_a_call_lets_others_run_is_closed, 0, 2),
	    TABLE(sizes_are_checked, makes),
	    TEST(only_making_one_takes_memory_and_all_is_given_back),
	    TEST(misuse_fails_and_changes_nothing),
	    TEST(a_receiver_that_nobody_will_send_to_is_told));
	flags = BIDE_CHAN_SHARED;
	return SUITE("chan, shared", OF_ALL_CHANNELS) | failed;
}
