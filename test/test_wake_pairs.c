/* SPDX-License-Identifier: MIT
 * Of several reasons to wake that come in one turn the first wins, whichever call is parked, and the master rule
 * holds: a call that failed by a cancel or a deadline took nothing, a call that took something returns it. For
 * each call and each pair of result, timeout, cancel and close, in both orders. Semantics 40 to 43, 83; scenarios
 * E2, E12, E13. */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "await/record.h"
#include "base/random.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

enum reason { RESULT, TIMEOUT, CANCEL, CLOSE, REASONS };
static const char *const reason_names[] = { "result", "timeout", "cancel", "close" };

/* What is waited on; each call uses some of it. */
static struct {
	bide_future future;
	bide_task *waiter, *joined;
	bide_scope scope;
	int fds[2];
	int result, err; /* of the call; result -2 until it has returned */
	bide_result got;
} world;

struct call {
	const char *name;
	int (*make)(void);     /* the call itself, in the waiter */
	void (*give)(void);    /* its result */
	void (*close)(void);   /* its object goes; NULL: it cannot */
	int close_err;         /* what the call, or its case, says then */
	bool (*is_left)(void); /* after a failure: is the result still to be had? */
};

/* ---- the calls ------------------------------------------------------------------------------------------ */

static int make_await(void) { return bide_await(&world.future, &world.got); }
static int make_wait(void)
{
	bide_future *const all[] = { &world.future };
	return bide_wait(all, 1, BIDE_WAIT_ALL) == 1 ? 0 : -1;
}
static int make_select_future(void)
{
	bide_case c = { .op = BIDE_CASE_FUTURE, .future = &world.future };
	int index = bide_select(&c, 1, 0);
	if (index == 0 && c.err) {
		errno = c.err;
		return -1;
	}
	world.got = c.result;
	return index;
}
static int make_select_fd(void)
{
	bide_case c = { .op = BIDE_CASE_FD, .fd = world.fds[0], .events = POLLIN };
	int index = bide_select(&c, 1, 0);
	if (index == 0 && c.err) {
		errno = c.err;
		return -1;
	}
	return index;
}
static int make_read(void)
{
	char byte;
	return bide_read(world.fds[0], &byte, 1) == 1 ? 0 : -1;
}
static int make_fd_wait(void) { return bide_fd_wait(world.fds[0], POLLIN) > 0 ? 0 : -1; }
static int make_join(void) { return bide_join(world.joined, &world.got); }

static void give_future(void) { must(bide_future_set(&world.future, "v") == 0); }
static void close_future(void) { must(bide_future_destroy(&world.future) == 0); }
static bool future_is_left(void)
{
	bide_result result;
	return bide_future_get(&world.future, &result) == 0 && strcmp(result.value, "v") == 0;
}

/* A descriptor's readiness comes with the loop's next look, so it is waited for here. */
static void give_bytes(void)
{
	must(write(world.fds[1], "x", 1) == 1);
	for (int i = 0; i < 1000 && bide_task_state(world.waiter) == BIDE_TASK_SUSPENDED; i++)
		must(bide_yield() == 0);
}
static void close_fd(void) { must(bide_close(world.fds[0]) == 0); world.fds[0] = -1; }
static bool bytes_are_left(void)
{
	char byte;
	return recv(world.fds[0], &byte, 1, MSG_DONTWAIT) == 1;
}

/* Ends the joined task, as if it had got that far by itself: its completion is an ordinary future inside. */
static bide_future release;
static void *end_when_released(void *arg)
{
	must(bide_await(&release, NULL) == 0);
	return arg;
}
static void give_end(void)
{
	must(bide_future_set(&release, NULL) == 0);
	while (bide_task_state(world.joined) != BIDE_TASK_DONE) /* then the joiner is woken, and has not run */
		must(bide_yield() == 0);
}
static bool end_is_left(void)
{
	bide_result result;
	return bide_join(world.joined, &result) == 0 && strcmp(result.value, "v") == 0;
}

static const struct call calls[] = {
	{ "bide_await", make_await, give_future, close_future, EPIPE, future_is_left },
	{ "bide_wait", make_wait, give_future, close_future, EPIPE, future_is_left },
	{ "bide_select, future", make_select_future, give_future, close_future, EPIPE, future_is_left },
	{ "bide_join", make_join, give_end, NULL, 0, end_is_left },
	{ "bide_select, fd", make_select_fd, give_bytes, close_fd, EBADF, bytes_are_left },
	{ "bide_read", make_read, give_bytes, close_fd, EBADF, bytes_are_left },
	{ "bide_fd_wait", make_fd_wait, give_bytes, close_fd, EBADF, bytes_are_left },
};
#define CALLS (int)(sizeof calls / sizeof *calls)

/* ---- one pair ------------------------------------------------------------------------------------------- */

static void *wait_in_call(void *arg)
{
	const struct call *call = arg;
	world.result = -2;
	must(bide_scope_enter(&world.scope, bide_after(BIDE_SEC), 0) == 0);
	world.result = call->make();
	world.err = world.result < 0 ? errno : 0;
	bide_scope_leave(&world.scope);
	return NULL;
}

/* As a look of the loop would find it, but among other things of one turn. */
static void let_the_deadline_come(void)
{
	loop_current->clock.now += BIDE_SEC;
	struct timer *timer = timers_pop_expired(&loop_current->timers, loop_now(loop_current));
	must(timer && timer->expired == scope_timer_expired);
	timer->expired(timer);
}

static void happen(const struct call *call, enum reason reason)
{
	switch (reason) {
	case RESULT: call->give(); break;
	case CLOSE: call->close(); break;
	case CANCEL: must(bide_cancel(world.waiter, NULL) == 0); break;
	default: let_the_deadline_come();
	}
}

static int err_of(const struct call *call, enum reason reason)
{
	return reason == RESULT ? 0 : reason == TIMEOUT ? ETIMEDOUT : reason == CANCEL ? ECANCELED : call->close_err;
}

static bool is_about_fd(const struct call *call)
{
	return call->give == give_bytes;
}

/* Readiness is only a hint: a call on a descriptor that was woken by it may still fail by what came next. */
static bool is_as_expected(const struct call *call, enum reason first, enum reason second)
{
	int err = world.err;
	if (is_about_fd(call) && first == RESULT)
		return err == 0 || err == err_of(call, second);
	if (is_about_fd(call) && first == CLOSE)
		return err == EBADF || err == err_of(call, second);
	return err == err_of(call, first);
}

static void try_pair(const struct call *call, enum reason first, enum reason second)
{
	memset(&world, 0, sizeof world);
	memset(&release, 0, sizeof release);
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, world.fds) == 0);
	world.joined = must_spawn(end_when_released, "v");
	world.waiter = must_spawn(wait_in_call, (void *)(uintptr_t)call);
	settle();
	must(world.result == -2);
	happen(call, first);
	must(world.result == -2); /* it is on its way, and has not run */
	happen(call, second);
	must(bide_join(world.waiter, NULL) == 0);
	must_msg(is_as_expected(call, first, second), "%s, %s before %s: %s", call->name, reason_names[first],
	    reason_names[second], strerror(world.err));
	/* Nothing is lost: the result was given, or is still there. */
	bool was_given = first == RESULT || second == RESULT, was_closed = first == CLOSE || second == CLOSE;
	if (was_given && !was_closed && world.err)
		must_msg(call->is_left(), "%s, %s before %s: the result is lost", call->name, reason_names[first], reason_names[second]);
	if (was_given && !world.err && call->make == make_await)
		must(world.got.err == 0 && strcmp(world.got.value, "v") == 0);
	if (!bide_future_done(&release))
		must(bide_future_set(&release, NULL) == 0);
	bide_join(world.joined, NULL);
	bide_future_destroy(&world.future);
	if (world.fds[0] >= 0)
		must(bide_close(world.fds[0]) == 0);
	must(bide_close(world.fds[1]) == 0);
	must(loop_current->tasks.live == 1 && loop_current->timers.heap.count == 0);
	sched_check(loop_current);
}

ORDERED_TEST(of_two_reasons_in_one_turn_the_first_wins_and_nothing_is_lost)
{
	const struct call *call = &calls[_i];
	for (int first = 0; first < REASONS; first++)
		for (int second = 0; second < REASONS; second++)
			if (first != second && (call->close || (first != CLOSE && second != CLOSE)) &&
			    !(first == CLOSE && second == RESULT))
				try_pair(call, (enum reason)first, (enum reason)second);
}

/* ---- a pool of one: scenario E13 ------------------------------------------------------------------------ */

static bide_chan *pool;
static int in_use, took, canceled;

static void *use_the_pool(void *arg)
{
	int connection;
	if (bide_chan_recv(pool, &connection) < 0) {
		must(errno == ECANCELED);
		canceled++;
		return NULL;
	}
	must(++in_use == 1);
	took++;
	(void)bide_yield(); /* may fail: a cancel that came too late */
	in_use--;
	must(bide_chan_trysend(pool, &connection) == 0);
	return arg;
}

VIRTUAL_TEST(a_cancel_at_the_hand_over_neither_loses_the_item_nor_the_cancel)
{
	struct random random = { 7 };
	int connection = 42, waiters = suite_scaled_down(1000, 100);
	static bide_task *tasks[1000];
	pool = bide_chan_new(sizeof connection, 1, 0, NULL);
	in_use = took = canceled = 0;
	for (int i = 0; i < waiters; i++)
		tasks[i] = must_spawn(use_the_pool, "v");
	settle();
	must(bide_chan_trysend(pool, &connection) == 0);
	for (int i = 0; i < waiters; i++) {
		bide_cancel(tasks[random_below(&random, (uint64_t)waiters)], NULL);
		if (random_below(&random, 2))
			must(bide_yield() == 0);
	}
	for (int i = 0; i < waiters; i++)
		must_join(tasks[i]);
	ck_assert_int_eq(took + canceled, waiters);
	ck_assert_int_gt(took, 0);
	ck_assert_int_gt(canceled, 0);
	ck_assert_uint_eq(bide_chan_len(pool), 1);
	bide_chan_unref(pool);
}

/* ---- a soak: semantics 83 ------------------------------------------------------------------------------- */

static int sent, received;
static bool is_over;

static void *send_at_the_deadline(void *arg)
{
	bide_chan *chan = arg;
	while (!is_over) {
		if (bide_sleep(10) < 0)
			break;
		if (bide_chan_trysend(chan, &sent) == 0)
			sent++;
	}
	return NULL;
}

VIRTUAL_TEST(items_received_and_left_are_those_sent_when_a_timeout_races_with_a_sender)
{
	bide_chan *chan = bide_chan_new(sizeof(int), 4, 0, NULL);
	int rounds = suite_scaled_down(100000, 2000), timeouts = 0;
	struct random random = { 3 };
	sent = received = 0;
	is_over = false;
	bide_task *sender = must_spawn(send_at_the_deadline, chan);
	for (int i = 0; i < rounds; i++) {
		bide_scope scope;
		int item = -1;
		/* mostly equal to the sender's delay */
		must(bide_scope_enter(&scope, bide_after(10 + (bide_time)random_below(&random, 8) / 7), 0) == 0);
		if (bide_chan_recv(chan, &item) == 0)
			must(item == received++);
		else
			must(errno == ETIMEDOUT && ++timeouts);
		(void)bide_scope_leave(&scope);
		if (i % 64 == 0)
			pass((bide_time)random_below(&random, 10));
	}
	is_over = true;
	must_end_well(sender);
	ck_assert_int_eq(sent, received + (int)bide_chan_len(chan));
	ck_assert_int_gt(received, rounds / 100);
	ck_assert_int_gt(timeouts, rounds / 100);
	bide_chan_unref(chan);
}

/* ---- a completion inside the call that waits: scenario C9 ----------------------------------------------- */

static void set_and_cancel(void *arg)
{
	struct await_task *task = handle_resolve(arg);
	(void)bide_future_set(&world.future, "v");
	for (int i = 0; i < 3; i++)
		must(!task_wake(&task->task, EIO)); /* it is not parked any more: nothing happens */
}

static void *await_it(void *arg)
{
	(void)arg;
	must(bide_await(&world.future, &world.got) == 0);
	return world.got.value;
}

VIRTUAL_TEST(waking_twice_or_too_early_is_harmless)
{
	for (int i = 0; i < suite_scaled_down(10000, 500); i++) {
		memset(&world, 0, sizeof world);
		bide_task *task = must_spawn(await_it, NULL);
		must(!task_wake(&handle_resolve(task)->task, EIO)); /* not parked yet */
		if (i % 2)
			must(bide_yield() == 0);
		must(bide_call_soon(set_and_cancel, task) == 0);
		must(strcmp(must_end_well(task), "v") == 0);
	}
}

int main(void)
{
	return SUITE("wake pairs",
	    LOOP(of_two_reasons_in_one_turn_the_first_wins_and_nothing_is_lost, 0, CALLS),
	    TEST(a_cancel_at_the_hand_over_neither_loses_the_item_nor_the_cancel),
	    TEST(items_received_and_left_are_those_sent_when_a_timeout_races_with_a_sender),
	    TEST(waking_twice_or_too_early_is_harmless));
}
