/* SPDX-License-Identifier: MIT
 * Cancellation: bide/cancel.h; and that of several wakers the first one wins: sched/park.h. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "await/record.h"
#include "base/random.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

static void open_pipe(int fds[2])
{
	must(pipe(fds) == 0);
}

static void close_pipe(const int fds[2])
{
	must(bide_close(fds[0]) == 0 && bide_close(fds[1]) == 0);
}

static void cancel(bide_task *task)
{
	must_msg(bide_cancel(task, NULL) == 0, "bide_cancel: %s", strerror(errno));
}

static bide_task *spawn_with(bide_fn *fn, void *arg, unsigned flags, void (*drop)(void *))
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.flags = flags;
	attr.drop = drop;
	bide_task *task = bide_spawn_with(fn, arg, &attr);
	must(task);
	return task;
}

/* ---- a parked task -------------------------------------------------------------------------------------- */

static uint64_t woke_in_turn;

static void *sleep_ten_seconds(void *arg)
{
	ck_fails(bide_sleep(10 * BIDE_SEC), ECANCELED);
	woke_in_turn = loop_current->ready.turn;
	return arg;
}

/* semantics 38 */
VIRTUAL_TEST(a_sleeping_task_wakes_in_the_next_turn)
{
	bide_task *task = must_spawn(sleep_ten_seconds, NULL);
	settle();
	uint64_t turn = loop_current->ready.turn;
	ck_assert_int_eq(bide_cancel(task, NULL), 0);
	ck_assert_uint_eq(loop_current->timers.heap.count, 0); /* its timer is gone at once */
	ck_assert_int_eq(must_join(task).err, ECANCELED);
	ck_assert_uint_eq(woke_in_turn, turn + 1);
	ck_assert(bide_now() == 0);
}

/* ---- before the first run: semantics 44, 45; scenario C12 ----------------------------------------------------- */

static int entered, dropped;

static void *enter(void *arg)
{
	entered++;
	free(arg);
	return bide_sleep(BIDE_SEC) == 0 ? "slept" : bide_fail(errno);
}

static void drop(void *arg)
{
	dropped++;
	free(arg);
}

static void *cancel_before_the_first_run(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		bide_task *task = spawn_with(enter, malloc(10), i % 3 == 1 ? BIDE_DETACHED : 0, drop);
		struct await_task *record = handle_resolve(task);
		cancel(task);
		if (i % 3 == 2)
			cancel(task);
		must(!record->task.stack.low);
		if (i % 3 == 1)
			must(bide_yield() == 0);
		else
			must(must_join(task).err == ECANCELED);
		must(dropped == i + 1 && entered == 0);
		must(!record->task.stack.low);
	}
	return arg;
}

START_TEST(canceled_before_its_first_run_a_body_is_never_entered_and_its_argument_dropped_once)
{
	entered = dropped = 0;
	run_virtual_in_order(cancel_before_the_first_run, NULL);
}
END_TEST

VIRTUAL_TEST(a_body_that_always_starts_is_entered_and_its_first_wait_fails)
{
	entered = dropped = 0;
	bide_task *task = spawn_with(enter, malloc(10), BIDE_START_ALWAYS, drop);
	cancel(task);
	ck_assert_int_eq(must_join(task).err, ECANCELED);
	ck_assert_int_eq(entered, 1);
	ck_assert_int_eq(dropped, 0);
	ck_assert(bide_now() == 0);
}

VIRTUAL_TEST(an_argument_is_not_dropped_when_the_body_ran)
{
	entered = dropped = 0;
	bide_task *task = spawn_with(enter, malloc(10), 0, drop);
	ck_assert_str_eq(must_end_well(task), "slept");
	task = spawn_with(enter, malloc(10), 0, drop);
	settle();
	cancel(task);
	ck_assert_int_eq(must_join(task).err, ECANCELED);
	ck_assert_int_eq(entered, 2);
	ck_assert_int_eq(dropped, 0);
}

static bide_task *dropping;

static void look_in_the_drop(void *arg)
{
	(void)arg;
	must(!bide_self());
	ck_fails(bide_sleep(1), EPERM);
	must(bide_task_state(dropping) == BIDE_TASK_CREATED);
	must(bide_cancel(dropping, "again") == 0);
	must_spawn(nothing, NULL);
	note("dropped");
}

VIRTUAL_TEST(a_drop_may_use_the_loop)
{
	dropping = spawn_with(nothing, NULL, 0, look_in_the_drop);
	cancel(dropping);
	ck_assert_int_eq(must_join(dropping).err, ECANCELED);
	settle();
	expect_notes("dropped");
}

/* ---- level-triggered, counted: semantics 46, 47, 48 ----------------------------------------------------------- */

static void *fail_three_times(void *arg)
{
	for (int i = 0; i < 3; i++)
		ck_fails(bide_sleep(BIDE_SEC), ECANCELED);
	ck_assert_int_eq(bide_canceling(), 2);
	ck_assert_int_eq(bide_uncancel(), 1);
	ck_fails(bide_sleep(BIDE_SEC), ECANCELED);
	ck_assert_int_eq(bide_uncancel(), 0);
	ck_assert_int_eq(bide_canceling(), 0);
	pass(BIDE_SEC);
	ck_assert_int_eq(bide_uncancel(), 0); /* none pending */
	pass(BIDE_SEC);
	return arg;
}

VIRTUAL_TEST(every_call_fails_until_each_request_is_taken_back)
{
	bide_task *task = must_spawn(fail_three_times, NULL);
	settle();
	cancel(task);
	cancel(task);
	must_end_well(task);
	ck_assert(bide_now() == 2 * BIDE_SEC);
}

START_TEST(outside_a_task_nothing_is_canceled)
{
	ck_assert_int_eq(bide_canceling(), 0);
	ck_assert_ptr_null(bide_cancel_reason());
	ck_fails(bide_uncancel(), EPERM);
	ck_fails(bide_checkpoint(), EPERM);
}
END_TEST

/* ---- reasons: semantics 60 --------------------------------------------------------------------------------------- */

static void *tell_the_reason(void *arg)
{
	must(!bide_cancel_reason());
	must(bide_sleep(BIDE_NEVER) < 0);
	note("%s", bide_cancel_reason() ? bide_cancel_reason() : "none");
	while (bide_uncancel() > 0)
		note("%s", bide_cancel_reason() ? bide_cancel_reason() : "none");
	must(!bide_cancel_reason());
	return arg;
}

VIRTUAL_TEST(the_first_reason_is_kept_until_all_requests_are_taken_back)
{
	bide_task *task = must_spawn(tell_the_reason, NULL), *other = must_spawn(tell_the_reason, NULL);
	settle();
	ck_assert_int_eq(bide_cancel(task, "shutdown"), 0);
	ck_assert_int_eq(bide_cancel(task, "second"), 0);
	must_end_well(task);
	ck_assert_int_eq(bide_cancel(other, NULL), 0);
	must_end_well(other);
	expect_notes("shutdown shutdown none");
}

static void *reason_of_leftovers(void *arg)
{
	must(bide_sleep(BIDE_NEVER) < 0);
	note("%s", bide_cancel_reason());
	return arg;
}

static void *stop_and_tell(void *arg)
{
	must_spawn(reason_of_leftovers, NULL);
	settle();
	must(bide_stop() == 0);
	ck_fails(bide_sleep(1), ECANCELED);
	note("%s", bide_cancel_reason());
	return arg;
}

START_TEST(bide_stop_cancels_main_and_the_end_of_main_the_others)
{
	run_virtual(stop_and_tell, "v");
	expect_notes("bide_stop main ended");
}
END_TEST

/* ---- outcomes ---------------------------------------------------------------------------------------------------------- */

enum what {
	CANCEL = 1,   /* itself */
	SEE = 2,      /* a call fails by it */
	UNCANCEL = 4,
	CANCEL_AGAIN = 8,
	VALUE = 16,   /* returns one */
	FAIL = 32
};

static const struct {
	int what, err;
} outcomes[] = {
	{ CANCEL | VALUE, 0 },                         /* semantics 54 */
	{ CANCEL, 0 },                                 /* nobody told it */
	{ CANCEL | SEE, ECANCELED },
	{ CANCEL | SEE | VALUE, 0 },
	{ CANCEL | SEE | FAIL, EIO },
	{ CANCEL | FAIL, EIO },
	{ CANCEL | SEE | UNCANCEL, 0 },
	{ CANCEL | SEE | UNCANCEL | CANCEL_AGAIN, 0 }, /* the second one was not seen */
	{ CANCEL | SEE | UNCANCEL | FAIL, EIO },
	{ VALUE, 0 },
	{ FAIL, EIO },
	{ 0, 0 },
};

static void *do_what(void *arg)
{
	int what = outcomes[*(int *)arg].what;
	if (what & CANCEL)
		cancel(bide_self());
	if (what & SEE)
		ck_fails(bide_sleep(1), ECANCELED);
	if (what & UNCANCEL)
		must(bide_uncancel() == 0);
	if (what & CANCEL_AGAIN)
		cancel(bide_self());
	if (what & FAIL)
		return bide_fail(EIO);
	return what & VALUE ? "value" : NULL;
}

VIRTUAL_TEST(a_task_ended_by_its_cancel_only_if_it_saw_it_and_has_nothing_to_show)
{
	static int seen = 2; /* a cancel that the task before in the same record saw is none of this one's */
	ck_assert_int_eq(must_join(must_spawn(do_what, &seen)).err, ECANCELED);
	bide_result result = must_join(must_spawn(do_what, &_i));
	ck_assert_int_eq(result.err, outcomes[_i].err);
	ck_assert_int_eq(result.value != NULL, (outcomes[_i].what & VALUE) != 0);
}

/* ---- the entry check: semantics 39, 40 --------------------------------------------------------------------------------- */

/* What the calls below work on: data to read, room to write, a task that has ended, a tick that is due. */
static struct {
	int data[2], pair[2], listener, client;
	bide_task *ended;
	bide_ticker ticker;
	char buf[8];
	size_t done;
} entry;

static int call_sleep(void) { return bide_sleep(1); }
static int call_sleep_nothing(void) { return bide_sleep(0); }
static int call_sleep_until(void) { return bide_sleep_until(0); }
static int call_yield(void) { return bide_yield(); }
static int call_join(void) { return bide_join(entry.ended, NULL); }
static int call_tick(void) { return bide_tick(&entry.ticker, NULL); }
static int call_settle(void) { return bide_settle(); }
static int call_advance(void) { return bide_clock_advance(BIDE_SEC); }
static int call_checkpoint(void) { return bide_checkpoint(); }
static int call_fd_wait(void) { return bide_fd_wait(entry.data[0], POLLIN); }
static int call_read(void) { return (int)bide_read(entry.data[0], entry.buf, 4); }
static int call_read_nothing(void) { return (int)bide_read(entry.data[0], entry.buf, 0); }
static int call_write(void) { return (int)bide_write(entry.data[1], "more", 4); }
static int call_read_exact(void) { return (int)bide_read_exact(entry.data[0], entry.buf, 4, &entry.done); }
static int call_write_all(void) { return (int)bide_write_all(entry.data[1], "more", 4, &entry.done); }
static int call_recv(void) { return (int)bide_recv(entry.pair[0], entry.buf, 4, 0); }
static int call_send(void) { return (int)bide_send(entry.pair[0], "more", 4, 0); }
static int call_accept(void) { return bide_accept(entry.listener, NULL, NULL); }

static int (*const suspending[])(void) = { call_sleep, call_sleep_nothing, call_sleep_until, call_yield, call_join,
	call_tick, call_settle, call_advance, call_checkpoint, call_fd_wait, call_read, call_read_nothing, call_write,
	call_read_exact, call_write_all, call_recv, call_send, call_accept };

static ssize_t bytes_in(int fd, int flags)
{
	char buf[64];
	return recv(fd, buf, sizeof buf, flags | MSG_DONTWAIT);
}

static void *call_with_a_cancel_pending(void *arg)
{
	char buf[64];
	socklen_t length = sizeof(struct sockaddr_storage);
	struct sockaddr_storage address;
	open_pipe(entry.data);
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, entry.pair) == 0);
	must(write(entry.data[1], "data", 4) == 4 && write(entry.pair[1], "data", 4) == 4);
	entry.listener = bide_listen("tcp", "127.0.0.1:0", 1);
	must(entry.listener >= 0 && getsockname(entry.listener, (struct sockaddr *)&address, &length) == 0);
	entry.client = socket(AF_INET, SOCK_STREAM, 0);
	must(connect(entry.client, (struct sockaddr *)&address, length) == 0);
	entry.ended = must_spawn(nothing, NULL);
	must(bide_ticker_init(&entry.ticker, BIDE_SEC, BIDE_TICK_BURST) == 0);
	pass(BIDE_SEC);
	bide_time now = bide_now();
	entry.done = 77;

	cancel(bide_self());
	for (int i = 0; i < 2; i++)
		ck_fails(suspending[*(int *)arg](), ECANCELED);
	must(bide_uncancel() == 0);

	must(bide_now() == now);
	must(entry.done == 77 || entry.done == 0);
	must(read(entry.data[0], buf, sizeof buf) == 4); /* the bytes are there, and no more */
	must(bytes_in(entry.pair[0], 0) == 4 && bytes_in(entry.pair[1], 0) < 0);
	uint64_t missed = 77;
	must(bide_tick(&entry.ticker, &missed) == 0 && missed == 0 && bide_now() == now);
	must_end_well(entry.ended);
	int accepted = bide_accept(entry.listener, NULL, NULL);
	must(accepted >= 0);

	close(accepted);
	close(entry.client);
	must(bide_close(entry.listener) == 0);
	close_pipe(entry.data);
	close_pipe(entry.pair);
	return NULL;
}

START_TEST(with_a_cancel_pending_every_suspending_call_fails_with_no_effect)
{
	run_virtual(call_with_a_cancel_pending, &_i);
}
END_TEST

/* And with none pending each of them works: so it was the cancel. */
static void *call_with_none_pending(void *arg)
{
	open_pipe(entry.data);
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, entry.pair) == 0);
	must(write(entry.data[1], "data", 4) == 4 && write(entry.pair[1], "data", 4) == 4);
	entry.ended = must_spawn(nothing, NULL);
	must(bide_ticker_init(&entry.ticker, BIDE_SEC, BIDE_TICK_BURST) == 0);
	for (size_t i = 0; i < sizeof suspending / sizeof *suspending; i++)
		if (suspending[i] != call_accept && suspending[i] != call_read_exact)
			must_msg(suspending[i]() >= 0, "call %zu: %s", i, strerror(errno));
	close_pipe(entry.data);
	close_pipe(entry.pair);
	return arg;
}

START_TEST(with_none_pending_they_work)
{
	run_virtual(call_with_none_pending, NULL);
}
END_TEST

/* semantics 51 */
VIRTUAL_TEST(calls_that_do_not_suspend_work_with_a_cancel_pending)
{
	static bide_timer timer;
	static const bide_key key = { .drop = NULL };
	int fds[2];
	open_pipe(fds);
	cancel(bide_self());
	ck_assert_int_eq(bide_close(fds[0]), 0);
	ck_assert_int_eq(bide_fd_forget(fds[1]), 0);
	ck_assert_int_eq(bide_close(fds[1]), 0);
	ck_assert_int_eq(bide_defer(note_arg, "x"), 0);
	ck_assert_int_eq(bide_undefer(false), 0);
	ck_assert_int_eq(bide_local_set(&key, &timer), 0);
	ck_assert_int_eq(bide_call_soon(note_arg, "soon"), 0);
	ck_assert_int_eq(bide_call_later(&timer, 1, note_arg, "x"), 0);
	ck_assert_int_eq(bide_timer_cancel(&timer), 1);
	bide_task *task = must_spawn(nothing, NULL);
	ck_assert_int_eq(bide_task_set_name(task, "named"), 0);
	ck_assert_int_eq(bide_detach(task), 0);
	ck_assert_int_eq(bide_uncancel(), 0);
	settle();
	expect_notes("soon");
}

/* ---- bide_checkpoint --------------------------------------------------------------------------------------------------- */

static void *check_often(void *arg)
{
	uint64_t turn = loop_current->ready.turn;
	for (int i = 0; i < 10000; i++)
		must(bide_checkpoint() == 0);
	must(loop_current->ready.turn == turn); /* nobody else ran */
	pass(1);
	cancel(bide_self());
	ck_fails(bide_checkpoint(), ECANCELED);
	must(bide_uncancel() == 0);
	must(bide_checkpoint() == 0);
	return arg;
}

VIRTUAL_TEST(a_checkpoint_tells_of_a_cancel_and_lets_nobody_run)
{
	bide_task *task = must_spawn(check_often, NULL);
	must_spawn(nothing, NULL);
	must_end_well(task);
}

/* A call that never blocks lets others run now and then; a cancel that comes then is seen by that very
 * call, before it has taken anything. */
static int bytes_taken;

static void *read_until_canceled(void *arg)
{
	char byte;
	while (bide_read(*(int *)arg, &byte, 1) == 1)
		bytes_taken++;
	must(errno == ECANCELED);
	return NULL;
}

ORDERED_TEST(a_cancel_that_arrives_while_a_call_lets_others_run_is_seen_by_that_call)
{
	int fds[2];
	char buf[1000] = "";
	open_pipe(fds);
	bytes_taken = 0;
	ck_assert_int_eq(write(fds[1], buf, sizeof buf), sizeof buf);
	bide_task *task = must_spawn(read_until_canceled, &fds[0]);
	must(bide_yield() == 0); /* it reads until its budget is used up */
	cancel(task);
	must_join(task);
	ck_assert_int_eq(bytes_taken, CALL_BUDGET - 1);
	ck_assert_int_eq(read(fds[0], buf, sizeof buf), (int)sizeof buf - bytes_taken);
	close_pipe(fds);
}

/* ---- what the API answers: scenario E14, semantics 49 ----------------------------------------------------------------- */

static int e14_fds[2];

static void *wait_in_sleep(void *arg) { (void)arg; return bide_sleep(BIDE_NEVER) == 0 ? NULL : bide_fail(errno); }
static void *wait_in_yield(void *arg) { (void)arg; while (bide_yield() == 0) continue; return bide_fail(errno); }
static void *wait_in_read(void *arg) { char byte; (void)arg; return bide_read(e14_fds[0], &byte, 1) >= 0 ? NULL : bide_fail(errno); }
static void *wait_in_fd_wait(void *arg) { (void)arg; return bide_fd_wait(e14_fds[0], POLLIN) >= 0 ? NULL : bide_fail(errno); }
static void *wait_in_join(void *arg) { return bide_join(arg, NULL) == 0 ? NULL : bide_fail(errno); }
static void *wait_in_tick(void *arg)
{
	bide_ticker ticker;
	(void)arg;
	must(bide_ticker_init(&ticker, 1000000 * BIDE_SEC, BIDE_TICK_SKIP) == 0);
	return bide_tick(&ticker, NULL) == 0 ? NULL : bide_fail(errno);
}
static void *wait_in_coro(void *arg)
{
	bide_coro *coro = bide_coro_new(wait_in_sleep, NULL, 0);
	(void)arg;
	must(bide_coro_resume(coro, NULL, NULL) == 0);
	must(bide_coro_close(coro) == 0);
	return bide_checkpoint() == 0 ? NULL : bide_fail(errno);
}
static bide_fn *const waits[] = { wait_in_sleep, wait_in_yield, wait_in_read, wait_in_fd_wait, wait_in_join, wait_in_tick,
	wait_in_coro };

VIRTUAL_TEST(a_task_can_be_canceled_wherever_it_waits_and_as_often_as_one_likes)
{
	open_pipe(e14_fds);
	for (int how = 0; how < 3; how++) { /* canceled once it waits, twice, and right after its creation */
		bide_task *task = spawn_with(waits[_i], bide_self(), how == 2 ? BIDE_START_ALWAYS : 0, NULL);
		if (how < 2)
			for (int i = 0; i < 5; i++)
				must(bide_yield() == 0);
		ck_assert_int_eq(bide_cancel(task, "x"), 0);
		if (how == 1)
			ck_assert_int_eq(bide_cancel(task, "y"), 0);
		sched_check(loop_current);
		ck_assert_ptr_nonnull(bide_task_ref(task));
		ck_assert_int_eq(must_join(task).err, ECANCELED);
		ck_fails(bide_cancel(task, NULL), ESRCH);
		bide_task_unref(task);
		ck_fails(bide_cancel(task, NULL), ESRCH);
		sched_check(loop_current);
		ck_assert_uint_eq(loop_current->descriptors.waiting, 0);
	}
	close_pipe(e14_fds);
}

/* ---- many: semantics 62 --------------------------------------------------------------------------------------------------- */

ORDERED_TEST(ten_thousand_blocked_tasks_are_canceled_in_one_turn)
{
	int count = suite_scaled_down(10000, 500);
	bide_task **tasks = malloc((size_t)count * sizeof *tasks);
	open_pipe(e14_fds);
	bide_task *target = must_spawn(forever_sleeper, NULL);
	static bide_fn *const kinds[] = { sleep_ten_seconds, wait_in_read, wait_in_join, wait_in_fd_wait };
	for (int i = 0; i < count; i++)
		tasks[i] = must_spawn(kinds[i % 4], target);
	settle();
	uint64_t turn = loop_current->ready.turn;
	for (int i = 0; i < count; i++)
		cancel(tasks[i]);
	sched_check(loop_current);
	ck_assert_uint_eq(loop_current->timers.heap.count, 0);
	must(bide_yield() == 0);
	ck_assert_uint_le(loop_current->ready.turn, turn + 2);
	for (int i = 0; i < count; i++) {
		must(bide_task_state(tasks[i]) == BIDE_TASK_DONE);
		must(must_join(tasks[i]).err == ECANCELED || i % 4 == 0);
	}
	ck_assert_uint_eq(loop_current->descriptors.waiting, 0);
	ck_assert(list_is_empty(&task_future(handle_resolve(target))->queue));
	ck_assert_int_eq(bide_task_state(target), BIDE_TASK_SUSPENDED);
	free(tasks);
	close_pipe(e14_fds);
}

/* ---- the first waker wins ----------------------------------------------------------------------------------------------------- */

/* Two things that end one wait happen in one turn, in either order, before the task runs. What came first
 * is the wait's result; the other has its effect later, or none. */
static struct {
	bide_task *waiter, *joined;
	int fds[2];
} race;

static void wake_cancel(void)
{
	must(bide_cancel(race.waiter, NULL) == 0);
}

static void wake_timer(void)
{
	loop_current->clock.now = 100 * BIDE_SEC;
	struct timer *timer;
	while ((timer = timers_pop_expired(&loop_current->timers, loop_current->clock.now)))
		timer->expired(timer);
}

static void wake_fd(void)
{
	struct poller_event events[POLLER_BATCH];
	must(bide_fault(NULL) == 0); /* the next question to the poller is to be answered */
	must(write(race.fds[1], "d", 1) == 1);
	int count = poller_wait(&loop_current->poller, events, POLLER_BATCH, 0, 0);
	descriptors_fire(loop_current, events, count);
}

static void wake_close(void)
{
	must(bide_fd_forget(race.fds[0]) == 0); /* as bide_close() does, and the test can look at the rest */
}

static void wake_settle(void)
{
	struct link *link;
	while ((link = list_head(&loop_current->settlers)))
		must(task_wake(container_of(link, struct wait, link)->task, 0));
}

static void wake_end(void)
{
	struct await_task *joined = handle_resolve(race.joined);
	future_complete(task_future(joined), "ended", 0);
}

static void wake_deadlock(void)
{
	task_wake(&handle_resolve(race.waiter)->task, EDEADLK);
}

static void note_result(int result, const char *more)
{
	note("%d:%d%s", result, result < 0 ? errno : 0, more);
}

static void *note_checkpoint(void)
{
	note_result(bide_checkpoint(), "");
	return NULL;
}

static void *race_sleep(void *arg)
{
	(void)arg;
	note_result(bide_sleep(100 * BIDE_SEC), "");
	return note_checkpoint();
}

static void *race_read(void *arg)
{
	char text[2] = "-";
	(void)arg;
	int count = (int)bide_read(race.fds[0], text, 1);
	note_result(count, text);
	return note_checkpoint();
}

static void *race_fd_wait(void *arg)
{
	(void)arg;
	note_result(bide_fd_wait(race.fds[0], POLLIN), "");
	return note_checkpoint();
}

static void *race_join(void *arg)
{
	bide_result result = { "-", 0 };
	(void)arg;
	int status = bide_join(race.joined, &result);
	note_result(status, result.value);
	return note_checkpoint();
}

static void *race_settle(void *arg)
{
	(void)arg;
	note_result(bide_settle(), "");
	return note_checkpoint();
}

_Static_assert(ECANCELED == 125 && EBADF == 9 && EDEADLK == 35, "the numbers in the table");

static const struct {
	const char *name;
	bide_fn *waiter;
	void (*first)(void), (*second)(void);
	const char *result; /* of the wait, and of the next checkpoint */
	int left;           /* bytes in the pipe afterwards */
} races[] = {
	{ "timer, cancel", race_sleep, wake_timer, wake_cancel, "0:0 -1:125", 0 },
	{ "cancel, timer", race_sleep, wake_cancel, wake_timer, "-1:125 -1:125", 0 },
	{ "timer, deadlock", race_sleep, wake_timer, wake_deadlock, "0:0 0:0", 0 },
	{ "deadlock, timer", race_sleep, wake_deadlock, wake_timer, "-1:35 0:0", 0 },
	{ "deadlock, cancel", race_sleep, wake_deadlock, wake_cancel, "-1:35 -1:125", 0 },
	{ "cancel, deadlock", race_sleep, wake_cancel, wake_deadlock, "-1:125 -1:125", 0 },
	{ "cancel, cancel", race_sleep, wake_cancel, wake_cancel, "-1:125 -1:125", 0 },
	/* semantics 43: a wake by readiness is no result yet, and the bytes stay */
	{ "fd, cancel", race_read, wake_fd, wake_cancel, "-1:125- -1:125", 1 },
	{ "cancel, fd", race_read, wake_cancel, wake_fd, "-1:125- -1:125", 1 },
	{ "fd, fd", race_read, wake_fd, wake_fd, "1:0d 0:0", 1 },
	{ "fd, close", race_read, wake_fd, wake_close, "-1:9- 0:0", 1 },
	{ "close, fd", race_read, wake_close, wake_fd, "-1:9- 0:0", 1 },
	{ "close, cancel", race_read, wake_close, wake_cancel, "-1:9- -1:125", 0 },
	{ "cancel, close", race_read, wake_cancel, wake_close, "-1:125- -1:125", 0 },
	{ "fd, cancel, observer", race_fd_wait, wake_fd, wake_cancel, "-1:125 -1:125", 1 },
	{ "cancel, fd, observer", race_fd_wait, wake_cancel, wake_fd, "-1:125 -1:125", 1 },
	{ "fd, close, observer", race_fd_wait, wake_fd, wake_close, "-1:9 0:0", 1 },
	{ "close, cancel, observer", race_fd_wait, wake_close, wake_cancel, "-1:9 -1:125", 0 },
	{ "end, cancel", race_join, wake_end, wake_cancel, "0:0ended -1:125", 0 },
	{ "cancel, end", race_join, wake_cancel, wake_end, "-1:125- -1:125", 0 },
	{ "end, deadlock", race_join, wake_end, wake_deadlock, "0:0ended 0:0", 0 },
	{ "deadlock, end", race_join, wake_deadlock, wake_end, "-1:35- 0:0", 0 },
	{ "settled, cancel", race_settle, wake_settle, wake_cancel, "0:0 -1:125", 0 },
	{ "cancel, settled", race_settle, wake_cancel, wake_settle, "-1:125 -1:125", 0 },
};

static void *be_joined(void *arg)
{
	(void)arg;
	must(bide_sleep(BIDE_NEVER) < 0);
	return NULL;
}

VIRTUAL_TEST(the_first_waker_wins)
{
	open_pipe(race.fds);
	race.joined = must_spawn(be_joined, NULL);
	race.waiter = must_spawn(races[_i].waiter, NULL);
	for (int i = 0; i < 10; i++)
		must(bide_yield() == 0);
	struct await_task *waiter = handle_resolve(race.waiter);
	ck_assert_int_eq(waiter->task.state, TASK_SUSPENDED);
	races[_i].first();
	sched_check(loop_current);
	ck_assert_int_eq(waiter->task.state, TASK_READY);
	ck_assert(!link_is_linked(&waiter->task.wait.link)); /* out of every list with the first wake */
	ck_assert(!timer_is_armed(&waiter->task.timer));
	ck_assert(!task_wake(&waiter->task, EXDEV));
	races[_i].second();
	sched_check(loop_current);
	ck_assert_int_eq(waiter->task.state, TASK_READY);
	must_join(race.waiter);
	sched_check(loop_current);
	ck_assert_msg(strcmp(notes(), races[_i].result) == 0, "%s: \"%s\", expected \"%s\"", races[_i].name, notes(),
	    races[_i].result);
	ck_assert_uint_eq(loop_current->descriptors.waiting, 0);
	int left = 0;
	struct pollfd in = { .fd = race.fds[0], .events = POLLIN };
	char byte;
	while (poll(&in, 1, 0) == 1 && read(race.fds[0], &byte, 1) == 1)
		left++;
	ck_assert_int_eq(left, races[_i].left);
	if (races[_i].first == wake_end || races[_i].second == wake_end)
		task_future(handle_resolve(race.joined))->is_done = false; /* it was not really at its end */
	close_pipe(race.fds);
}

/* ---- a stream under fire: scenario E8 -------------------------------------------------------------------------------------------- */

static struct {
	int fds[2];
	unsigned char next_in, next_out;
	int taken;
} stream;

static void *write_numbers(void *arg)
{
	struct random *random = arg;
	for (;;) {
		unsigned char numbers[16];
		size_t count = 1 + random_below(random, sizeof numbers);
		for (size_t i = 0; i < count; i++)
			numbers[i] = stream.next_in++;
		if (bide_write_all(stream.fds[1], numbers, count, NULL) < 0 || bide_sleep((bide_time)random_below(random, 4)) < 0)
			return NULL;
	}
}

static void *read_numbers(void *arg)
{
	unsigned char numbers[8];
	ssize_t count;
	while ((count = bide_read(stream.fds[0], numbers, sizeof numbers)) > 0) {
		for (ssize_t i = 0; i < count; i++)
			must(numbers[i] == stream.next_out++);
		stream.taken += (int)count;
	}
	must(errno == ECANCELED);
	return arg;
}

VIRTUAL_TEST(a_stream_whose_readers_are_canceled_at_random_loses_no_byte)
{
	uint64_t seed = 0xe8u + (uint64_t)_i;
	struct random random = { seed };
	int rounds = suite_scaled_down(10000, 300);
	stream.next_in = stream.next_out = 0;
	stream.taken = 0;
	open_pipe(stream.fds);
	bide_task *writer = must_spawn(write_numbers, &random);
	for (int i = 0; i < rounds; i++) {
		bide_task *reader = must_spawn(read_numbers, NULL);
		for (int turns = (int)random_below(&random, 4); turns > 0; turns--)
			must(bide_yield() == 0);
		if (i % 8 == 0)
			pass((bide_time)random_below(&random, 5));
		cancel(reader);
		must_join(reader);
	}
	cancel(writer);
	must_join(writer);
	ck_assert_int_gt(stream.taken, rounds / 8);
	close_pipe(stream.fds);
}

/* ---- stopping ----------------------------------------------------------------------------------------------------------------------- */

static void *stop_at_the_end(void *arg)
{
	ck_fails(bide_sleep(BIDE_NEVER), ECANCELED);
	ck_fails(bide_stop(), ESRCH); /* main has ended */
	note("refused");
	return arg;
}

static void stop(void *arg)
{
	(void)arg;
	must(bide_stop() == 0);
}

static void *main_that_is_stopped(void *arg)
{
	must_spawn(stop_at_the_end, NULL);
	must(bide_yield() == 0);
	must(bide_call_soon(stop, NULL) == 0);
	ck_fails(bide_sleep(BIDE_NEVER), ECANCELED);
	return arg;
}

START_TEST(stop_works_from_a_callback_and_not_after_main_ended)
{
	ck_fails(bide_stop(), EPERM);
	run_virtual(main_that_is_stopped, "x");
	expect_notes("refused");
}
END_TEST

int main(void)
{
	return SUITE("cancel",
	    TEST(a_sleeping_task_wakes_in_the_next_turn),
	    TEST(canceled_before_its_first_run_a_body_is_never_entered_and_its_argument_dropped_once),
	    TEST(a_body_that_always_starts_is_entered_and_its_first_wait_fails),
	    TEST(an_argument_is_not_dropped_when_the_body_ran),
	    TEST(a_drop_may_use_the_loop),
	    TEST(every_call_fails_until_each_request_is_taken_back),
	    TEST(outside_a_task_nothing_is_canceled),
	    TEST(the_first_reason_is_kept_until_all_requests_are_taken_back),
	    TEST(bide_stop_cancels_main_and_the_end_of_main_the_others),
	    TABLE(a_task_ended_by_its_cancel_only_if_it_saw_it_and_has_nothing_to_show, outcomes),
	    TABLE(with_a_cancel_pending_every_suspending_call_fails_with_no_effect, suspending),
	    TEST(with_none_pending_they_work),
	    TEST(calls_that_do_not_suspend_work_with_a_cancel_pending),
	    TEST(a_checkpoint_tells_of_a_cancel_and_lets_nobody_run),
	    TEST(a_cancel_that_arrives_while_a_call_lets_others_run_is_seen_by_that_call),
	    TABLE(a_task_can_be_canceled_wherever_it_waits_and_as_often_as_one_likes, waits),
	    TEST(ten_thousand_blocked_tasks_are_canceled_in_one_turn),
	    TABLE(the_first_waker_wins, races),
	    LOOP(a_stream_whose_readers_are_canceled_at_random_loses_no_byte, 0, 3),
	    TEST(stop_works_from_a_callback_and_not_after_main_ended));
}
