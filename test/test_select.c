/* SPDX-License-Identifier: MIT
 * bide_select() over futures, descriptors and moments: bide/combine.h. Semantics 119, 120. Channels as cases are
 * the business of test_chan.c, but for the fairness. */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "await/record.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

#define MS BIDE_MSEC
#define MANY 20

static bide_case future_case(bide_future *future)
{
	return (bide_case){ .op = BIDE_CASE_FUTURE, .future = future, .err = 77 };
}

static bide_case time_case(bide_time deadline)
{
	return (bide_case){ .op = BIDE_CASE_TIME, .deadline = deadline, .err = 77 };
}

static bide_case fd_case(int fd, int events)
{
	return (bide_case){ .op = BIDE_CASE_FD, .fd = fd, .events = events, .err = 77, .revents = 77 };
}

static struct future *inside(bide_future *future)
{
	return (struct future *)future;
}

struct select_call {
	bide_case cases[MANY];
	int count;
	unsigned flags;
	int index, err;
};

static void *call_select(void *arg)
{
	struct select_call *call = arg;
	call->index = -2;
	call->index = bide_select(call->cases, call->count, call->flags);
	call->err = errno;
	return NULL;
}

static bide_task *start(struct select_call *call)
{
	bide_task *task = must_spawn(call_select, call);
	for (int i = 0; i < 3; i++)
		must(bide_yield() == 0);
	ck_assert_int_eq(call->index, -2); /* it is parked */
	return task;
}

static void open_pair(int fds[2])
{
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
}

static void close_both(int fds[2])
{
	must(bide_close(fds[0]) == 0 && bide_close(fds[1]) == 0);
}

/* ---- each kind ------------------------------------------------------------------------------------------ */

VIRTUAL_TEST(a_future_fires_with_its_result)
{
	bide_future a = { { 0 } }, b = { { 0 } };
	struct select_call call = { .cases = { future_case(&a), future_case(&b) }, .count = 2 };
	if (_i)
		must(_i == 1 ? bide_future_set(&b, "v") == 0 : bide_future_fail(&b, EIO) == 0);
	bide_task *task = _i ? must_spawn(call_select, &call) : start(&call);
	if (!_i)
		must(bide_future_set(&b, "v") == 0);
	must_end_well(task);
	ck_assert_int_eq(call.index, 1);
	ck_assert_int_eq(call.cases[1].err, 0);
	ck_assert_int_eq(call.cases[1].result.err, _i == 2 ? EIO : 0);
	ck_assert_ptr_eq(call.cases[1].result.value, _i == 2 ? NULL : "v");
	ck_assert(list_is_empty(&inside(&a)->queue));
	must(bide_future_set(&a, "later") == 0);
}

VIRTUAL_TEST(a_moment_fires_when_it_has_come)
{
	bide_future never = { { 0 } };
	bide_case cases[] = { future_case(&never), time_case(20 * MS), time_case(10 * MS), time_case(BIDE_NEVER) };
	ck_assert_int_eq(bide_select(cases, 4, 0), 2);
	ck_assert(bide_now() == 10 * MS);
	ck_assert_uint_eq(loop_current->timers.heap.count, 0);
	ck_assert_int_eq(cases[2].err, 0);
	undisturbed();
	uint64_t turn = loop_current->ready.turn;
	ck_assert_int_eq(bide_select(cases + 2, 2, 0), 0); /* it has passed */
	ck_assert_uint_eq(loop_current->ready.turn, turn);
}

VIRTUAL_TEST(a_descriptor_fires_with_what_is_ready)
{
	int fds[2];
	open_pair(fds);
	struct select_call call = { .cases = { { .op = BIDE_CASE_NONE }, fd_case(fds[0], POLLIN) }, .count = 2 };
	if (_i) {
		must(write(fds[1], "x", 1) == 1);
		call_select(&call);
	} else {
		bide_task *task = start(&call);
		must(write(fds[1], "x", 1) == 1);
		must_end_well(task);
	}
	ck_assert_int_eq(call.index, 1);
	ck_assert_int_eq(call.cases[1].revents, POLLIN);
	ck_assert_int_eq(call.cases[1].err, 0);
	call.cases[1].events = POLLIN | POLLOUT;
	ck_assert_int_eq(bide_select(call.cases, 2, 0), 1);
	ck_assert_int_eq(call.cases[1].revents, POLLIN | POLLOUT);
	close_both(fds);
}

/* Two tasks, each taking one event of the same descriptor, and one that reads it: a wake is only a hint. */
static void *read_one(void *arg)
{
	char byte;
	must(bide_read(*(int *)arg, &byte, 1) == 1);
	return NULL;
}

VIRTUAL_TEST(a_descriptor_that_somebody_else_has_emptied_is_waited_for_again)
{
	int fds[2];
	open_pair(fds);
	struct select_call call = { .cases = { fd_case(fds[0], POLLIN) }, .count = 1 };
	bide_task *reader = must_spawn(read_one, &fds[0]);
	must(bide_yield() == 0);
	bide_task *task = start(&call);
	must(write(fds[1], "x", 1) == 1);
	must_end_well(reader);
	for (int i = 0; i < 3; i++)
		must(bide_yield() == 0);
	ck_assert(call.index == -2 || call.index == 0);
	must(write(fds[1], "x", 1) == 1);
	must_end_well(task);
	ck_assert_int_eq(call.index, 0);
	close_both(fds);
}

VIRTUAL_TEST(the_completion_of_a_task_fires)
{
	bide_time delay = 10 * MS;
	bide_task *task = must_spawn(sleeper, &delay);
	bide_case cases[] = { future_case(bide_task_future(task)), time_case((_i ? 5 : 50) * MS) };
	ck_assert_int_eq(bide_select(cases, 2, 0), _i);
	ck_assert(bide_now() == (_i ? 5 : 10) * MS);
	must_end_well(task);
}

/* ---- exactly one ---------------------------------------------------------------------------------------- */

VIRTUAL_TEST(of_two_futures_set_in_one_turn_only_the_first_is_taken)
{
	bide_future a = { { 0 } }, b = { { 0 } };
	struct select_call call = { .cases = { future_case(&a), future_case(&b) }, .count = 2 };
	bide_task *task = start(&call);
	must(bide_future_set(_i ? &a : &b, "first") == 0);
	must(bide_future_set(_i ? &b : &a, "second") == 0);
	ck_assert(inside(_i ? &a : &b)->is_taken);
	must_end_well(task);
	ck_assert_int_eq(call.index, !_i);
	ck_assert_str_eq(call.cases[call.index].result.value, "first");
	ck_assert(!inside(_i ? &b : &a)->is_taken);
	ck_assert_ptr_null(call.cases[!call.index].result.value);
}

VIRTUAL_TEST(the_same_future_may_stand_in_two_cases)
{
	bide_future a = { { 0 } };
	struct select_call call = { .cases = { future_case(&a), future_case(&a) }, .count = 2 };
	bide_task *task = start(&call);
	if (_i)
		must(bide_future_destroy(&a) == 0);
	else
		must(bide_future_set(&a, "v") == 0);
	must_end_well(task);
	ck_assert(call.index == 0 || call.index == 1);
	ck_assert_int_eq(call.cases[call.index].err, _i ? EPIPE : 0);
	ck_assert_ptr_eq(call.cases[call.index].result.value, _i ? NULL : "v");
}

VIRTUAL_TEST(with_bias_the_first_that_can_fires)
{
	bide_future a = { { 0 } }, b = { { 0 } };
	bide_case cases[] = { { .op = BIDE_CASE_NONE }, future_case(&a), future_case(&b), time_case(0) };
	must(bide_future_set(&b, "b") == 0);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(bide_select(cases, 4, BIDE_BIASED), 2);
	must(bide_future_set(&a, "a") == 0);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(bide_select(cases, 4, BIDE_BIASED | BIDE_TRY), 1);
}

/* semantics 119: over 10,000 rounds each side 40-60 %, by the run's seed */
static int counts[3];

static void *select_often(void *arg)
{
	int fds[2];
	bide_future future = { { 0 } };
	bide_chan *left = bide_chan_new(sizeof(int), 1, 0, NULL), *right = bide_chan_new(sizeof(int), 1, 0, NULL);
	must(left && right);
	open_pair(fds);
	must(bide_future_set(&future, "v") == 0 && write(fds[1], "x", 1) == 1);
	memset(counts, 0, sizeof counts);
	for (int i = 0; i < 10000; i++) {
		int item = 0, one = 1;
		bide_case things[] = { future_case(&future), fd_case(fds[0], POLLIN), time_case(0) };
		bide_case chans[] = { { .op = BIDE_CASE_RECV, .chan = left, .item = &item },
			{ .op = BIDE_CASE_RECV, .chan = right, .item = &item } };
		if (arg) {
			must(bide_chan_trysend(left, &one) == 0 || errno == EAGAIN);
			must(bide_chan_trysend(right, &one) == 0 || errno == EAGAIN);
		}
		int index = arg ? bide_select(chans, 2, 0) : bide_select(things, 3, 0);
		must(index >= 0 && index < 3);
		must(!arg || item == 1);
		/* exactly one item was taken: the other channel is full */
		must(!arg || (bide_chan_trysend(index ? left : right, &one) < 0 && bide_chan_trysend(index ? right : left, &one) == 0));
		counts[index]++;
	}
	close_both(fds);
	bide_chan_unref(left);
	bide_chan_unref(right);
	return NULL;
}

START_TEST(of_several_that_can_fire_each_has_its_share)
{
	static const bool with_chans[] = { false, true };
	for (uint64_t seed = 1; seed <= 3; seed++) {
		bide_config config = BIDE_CONFIG_INIT;
		bide_result result;
		config.seed = seed;
		ck_assert_int_eq(bide_run(select_often, with_chans[_i] ? "x" : NULL, &config, &result), 0);
		int cases = _i ? 2 : 3;
		for (int i = 0; i < cases; i++) {
			ck_assert_int_gt(counts[i], 10000 * 8 / 10 / cases);
			ck_assert_int_lt(counts[i], 10000 * 12 / 10 / cases);
		}
	}
}
END_TEST

/* A future, a descriptor and a moment in the same turn: one fires, and nothing is taken of the others. */
VIRTUAL_TEST(things_that_happen_while_it_is_parked_lose_nothing)
{
	int fds[2], fired[3] = { 0 };
	open_pair(fds);
	for (int round = 0; round < suite_scaled_down(3000, 300); round++) {
		bide_future future = { { 0 } };
		bide_result result;
		char byte;
		struct select_call call = { .cases = { future_case(&future), fd_case(fds[0], POLLIN), time_case(bide_now() + MS) },
			.count = 3 };
		bide_task *task = must_spawn(call_select, &call);
		must(bide_yield() == 0);
		if (round % 3 == 0)
			must(bide_future_set(&future, "v") == 0);
		must(write(fds[1], "x", 1) == 1);
		if (round % 3 == 1)
			loop_current->clock.now += 2 * MS;
		must(bide_yield() == 0);
		if (round % 3 != 0)
			must(bide_future_set(&future, "v") == 0);
		must(bide_join(task, NULL) == 0);
		must(call.index >= 0 && call.index < 3 && call.cases[call.index].err == 0);
		fired[call.index]++;
		must(bide_future_get(&future, &result) == 0 && strcmp(result.value, "v") == 0);
		must(read(fds[0], &byte, 1) == 1); /* select takes no byte */
	}
	ck_assert_int_gt(fired[0], 0);
	close_both(fds);
}

/* ---- try: semantics 120 --------------------------------------------------------------------------------- */

VIRTUAL_TEST(a_try_does_not_wait)
{
	bide_future a = { { 0 } };
	int fds[2];
	open_pair(fds);
	bide_case cases[] = { future_case(&a), time_case(MS), fd_case(fds[0], POLLIN) };
	undisturbed();
	uint64_t turn = loop_current->ready.turn;
	ck_fails(bide_select(cases, 3, BIDE_TRY), EAGAIN);
	ck_fails(bide_select(NULL, 0, BIDE_TRY), EAGAIN);
	ck_assert_uint_eq(loop_current->ready.turn, turn);
	ck_assert(list_is_empty(&inside(&a)->queue));
	must(write(fds[1], "x", 1) == 1);
	ck_assert_int_eq(bide_select(cases, 3, BIDE_TRY), 2);
	close_both(fds);
}

VIRTUAL_TEST(a_closed_channel_fires_with_epipe)
{
	bide_chan *chan = bide_chan_new(sizeof(int), 0, 0, NULL);
	int item = 0;
	bide_case c = { .op = _i ? BIDE_CASE_SEND : BIDE_CASE_RECV, .chan = chan, .item = &item };
	ck_fails(bide_select(&c, 1, BIDE_TRY), EAGAIN);
	must(bide_chan_close(chan, 0) == 0);
	ck_assert_int_eq(bide_select(&c, 1, BIDE_TRY), 0);
	ck_assert_int_eq(c.err, EPIPE);
	bide_chan_unref(chan);
}

/* ---- what goes away meanwhile --------------------------------------------------------------------------- */

VIRTUAL_TEST(a_future_destroyed_meanwhile_fires_with_epipe)
{
	bide_future never = { { 0 } };
	bide_future *heap = calloc(1, sizeof *heap);
	struct select_call call = { .cases = { future_case(&never), future_case(heap) }, .count = 2 };
	bide_task *task = start(&call);
	must(bide_future_destroy(heap) == 0);
	memset(heap, 0xa5, sizeof *heap);
	free(heap);
	must_end_well(task);
	ck_assert_int_eq(call.index, 1);
	ck_assert_int_eq(call.cases[1].err, EPIPE);
	ck_assert(list_is_empty(&inside(&never)->queue));
}

static void *destroy_heap(void *arg)
{
	must(bide_future_destroy(arg) == 0);
	memset(arg, 0xa5, sizeof(bide_future));
	free(arg);
	return NULL;
}

static void destroy_in_a_callback(void *arg)
{
	destroy_heap(arg);
}

/* Woken by something else, with a future gone before it runs: the future's memory is not looked at. */
VIRTUAL_TEST(a_future_destroyed_after_the_wake_is_not_looked_at)
{
	bide_timer timer = { { 0 } };
	int told_of_it = 0;
	for (int round = 0; round < 20; round++) {
		bide_future other = { { 0 } };
		bide_future *heap = calloc(1, sizeof *heap);
		struct select_call call = { .cases = { future_case(heap), time_case(bide_now() + MS), future_case(&other) }, .count = 3 };
		if (_i) /* due in the same batch as the moment, and before it */
			must(bide_call_at(&timer, bide_now() + MS, destroy_in_a_callback, heap) == 0);
		bide_task *task = start(&call);
		if (_i == 0) { /* by another future, which has handed its result over: that counts */
			must(bide_future_set(&other, "v") == 0);
			destroy_heap(heap);
			must_end_well(task);
			ck_assert_int_eq(call.index, 2);
			ck_assert_str_eq(call.cases[2].result.value, "v");
			continue;
		}
		must_end_well(task);
		ck_assert(call.index == 1 || call.index == 0);
		ck_assert_int_eq(call.cases[call.index].err, call.index ? 0 : EPIPE);
		told_of_it += call.index == 0;
	}
	ck_assert(!_i || (told_of_it > 0 && told_of_it < 20)); /* at random */
}

VIRTUAL_TEST(a_descriptor_closed_meanwhile_fires_with_ebadf)
{
	bide_future never = { { 0 } };
	int fds[2];
	open_pair(fds);
	struct select_call call = { .cases = { future_case(&never), fd_case(fds[0], POLLIN) }, .count = 2 };
	bide_task *task = start(&call);
	must(bide_close(fds[0]) == 0);
	int again = dup(fds[1]); /* the number lives on as another file */
	must(again == fds[0]);
	must_end_well(task);
	ck_assert_int_eq(call.index, 1);
	ck_assert_int_eq(call.cases[1].err, EBADF);
	ck_assert_int_eq(call.cases[1].revents, 0);
	ck_assert(list_is_empty(&inside(&never)->queue));
	must(bide_close(again) == 0 && bide_close(fds[1]) == 0);
}

VIRTUAL_TEST(a_regular_file_is_always_ready)
{
	FILE *file = tmpfile();
	must(file);
	bide_case c = fd_case(fileno(file), POLLIN);
	ck_assert_int_eq(bide_select(&c, 1, 0), 0);
	ck_assert_int_eq(c.revents, POLLIN);
	bide_fd_forget(fileno(file));
	fclose(file);
}

/* ---- cancels and deadlines ------------------------------------------------------------------------------ */

VIRTUAL_TEST(a_canceled_select_takes_nothing)
{
	bide_future a = { { 0 } };
	int fds[2];
	open_pair(fds);
	struct select_call call = { .cases = { future_case(&a), fd_case(fds[0], POLLIN) }, .count = 2 };
	bide_task *task = start(&call);
	must(bide_cancel(task, NULL) == 0);
	must(bide_future_set(&a, "v") == 0); /* too late */
	must(write(fds[1], "x", 1) == 1);
	must_join(task);
	ck_assert(call.index == -1 && call.err == ECANCELED);
	ck_assert(!inside(&a)->is_taken && list_is_empty(&inside(&a)->queue));
	ck_assert_uint_eq(loop_current->descriptors.waiting, 0);
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(bide_select(call.cases, 2, 0), ECANCELED);
	ck_fails(bide_select(call.cases, 2, BIDE_TRY), ECANCELED);
	must(bide_uncancel() == 0);
	ck_assert(!inside(&a)->is_taken);
	close_both(fds);
}

VIRTUAL_TEST(a_scope_ends_it)
{
	bide_future never = { { 0 } };
	bide_scope scope;
	bide_case cases[] = { future_case(&never), time_case(BIDE_SEC) };
	must(bide_scope_enter(&scope, bide_after(10 * MS), 0) == 0);
	ck_fails(bide_select(cases, 2, 0), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	ck_assert(list_is_empty(&inside(&never)->queue));
	ck_assert_uint_eq(loop_current->timers.heap.count, 0);
}

/* ---- many cases ----------------------------------------------------------------------------------------- */

VIRTUAL_TEST(more_than_eight_cases_are_looked_at_too)
{
	static bide_future futures[MANY];
	struct select_call call = { .count = MANY };
	memset(futures, 0, sizeof futures);
	for (int i = 0; i < MANY; i++)
		call.cases[i] = future_case(&futures[i]);
	bide_task *task = start(&call);
	must(bide_future_set(&futures[_i], "v") == 0);
	must_end_well(task);
	ck_assert_int_eq(call.index, _i);
	for (int i = 0; i < MANY; i++)
		ck_assert(list_is_empty(&inside(&futures[i])->queue));
}

VIRTUAL_TEST(more_than_eight_need_memory)
{
	bide_future a = { { 0 } };
	bide_case cases[9];
	must(bide_future_set(&a, "v") == 0);
	for (int i = 0; i < 9; i++)
		cases[i] = future_case(&a);
	ck_assert_int_eq(bide_fault("malloc:ENOMEM"), 0);
	ck_fails(bide_select(cases, 9, 0), ENOMEM);
	ck_assert(!inside(&a)->is_taken);
	ck_assert_int_ge(bide_select(cases, 8, 0), 0);
	bide_fault(NULL);
	ck_assert_int_ge(bide_select(cases, 9, 0), 0);
}

static void *select_in_a_fresh_loop(void *arg)
{
	bide_future a = { { 0 } };
	int fds[2];
	open_pair(fds);
	bide_case cases[9] = { future_case(&a), fd_case(fds[0], POLLIN), fd_case(fds[1], POLLIN), time_case(MS) };
	char spec[40];
	snprintf(spec, sizeof spec, "%s@%d", *(int *)arg % 2 ? "epoll_ctl:ENOSPC" : "malloc:ENOMEM", 1 + *(int *)arg / 2);
	must(bide_fault(spec) == 0);
	int index = bide_select(cases, *(int *)arg < 8 ? 4 : 9, 0);
	int err = errno;
	bide_fault(NULL);
	must_msg(index == 3 || err == ENOMEM || err == ENOSPC, "%d %s", index, strerror(err));
	must(list_is_empty(&inside(&a)->queue) && loop_current->descriptors.waiting == 0);
	must(index == 3 || bide_select(cases, 4, 0) == 3);
	close_both(fds);
	return NULL;
}

START_TEST(a_failure_in_the_middle_takes_every_case_back)
{
	struct counting counting;
	counting_init(&counting, true);
	run_counted(&counting, BIDE_VIRTUAL_CLOCK, select_in_a_fresh_loop, &_i);
}
END_TEST

/* ---- bad input ------------------------------------------------------------------------------------------ */

VIRTUAL_TEST(nonsense_is_refused)
{
	bide_case cases[2] = { time_case(0), time_case(0) };
	ck_fails(bide_select(cases, -1, 0), EINVAL);
	ck_fails(bide_select(NULL, 1, 0), EINVAL);
	ck_fails(bide_select(cases, 1, 4), EINVAL);
	cases[1] = (bide_case){ .op = -1 };
	ck_fails(bide_select(cases, 2, 0), EINVAL);
	cases[1] = (bide_case){ .op = 6 };
	ck_fails(bide_select(cases, 2, 0), EINVAL);
	cases[1] = (bide_case){ .op = BIDE_CASE_FUTURE };
	ck_fails(bide_select(cases, 2, 0), EINVAL);
	cases[1] = (bide_case){ .op = BIDE_CASE_SEND };
	ck_fails(bide_select(cases, 2, 0), EINVAL);
	cases[1] = (bide_case){ .op = BIDE_CASE_RECV };
	ck_fails(bide_select(cases, 2, 0), EINVAL);
	cases[1] = fd_case(0, 0);
	ck_fails(bide_select(cases, 2, 0), EINVAL);
	cases[1] = fd_case(0, POLLNVAL);
	ck_fails(bide_select(cases, 2, 0), EINVAL);
	cases[1] = fd_case(-1, POLLIN);
	ck_fails(bide_select(cases, 2, 0), EBADF);
	cases[1] = fd_case(900, POLLIN);
	ck_fails(bide_select(cases, 2, 0), EBADF);
	ck_assert_int_eq(bide_select(cases, 1, 0), 0);
}

START_TEST(outside_a_task_nobody_selects)
{
	bide_case c = time_case(0);
	ck_fails(bide_select(&c, 1, BIDE_TRY), EPERM);
}
END_TEST

static void *select_nothing(void *arg)
{
	bide_case none[9] = { { 0 } };
	ck_fails(bide_select(none, *(int *)arg, 0), EDEADLK);
	return NULL;
}

START_TEST(nothing_to_select_is_a_deadlock)
{
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	int count = _i * 3;
	ck_fails(bide_run(select_nothing, &count, &config, NULL), EDEADLK);
	ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_DEADLOCK], "waits for select"));
}
END_TEST

int main(void)
{
	return SUITE("select",
	    LOOP(a_future_fires_with_its_result, 0, 3),
	    TEST(a_moment_fires_when_it_has_come),
	    LOOP(a_descriptor_fires_with_what_is_ready, 0, 2),
	    TEST(a_descriptor_that_somebody_else_has_emptied_is_waited_for_again),
	    LOOP(the_completion_of_a_task_fires, 0, 2),
	    LOOP(of_two_futures_set_in_one_turn_only_the_first_is_taken, 0, 2),
	    LOOP(the_same_future_may_stand_in_two_cases, 0, 2),
	    TEST(with_bias_the_first_that_can_fires),
	    LOOP(of_several_that_can_fire_each_has_its_share, 0, 2),
	    TEST(things_that_happen_while_it_is_parked_lose_nothing),
	    TEST(a_try_does_not_wait),
	    LOOP(a_closed_channel_fires_with_epipe, 0, 2),
	    TEST(a_future_destroyed_meanwhile_fires_with_epipe),
	    LOOP(a_future_destroyed_after_the_wake_is_not_looked_at, 0, 2),
	    TEST(a_descriptor_closed_meanwhile_fires_with_ebadf),
	    TEST(a_regular_file_is_always_ready),
	    TEST(a_canceled_select_takes_nothing),
	    TEST(a_scope_ends_it),
	    LOOP(more_than_eight_cases_are_looked_at_too, 0, MANY),
	    TEST(more_than_eight_need_memory),
	    LOOP(a_failure_in_the_middle_takes_every_case_back, 0, 12),
	    TEST(nonsense_is_refused),
	    TEST(outside_a_task_nobody_selects),
	    LOOP(nothing_to_select_is_a_deadlock, 0, 4));
}
