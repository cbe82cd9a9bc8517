/* SPDX-License-Identifier: MIT
 * Channels between loops: bide/chan.h with BIDE_CHAN_SHARED. Statements 40, 83, 159, and 153 to 155 over threads;
 * scenarios G4, G5, H5. What they do within one loop test_chan.c and test_every_wait.c show; every small schedule,
 * test_shared_chan_schedules.c. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "elsewhere.h"
#include "runs.h"

/* ---- helpers ------------------------------------------------------------------------------------------ */

#define THREADS_MAX 8

static bide_chan *chan;

static void open_chan(size_t capacity, void (*drop)(void *item))
{
	chan = bide_chan_new(sizeof(int), capacity, BIDE_CHAN_SHARED, drop);
	must(chan);
}

static void drop_chan(void)
{
	bide_chan_unref(chan);
	chan = NULL;
}

/* A loop on a thread of its own. */
static void *run_loop(void *main_fn)
{
	bide_fn *fn = *(bide_fn **)main_fn;
	must(bide_run(fn, NULL, NULL, NULL) == 0);
	return NULL;
}

static void run_loops(int count, bide_fn *const fns[])
{
	pthread_t threads[THREADS_MAX];
	for (int i = 0; i < count; i++)
		threads[i] = thread_start(run_loop, (void *)(uintptr_t)&fns[i]);
	for (int i = 0; i < count; i++)
		thread_finish(threads[i]);
}

/* ---- a million items: statement 159 ---------------------------------------------------------------------- */

#define SENDERS 3 /* tasks */
#define RECEIVERS 2

static struct {
	int each;                    /* items of a sender; an item is sender * each + its number */
	atomic_int total;
	atomic_int_least64_t sum;
} flow;

static void *send_mine(void *arg)
{
	int first = (int)(intptr_t)arg * flow.each;
	for (int i = 0; i < flow.each; i++)
		must(bide_chan_send(chan, &(int){ first + i }) == 0);
	return NULL;
}

static void count_in(int item)
{
	atomic_fetch_add(&flow.total, 1);
	atomic_fetch_add(&flow.sum, item);
}

/* Of each sender's items those that one receiver gets come in their order. */
static void *recv_in_order(void *arg)
{
	int latest[2 * SENDERS], item;
	for (int i = 0; i < 2 * SENDERS; i++)
		latest[i] = -1;
	while (bide_chan_recv(chan, &item) == 0) {
		int sender = item / flow.each;
		must(item > latest[sender]);
		latest[sender] = item;
		count_in(item);
	}
	must(errno == EPIPE);
	return arg;
}

static void spawn_all(bide_fn *fn, int count, intptr_t first, bide_task *tasks[])
{
	for (int i = 0; i < count; i++)
		tasks[i] = must_spawn(fn, (void *)(first + i));
}

static void *send_all_of(intptr_t first)
{
	bide_task *tasks[SENDERS];
	spawn_all(send_mine, SENDERS, first, tasks);
	for (int i = 0; i < SENDERS; i++)
		must_end_well(tasks[i]);
	return NULL;
}

static void *recv_all(void *arg)
{
	bide_task *tasks[RECEIVERS];
	spawn_all(recv_in_order, RECEIVERS, 0, tasks);
	for (int i = 0; i < RECEIVERS; i++)
		must_join(tasks[i]);
	return arg;
}

static void *send_half(void *arg)
{
	send_all_of(0);
	must(bide_chan_close(chan, 0) == 0);
	return arg;
}

/* Both loops send and receive. Who has sent last closes. */
static atomic_int senders_left;

static void *send_and_recv(void *arg)
{
	bide_task *receiver = must_spawn(recv_all, NULL);
	send_all_of(atomic_fetch_sub(&senders_left, 1) == 2 ? 0 : SENDERS);
	if (atomic_fetch_add(&senders_left, 3) == 3)
		must(bide_chan_close(chan, 0) == 0);
	must_join(receiver);
	return arg;
}

static const struct {
	size_t capacity;
	int items;
	bool both_ways;
} flows[] = { { 64, 1000000, false }, { 1, 30000, false }, { 0, 20000, false }, { 64, 300000, true }, { 0, 20000, true } };

START_TEST(between_two_loops_no_item_is_lost_and_each_senders_order_is_kept)
{
	int senders = flows[_i].both_ways ? 2 * SENDERS : SENDERS;
	flow.each = suite_scaled_down(flows[_i].items, 3000) / senders;
	atomic_store(&flow.total, 0);
	atomic_store(&flow.sum, 0);
	atomic_store(&senders_left, 2);
	open_chan(flows[_i].capacity, NULL);
	if (flows[_i].both_ways)
		run_loops(2, (bide_fn *const[]){ send_and_recv, send_and_recv });
	else
		run_loops(2, (bide_fn *const[]){ send_half, recv_all });
	int64_t count = (int64_t)flow.each * senders;
	ck_assert_int_eq(atomic_load(&flow.total), count);
	ck_assert_int_eq(atomic_load(&flow.sum), count * (count - 1) / 2);
	drop_chan();
}
END_TEST

/* ---- who gives up: statements 40, 83 ----------------------------------------------------------------------- */

static struct {
	int rounds;
	atomic_uchar *state; /* by item: sent 1, received 2 more */
	atomic_int next;
	atomic_int gave_up[2];
} hurry;

#define SENT 1
#define RECEIVED 2

/* One call with so little time that it often does not get far. */
static bool call_in_a_hurry(struct random *random, bool is_receiver, int *item)
{
	bide_scope scope;
	must(bide_scope_enter(&scope, bide_after((bide_time)random_below(random, 60) * BIDE_USEC), 0) == 0);
	int status = is_receiver ? bide_chan_recv(chan, item) : bide_chan_send(chan, item);
	int err = status < 0 ? errno : 0;
	bide_scope_leave(&scope);
	must(!err || err == ETIMEDOUT || err == EPIPE);
	if (err == ETIMEDOUT)
		atomic_fetch_add(&hurry.gave_up[is_receiver], 1);
	return !err;
}

static void *hurried_sender(void *arg)
{
	struct random random = { (uint64_t)(intptr_t)arg + suite_seed() };
	for (int item; (item = atomic_fetch_add(&hurry.next, 1)) < hurry.rounds;)
		if (call_in_a_hurry(&random, false, &item))
			atomic_fetch_add(&hurry.state[item], SENT);
	return NULL;
}

static void *hurried_receiver(void *arg)
{
	struct random random = { (uint64_t)(intptr_t)arg + suite_seed() + 100 };
	while (!bide_chan_is_closed(chan)) {
		int item = -1;
		if (call_in_a_hurry(&random, true, &item))
			atomic_fetch_add(&hurry.state[item], RECEIVED);
		else
			must(item == -1); /* not even written to */
	}
	return NULL;
}

static void *hurry_senders(void *arg)
{
	bide_task *tasks[SENDERS];
	spawn_all(hurried_sender, SENDERS, 0, tasks);
	for (int i = 0; i < SENDERS; i++)
		must_end_well(tasks[i]);
	must(bide_chan_close(chan, 0) == 0);
	return arg;
}

static void *hurry_receivers(void *arg)
{
	bide_task *tasks[RECEIVERS];
	spawn_all(hurried_receiver, RECEIVERS, 0, tasks);
	for (int i = 0; i < RECEIVERS; i++)
		must_end_well(tasks[i]);
	return arg;
}

/* _i: the capacity. Whoever of sender and receiver gives up, and when: an item is sent and received, or neither. */
START_TEST(a_deadline_on_either_side_loses_no_item_and_doubles_none)
{
	int item;
	hurry.rounds = suite_scaled_down(15000, 2000);
	hurry.state = calloc((size_t)hurry.rounds, sizeof *hurry.state);
	must(hurry.state);
	atomic_store(&hurry.next, 0);
	open_chan((size_t)_i, NULL);
	run_loops(2, (bide_fn *const[]){ hurry_senders, hurry_receivers });
	while (bide_chan_tryrecv(chan, &item) == 0)
		atomic_fetch_add(&hurry.state[item], RECEIVED);
	for (int i = 0; i < hurry.rounds; i++)
		must(hurry.state[i] == 0 || hurry.state[i] == (SENT | RECEIVED));
	printf("capacity %d, %d items: %d sends and %d receives gave up\n", _i, hurry.rounds, hurry.gave_up[0],
	    hurry.gave_up[1]);
	free(hurry.state);
	drop_chan();
}
END_TEST

/* ---- closing: statements 154, 155; scenario G4 ------------------------------------------------------------------ */

#define LOOPS 4
#define WAITERS 50

static atomic_int waiting, told;
static bool waits_to_send;

static void *wait_until_told(void *arg)
{
	int item = 1;
	atomic_fetch_add(&waiting, 1);
	ck_fails(waits_to_send ? bide_chan_send(chan, &item) : bide_chan_recv(chan, &item), EPIPE);
	atomic_fetch_add(&told, 1);
	return arg;
}

static void *many_waiters(void *arg)
{
	bide_task *tasks[WAITERS];
	spawn_all(wait_until_told, WAITERS, 0, tasks);
	for (int i = 0; i < WAITERS; i++)
		must_end_well(tasks[i]);
	return arg;
}

static void *close_when_all_wait(void *arg)
{
	while (atomic_load(&waiting) < LOOPS * WAITERS)
		sched_yield();
	must(bide_chan_close(arg, 0) == 0);
	return NULL;
}

/* _i: they send, or receive. Whose wait has not quite begun is told too. */
START_TEST(a_close_tells_all_on_all_loops)
{
	bide_fn *const loops[LOOPS] = { many_waiters, many_waiters, many_waiters, many_waiters };
	waits_to_send = _i;
	atomic_store(&waiting, 0);
	atomic_store(&told, 0);
	open_chan(0, NULL);
	pthread_t closer = thread_start(close_when_all_wait, chan);
	run_loops(LOOPS, loops);
	thread_finish(closer);
	ck_assert_int_eq(atomic_load(&told), LOOPS * WAITERS);
	ck_assert_uint_eq(bide_chan_len(chan), 0);
	drop_chan();
}
END_TEST

static atomic_int drops, drop_sum;

static void count_drop(void *item)
{
	atomic_fetch_add(&drops, 1);
	atomic_fetch_add(&drop_sum, *(int *)item);
}

static void open_with_drop(size_t capacity)
{
	atomic_store(&drops, 0);
	atomic_store(&drop_sum, 0);
	open_chan(capacity, count_drop);
}

/* Threads alone, without any loop. */
static void *fill_and_unref(void *arg)
{
	bide_chan *mine = arg;
	for (int i = 1; bide_chan_trysend(mine, &i) == 0; i++)
		continue;
	must(errno == EAGAIN || errno == EPIPE);
	bide_chan_unref(mine);
	return NULL;
}

START_TEST(the_last_reference_on_whichever_thread_drops_what_is_left)
{
	pthread_t threads[THREADS_MAX];
	for (int round = 0; round < suite_scaled_down(200, 20); round++) {
		open_with_drop(10);
		for (int i = 0; i < THREADS_MAX; i++)
			threads[i] = thread_start(fill_and_unref, bide_chan_ref(chan));
		drop_chan();
		for (int i = 0; i < THREADS_MAX; i++)
			thread_finish(threads[i]);
		ck_assert_int_eq(atomic_load(&drops), 10);
	}
}
END_TEST

START_TEST(a_close_with_discard_drops_what_is_buffered)
{
	open_with_drop(3);
	for (int i = 1; i <= 3; i++)
		must(bide_chan_trysend(chan, &i) == 0);
	ck_fails(bide_chan_trysend(chan, &(int){ 4 }), EAGAIN);
	must(!bide_chan_is_closed(chan) && bide_chan_len(chan) == 3);
	must(bide_chan_close(chan, BIDE_DISCARD) == 0);
	must(bide_chan_is_closed(chan) && bide_chan_len(chan) == 0);
	ck_assert_int_eq(atomic_load(&drops), 3);
	ck_assert_int_eq(atomic_load(&drop_sum), 1 + 2 + 3);
	ck_fails(bide_chan_trysend(chan, &(int){ 4 }), EPIPE);
	ck_fails(bide_chan_tryrecv(chan, &(int){ 0 }), EPIPE);
	must(bide_chan_close(chan, 0) == 0);
	drop_chan();
	ck_assert_int_eq(atomic_load(&drops), 3);
}
END_TEST

static void drop_the_reference(void *item)
{
	count_drop(item);
	if (*(int *)item == 1)
		bide_chan_unref(chan);
}

START_TEST(a_drop_may_give_the_last_reference_up)
{
	atomic_store(&drops, 0);
	open_chan(2, drop_the_reference);
	must(bide_chan_trysend(chan, &(int){ 1 }) == 0 && bide_chan_trysend(chan, &(int){ 2 }) == 0);
	must(bide_chan_close(chan, BIDE_DISCARD) == 0);
	ck_assert_int_eq(atomic_load(&drops), 2);
}
END_TEST

/* ---- loops that sleep, jump and end ---------------------------------------------------------------------------------- */

static void *send_late(void *arg)
{
	usleep(20000);
	must(bide_chan_trysend(arg, &(int){ 7 }) == 0);
	return NULL;
}

static struct reports reports;

static void *recv_seven(void *arg)
{
	int item = 0;
	pthread_t thread = thread_start(send_late, chan);
	must(bide_chan_recv(chan, &item) == 0 && item == 7);
	thread_finish(thread);
	return arg;
}

/* Statement 10's kind: a loop in which nothing else can happen waits for it, on both clocks, and says nothing. */
START_TEST(a_wait_that_another_thread_may_end_is_no_deadlock)
{
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(_i ? BIDE_VIRTUAL_CLOCK : 0, &reports);
	open_chan((size_t)_i, NULL);
	ck_assert_int_eq(bide_run(recv_seven, NULL, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_DEADLOCK], 0);
	drop_chan();
}
END_TEST

static void *recv_for_an_hour(void *arg)
{
	bide_scope scope;
	int item = 3;
	bide_time start_time = bide_now();
	must(bide_scope_enter(&scope, bide_after(3600 * BIDE_SEC), 0) == 0);
	ck_fails(bide_chan_recv(chan, &item), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	must(item == 3 && bide_now() == start_time + 3600 * BIDE_SEC);
	return arg;
}

/* Statement 191: the clock gives the other threads a moment, and goes on. */
START_TEST(a_virtual_clock_jumps_over_such_a_wait)
{
	open_chan(0, NULL);
	run_virtual(recv_for_an_hour, NULL);
	drop_chan();
}
END_TEST

static void *leave_a_sender(void *arg)
{
	must_spawn(arg, NULL);
	must(bide_yield() == 0 && bide_yield() == 0);
	return NULL;
}

static void *send_and_be_canceled(void *arg)
{
	ck_fails(bide_chan_send(chan, &(int){ 1 }), ECANCELED);
	return arg;
}

START_TEST(a_loop_that_ends_takes_its_waiters_along)
{
	open_chan(0, NULL);
	run_real(leave_a_sender, send_and_be_canceled);
	ck_fails(bide_chan_tryrecv(chan, &(int){ 0 }), EAGAIN);
	drop_chan();
}
END_TEST

static bool is_a_receiver;

static void *wait_whatever_happens(void *arg)
{
	bide_scope scope;
	int item = 1;
	must(bide_scope_enter(&scope, BIDE_NEVER, BIDE_SHIELD) == 0);
	(void)(is_a_receiver ? bide_chan_recv(chan, &item) : bide_chan_send(chan, &item));
	ck_abort_msg("it goes on, though the run is over");
	return arg;
}

/* _i: it receives. A task that ignores its cancel beyond the grace never runs again: nobody meets it any more. */
START_TEST(who_waits_beyond_the_end_of_its_loop_is_met_by_nobody)
{
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(0, &reports);
	config.shutdown_grace = 10 * BIDE_MSEC;
	is_a_receiver = _i;
	open_with_drop(0);
	ck_fails(bide_run(leave_a_sender, wait_whatever_happens, &config, NULL), EBUSY);
	ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_LEFTOVER], "waiting for shared channel"));
	ck_fails(bide_chan_tryrecv(chan, &(int){ 0 }), EAGAIN);
	ck_fails(bide_chan_trysend(chan, &(int){ 2 }), EAGAIN);
	drop_chan();
	ck_assert_int_eq(atomic_load(&drops), 0);
}
END_TEST

static void *send_five(void *arg)
{
	must(bide_chan_trysend(arg, &(int){ 5 }) == 0);
	return NULL;
}

/* Gives the waiter its item from another thread when the grace is over: the loop's next look ends it. */
static void *hold_the_loop_up(void *arg)
{
	bide_scope scope;
	ck_fails(bide_sleep(3600 * BIDE_SEC), ECANCELED);
	must(bide_scope_enter(&scope, BIDE_NEVER, BIDE_SHIELD) == 0);
	compute(20 * BIDE_MSEC);
	thread_finish(thread_start(send_five, chan));
	while (bide_yield() == 0)
		continue;
	return arg;
}

static void *leave_a_receiver(void *arg)
{
	must_spawn(hold_the_loop_up, NULL);
	return leave_a_sender(arg);
}

START_TEST(an_item_given_to_a_task_that_never_goes_on_is_dropped)
{
	bide_config config = config_with(0, &reports);
	config.shutdown_grace = 10 * BIDE_MSEC;
	is_a_receiver = true;
	open_with_drop(0);
	ck_fails(bide_run(leave_a_receiver, wait_whatever_happens, &config, NULL), EBUSY);
	ck_assert_int_eq(atomic_load(&drops), 1);
	ck_assert_int_eq(atomic_load(&drop_sum), 5);
	drop_chan();
}
END_TEST

/* ---- a loop that cannot be woken ------------------------------------------------------------------------------------------ */

static atomic_bool is_in_wait;

static void *send_though_it_sleeps(void *arg)
{
	while (!atomic_load(&is_in_wait))
		sched_yield();
	usleep(5000);
	must(bide_fault("eventfd_write:EBADF") == 0);
	must(bide_chan_trysend(arg, &(int){ 1 }) == 0); /* that has happened, whoever knows of it */
	must(bide_fault(NULL) == 0);
	usleep(5000);
	must(bide_chan_trysend(arg, &(int){ 2 }) == 0);
	return NULL;
}

static void *recv_and_count(void *arg)
{
	int item;
	must(bide_chan_recv(chan, &item) == 0);
	*(int *)arg += item;
	return NULL;
}

REAL_TEST(what_is_sent_to_a_loop_that_cannot_be_woken_comes_with_its_next_wake)
{
	int sum = 0;
	open_chan(0, NULL);
	atomic_store(&is_in_wait, false);
	pthread_t thread = thread_start(send_though_it_sleeps, chan);
	bide_task *first = must_spawn(recv_and_count, &sum), *second = must_spawn(recv_and_count, &sum);
	must(bide_yield() == 0);
	atomic_store(&is_in_wait, true);
	must_end_well(first);
	must_end_well(second);
	ck_assert_int_eq(sum, 3);
	thread_finish(thread);
	drop_chan();
}

/* ---- misuse ------------------------------------------------------------------------------------------------------------------ */

static int item_of_calls;
static int call_send(void) { return bide_chan_send(chan, &item_of_calls); }
static int call_recv(void) { return bide_chan_recv(chan, &item_of_calls); }
static int call_trysend(void) { return bide_chan_trysend(chan, &item_of_calls); }
static int call_tryrecv(void) { return bide_chan_tryrecv(chan, &item_of_calls); }
static int call_close(void) { return bide_chan_close(chan, 0); }
static int call_ref(void) { return bide_chan_ref(chan) ? 0 : -1; }
static int call_new(void)
{
	bide_chan *made = bide_chan_new(4, 4, BIDE_CHAN_SHARED, NULL);
	bide_chan_unref(made);
	return made ? 0 : -1;
}

VIRTUAL_TEST(any_thread_may_call_what_does_not_wait)
{
	open_chan(1, NULL);
	ck_assert_int_eq(errno_on_plain_thread(call_send), EPERM);
	ck_assert_int_eq(errno_on_plain_thread(call_recv), EPERM);
	ck_assert_int_eq(errno_on_plain_thread(call_trysend), 0);
	ck_assert_int_eq(errno_in_other_loop(call_recv), 0);
	ck_assert_int_eq(errno_in_other_loop(call_send), 0);
	ck_assert_int_eq(errno_in_callback(call_send), EPERM);
	ck_assert_int_eq(errno_in_callback(call_trysend), EAGAIN);
	ck_assert_int_eq(errno_in_callback(call_tryrecv), 0);
	ck_assert_int_eq(errno_on_plain_thread(call_tryrecv), EAGAIN);
	ck_assert_int_eq(errno_on_plain_thread(call_new), 0);
	ck_assert_int_eq(errno_on_plain_thread(call_ref), 0);
	bide_chan_unref(chan);
	ck_assert_int_eq(errno_on_plain_thread(call_close), 0);
	ck_assert_int_eq(errno_in_other_loop(call_tryrecv), EPIPE);
	drop_chan();
}

VIRTUAL_TEST(misuse_fails_and_changes_nothing)
{
	open_chan(1, NULL);
	ck_fails_null(bide_chan_new(SIZE_MAX, 2, BIDE_CHAN_SHARED, NULL), EINVAL);
	ck_fails_null(bide_chan_new(1, 1, BIDE_CHAN_SHARED | BIDE_DISCARD, NULL), EINVAL);
	ck_fails(bide_chan_send(chan, NULL), EINVAL);
	ck_fails(bide_chan_recv(chan, NULL), EINVAL);
	ck_fails(bide_chan_trysend(chan, NULL), EINVAL);
	ck_fails(bide_chan_tryrecv(chan, NULL), EINVAL);
	ck_fails(bide_chan_close(chan, 2), EINVAL);
	bide_case c = { .op = BIDE_CASE_RECV, .chan = chan, .item = &item_of_calls };
	ck_fails(bide_select(&c, 1, 0), ENOTSUP);
	must(bide_fault("malloc:ENOMEM@1") == 0);
	ck_fails_null(bide_chan_new(4, 4, BIDE_CHAN_SHARED, NULL), ENOMEM);
	must(bide_fault(NULL) == 0);
	must(!bide_chan_is_closed(chan) && bide_chan_len(chan) == 0);
	drop_chan();
}

static void *recv_one(void *arg)
{
	must(bide_chan_recv(chan, arg) == 0);
	return arg;
}

VIRTUAL_TEST(to_wait_takes_no_memory)
{
	int item = 0;
	open_chan(0, NULL);
	bide_task *receiver = must_spawn(recv_one, &item);
	must(bide_fault("malloc:ENOMEM") == 0);
	settle();
	must(bide_chan_trysend(chan, &(int){ 4 }) == 0);
	must(bide_fault(NULL) == 0);
	must_end_well(receiver);
	ck_assert_int_eq(item, 4);
	drop_chan();
}

static void use_the_parents(void)
{
	int item = 1;
	bool is_refused = bide_chan_trysend(chan, &item) < 0 && errno == EPERM && bide_chan_tryrecv(chan, &item) < 0 &&
	    errno == EPERM && bide_chan_close(chan, 0) < 0 && errno == EPERM && !bide_chan_ref(chan) && errno == EPERM;
	bide_chan_unref(chan);
	_exit(is_refused && bide_chan_is_closed(chan) && bide_chan_len(chan) == 0 ? 0 : 1);
}

/* Its lock may be held for ever in the child, by a thread that is not there. */
START_TEST(a_forked_process_does_not_touch_it)
{
	int status;
	open_chan(2, NULL);
	must(bide_chan_trysend(chan, &(int){ 1 }) == 0);
	pid_t pid = fork();
	if (pid == 0)
		use_the_parents();
	must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	ck_assert_uint_eq(bide_chan_len(chan), 1);
	drop_chan();
}
END_TEST

int main(void)
{
	return SUITE("shared channels",
	    TABLE(between_two_loops_no_item_is_lost_and_each_senders_order_is_kept, flows),
	    LOOP(a_deadline_on_either_side_loses_no_item_and_doubles_none, 0, 3),
	    LOOP(a_close_tells_all_on_all_loops, 0, 2),
	    TEST(the_last_reference_on_whichever_thread_drops_what_is_left),
	    TEST(a_close_with_discard_drops_what_is_buffered),
	    TEST(a_drop_may_give_the_last_reference_up),
	    LOOP(a_wait_that_another_thread_may_end_is_no_deadlock, 0, 2),
	    TEST(a_virtual_clock_jumps_over_such_a_wait),
	    TEST(a_loop_that_ends_takes_its_waiters_along),
	    LOOP(who_waits_beyond_the_end_of_its_loop_is_met_by_nobody, 0, 2),
	    TEST(an_item_given_to_a_task_that_never_goes_on_is_dropped),
	    TEST(what_is_sent_to_a_loop_that_cannot_be_woken_comes_with_its_next_wake),
	    TEST(any_thread_may_call_what_does_not_wait),
	    TEST(misuse_fails_and_changes_nothing),
	    TEST(to_wait_takes_no_memory),
	    TEST(a_forked_process_does_not_touch_it));
}
