/* SPDX-License-Identifier: MIT
 * Calls of bide/cancel.h, future.h, combine.h, group.h and chan.h that nobody should make, on objects that are
 * in use: from callbacks, threads and other loops, in numbers and combinations that nobody needs. Statements
 * 12, 13, 76, 106, 107, 119, 126; scenarios C10, G2. */
#include "await/record.h"
#include "elsewhere.h"
#include "runs.h"
#include "trace.h"

/* ---- from elsewhere ----------------------------------------------------------------------------------------- */

/* All of a loop whose main stands still meanwhile; they are in use. */
static struct {
	bide_task *task;
	bide_scope scope;
	bide_future future;
	bide_group group;
	bide_mutex mutex;
	bide_chan *chan;
} theirs;

static bide_result untouched = { &untouched, 77 };

static void never_called(bide_future *future, void *arg)
{
	(void)future;
	(void)arg;
	ck_abort_msg("called");
}

#define CALL(name, expression)                                                                     \
	static int name(void)                                                                          \
	{                                                                                              \
		return expression;                                                                         \
	}
#define NULL_IS_FAILURE(pointer) ((pointer) ? 0 : -1)

static int select_with(int op)
{
	int item = 0;
	bide_case c = { .op = op, .future = &theirs.future, .chan = theirs.chan, .item = &item };
	return bide_select(&c, 1, 0);
}

static int race_of(bide_fn *fn)
{
	return bide_race(&fn, NULL, 1, 0, &untouched);
}

CALL(checkpoint_, bide_checkpoint())
CALL(uncancel, bide_uncancel())
CALL(scope_enter_, bide_scope_enter(&theirs.scope, 0, 0))
CALL(scope_leave_, bide_scope_leave(&theirs.scope))
CALL(scope_reset, bide_scope_reset(&theirs.scope, 0))
CALL(scope_cancel_, bide_scope_cancel(&theirs.scope))
CALL(await, bide_await(&theirs.future, &untouched))
CALL(future_set, bide_future_set(&theirs.future, "x"))
CALL(future_fail, bide_future_fail(&theirs.future, EIO))
CALL(future_cancel, bide_future_cancel(&theirs.future))
CALL(future_get, bide_future_get(&theirs.future, &untouched))
CALL(future_destroy, bide_future_destroy(&theirs.future))
CALL(on_done, bide_on_done(&theirs.future, never_called, NULL))
CALL(off_done, bide_off_done(&theirs.future, never_called, NULL))
CALL(task_future_, NULL_IS_FAILURE(bide_task_future(theirs.task)))
CALL(wait_, bide_wait((bide_future *[]){ &theirs.future }, 1, BIDE_WAIT_ALL))
CALL(gather, bide_gather(&theirs.task, 1, &untouched, 0))
CALL(wait_for, bide_wait_for(theirs.task, 0, &untouched))
CALL(race, race_of(nothing))
CALL(select_none, bide_select(NULL, 0, 0))
CALL(select_future, select_with(BIDE_CASE_FUTURE))
CALL(select_send, select_with(BIDE_CASE_SEND))
CALL(select_recv, select_with(BIDE_CASE_RECV))
CALL(group_enter, bide_group_enter(&theirs.group, 0, 0))
CALL(group_leave, bide_group_leave(&theirs.group))
CALL(group_spawn, NULL_IS_FAILURE(bide_group_spawn(&theirs.group, nothing, NULL, NULL)))
CALL(group_start, NULL_IS_FAILURE(bide_group_start(&theirs.group, nothing, NULL, NULL, NULL)))
CALL(group_next, bide_group_next(&theirs.group, NULL, &untouched))
CALL(group_cancel, bide_group_cancel(&theirs.group, NULL))
CALL(started, bide_started(NULL))
CALL(cond_wait, bide_cond_wait(&(bide_cond){ { 0 } }, &theirs.mutex))
CALL(chan_send, bide_chan_send(theirs.chan, &(int){ 1 }))
CALL(chan_recv, bide_chan_recv(theirs.chan, &(int){ 1 }))
CALL(chan_trysend, bide_chan_trysend(theirs.chan, &(int){ 1 }))
CALL(chan_close, bide_chan_close(theirs.chan, BIDE_DISCARD))
CALL(chan_ref, NULL_IS_FAILURE(bide_chan_ref(theirs.chan)))

/* The errno in a callback, on a thread without a loop, in another loop; WORKS: it may be called there, and is
 * not tried. */
#define WORKS 0
#define ROW(call, callback, thread, loop) { #call, call, { callback, thread, loop } }
static const struct row {
	const char *name;
	int (*call)(void);
	int err[3];
} rows[] = {
	ROW(checkpoint_, EPERM, EPERM, WORKS),
	ROW(uncancel, EPERM, EPERM, WORKS),
	ROW(scope_enter_, EPERM, EPERM, WORKS),
	ROW(scope_leave_, EINVAL, EINVAL, EINVAL),
	ROW(scope_reset, EINVAL, EINVAL, EINVAL),
	ROW(scope_cancel_, WORKS, EPERM, EPERM),
	ROW(await, EPERM, EPERM, EPERM),
	ROW(future_set, WORKS, EPERM, EPERM),
	ROW(future_fail, WORKS, EPERM, EPERM),
	ROW(future_cancel, WORKS, EPERM, EPERM),
	ROW(future_get, EINPROGRESS, EPERM, EPERM),
	ROW(future_destroy, WORKS, EPERM, EPERM),
	ROW(on_done, WORKS, EPERM, EPERM),
	ROW(off_done, WORKS, EPERM, EPERM),
	ROW(task_future_, WORKS, EPERM, EPERM),
	ROW(wait_, EPERM, EPERM, EPERM),
	ROW(gather, EPERM, EPERM, EPERM),
	ROW(wait_for, EPERM, EPERM, EPERM),
	ROW(race, EPERM, EPERM, WORKS),
	ROW(select_none, EPERM, EPERM, WORKS),
	ROW(select_future, EPERM, EPERM, EPERM),
	ROW(select_send, EPERM, EPERM, EPERM),
	ROW(select_recv, EPERM, EPERM, EPERM),
	ROW(group_enter, EPERM, EPERM, WORKS),
	ROW(group_leave, EINVAL, EINVAL, EINVAL),
	ROW(group_spawn, WORKS, EPERM, EPERM),
	ROW(group_start, EPERM, EPERM, EPERM),
	ROW(group_next, EPERM, EPERM, EPERM),
	ROW(group_cancel, WORKS, EPERM, EPERM),
	ROW(started, EPERM, EPERM, EALREADY),
	ROW(cond_wait, EPERM, EPERM, EPERM),
	ROW(chan_send, EPERM, EPERM, EPERM),
	ROW(chan_recv, EPERM, EPERM, EPERM),
	ROW(chan_trysend, WORKS, EPERM, EPERM),
	ROW(chan_close, WORKS, EPERM, EPERM),
	ROW(chan_ref, WORKS, EPERM, EPERM),
};

static void *await_theirs(void *arg)
{
	bide_result result;
	(void)arg;
	must(bide_await(&theirs.future, &result) == 0);
	return result.value;
}

VIRTUAL_TEST(calls_on_objects_in_use_from_elsewhere_are_refused_without_effect)
{
	int item = 7;
	memset(&theirs, 0, sizeof theirs);
	theirs.task = must_spawn(await_theirs, NULL);
	must(theirs.chan = bide_chan_new(sizeof item, 1, 0, NULL));
	must(bide_chan_trysend(theirs.chan, &item) == 0 && bide_mutex_lock(&theirs.mutex) == 0);
	must(bide_group_enter(&theirs.group, 0, BIDE_COLLECT) == 0);
	must(bide_scope_enter(&theirs.scope, bide_after(BIDE_SEC), 0) == 0);
	must(bide_yield() == 0);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (rows[i].err[_i] == WORKS)
			continue;
		int err = _i == 0 ? errno_in_callback(rows[i].call) : _i == 1 ? errno_on_plain_thread(rows[i].call)
		                                                              : errno_in_other_loop(rows[i].call);
		must_msg(err == rows[i].err[_i], "%s: %s", rows[i].name, strerror(err));
		sched_check(loop_current);
	}
	/* All is as it was, and works. */
	must(untouched.value == &untouched && untouched.err == 77);
	must(bide_deadline() == BIDE_SEC && bide_scope_leave(&theirs.scope) == 0);
	must(bide_group_spawn(&theirs.group, nothing, "child", NULL) && group_next() == 0 && untouched.err == 0);
	untouched = (bide_result){ &untouched, 77 };
	must(bide_group_leave(&theirs.group) == 0 && bide_mutex_unlock(&theirs.mutex) == 0);
	item = 0;
	must(bide_chan_tryrecv(theirs.chan, &item) == 0 && item == 7 && bide_chan_trysend(theirs.chan, &item) == 0);
	bide_chan_unref(theirs.chan);
	must(!bide_future_done(&theirs.future) && bide_future_set(&theirs.future, "v") == 0);
	ck_assert_str_eq(must_end_well(theirs.task), "v");
}

/* ---- scopes and groups ---------------------------------------------------------------------------------------- */

/* Each layer of shields hides what is outside it, and no more. */
VIRTUAL_TEST(a_shield_inside_a_shield_is_a_shield)
{
	bide_scope outer, first, second, inner;
	must(bide_scope_enter(&outer, bide_after(BIDE_SEC), 0) == 0);
	must(bide_scope_enter(&first, bide_after(3 * BIDE_SEC), BIDE_SHIELD) == 0);
	must(bide_scope_enter(&second, BIDE_NEVER, BIDE_SHIELD) == 0);
	must(bide_scope_enter(&inner, bide_after(5 * BIDE_SEC), 0) == 0);
	must(bide_cancel(bide_self(), NULL) == 0);
	pass(4 * BIDE_SEC);
	ck_fails(bide_sleep(BIDE_NEVER), ETIMEDOUT);
	ck_assert(bide_now() == 5 * BIDE_SEC);
	ck_fails(bide_scope_leave(&inner), ETIMEDOUT);
	pass(1); /* the second one is left: the first one's own deadline is there */
	ck_assert_int_eq(bide_scope_leave(&second), 0);
	ck_fails(bide_sleep(1), ETIMEDOUT);
	ck_fails(bide_scope_leave(&first), ETIMEDOUT);
	ck_fails(bide_sleep(1), ECANCELED);
	must(bide_uncancel() == 0);
	ck_fails(bide_sleep(1), ETIMEDOUT);
	ck_fails(bide_scope_leave(&outer), ETIMEDOUT);
	pass(1);
}

/* Whatever the order, nothing but the innermost is left, and the rest stays as it was. */
VIRTUAL_TEST(scopes_and_groups_are_left_in_order_only_and_once)
{
	bide_scope scopes[3];
	bide_group group;
	must(bide_scope_enter(&scopes[0], BIDE_NEVER, 0) == 0 && bide_group_enter(&group, 0, 0) == 0);
	must(bide_scope_enter(&scopes[1], bide_after(BIDE_SEC), 0) == 0);
	must(bide_scope_enter(&scopes[2], BIDE_NEVER, BIDE_SHIELD) == 0);
	for (int i = 0; i < 2; i++)
		ck_fails(bide_scope_leave(&scopes[i]), EINVAL);
	ck_fails(bide_group_leave(&group), EINVAL);
	ck_fails(bide_scope_leave((bide_scope *)&group), EINVAL);
	for (int i = 0; i < 3; i++)
		ck_fails(bide_scope_enter(&scopes[i], 0, 0), EINVAL);
	ck_fails(bide_group_enter(&group, 0, 0), EINVAL);
	must(bide_group_spawn(&group, nothing, NULL, NULL));
	must(bide_scope_leave(&scopes[2]) == 0 && bide_deadline() == BIDE_SEC);
	ck_fails(bide_group_leave(&group), EINVAL);
	must(bide_scope_leave(&scopes[1]) == 0);
	ck_fails(bide_scope_leave(&scopes[1]), EINVAL);
	ck_fails(bide_scope_leave(&scopes[0]), EINVAL);
	must(bide_group_leave(&group) == 0);
	ck_fails(bide_group_leave(&group), EINVAL);
	ck_fails(bide_group_cancel(&group, NULL), EINVAL);
	ck_fails(bide_group_next(&group, NULL, NULL), EINVAL);
	ck_fails_null(bide_group_spawn(&group, nothing, NULL, NULL), EINVAL);
	ck_fails_null(bide_group_start(&group, nothing, NULL, NULL, NULL), EINVAL);
	must(bide_scope_leave(&scopes[0]) == 0);
	must(bide_group_enter(&group, 0, 0) == 0 && bide_group_leave(&group) == 0); /* another life */
}

/* ---- select ----------------------------------------------------------------------------------------------------- */

enum {
	MANY = 1000
};
static bide_case cases[MANY];
static bide_future futures[MANY];

static void *set_one(void *arg)
{
	must(bide_future_set(arg, "v") == 0);
	return NULL;
}

VIRTUAL_TEST(a_thousand_cases_are_as_good_as_one)
{
	static const int picks[] = { 0, 1, MANY / 2, MANY - 1 };
	memset(futures, 0, sizeof futures);
	for (int i = 0; i < MANY; i++)
		cases[i] = (bide_case){ .op = i % 10 == 5 ? BIDE_CASE_NONE : BIDE_CASE_FUTURE, .future = &futures[i] };
	must_spawn(set_one, &futures[picks[_i]]);
	ck_assert_int_eq(bide_select(cases, MANY, 0), picks[_i]);
	ck_assert_str_eq(cases[picks[_i]].result.value, "v");
	for (int i = 0; i < MANY; i++) { /* all are out of every line */
		const struct future *future = (void *)&futures[i];
		must(list_is_empty(&future->queue));
	}
	ck_fails(bide_select(cases, picks[_i], BIDE_TRY), EAGAIN);
}

static void *send_numbers(void *arg)
{
	for (int i = 0; i < MANY; i++)
		must(bide_chan_send(arg, &i) == 0);
	return arg;
}

/* A thousand times the same channel, half of them the other way round: an item is taken once, in order, and the
 * select does not serve itself. */
VIRTUAL_TEST(both_ends_of_one_channel_a_thousand_times_in_one_select)
{
	static int items[MANY];
	int next = 0, sent = 0;
	bide_chan *chan = bide_chan_new(sizeof(int), 0, 0, NULL);
	int count = suite_scaled_down(MANY, 20);
	for (int i = 0; i < count; i++)
		cases[i] = (bide_case){ .op = i % 2 ? BIDE_CASE_SEND : BIDE_CASE_RECV, .chan = chan, .item = &items[i] };
	ck_fails(bide_select(cases, count, BIDE_TRY), EAGAIN);
	bide_task *sender = must_spawn(send_numbers, chan);
	for (int i = 0; i < MANY; i++) {
		int index = bide_select(cases, count, _i ? BIDE_BIASED : 0);
		must(index >= 0 && cases[index].err == 0);
		if (index % 2)
			sent++;
		else
			must(items[index] == next++);
	}
	ck_assert_int_eq(next, MANY);
	ck_assert_int_eq(sent, 0); /* nobody received */
	must_end_well(sender);
	bide_chan_unref(chan);
}

/* ---- things that go while everybody waits for them ------------------------------------------------------------------- */

static void *by_select(void *arg)
{
	int item = 0;
	bide_case both[2] = { { .op = BIDE_CASE_RECV, .chan = arg, .item = &item }, { .op = BIDE_CASE_FUTURE, .future = &theirs.future } };
	int index = bide_select(both, 2, 0);
	note("select:%d:%d", index, both[index].err == EPIPE);
	return NULL;
}
static void *by_recv(void *arg)
{
	note("recv:%d", bide_chan_recv(arg, &(int){ 0 }) < 0 && errno == EPIPE);
	return NULL;
}
static void *by_await(void *arg)
{
	note("await:%d", bide_await(arg, NULL) < 0 && errno == EPIPE);
	return NULL;
}
static void *by_wait(void *arg)
{
	bide_future *const twice[] = { arg, arg };
	note("wait:%d", bide_wait(twice, 2, BIDE_WAIT_ALL) < 0 && errno == EPIPE);
	return NULL;
}

/* In one turn; 0: the future first, 1: the channel first. */
ORDERED_TEST(whoever_waits_for_what_goes_is_told_and_never_looks_at_it_again)
{
	bide_chan *chan = bide_chan_new(sizeof(int), 0, 0, NULL);
	memset(&theirs, 0, sizeof theirs);
	bide_task *tasks[] = { must_spawn(by_select, chan), must_spawn(by_recv, chan), must_spawn(by_await, &theirs.future),
		must_spawn(by_wait, &theirs.future) };
	settle();
	must(bide_on_done(&theirs.future, never_called, NULL) == 0);
	if (_i)
		bide_chan_unref(chan);
	must(bide_future_destroy(&theirs.future) == 0);
	memset(&theirs.future, 0xa5, sizeof theirs.future);
	if (!_i)
		bide_chan_unref(chan);
	for (int i = 0; i < 4; i++)
		must_end_well(tasks[i]);
	expect_notes(_i ? "select:0:1 recv:1 await:1 wait:1" : "select:1:1 await:1 wait:1 recv:1");
}

/* ---- owning calls ------------------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(the_same_task_twenty_times_and_some_that_never_began)
{
	bide_task *tasks[40];
	bide_result out[40];
	bide_task *one = must_spawn(nothing, "v"), *canceled = must_spawn(nothing, "w");
	must(bide_cancel(canceled, NULL) == 0);
	for (int i = 0; i < 40; i++)
		tasks[i] = i % 2 ? canceled : one;
	ck_assert_int_eq(bide_gather(tasks, 40, out, _i ? BIDE_FAIL_FAST : 0), 0);
	for (int i = 0; i < 40; i++)
		must(out[i].err == (i % 2 ? ECANCELED : 0) && out[i].value == (i % 2 ? NULL : "v"));
	ck_fails(bide_gather(tasks, 40, out, 0), ESRCH); /* the handles were given back */
	must(loop_current->tasks.live == 1);
}

/* ---- what debug mode says: issue 5, point 2 --------------------------------------------------------------------------- */

static struct {
	bide_mutex mutex;
	bide_rwlock rwlock;
	bide_cond cond;
	bide_sem sem;
	bide_event event;
	bide_barrier barrier;
	bide_once once;
	bide_future release;
} used;

static int run_once_again(void *arg)
{
	(void)arg;
	return bide_once_run(&used.once, run_once_again, NULL);
}

CALL(relock, bide_mutex_lock(&used.mutex))
CALL(retrylock, bide_mutex_trylock(&used.mutex))
CALL(destroy_mutex, bide_mutex_destroy(&used.mutex))
CALL(rewrlock, bide_rwlock_wrlock(&used.rwlock))
CALL(rerdlock, bide_rwlock_rdlock(&used.rwlock))
CALL(retryrdlock, bide_rwlock_tryrdlock(&used.rwlock))
CALL(destroy_rwlock, bide_rwlock_destroy(&used.rwlock))
CALL(destroy_cond, bide_cond_destroy(&used.cond))
CALL(overfill, bide_sem_release(&used.sem, 2))
CALL(destroy_sem, bide_sem_destroy(&used.sem))
CALL(destroy_event, bide_event_destroy(&used.event))
CALL(destroy_barrier, bide_barrier_destroy(&used.barrier))
CALL(once_inside, bide_once_run(&used.once, run_once_again, NULL))
CALL(foreign_unlock, bide_mutex_unlock(&used.mutex))
CALL(foreign_rwunlock, bide_rwlock_unlock(&used.rwlock))
CALL(cond_without, bide_cond_wait(&used.cond, &used.mutex))

/* By main, or by the task "thief"; main holds mutex and rwlock, and somebody waits for the others. */
static const struct misuse {
	int (*call)(void);
	bool by_thief;
	int err;
	const char *verb, *kind;
	void *object;
	const char *holder;
} misuses[] = {
	{ relock, false, EDEADLK, "locks", "mutex", &used.mutex, "main" },
	{ retrylock, false, EDEADLK, "locks", "mutex", &used.mutex, "main" },
	{ destroy_mutex, false, EBUSY, "destroys", "mutex", &used.mutex, "main" },
	{ rewrlock, false, EDEADLK, "locks", "rwlock", &used.rwlock, "main" },
	{ rerdlock, false, EDEADLK, "locks", "rwlock", &used.rwlock, "main" },
	{ retryrdlock, false, EDEADLK, "locks", "rwlock", &used.rwlock, "main" },
	{ destroy_rwlock, true, EBUSY, "destroys", "rwlock", &used.rwlock, "main" },
	{ destroy_cond, false, EBUSY, "destroys", "condition", &used.cond, NULL },
	{ overfill, false, EOVERFLOW, "releases", "semaphore", &used.sem, NULL },
	{ destroy_sem, true, EBUSY, "destroys", "semaphore", &used.sem, NULL },
	{ destroy_event, false, EBUSY, "destroys", "event", &used.event, NULL },
	{ destroy_barrier, false, EBUSY, "destroys", "barrier", &used.barrier, NULL },
	{ once_inside, false, EDEADLK, "runs, inside itself,", "once", &used.once, "main" },
	{ foreign_unlock, true, EPERM, "unlocks", "mutex", &used.mutex, "main" },
	{ foreign_rwunlock, true, EPERM, "unlocks", "rwlock", &used.rwlock, "main" },
	{ cond_without, true, EPERM, "waits for a condition without", "mutex", &used.mutex, "main" },
};

static struct reports reports;

static void *wait_for_cond(void *arg)
{
	bide_mutex mutex = { { 0 } };
	must(bide_mutex_lock(&mutex) == 0 && bide_cond_wait(&used.cond, &mutex) == 0 && bide_mutex_unlock(&mutex) == 0);
	return arg;
}
static void *wait_for_sem(void *arg) { must(bide_sem_acquire(&used.sem, 3) == 0); return arg; }
static void *wait_for_event(void *arg) { must(bide_event_wait(&used.event) == 0); return arg; }
static void *wait_for_barrier(void *arg) { must(bide_barrier_wait(&used.barrier) >= 0); return arg; }

static void *make_the_call(void *arg)
{
	const struct misuse *misuse = arg;
	ck_fails(misuse->call(), misuse->err);
	return NULL;
}

static void *misuse_in_debug(void *arg)
{
	static bide_fn *const waits[] = { wait_for_cond, wait_for_sem, wait_for_event, wait_for_barrier };
	const struct misuse *misuse = arg;
	bide_task_attr attr = { .size = sizeof attr, .name = "thief" };
	memset(&used, 0, sizeof used);
	must(bide_sem_init(&used.sem, 2, 3) == 0 && bide_barrier_init(&used.barrier, 2) == 0);
	must(bide_mutex_lock(&used.mutex) == 0 && bide_rwlock_wrlock(&used.rwlock) == 0);
	for (int i = 0; i < 4; i++)
		must(bide_spawn(waits[i], NULL));
	settle();
	if (misuse->by_thief)
		must_end_well(bide_spawn_with(make_the_call, arg, &attr));
	else
		make_the_call(arg);
	must(bide_cond_signal(&used.cond, 1) == 0 && bide_sem_release(&used.sem, 1) == 0 && bide_event_set(&used.event) == 0);
	wait_for_barrier(NULL);
	settle();
	must(bide_mutex_unlock(&used.mutex) == 0 && bide_rwlock_unlock(&used.rwlock) == 0);
	return NULL;
}

START_TEST(in_debug_each_misuse_is_reported_with_object_holder_and_task)
{
	const struct misuse *misuse = &misuses[_i];
	char expected[300], held[60] = "";
	memset(&reports, 0, sizeof reports);
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK | BIDE_DEBUG, &reports);
	ck_assert_int_eq(bide_run(misuse_in_debug, (void *)(uintptr_t)misuse, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_MISUSE], 1);
	if (misuse->holder)
		snprintf(held, sizeof held, ", held by task 1 \"%s\"", misuse->holder);
	snprintf(expected, sizeof expected, "task %s %s %s %p%s: %s", misuse->by_thief ? "6 \"thief\"" : "1 \"main\"",
	    misuse->verb, misuse->kind, misuse->object, held, strerror(misuse->err));
	ck_assert_str_eq(reports.text[BIDE_REPORT_MISUSE], expected);
}
END_TEST

int main(void)
{
	return SUITE("hostile",
	    LOOP(calls_on_objects_in_use_from_elsewhere_are_refused_without_effect, 0, 3),
	    TEST(a_shield_inside_a_shield_is_a_shield),
	    TEST(scopes_and_groups_are_left_in_order_only_and_once),
	    LOOP(a_thousand_cases_are_as_good_as_one, 0, 4),
	    LOOP(both_ends_of_one_channel_a_thousand_times_in_one_select, 0, 2),
	    LOOP(whoever_waits_for_what_goes_is_told_and_never_looks_at_it_again, 0, 2),
	    LOOP(the_same_task_twenty_times_and_some_that_never_began, 0, 2),
	    TABLE(in_debug_each_misuse_is_reported_with_object_holder_and_task, misuses));
}
