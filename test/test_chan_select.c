/* SPDX-License-Identifier: MIT
 * Channels in bide_select(): bide/combine.h. */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "elsewhere.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

static void cancel(bide_task *task)
{
	must_msg(bide_cancel(task, NULL) == 0, "bide_cancel: %s", strerror(errno));
}

static bide_chan *a, *b;
static int item_a, item_b;

static void open_both(size_t capacity)
{
	a = bide_chan_new(sizeof(int), capacity, 0, NULL);
	b = bide_chan_new(sizeof(int), capacity, 0, NULL);
	must(a && b);
	item_a = item_b = -1;
}

static void drop_both(void)
{
	bide_chan_unref(a);
	bide_chan_unref(b);
}

#define RECV(from, to) { .op = BIDE_CASE_RECV, .chan = (from), .item = (to) }
#define SEND(into, from) { .op = BIDE_CASE_SEND, .chan = (into), .item = (from) }

static void put(bide_chan *chan, int item)
{
	must_msg(bide_chan_trysend(chan, &item) == 0, "trysend: %s", strerror(errno));
}

static int get(bide_chan *chan)
{
	int item;
	return bide_chan_tryrecv(chan, &item) == 0 ? item : -1;
}

/* ---- without waiting --------------------------------------------------------------------------------------- */

VIRTUAL_TEST(exactly_one_of_the_cases_that_can_takes_effect)
{
	int times[3] = { 0 };
	open_both(1);
	for (int i = 0; i < 300; i++) {
		int sent = 7;
		bide_case cases[] = { RECV(a, &item_a), RECV(b, &item_b), SEND(b, &sent) };
		item_a = item_b = -1;
		put(a, 1);
		if (i % 2)
			put(b, 2);
		int index = bide_select(cases, 3, 0);
		must(index == 0 || index == (i % 2 ? 1 : 2));
		must(cases[index].err == 0);
		times[index]++;
		must(item_a == (index == 0 ? 1 : -1) && item_b == (index == 1 ? 2 : -1));
		must(get(a) == (index == 0 ? -1 : 1));
		must(get(b) == (index == 2 ? 7 : index == 0 && i % 2 ? 2 : -1));
	}
	for (int i = 0; i < 3; i++)
		ck_assert_int_gt(times[i], 30);
	drop_both();
}

VIRTUAL_TEST(biased_takes_the_first_that_can)
{
	open_both(1);
	put(a, 1);
	put(b, 2);
	for (int i = 0; i < 20; i++) {
		bide_case cases[] = { { .op = BIDE_CASE_NONE }, RECV(b, &item_b), RECV(a, &item_a) };
		ck_assert_int_eq(bide_select(cases, 3, BIDE_BIASED), 1);
		put(b, 2);
	}
	ck_assert_int_eq(item_a, -1);
	drop_both();
}

VIRTUAL_TEST(try_takes_what_can_be_had_and_queues_nothing)
{
	open_both(0);
	bide_case cases[] = { RECV(a, &item_a), SEND(b, &item_b) };
	ck_fails(bide_select(cases, 2, BIDE_TRY), EAGAIN);
	int item = 1;
	ck_fails(bide_chan_trysend(a, &item), EAGAIN); /* no receiver is left behind */
	ck_fails(bide_chan_tryrecv(b, &item), EAGAIN);
	drop_both();
}

/* ---- waiting ------------------------------------------------------------------------------------------------- */

static int selected;

static void *select_both(void *arg)
{
	int sent = 42;
	bide_case cases[] = { RECV(a, &item_a), SEND(b, &sent) };
	selected = bide_select(cases, 2, 0);
	note("%s%d", (char *)arg, selected);
	if (selected >= 0 && cases[selected].err)
		note("closed:%d", cases[selected].err == EPIPE);
	if (selected < 0)
		must(errno == ECANCELED || errno == ETIMEDOUT);
	return NULL;
}

/* By the other side's send, receive, close, or its leaving: each leaves the other line. */
VIRTUAL_TEST(a_parked_selector_is_served_by_one_channel_and_leaves_the_other)
{
	open_both(0);
	bide_task *task = must_spawn(select_both, "s");
	settle();
	int item = 5;
	switch (_i) {
	case 0:
		put(a, 5);
		break;
	case 1:
		must(get(b) == 42);
		break;
	case 2:
		must(bide_chan_close(a, 0) == 0);
		break;
	case 3:
		must(bide_chan_close(b, 0) == 0);
		break;
	default:
		cancel(task);
	}
	/* It is out of both, at once: before it has run. */
	if (_i != 3)
		ck_assert_int_eq(get(b), -1);
	if (_i != 2)
		ck_fails(bide_chan_trysend(a, &item), EAGAIN);
	must_join(task);
	static const char *const expected[] = { "s0", "s1", "s0 closed:1", "s1 closed:1", "s-1" };
	expect_notes(expected[_i]);
	ck_assert_int_eq(item_a, _i == 0 ? 5 : -1);
	drop_both();
}

/* semantics 137 for select: what was done counts, and the cancel is pending. */
VIRTUAL_TEST(a_selector_that_was_served_and_is_canceled_then_keeps_what_it_did)
{
	open_both(0);
	bide_task *task = must_spawn(select_both, "s");
	settle();
	if (_i == 0)
		put(a, 5);
	else
		must(get(b) == 42);
	cancel(task);
	must_join(task);
	expect_notes(_i == 0 ? "s0" : "s1");
	ck_assert_int_eq(item_a, _i == 0 ? 5 : -1);
	drop_both();
}

VIRTUAL_TEST(with_a_cancel_pending_select_does_nothing)
{
	open_both(1);
	put(a, 1);
	bide_case cases[] = { RECV(a, &item_a), SEND(b, &item_b) };
	cancel(bide_self());
	ck_fails(bide_select(cases, 2, 0), ECANCELED);
	ck_assert_int_eq(bide_uncancel(), 0);
	ck_assert_int_eq(get(a), 1);
	ck_assert_int_eq(get(b), -1);
	drop_both();
}

static void *select_with_a_moment(void *arg)
{
	bide_case cases[] = { RECV(a, &item_a), { .op = BIDE_CASE_TIME, .deadline = bide_after(BIDE_SEC) } };
	int index = bide_select(cases, 2, 0);
	note("%d@%d", index, (int)(bide_now() / BIDE_SEC));
	return arg;
}

VIRTUAL_TEST(a_moment_that_comes_ends_the_wait_at_the_channel)
{
	open_both(0);
	bide_task *task = must_spawn(select_with_a_moment, NULL);
	pass(_i == 0 ? 2 * BIDE_SEC : BIDE_SEC / 2);
	if (_i == 0)
		ck_fails(bide_chan_trysend(a, &item_b), EAGAIN);
	else
		put(a, 3);
	must_join(task);
	expect_notes(_i == 0 ? "1@1" : "0@0");
	drop_both();
}

/* ---- both ends of one channel -------------------------------------------------------------------------------------- */

static void *both_ends(void *arg)
{
	int sent = (int)(intptr_t)arg, got = -1;
	bide_case cases[] = { SEND(a, &sent), RECV(a, &got) };
	int index = bide_select(cases, 2, 0);
	note("%d:%d:%d", sent, index, got);
	return NULL;
}

VIRTUAL_TEST(a_selector_with_both_ends_of_a_channel_does_not_serve_itself)
{
	open_both(0);
	must_spawn(both_ends, (void *)1);
	settle();
	expect_notes("");
	if (_i == 0)
		put(a, 9);
	else if (_i == 1)
		ck_assert_int_eq(get(a), 1);
	else
		must_spawn(both_ends, (void *)2); /* the two meet */
	settle();
	if (_i == 2)
		ck_assert_msg(!strcmp(notes(), "2:1:1 1:0:-1") || !strcmp(notes(), "2:0:-1 1:1:2"), "%s", notes());
	else
		expect_notes(_i == 0 ? "1:1:9" : "1:0:-1");
	ck_assert_int_eq(get(a), -1);
	int item = 0;
	ck_fails(bide_chan_trysend(a, &item), EAGAIN);
	drop_both();
}

/* ---- many -------------------------------------------------------------------------------------------------------------- */

ORDERED_TEST(many_selectors_on_one_channel_are_served_in_order)
{
	bide_task *tasks[5];
	static char *names[] = { "p", "q", "r", "s", "t" };
	open_both(0);
	for (int i = 0; i < 5; i++)
		tasks[i] = must_spawn(select_both, names[i]);
	settle();
	cancel(tasks[1]);
	put(a, 1);
	must(get(b) == 42); /* r's */
	put(a, 2);
	must(bide_chan_close(a, 0) == 0);
	settle();
	expect_notes("q-1 p0 r1 s0 t0 closed:1");
	drop_both();
}

static void *select_twice(void *arg)
{
	int first = -1, second = -1;
	bide_case cases[] = { RECV(a, &first), RECV(a, &second) };
	int index = bide_select(cases, 2, 0);
	note("%d:%d", index, index == 0 ? first : second);
	must((index == 0 ? second : first) == -1);
	return arg;
}

VIRTUAL_TEST(one_channel_twice_in_a_select_takes_one_item)
{
	open_both(0);
	must_spawn(select_twice, NULL);
	settle();
	put(a, 4);
	int item = 5;
	ck_fails(bide_chan_trysend(a, &item), EAGAIN);
	settle();
	expect_notes("0:4");
	drop_both();
}

#define MANY 20

static bide_chan *many[MANY];

static void *select_many(void *arg)
{
	bide_case cases[MANY] = { { .op = BIDE_CASE_NONE } };
	int items[MANY];
	for (int i = 0; i < MANY; i++)
		cases[i] = (bide_case)RECV(many[i], &items[i]);
	int index = bide_select(cases, MANY, 0);
	note("%d", index < 0 ? -errno : items[index]);
	return arg;
}

static struct counting counting;

static void *twenty_channels(void *arg)
{
	for (int i = 0; i < MANY; i++)
		must((many[i] = bide_chan_new(sizeof(int), 0, 0, NULL)) != NULL);
	bide_task *task = must_spawn(select_many, NULL);
	settle();
	put(many[13], 113);
	must_join(task);
	expect_notes("113");
	forget_notes();
	char expected[20];
	snprintf(expected, sizeof expected, "%d", -ENOMEM);
	task = must_spawn(select_many, NULL);
	must(bide_fault("malloc:ENOMEM") == 0);
	must_join(task);
	must(bide_fault(NULL) == 0);
	expect_notes(expected);
	for (int i = 0; i < MANY; i++) {
		int item = 0;
		ck_fails(bide_chan_trysend(many[i], &item), EAGAIN);
		bide_chan_unref(many[i]);
	}
	return arg;
}

START_TEST(more_than_eight_cases_need_memory_and_give_it_back)
{
	counting_init(&counting, false);
	run_counted(&counting, BIDE_VIRTUAL_CLOCK, twenty_channels, NULL);
}
END_TEST

/* ---- beside a descriptor -------------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(a_descriptor_that_is_always_ready_beside_a_channel_before_and_behind)
{
	/* A regular file cannot be watched: the cases behind it are not queued any more. */
	char path[] = "/tmp/bide-select-XXXXXX";
	int fd = mkstemp(path);
	must(fd >= 0 && unlink(path) == 0);
	open_both(0);
	for (int i = 0; i < 20; i++) {
		bide_case cases[] = { RECV(a, &item_a), { .op = BIDE_CASE_FD, .fd = fd, .events = POLLIN }, RECV(b, &item_b),
			RECV(b, &item_b) };
		ck_assert_int_eq(bide_select(cases, 4, 0), 1);
		ck_assert_int_ne(cases[1].revents & POLLIN, 0);
		int item = 0;
		ck_fails(bide_chan_trysend(a, &item), EAGAIN);
		ck_fails(bide_chan_trysend(b, &item), EAGAIN);
	}
	must(bide_close(fd) == 0);
	drop_both();
}

static int pipe_fds[2];

static void *select_pipe_and_channel(void *arg)
{
	bide_case cases[] = { { .op = BIDE_CASE_FD, .fd = pipe_fds[0], .events = POLLIN }, RECV(a, &item_a) };
	note("%d", bide_select(cases, 2, 0));
	return arg;
}

VIRTUAL_TEST(a_pipe_and_a_channel_whichever_comes_first)
{
	must(pipe(pipe_fds) == 0);
	open_both(0);
	bide_task *task = must_spawn(select_pipe_and_channel, NULL);
	settle();
	if (_i == 0) {
		must(write(pipe_fds[1], "x", 1) == 1);
		must(bide_fd_wait(pipe_fds[0], POLLIN) == POLLIN); /* the loop has looked */
	} else {
		put(a, 3);
		must(write(pipe_fds[1], "x", 1) == 1);
	}
	must_join(task);
	expect_notes(_i == 0 ? "0" : "1");
	int item = 0;
	ck_fails(bide_chan_trysend(a, &item), EAGAIN);
	must(bide_close(pipe_fds[0]) == 0 && bide_close(pipe_fds[1]) == 0);
	drop_both();
}

/* ---- misuse ------------------------------------------------------------------------------------------------------------------ */

static int call_select(void)
{
	bide_case cases[] = { RECV(a, &item_a) };
	return bide_select(cases, 1, BIDE_TRY);
}

VIRTUAL_TEST(misuse_fails_before_anything_is_done)
{
	open_both(1);
	put(a, 1);
	bide_case no_chan[] = { RECV(a, &item_a), RECV(NULL, &item_b) };
	ck_fails(bide_select(no_chan, 2, 0), EINVAL);
	bide_case no_item[] = { RECV(a, &item_a), RECV(b, NULL) };
	ck_fails(bide_select(no_item, 2, 0), EINVAL);
	bide_case nothing_to_send[] = { RECV(a, &item_a), SEND(b, NULL) };
	ck_fails(bide_select(nothing_to_send, 2, 0), EINVAL);
	ck_assert_int_eq(errno_in_other_loop(call_select), EPERM);
	ck_assert_int_eq(errno_on_plain_thread(call_select), EPERM);
	ck_assert_int_eq(item_a, -1);
	ck_assert_int_eq(get(a), 1);
	drop_both();
	a = bide_chan_new(0, 1, 0, NULL);
	must(a);
	bide_case signal[] = { SEND(a, NULL) };
	ck_assert_int_eq(bide_select(signal, 1, 0), 0);
	ck_assert_uint_eq(bide_chan_len(a), 1);
	bide_chan_unref(a);
}

VIRTUAL_TEST(a_closed_channel_is_ready_with_epipe)
{
	open_both(1);
	put(a, 1);
	must(bide_chan_close(a, 0) == 0);
	for (int i = 0; i < 2; i++) {
		bide_case cases[] = { RECV(a, &item_a) };
		ck_assert_int_eq(bide_select(cases, 1, 0), 0);
		ck_assert_int_eq(cases[0].err, i ? EPIPE : 0); /* what was buffered comes first */
		ck_assert_int_eq(item_a, 1);
	}
	bide_case cases[] = { SEND(a, &item_b), { .op = BIDE_CASE_NONE } };
	ck_assert_int_eq(bide_select(cases, 2, BIDE_TRY), 0);
	ck_assert_int_eq(cases[0].err, EPIPE);
	drop_both();
}

VIRTUAL_TEST(the_last_unref_wakes_a_selector)
{
	open_both(0);
	bide_task *task = must_spawn(select_both, "s");
	settle();
	bide_chan_unref(b);
	must_join(task);
	expect_notes("s1 closed:1");
	bide_chan_unref(a);
}

int main(void)
{
	return SUITE("chan select",
	    TEST(exactly_one_of_the_cases_that_can_takes_effect),
	    TEST(biased_takes_the_first_that_can),
	    TEST(try_takes_what_can_be_had_and_queues_nothing),
	    LOOP(a_parked_selector_is_served_by_one_channel_and_leaves_the_other, 0, 5),
	    LOOP(a_selector_that_was_served_and_is_canceled_then_keeps_what_it_did, 0, 2),
	    TEST(with_a_cancel_pending_select_does_nothing),
	    LOOP(a_moment_that_comes_ends_the_wait_at_the_channel, 0, 2),
	    LOOP(a_selector_with_both_ends_of_a_channel_does_not_serve_itself, 0, 3),
	    TEST(many_selectors_on_one_channel_are_served_in_order),
	    TEST(one_channel_twice_in_a_select_takes_one_item),
	    TEST(more_than_eight_cases_need_memory_and_give_it_back),
	    TEST(a_descriptor_that_is_always_ready_beside_a_channel_before_and_behind),
	    LOOP(a_pipe_and_a_channel_whichever_comes_first, 0, 2),
	    TEST(misuse_fails_before_anything_is_done),
	    TEST(a_closed_channel_is_ready_with_epipe),
	    TEST(the_last_unref_wakes_a_selector));
}
