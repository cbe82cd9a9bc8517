/* SPDX-License-Identifier: MIT
 * Each call that waits for an object of bide/sync.h, bide/chan.h, bide/group.h, alone or in a select: its
 * result and a cancel, or a deadline, in one turn, in both orders; a cancel that is there on entry; a cancel
 * alone. It fails and took nothing, or it succeeds, has what it waited for, and the cancel is pending.
 * Statements 39, 40, 46, 136, 137, 140, 141, 157; scenarios E2, E13, E14. For futures, joins and descriptors
 * test_wake_pairs.c does the same. */
#include "await/record.h"
#include "runs.h"

/* What is waited on; each call uses some of it. */
static struct {
	bide_task *waiter, *helper;
	bide_mutex mutex;
	bide_rwlock rwlock;
	bide_cond cond;
	bide_sem sem;
	bide_event event;
	bide_barrier barrier;
	bide_once once;
	int flights; /* of the once */
	bide_chan *chan;
	bide_group group;
	bide_future release;
	int word;
} world;

struct call {
	const char *name;
	void (*prepare)(void); /* in main: the call will have to wait */
	void (*enter)(void);   /* in the waiter, before the call; NULL: nothing */
	int (*make)(void);     /* the call */
	void (*give)(void);    /* in main: its result; wakes it if it waits, and does not let it run */
	void (*have)(void);    /* in the waiter, after success: it has it; gives it up */
	void (*left)(void);    /* in the waiter, after a failure: the result that was given is still there; takes
	                          it and gives it up */
	void (*exit)(void);    /* in the waiter, after all; NULL: nothing */
	int (*finish)(void);   /* in main: the object is whole, and goes */
	int (*destroy)(void);  /* in main, while it waits: EBUSY; NULL: it can be destroyed, or not at all */
};

static void nothing_to_do(void)
{
}

static void wait_for_release(void)
{
	must(bide_await(&world.release, NULL) == 0);
}

/* The helper goes on, and what it does wakes the waiter; which stands behind main in the ready queue then. */
static void release_helper(void)
{
	must(bide_future_set(&world.release, NULL) == 0);
	must(bide_yield() == 0);
}

/* ---- locks ---------------------------------------------------------------------------------------------- */

static void prepare_mutex(void) { must(bide_mutex_lock(&world.mutex) == 0); }
static int make_mutex(void) { return bide_mutex_lock(&world.mutex); }
static void give_mutex(void) { must(bide_mutex_unlock(&world.mutex) == 0); }
static void left_mutex(void) { must(bide_mutex_trylock(&world.mutex) == 0); give_mutex(); }
static int finish_mutex(void) { return bide_mutex_destroy(&world.mutex); }

static void prepare_rwlock(void) { must(bide_rwlock_wrlock(&world.rwlock) == 0); }
static int make_rdlock(void) { return bide_rwlock_rdlock(&world.rwlock); }
static int make_wrlock(void) { return bide_rwlock_wrlock(&world.rwlock); }
static void give_rwlock(void) { must(bide_rwlock_unlock(&world.rwlock) == 0); }
static void left_rwlock(void) { must(bide_rwlock_trywrlock(&world.rwlock) == 0); give_rwlock(); }
static int finish_rwlock(void) { return bide_rwlock_destroy(&world.rwlock); }

static void enter_cond(void) { must(bide_mutex_lock(&world.mutex) == 0); }
static int make_cond(void) { return bide_cond_wait(&world.cond, &world.mutex); }
static void give_cond(void) { must(bide_cond_signal(&world.cond, 1) == 0); }
static int finish_cond(void) { return bide_cond_destroy(&world.cond) < 0 ? -1 : bide_mutex_destroy(&world.mutex); }
static int destroy_cond(void) { return bide_cond_destroy(&world.cond); }

/* ---- permits, flags, meetings ------------------------------------------------------------------------------ */

static int make_sem(void) { return bide_sem_acquire(&world.sem, 2); }
static void give_sem(void) { must(bide_sem_release(&world.sem, 2) == 0); }
static void have_sem(void) { must(bide_sem_value(&world.sem) == 0); }
static void left_sem(void) { must(bide_sem_tryacquire(&world.sem, 2) == 0); }
static int finish_sem(void) { return bide_sem_destroy(&world.sem); }

static int make_event(void) { return bide_event_wait(&world.event); }
static void give_event(void) { must(bide_event_set(&world.event) == 0); }
static void have_event(void) { must(bide_event_is_set(&world.event)); }
static int finish_event(void) { return bide_event_destroy(&world.event); }

static void *arrive(void *arg)
{
	must(bide_barrier_wait(&world.barrier) >= 0);
	return arg;
}

static void prepare_barrier(void) { must(bide_barrier_init(&world.barrier, 2) == 0); }
static int make_barrier(void) { return bide_barrier_wait(&world.barrier) < 0 ? -1 : 0; }
static void give_barrier(void)
{
	must(world.helper = bide_spawn(arrive, NULL));
	must(bide_yield() == 0);
}
static void left_barrier(void) { arrive(NULL); } /* the helper is there still */
static int finish_barrier(void) { return bide_barrier_destroy(&world.barrier); }

static int fly(void *arg)
{
	world.flights++;
	if (arg)
		wait_for_release();
	if (!arg || *(int *)arg == 0)
		return 0;
	errno = EIO;
	return -1;
}

static void *fly_first(void *arg)
{
	must(bide_once_run(&world.once, fly, arg) == (*(int *)arg ? -1 : 0));
	return arg;
}

static int success = 0, failure = 1;

static void prepare_once(void)
{
	must(world.helper = bide_spawn(fly_first, &success));
	must(bide_yield() == 0);
}
static void prepare_once_that_fails(void)
{
	must(world.helper = bide_spawn(fly_first, &failure));
	must(bide_yield() == 0);
}
static int make_once(void) { return bide_once_run(&world.once, fly, NULL); }
static void have_once(void) { must(world.flights == 1); }
static void have_second_flight(void) { must(world.flights == 2); }
static void left_once(void) { must(make_once() == 0 && world.flights == 1); }
static void left_second_flight(void) { must(make_once() == 0 && world.flights == 2); }
static int finish_once(void)
{
	if (!bide_future_done(&world.release))
		release_helper();
	return 0;
}

/* ---- channels ------------------------------------------------------------------------------------------------ */

static void prepare_chan(size_t capacity, unsigned flags)
{
	must(world.chan = bide_chan_new(sizeof(int), capacity, flags, NULL));
}
static void fill(void) { must(bide_chan_trysend(world.chan, &(int){ 1 }) == 0); }
static void prepare_rendezvous(void) { prepare_chan(0, 0); }
static void prepare_empty(void) { prepare_chan(1, 0); }
static void prepare_full(void) { prepare_empty(); fill(); }
static void prepare_shared_rendezvous(void) { prepare_chan(0, BIDE_CHAN_SHARED); }
static void prepare_shared_empty(void) { prepare_chan(1, BIDE_CHAN_SHARED); }
static void prepare_shared_full(void) { prepare_shared_empty(); fill(); }
static int make_recv(void) { return bide_chan_recv(world.chan, &world.word); }
static int make_send(void) { return bide_chan_send(world.chan, &(int){ 2 }); }
static int make_select_with(int op, void *item)
{
	bide_case cases[] = { { .op = BIDE_CASE_TIME, .deadline = BIDE_NEVER }, { .op = op, .chan = world.chan, .item = item } };
	int index = bide_select(cases, 2, 0);
	must(index < 0 || (index == 1 && cases[1].err == 0));
	return index < 0 ? -1 : 0;
}
static int make_select_recv(void) { return make_select_with(BIDE_CASE_RECV, &world.word); }
static int make_select_send(void) { return make_select_with(BIDE_CASE_SEND, &(int){ 2 }); }
static void *send_one(void *arg)
{
	must(bide_chan_send(world.chan, &(int){ 5 }) == 0);
	return arg;
}
static void give_item(void) { must(bide_chan_trysend(world.chan, &(int){ 5 }) == 0); }
static void give_sender(void)
{
	must(world.helper = bide_spawn(send_one, NULL));
	must(bide_yield() == 0);
}
static void have_item(void) { must(world.word == 5 && bide_chan_len(world.chan) == 0); }
static void left_item(void)
{
	must(world.word == 0); /* not even written to */
	must(bide_chan_tryrecv(world.chan, &world.word) == 0);
	have_item();
}
static void give_place(void) { must(bide_chan_tryrecv(world.chan, &world.word) == 0 && world.word == 1); }
static void have_sent(void)
{
	must(bide_chan_tryrecv(world.chan, &world.word) == 0 && world.word == 2);
	ck_fails(bide_chan_tryrecv(world.chan, &world.word), EAGAIN);
}
static void left_place(void) { must(bide_chan_trysend(world.chan, &(int){ 2 }) == 0); have_sent(); }
static int finish_chan(void)
{
	bide_chan_unref(world.chan);
	return 0;
}

/* ---- groups -------------------------------------------------------------------------------------------------- */

static void *child_to_be_released(void *arg)
{
	wait_for_release();
	return arg;
}

static void prepare_full_group(void)
{
	must(bide_group_enter(&world.group, 1, 0) == 0);
	must(bide_group_spawn(&world.group, child_to_be_released, NULL, NULL));
	must(bide_yield() == 0);
}
static int make_group_spawn(void) { return bide_group_spawn(&world.group, nothing, NULL, NULL) ? 0 : -1; }
static int finish_group(void)
{
	if (!bide_future_done(&world.release))
		release_helper();
	return bide_group_leave(&world.group);
}

static void *child_that_starts(void *arg)
{
	wait_for_release();
	int status = bide_started("up"); /* EALREADY: nobody waits any more */
	must(status == 0 || errno == EALREADY);
	return arg;
}
static void prepare_group(void) { must(bide_group_enter(&world.group, 0, 0) == 0); }
static void *started;
static int make_group_start(void)
{
	started = NULL;
	return bide_group_start(&world.group, child_that_starts, NULL, NULL, &started) ? 0 : -1;
}
static void have_started(void) { must(strcmp(started, "up") == 0); }

static void enter_collecting(void)
{
	must(bide_group_enter(&world.group, 0, BIDE_COLLECT) == 0);
	must(bide_group_spawn(&world.group, child_to_be_released, "outcome", NULL));
	must(bide_yield() == 0);
}
static int make_group_next(void)
{
	bide_result result;
	if (bide_group_next(&world.group, NULL, &result) < 0)
		return -1;
	must(strcmp(result.value, "outcome") == 0);
	return 0;
}
static void have_next(void) { ck_fails(make_group_next(), ECHILD); }
static void left_next(void) { must(make_group_next() == 0); have_next(); }
static void exit_collecting(void)
{
	if (!bide_future_done(&world.release))
		must(bide_future_set(&world.release, NULL) == 0);
	must(bide_group_leave(&world.group) == 0);
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

static int finish_nothing(void)
{
	return 0;
}

static const struct call calls[] = {
	{ "mutex_lock", prepare_mutex, NULL, make_mutex, give_mutex, give_mutex, left_mutex, NULL, finish_mutex, finish_mutex },
	{ "rwlock_rdlock", prepare_rwlock, NULL, make_rdlock, give_rwlock, give_rwlock, left_rwlock, NULL, finish_rwlock,
	  finish_rwlock },
	{ "rwlock_wrlock", prepare_rwlock, NULL, make_wrlock, give_rwlock, give_rwlock, left_rwlock, NULL, finish_rwlock,
	  finish_rwlock },
	{ "cond_wait", nothing_to_do, enter_cond, make_cond, give_cond, nothing_to_do, nothing_to_do, give_mutex, finish_cond,
	  destroy_cond },
	{ "sem_acquire", nothing_to_do, NULL, make_sem, give_sem, have_sem, left_sem, NULL, finish_sem, finish_sem },
	{ "event_wait", nothing_to_do, NULL, make_event, give_event, have_event, have_event, NULL, finish_event, finish_event },
	{ "barrier_wait", prepare_barrier, NULL, make_barrier, give_barrier, nothing_to_do, left_barrier, NULL, finish_barrier,
	  finish_barrier },
	{ "once_run", prepare_once, NULL, make_once, release_helper, have_once, left_once, NULL, finish_once, NULL },
	{ "once_run, its turn", prepare_once_that_fails, NULL, make_once, release_helper, have_second_flight,
	  left_second_flight, NULL, finish_once, NULL },
	{ "chan_recv", prepare_empty, NULL, make_recv, give_item, have_item, left_item, NULL, finish_chan, NULL },
	{ "chan_recv, rendezvous", prepare_rendezvous, NULL, make_recv, give_sender, have_item, left_item, NULL, finish_chan,
	  NULL },
	{ "chan_send", prepare_full, NULL, make_send, give_place, have_sent, left_place, NULL, finish_chan, NULL },
	{ "chan_recv, shared", prepare_shared_empty, NULL, make_recv, give_item, have_item, left_item, NULL, finish_chan, NULL },
	{ "chan_recv, shared rendezvous", prepare_shared_rendezvous, NULL, make_recv, give_sender, have_item, left_item, NULL,
	  finish_chan, NULL },
	{ "chan_send, shared", prepare_shared_full, NULL, make_send, give_place, have_sent, left_place, NULL, finish_chan,
	  NULL },
	{ "select, recv", prepare_empty, NULL, make_select_recv, give_item, have_item, left_item, NULL, finish_chan, NULL },
	{ "select, send", prepare_full, NULL, make_select_send, give_place, have_sent, left_place, NULL, finish_chan, NULL },
	{ "group_spawn", prepare_full_group, NULL, make_group_spawn, release_helper, nothing_to_do, nothing_to_do, NULL,
	  finish_group, NULL },
	{ "group_start", prepare_group, NULL, make_group_start, release_helper, have_started, nothing_to_do, NULL, finish_group,
	  NULL },
	{ "group_next", nothing_to_do, enter_collecting, make_group_next, release_helper, have_next, left_next,
	  exit_collecting, finish_nothing, NULL },
};

#define CALLS (int)(sizeof calls / sizeof *calls)

enum order {
	RESULT_CANCEL,
	CANCEL_RESULT,
	RESULT_DEADLINE,
	DEADLINE_RESULT,
	ON_ENTRY,
	CANCEL_ALONE,
	ORDERS
};
static const char *const order_names[] = { "a result, then a cancel", "a cancel, then a result",
	"a result, then a deadline", "a deadline, then a result", "a cancel on entry", "a cancel alone" };
static const int errors[] = { 0, ECANCELED, 0, ETIMEDOUT, ECANCELED, ECANCELED };

static const struct call *call;
static enum order order;

/* What stands open after the call: the cancel or the deadline, whether or not it came too late. */
static void expect_pending(const bide_scope *scope)
{
	bool is_late = order == RESULT_DEADLINE || order == DEADLINE_RESULT;
	for (int i = 0; i < 3; i++) /* level-triggered */
		ck_fails(bide_yield(), is_late ? ETIMEDOUT : ECANCELED);
	must(bide_scope_expired(scope) == is_late);
}

/* With a cancel there on entry the result is there before, where it can be. */
static bool can_give_before(void)
{
	return call->make != make_group_spawn && call->make != make_group_start;
}

static void *wait_in_call(void *arg)
{
	bide_scope scope;
	if (call->enter)
		call->enter();
	must(bide_scope_enter(&scope, bide_after(BIDE_SEC), 0) == 0);
	if (order == ON_ENTRY && call->enter)
		call->give();
	if (order == ON_ENTRY)
		must(bide_cancel(bide_self(), NULL) == 0);
	int status = call->make(), err = status < 0 ? errno : 0;
	must_msg(err == errors[order], "%s, %s: %s", call->name, order_names[order], strerror(err));
	expect_pending(&scope);
	bide_scope_leave(&scope);
	must(bide_uncancel() == 0);
	must(bide_yield() == 0);
	if (!err)
		call->have();
	else if (order != CANCEL_ALONE)
		call->left();
	if (call->exit)
		call->exit();
	return arg;
}

static void let_the_deadline_come(void)
{
	loop_current->clock.now += BIDE_SEC;
	struct timer *timer = timers_pop_expired(&loop_current->timers, loop_now(loop_current));
	must(timer && timer->expired == scope_timer_expired);
	timer->expired(timer);
}

static void interrupt(void)
{
	if (order == RESULT_DEADLINE || order == DEADLINE_RESULT)
		let_the_deadline_come();
	else
		must(bide_cancel(world.waiter, NULL) == 0);
}

/* The waiter is parked. */
static void let_both_happen(void)
{
	if (call->destroy)
		ck_fails(call->destroy(), EBUSY);
	if (order == RESULT_CANCEL || order == RESULT_DEADLINE)
		call->give();
	interrupt();
	if (order == CANCEL_RESULT || order == DEADLINE_RESULT)
		call->give();
}

ORDERED_TEST(of_a_result_and_an_interrupt_the_first_wins_and_nothing_is_lost)
{
	memset(&world, 0, sizeof world);
	call = &calls[_i / ORDERS];
	order = (enum order)(_i % ORDERS);
	call->prepare();
	if (order == ON_ENTRY && !call->enter && can_give_before())
		call->give();
	world.waiter = must_spawn(wait_in_call, NULL);
	if (order != ON_ENTRY) {
		for (int i = 0; i < 5; i++)
			must(bide_yield() == 0);
		must(bide_task_state(world.waiter) == BIDE_TASK_SUSPENDED);
		let_both_happen();
	}
	if (order == CANCEL_ALONE && call->give == give_mutex)
		give_mutex();
	if (order == CANCEL_ALONE && call->give == give_rwlock)
		give_rwlock();
	must_end_well(world.waiter);
	must(call->finish() == 0);
	if (world.helper)
		must_end_well(world.helper);
}

/* ---- what never waits ------------------------------------------------------------------------------------------- */

static void never_called(bide_future *future, void *arg)
{
	(void)future;
	(void)arg;
	ck_abort_msg("called");
}

static void use_locks(void)
{
	must(bide_mutex_trylock(&world.mutex) == 0 && bide_mutex_unlock(&world.mutex) == 0);
	must(bide_mutex_destroy(&world.mutex) == 0);
	must(bide_rwlock_tryrdlock(&world.rwlock) == 0 && bide_rwlock_unlock(&world.rwlock) == 0);
	must(bide_rwlock_trywrlock(&world.rwlock) == 0 && bide_rwlock_unlock(&world.rwlock) == 0);
	must(bide_rwlock_destroy(&world.rwlock) == 0);
}

static void use_the_others_of_sync(void)
{
	must(bide_cond_signal(&world.cond, 1) == 0 && bide_cond_broadcast(&world.cond) == 0);
	must(bide_cond_destroy(&world.cond) == 0);
	must(bide_sem_release(&world.sem, 2) == 0 && bide_sem_tryacquire(&world.sem, 1) == 0);
	must(bide_sem_value(&world.sem) == 1 && bide_sem_destroy(&world.sem) == 0);
	must(bide_event_set(&world.event) == 0 && bide_event_is_set(&world.event) && bide_event_clear(&world.event) == 0);
	must(bide_event_destroy(&world.event) == 0);
	must(bide_barrier_init(&world.barrier, 2) == 0 && bide_barrier_abort(&world.barrier) == 0);
	must(bide_barrier_destroy(&world.barrier) == 0);
}

static void use_a_channel(void)
{
	prepare_empty();
	must(bide_chan_trysend(world.chan, &(int){ 5 }) == 0 && bide_chan_tryrecv(world.chan, &world.word) == 0);
	must(bide_chan_ref(world.chan) == world.chan && bide_chan_close(world.chan, BIDE_DISCARD) == 0);
	bide_chan_unref(world.chan);
	bide_chan_unref(world.chan);
}

static void use_futures(void)
{
	bide_result result;
	must(bide_on_done(&world.release, never_called, NULL) == 0 && bide_off_done(&world.release, never_called, NULL) == 1);
	must(bide_future_set(&world.release, "v") == 0 && bide_future_get(&world.release, &result) == 0);
	must(bide_future_destroy(&world.release) == 0 && bide_future_fail(&world.release, EIO) == 0);
	must(bide_future_get(&world.release, &result) == 0 && bide_future_destroy(&world.release) == 0);
	must(bide_future_cancel(&world.release) == 0 && bide_future_destroy(&world.release) == 0);
}

/* Room needs no waiting; leave does not fail on entry, but tells of the interrupt when the child has ended. */
static void use_scopes_and_groups(int err)
{
	bide_scope scope;
	must(bide_scope_enter(&scope, BIDE_NEVER, BIDE_SHIELD) == 0 && bide_scope_reset(&scope, bide_after(BIDE_SEC)) == 0);
	must(bide_scope_cancel(&scope) == 0 && bide_scope_leave(&scope) == 0);
	must(bide_group_enter(&world.group, 1, 0) == 0 && bide_group_spawn(&world.group, nothing, NULL, NULL));
	must(bide_group_cancel(&world.group, NULL) == 0);
	ck_fails(bide_group_leave(&world.group), err);
}

/* Statement 51: with a cancel pending, or a deadline that has passed. */
VIRTUAL_TEST(calls_that_never_wait_work_all_the_same)
{
	bide_scope scope;
	int err = _i ? ETIMEDOUT : ECANCELED;
	memset(&world, 0, sizeof world);
	bide_task *other = must_spawn(forever_sleeper, NULL);
	must(bide_yield() == 0);
	must(bide_scope_enter(&scope, _i ? bide_now() : BIDE_NEVER, 0) == 0);
	if (!_i)
		must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(bide_yield(), err);
	use_locks();
	use_the_others_of_sync();
	use_a_channel();
	use_futures();
	use_scopes_and_groups(err);
	must(bide_cancel(other, NULL) == 0);
	ck_fails(bide_yield(), err); /* it was there all the time */
	must(bide_scope_leave(&scope) == (_i ? -1 : 0));
	must(bide_uncancel() == 0);
	ck_assert_int_eq(must_join(other).err, ECANCELED);
}

int main(void)
{
	return SUITE("every wait",
	    LOOP(of_a_result_and_an_interrupt_the_first_wins_and_nothing_is_lost, 0, CALLS * ORDERS),
	    LOOP(calls_that_never_wait_work_all_the_same, 0, 2));
}
