/* SPDX-License-Identifier: MIT
 * Groups: bide/group.h. Semantics 118, 122 to 133, scenario E16. */
#include <pthread.h>
#include <stdlib.h>

#include "await/group.h"
#include "await/record.h"
#include "death.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

#define MS BIDE_MSEC

/* A child notes how it ends, and when. */
struct child_of_test {
	const char *name;
	bide_time delay;
	int err;
	bide_time stubborn; /* so long it ignores its cancel */
};

static int alive;

static void *work(void *arg)
{
	struct child_of_test *child = arg;
	bide_scope shield;
	alive++;
	int status = bide_sleep(child->delay);
	if (status < 0 && child->stubborn) {
		must(bide_scope_enter(&shield, BIDE_NEVER, BIDE_SHIELD) == 0);
		pass(child->stubborn);
		must(bide_scope_leave(&shield) == 0);
	}
	alive--;
	note("%s%s%d", child->name, status < 0 ? "x" : child->err ? "!" : "=", (int)(bide_now() / MS));
	return status < 0 ? bide_fail(ECANCELED) : child->err ? bide_fail(child->err) : (void *)(uintptr_t)child->name;
}

static bide_task *add(bide_group *group, struct child_of_test *child)
{
	bide_task *task = bide_group_spawn(group, work, child, NULL);
	must_msg(task, "spawn: %s", strerror(errno));
	return task;
}

static void enter(bide_group *group, unsigned limit, unsigned flags)
{
	must_msg(bide_group_enter(group, limit, flags) == 0, "enter: %s", strerror(errno));
	alive = 0;
}

static void nobody_is_left(void)
{
	ck_assert_int_eq(alive, 0);
	ck_assert_uint_eq(loop_current->tasks.live, 1);
	ck_assert_int_eq(bide_canceling(), 0);
	pass(1); /* and nothing interrupts us */
}

static struct child_of_test a = { "a", 10 * MS, 0, 0 }, b = { "b", 20 * MS, 0, 0 }, c = { "c", 30 * MS, 0, 0 },
	failing = { "f", 15 * MS, EIO, 0 }, endless = { "e", BIDE_SEC, 0, 0 }, stubborn = { "s", BIDE_SEC, 0, 50 * MS };

/* ---- leaving -------------------------------------------------------------------------------------------- */

/* semantics 122 */
VIRTUAL_TEST(a_group_is_left_when_every_child_has_ended)
{
	bide_group group;
	enter(&group, 0, 0);
	add(&group, &c);
	add(&group, &a);
	add(&group, &b);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	ck_assert(bide_now() == 30 * MS);
	expect_notes("a=10 b=20 c=30");
	ck_assert_int_eq(bide_group_failures(&group, NULL, 0), 0);
	nobody_is_left();
}

VIRTUAL_TEST(an_empty_group_is_left_at_once)
{
	bide_group group;
	uint64_t turn = loop_current->ready.turn;
	for (int i = 0; i < 3; i++) {
		enter(&group, 0, _i ? BIDE_COLLECT : 0);
		ck_assert_int_eq(bide_group_leave(&group), 0);
	}
	ck_assert_uint_eq(loop_current->ready.turn, turn);
	nobody_is_left();
}

/* semantics 123 */
VIRTUAL_TEST(a_failure_cancels_the_siblings_and_the_body)
{
	bide_group group;
	int errs[4] = { 0 };
	enter(&group, 0, 0);
	add(&group, &stubborn);
	add(&group, &failing);
	add(&group, &endless);
	if (_i == 0)
		ck_fails(bide_sleep(BIDE_SEC), ECANCELED);
	if (_i <= 1) {
		if (_i == 1)
			ck_fails(bide_sleep(BIDE_SEC), ECANCELED);
		ck_fails(bide_sleep(BIDE_SEC), ECANCELED); /* each of its calls */
		ck_assert_int_eq(bide_canceling(), 0);
	}
	ck_fails(bide_group_leave(&group), EIO);
	ck_assert(bide_now() == 65 * MS);
	expect_notes("f!15 ex15 sx65");
	ck_assert_int_eq(bide_group_failures(&group, errs, 4), 1);
	ck_assert_int_eq(errs[0], EIO);
	nobody_is_left();
}

VIRTUAL_TEST(the_parents_own_cancel_count_is_unchanged_by_a_failure)
{
	bide_group group;
	must(bide_cancel(bide_self(), NULL) == 0);
	enter(&group, 0, 0);
	add(&group, &failing);
	ck_fails(bide_group_leave(&group), ECANCELED); /* the child was canceled before it could fail */
	ck_assert_int_eq(bide_canceling(), 1);
	must(bide_uncancel() == 0);
	nobody_is_left();
}

/* semantics 124 */
VIRTUAL_TEST(all_failures_are_listed_in_order_and_the_first_is_told)
{
	static struct child_of_test many[40];
	bide_group group;
	int errs[40] = { 0 };
	int count = _i ? 40 : 3;
	enter(&group, 0, BIDE_KEEP_GOING);
	for (int i = 0; i < count; i++) {
		many[i] = (struct child_of_test){ "m", (100 - i) * MS, i == 0 ? 100000 : i, 0 };
		add(&group, &many[i]);
	}
	ck_fails(bide_group_leave(&group), count - 1);
	ck_assert_int_eq(bide_group_failures(&group, errs, 40), count);
	for (int i = 0; i < count && i < 32; i++)
		ck_assert_int_eq(errs[i], i == count - 1 ? 100000 : count - 1 - i);
	for (int i = 32; i < 40; i++)
		ck_assert_int_eq(errs[i], 0);
	errs[1] = 77;
	ck_assert_int_eq(bide_group_failures(&group, errs, 1), count);
	ck_assert_int_eq(errs[1], 77);
	ck_assert_int_eq(bide_group_failures(&group, errs, -1), count);
	ck_assert_int_eq(bide_group_failures(NULL, errs, 1), 0);
	nobody_is_left();
}

VIRTUAL_TEST(one_that_keeps_going_cancels_nobody)
{
	bide_group group;
	enter(&group, 0, BIDE_KEEP_GOING);
	add(&group, &failing);
	add(&group, &b);
	pass(17 * MS);
	ck_assert_ptr_nonnull(add(&group, &a)); /* also afterwards */
	ck_fails(bide_group_leave(&group), EIO);
	expect_notes("f!15 b=20 a=27");
	nobody_is_left();
}

/* semantics 125 */
VIRTUAL_TEST(a_single_child_canceled_is_no_failure)
{
	bide_group group;
	enter(&group, 0, 0);
	bide_task *task = add(&group, &endless), *never = NULL;
	add(&group, &a);
	pass(5 * MS);
	must(bide_cancel(task, NULL) == 0);
	never = add(&group, &endless);
	must(bide_cancel(never, NULL) == 0); /* before its first run */
	ck_assert_int_eq(bide_group_leave(&group), 0);
	expect_notes("ex5 a=10");
	ck_assert_int_eq(bide_group_failures(&group, NULL, 0), 0);
	nobody_is_left();
}

/* ---- canceled from outside ------------------------------------------------------------------------------ */

struct group_call {
	int result, err;
	bool has_left;
	int how;
	bide_group *group;
};

static void *stubborn_group(void *arg)
{
	struct group_call *call = arg;
	bide_group group;
	call->group = &group;
	enter(&group, 0, 0);
	add(&group, &stubborn);
	add(&group, &endless);
	if (call->how == 1)
		ck_fails(bide_sleep(BIDE_NEVER), ECANCELED);
	call->result = bide_group_leave(&group);
	call->err = errno;
	call->has_left = true;
	return NULL;
}

/* semantics 127; how 1: canceled in the body, and left then (semantics 52) */
VIRTUAL_TEST(an_outer_cancel_ends_the_children_and_leave_waits_for_them)
{
	struct group_call call = { .how = _i };
	bide_task *task = must_spawn(stubborn_group, &call);
	pass(10 * MS);
	must(bide_cancel(task, NULL) == 0);
	pass(20 * MS);
	for (int i = 0; i < 3; i++)
		must(bide_cancel(task, NULL) == 0); /* changes nothing */
	ck_assert(!call.has_left);
	must_join(task);
	ck_assert(bide_now() == 60 * MS);
	ck_assert(call.result == -1 && call.err == ECANCELED);
	nobody_is_left();
}

VIRTUAL_TEST(a_deadline_outside_ends_the_children)
{
	bide_scope scope;
	bide_group group;
	must(bide_scope_enter(&scope, bide_after(15 * MS), 0) == 0);
	enter(&group, 0, 0);
	add(&group, &stubborn);
	add(&group, &a);
	if (_i)
		ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_fails(bide_group_leave(&group), ETIMEDOUT);
	ck_assert(bide_now() == 65 * MS);
	ck_fails(bide_sleep(1), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	expect_notes("a=10 sx65");
	nobody_is_left();
}

VIRTUAL_TEST(the_scope_outside_claims_what_only_leave_has_seen)
{
	bide_scope scope;
	bide_group group;
	must(bide_scope_enter(&scope, bide_after(15 * MS), 0) == 0);
	enter(&group, 0, 0);
	add(&group, &endless);
	ck_fails(bide_group_leave(&group), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	nobody_is_left();
}

VIRTUAL_TEST(a_shield_around_a_group_keeps_cancels_from_it)
{
	bide_scope shield;
	bide_group group;
	must(bide_scope_enter(&shield, BIDE_NEVER, BIDE_SHIELD) == 0);
	enter(&group, 0, 0);
	add(&group, &a);
	must(bide_cancel(bide_self(), NULL) == 0);
	pass(1);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	ck_assert_int_eq(bide_scope_leave(&shield), 0);
	ck_fails(bide_checkpoint(), ECANCELED);
	must(bide_uncancel() == 0);
	expect_notes("a=10");
	nobody_is_left();
}

/* scenario E16 */
static void *group_of_five(void *arg)
{
	struct group_call *call = arg;
	static struct child_of_test third = { "3", 10 * MS, EIO, 0 }, fourth = { "4", BIDE_SEC, 0, 50 * MS };
	bide_group group;
	enter(&group, 0, 0);
	add(&group, &endless);
	add(&group, &endless);
	add(&group, &third);
	add(&group, &fourth);
	add(&group, &endless);
	call->result = bide_group_leave(&group);
	call->err = errno;
	must(alive == 0);
	return NULL;
}

VIRTUAL_TEST(the_first_failure_is_told_though_the_parent_is_canceled_meanwhile)
{
	struct group_call call = { 0 };
	bide_task *task = must_spawn(group_of_five, &call);
	pass(20 * MS);
	must(bide_cancel(task, NULL) == 0);
	must_join(task);
	ck_assert(bide_now() == 60 * MS);
	ck_assert(call.result == -1 && call.err == EIO);
	nobody_is_left();
}

/* ---- bide_group_cancel: semantics 130 ------------------------------------------------------------------- */

static void cancel_from_a_callback(void *arg)
{
	must(bide_group_cancel(arg, "reason") == 0);
}

VIRTUAL_TEST(a_group_canceled_by_somebody_else_is_left_with_success)
{
	struct group_call call = { .how = _i % 2 };
	bide_task *task = must_spawn(stubborn_group, &call);
	pass(10 * MS);
	if (_i < 2)
		must(bide_group_cancel(call.group, "reason") == 0);
	else
		must(bide_call_soon(cancel_from_a_callback, call.group) == 0);
	must_end_well(task);
	ck_assert_int_eq(call.result, 0);
	ck_assert(bide_now() == 60 * MS);
	nobody_is_left();
}

static void *tell_the_reason(void *arg)
{
	(void)arg;
	must(bide_sleep(BIDE_NEVER) < 0);
	note("%s", bide_cancel_reason());
	return NULL;
}

VIRTUAL_TEST(the_reason_reaches_the_children_and_calls_of_the_body_fail)
{
	bide_group group;
	enter(&group, 0, 0);
	must(bide_group_spawn(&group, tell_the_reason, NULL, NULL));
	settle();
	must(bide_cancel(bide_self(), NULL) == 0); /* no cancellation point: semantics 51 */
	must(bide_group_cancel(&group, "reason") == 0);
	must(bide_uncancel() == 0);
	ck_fails(bide_sleep(1), ECANCELED);
	must(bide_group_cancel(&group, "again") == 0);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	expect_notes("reason");
	nobody_is_left();
}

/* ---- spawning: semantics 126 ---------------------------------------------------------------------------- */

static int dropped;

static void count_drop(void *arg)
{
	(void)arg;
	dropped++;
}

VIRTUAL_TEST(a_group_that_is_canceled_or_left_takes_no_child)
{
	bide_group group;
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.drop = count_drop;
	dropped = 0;
	enter(&group, 0, 0);
	if (_i) {
		add(&group, &failing);
		ck_fails(bide_sleep(BIDE_SEC), ECANCELED);
	} else {
		must(bide_group_cancel(&group, NULL) == 0);
	}
	ck_fails_null(bide_group_spawn(&group, work, &a, &attr), ECANCELED);
	ck_fails_null(bide_group_start(&group, work, &a, &attr, NULL), ECANCELED);
	ck_assert_int_eq(bide_group_leave(&group), _i ? -1 : 0);
	ck_fails_null(bide_group_spawn(&group, work, &a, &attr), EINVAL);
	ck_fails_null(bide_group_start(&group, work, &a, &attr, NULL), EINVAL);
	settle();
	ck_assert_int_eq(dropped, 0);
	nobody_is_left();
}

static void *spawn_into(void *arg)
{
	must(bide_group_spawn(arg, work, &a, NULL));
	return NULL;
}

static void spawn_in_a_callback(void *arg)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.flags = BIDE_EAGER;
	ck_fails_null(bide_group_spawn(arg, work, &b, &attr), EINVAL);
	must(bide_group_spawn(arg, work, &b, NULL));
}

VIRTUAL_TEST(any_task_or_callback_may_spawn_into_it_also_while_it_is_being_left)
{
	bide_group group;
	enter(&group, 0, 0);
	must(bide_group_spawn(&group, spawn_into, &group, NULL));
	must(bide_call_soon(spawn_in_a_callback, &group) == 0);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	expect_notes("a=10 b=20");
	nobody_is_left();
}

static void *note_and_sleep(void *arg)
{
	note("child");
	return bide_sleep(1) == 0 ? arg : NULL;
}

VIRTUAL_TEST(attributes_are_obeyed)
{
	bide_group group;
	bide_result result;
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	enter(&group, 0, 0);
	attr.flags = BIDE_DETACHED;
	ck_fails_null(bide_group_spawn(&group, work, &a, &attr), EINVAL);
	attr.flags = 0x80;
	ck_fails_null(bide_group_spawn(&group, work, &a, &attr), EINVAL);
	ck_fails_null(bide_group_spawn(&group, NULL, &a, NULL), EINVAL);
	attr.flags = BIDE_EAGER;
	attr.name = "named";
	bide_task *task = bide_group_spawn(&group, note_and_sleep, "v", &attr);
	note("parent");
	ck_assert_str_eq(bide_task_name(task), "named");
	expect_notes("child parent");
	ck_assert_int_eq(bide_join(task, &result), 0); /* the handle is good while it lives */
	ck_assert_str_eq(result.value, "v");
	ck_fails(bide_join(task, NULL), ESRCH);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	nobody_is_left();
}

/* ---- the limit: semantics 132 --------------------------------------------------------------------------- */

ORDERED_TEST(at_the_limit_a_spawn_waits_for_room)
{
	bide_group group;
	enter(&group, 2, 0);
	add(&group, &a);
	add(&group, &c);
	ck_assert(bide_now() == 0);
	add(&group, &b);
	ck_assert(bide_now() == 10 * MS);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	expect_notes("a=10 c=30 b=30");
	nobody_is_left();
}

struct spawner {
	bide_group *group;
	struct child_of_test *child;
	int err;
	unsigned flags;
};

static void *spawn_one(void *arg)
{
	struct spawner *spawner = arg;
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.flags = spawner->flags;
	spawner->err = bide_group_spawn(spawner->group, work, spawner->child, &attr) ? 0 : errno;
	return NULL;
}

VIRTUAL_TEST(a_canceled_spawner_passes_its_room_on)
{
	bide_group group;
	enter(&group, 1, 0);
	struct spawner first = { &group, &b, -1, 0 }, second = { &group, &c, -1, 0 };
	add(&group, &a);
	bide_task *one = must_spawn(spawn_one, &first), *two = must_spawn(spawn_one, &second);
	pass(_i ? 10 * MS - 1 : 5 * MS);
	if (_i)
		loop_current->clock.now += 1; /* the room comes in this very turn, after the cancel */
	must(bide_cancel(one, NULL) == 0);
	must_join(one);
	ck_assert_int_eq(first.err, ECANCELED);
	must_end_well(two);
	ck_assert_int_eq(second.err, 0);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	expect_notes("a=10 c=40");
	nobody_is_left();
}

/* Room was given and the cancel came too late: the child is spawned, the cancel stays. */
ORDERED_TEST(room_that_a_spawner_could_not_use_goes_to_the_next)
{
	bide_group group;
	enter(&group, 1, 0);
	struct spawner first = { &group, &b, -1, 0x80 }, second = { &group, &c, -1, 0 };
	add(&group, &a);
	bide_task *one = must_spawn(spawn_one, &first), *two = must_spawn(spawn_one, &second);
	must_end_well(one);
	ck_assert_int_eq(first.err, EINVAL);
	must_end_well(two);
	ck_assert_int_eq(second.err, 0);
	ck_assert(bide_now() == 10 * MS);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	nobody_is_left();
}

/* A call lets others run now and then, before it waits: whatever becomes of the group meanwhile, nobody would wake
 * it for that later. */
VIRTUAL_TEST(room_that_comes_while_a_spawner_lets_others_run_is_used)
{
	bide_group group;
	enter(&group, 1, 0);
	must(bide_group_spawn(&group, nothing, NULL, NULL));
	loop_current->budget = 1; /* the next call lets the child run, which ends */
	ck_assert_ptr_nonnull(bide_group_spawn(&group, nothing, NULL, NULL));
	ck_assert_int_eq(bide_group_leave(&group), 0);
	nobody_is_left();
}

static void *cancel_the_group(void *arg)
{
	must(bide_group_cancel(arg, NULL) == 0);
	return NULL;
}

static void *end_late(void *arg)
{
	bide_scope shield;
	must(bide_scope_enter(&shield, BIDE_NEVER, BIDE_SHIELD) == 0);
	pass(BIDE_SEC);
	must(bide_scope_leave(&shield) == 0);
	return arg;
}

static void *spawn_into_a_full_one(void *arg)
{
	loop_current->budget = 1;
	ck_fails_null(bide_group_spawn(arg, nothing, NULL, NULL), ECANCELED);
	must(bide_now() == 0);
	return arg;
}

ORDERED_TEST(a_cancel_that_comes_while_a_spawner_lets_others_run_is_seen_by_it)
{
	bide_group group;
	enter(&group, 1, 0);
	must(bide_group_spawn(&group, end_late, NULL, NULL));
	bide_task *spawner = must_spawn(spawn_into_a_full_one, &group);
	bide_task *other = must_spawn(cancel_the_group, &group);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	must_end_well(spawner);
	must_end_well(other);
	nobody_is_left();
}

static void *cancel_it(void *arg)
{
	must(bide_cancel(arg, NULL) == 0);
	return NULL;
}

ORDERED_TEST(room_that_was_given_before_the_cancel_is_used)
{
	bide_group group;
	enter(&group, 1, 0);
	struct spawner first = { &group, &b, -1, 0 };
	bide_task *child = bide_group_spawn(&group, forever_sleeper, NULL, NULL);
	bide_task *one = must_spawn(spawn_one, &first);
	settle();
	must(bide_cancel(child, NULL) == 0);
	bide_task *third = must_spawn(cancel_it, one); /* runs after the child has ended, before the spawner */
	must_end_well(third);
	must_join(one);
	ck_assert_int_eq(first.err, 0);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	expect_notes("b=20");
}

/* One spawner in line, or two, and one that comes when room was made and not yet used. */
ORDERED_TEST(room_that_was_given_is_not_taken_by_who_comes_later)
{
	bide_group group;
	enter(&group, 1, 0);
	struct spawner waiting[2] = { { &group, &a, -1, 0 }, { &group, &b, -1, 0 } }, late = { &group, &c, -1, 0 };
	bide_task *child = bide_group_spawn(&group, forever_sleeper, NULL, NULL), *tasks[2];
	for (int i = 0; i <= _i; i++)
		tasks[i] = must_spawn(spawn_one, &waiting[i]);
	settle();
	must(bide_cancel(child, NULL) == 0);
	bide_task *newcomer = must_spawn(spawn_one, &late); /* runs between the child's end and the spawner */
	for (int i = 0; i <= _i; i++)
		must_end_well(tasks[i]);
	must_end_well(newcomer);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	expect_notes(_i ? "a=10 b=30 c=60" : "a=10 c=40");
	nobody_is_left();
}

ORDERED_TEST(spawners_that_wait_are_let_in_before_the_group_is_left_or_told_of_its_cancel)
{
	bide_group group;
	enter(&group, 1, 0);
	struct spawner spawners[3] = { { &group, &a, -1, 0 }, { &group, &b, -1, 0 }, { &group, &c, -1, 0 } };
	bide_task *tasks[3];
	add(&group, _i ? &failing : &a);
	for (int i = 0; i < 3; i++)
		tasks[i] = must_spawn(spawn_one, &spawners[i]);
	ck_assert_int_eq(bide_group_leave(&group), _i ? -1 : 0);
	for (int i = 0; i < 3; i++) {
		must_join(tasks[i]);
		ck_assert_int_eq(spawners[i].err, _i ? ECANCELED : 0);
	}
	expect_notes(_i ? "f!15" : "a=10 a=20 b=40 c=70");
	nobody_is_left();
}

static void *work_and_count(void *arg)
{
	int *count = arg;
	must(++count[0] <= 3);
	if (count[0] > count[1])
		count[1] = count[0];
	pass(MS);
	count[0]--;
	return NULL;
}

VIRTUAL_TEST(never_more_than_the_limit_live)
{
	bide_group group;
	int count[2] = { 0, 0 };
	enter(&group, 3, 0);
	for (int i = 0; i < 50; i++)
		must(bide_group_spawn(&group, work_and_count, count, NULL));
	ck_assert_int_eq(bide_group_leave(&group), 0);
	ck_assert_int_eq(count[1], 3);
	ck_assert(bide_now() == 17 * MS);
	nobody_is_left();
}

/* ---- the handshake: semantics 133 ----------------------------------------------------------------------- */

enum { STARTS, ENDS_WELL, FAILS, IS_CANCELED, WAYS };

static void *start_somehow(void *arg)
{
	int how = *(int *)arg;
	if (bide_sleep(5 * MS) < 0)
		return bide_fail(errno);
	if (how == ENDS_WELL)
		return NULL;
	if (how == FAILS)
		return bide_fail(EIO);
	if (how == IS_CANCELED)
		must(bide_cancel(bide_self(), NULL) == 0);
	if (how == STARTS) {
		must(bide_started("value") == 0 || errno == EALREADY); /* nobody waits any more */
		ck_fails(bide_started("again"), EALREADY);
	}
	return bide_sleep(20 * MS) == 0 ? NULL : bide_fail(errno);
}

VIRTUAL_TEST(start_returns_when_the_child_says_so_or_has_ended)
{
	static const int errs[] = { 0, EPIPE, EIO, ECANCELED };
	bide_group group;
	void *started = NULL;
	enter(&group, 0, 0);
	if (_i == STARTS) {
		bide_task *task = bide_group_start(&group, start_somehow, &_i, NULL, &started);
		ck_assert_ptr_nonnull(task);
		ck_assert_str_eq(started, "value");
		settle();
		ck_assert_int_eq(bide_task_state(task), BIDE_TASK_SUSPENDED);
	} else {
		ck_fails_null(bide_group_start(&group, start_somehow, &_i, NULL, &started), errs[_i]);
		ck_assert_ptr_null(started);
	}
	ck_assert(bide_now() == 5 * MS);
	ck_assert_int_eq(bide_group_leave(&group), _i == FAILS ? -1 : 0);
	ck_assert(bide_now() == (_i == STARTS ? 25 : 5) * MS);
	nobody_is_left();
}

static void *start_slowly(void *arg)
{
	bide_group *group = arg;
	static int how = STARTS;
	void *started = NULL;
	if (bide_group_start(group, start_somehow, &how, NULL, &started))
		return "started";
	note("%d", errno == ECANCELED);
	return NULL;
}

VIRTUAL_TEST(a_canceled_start_leaves_the_child_in_the_group)
{
	bide_group group;
	enter(&group, _i ? 1 : 0, 0);
	if (_i)
		add(&group, &a);
	bide_task *task = must_spawn(start_slowly, &group);
	pass(2 * MS);
	must(bide_cancel(task, NULL) == 0);
	must_join(task);
	ck_assert(bide_now() == 2 * MS);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	expect_notes(_i ? "1 a=10" : "1"); /* at the limit no child was made */
	ck_assert(bide_now() == (_i ? 10 : 25) * MS);
	nobody_is_left();
}

/* Given room, and canceled before it ran: it must not park for the handshake. */
static void *never_starts(void *arg)
{
	return bide_sleep(BIDE_SEC) == 0 ? arg : NULL;
}

static void *start_one_that_does_not(void *arg)
{
	ck_fails_null(bide_group_start(arg, never_starts, NULL, NULL, NULL), ECANCELED);
	note("%d", (int)(bide_now() / MS));
	return NULL;
}

ORDERED_TEST(a_cancel_that_came_with_the_room_ends_the_wait_for_the_handshake)
{
	bide_group group;
	enter(&group, 1, 0);
	bide_task *child = bide_group_spawn(&group, forever_sleeper, NULL, NULL);
	bide_task *starter = must_spawn(start_one_that_does_not, &group);
	settle();
	must(bide_cancel(child, NULL) == 0);
	must_spawn(cancel_it, starter);
	must_join(starter);
	expect_notes("0");
	ck_assert_int_eq(bide_group_leave(&group), 0);
	ck_assert(bide_now() == BIDE_SEC);
}

VIRTUAL_TEST(nobody_waits_for_started)
{
	bide_group group;
	enter(&group, 0, 0);
	ck_fails(bide_started(NULL), EALREADY);
	ck_assert_int_eq(bide_group_leave(&group), 0);
}

/* ---- as completed: semantics 118 ------------------------------------------------------------------------ */

ORDERED_TEST(children_are_told_of_once_each_in_the_order_in_which_they_ended)
{
	static struct child_of_test children[] = { { "3", 30 * MS, 0, 0 }, { "1", 10 * MS, 0, 0 }, { "2", 20 * MS, EIO, 0 },
		{ "2b", 20 * MS, 0, 0 }, { "0", 0, 0, 0 } };
	static const int order[] = { 4, 1, 2, 3, 0 };
	bide_task *tasks[5], *task;
	bide_group group;
	enter(&group, 0, BIDE_COLLECT | BIDE_KEEP_GOING);
	for (int i = 0; i < 5; i++)
		tasks[i] = add(&group, &children[i]);
	if (_i)
		pass(25 * MS); /* most have ended before they are asked for */
	for (int i = 0; i < 5; i++) {
		bide_result result = { NULL, -1 };
		ck_assert_int_eq(bide_group_next(&group, &task, &result), 0);
		ck_assert_ptr_eq(task, tasks[order[i]]);
		ck_assert_int_eq(result.err, order[i] == 2 ? EIO : 0);
		ck_assert_ptr_eq(result.value, order[i] == 2 ? NULL : children[order[i]].name);
		ck_fails(bide_join(task, NULL), ESRCH);
	}
	ck_fails(bide_group_next(&group, &task, NULL), ECHILD);
	add(&group, &a);
	ck_assert_int_eq(bide_group_next(&group, NULL, NULL), 0);
	ck_fails(bide_group_next(&group, NULL, NULL), ECHILD);
	ck_fails(bide_group_leave(&group), EIO);
	nobody_is_left();
}

VIRTUAL_TEST(outcomes_not_asked_for_are_gone_with_the_group)
{
	bide_group group;
	enter(&group, 0, BIDE_COLLECT);
	add(&group, &a);
	add(&group, &b);
	ck_assert_int_eq(bide_group_next(&group, NULL, NULL), 0);
	ck_assert_int_eq(bide_group_leave(&group), 0);
	nobody_is_left();
}

VIRTUAL_TEST(a_canceled_next_loses_no_outcome)
{
	bide_group group;
	bide_scope scope;
	bide_task *task;
	enter(&group, 0, BIDE_COLLECT);
	bide_task *child = add(&group, &a);
	must(bide_scope_enter(&scope, bide_after(5 * MS), 0) == 0);
	ck_fails(bide_group_next(&group, &task, NULL), ETIMEDOUT);
	ck_fails(bide_group_next(&group, &task, NULL), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	pass(20 * MS);
	must(bide_cancel(bide_self(), NULL) == 0);
	ck_fails(bide_group_next(&group, &task, NULL), ECANCELED);
	must(bide_uncancel() == 0);
	ck_assert_int_eq(bide_group_next(&group, &task, NULL), 0);
	ck_assert_ptr_eq(task, child);
	ck_assert_int_eq(bide_group_leave(&group), 0);
}

/* ---- groups in groups: semantics 131 -------------------------------------------------------------------- */

static void *inner_group(void *arg)
{
	bide_group group;
	must(bide_group_enter(&group, 0, 0) == 0);
	add(&group, &failing);
	add(&group, &stubborn);
	add(&group, &failing);
	(void)arg;
	return bide_group_leave(&group) < 0 ? bide_fail(errno) : NULL;
}

VIRTUAL_TEST(an_inner_failure_reaches_the_outer_group_as_one)
{
	bide_group outer;
	int errs[4] = { 0 };
	enter(&outer, 0, 0);
	must(bide_group_spawn(&outer, inner_group, NULL, NULL));
	add(&outer, &endless);
	ck_fails(bide_group_leave(&outer), EIO);
	ck_assert_int_eq(bide_group_failures(&outer, errs, 4), 1);
	expect_notes("f!15 f!15 sx65 ex65");
	nobody_is_left();
}

VIRTUAL_TEST(groups_of_one_task_nest_like_scopes)
{
	bide_group outer, inner;
	enter(&outer, 0, 0);
	add(&outer, &b);
	enter(&inner, 0, 0);
	add(&inner, &a);
	ck_fails(bide_group_leave(&outer), EINVAL);
	if (_i) {
		must(bide_group_cancel(&outer, NULL) == 0);
		ck_fails(bide_group_leave(&inner), ECANCELED);
	} else {
		ck_assert_int_eq(bide_group_leave(&inner), 0);
	}
	ck_assert_int_eq(bide_group_leave(&outer), 0);
	if (!_i)
		expect_notes("a=10 b=20");
	nobody_is_left();
}

/* ---- a body that ends inside ---------------------------------------------------------------------------- */

static bide_scope static_scope;

static _Noreturn void leave_by_exit(bide_group *outer)
{
	bide_group inner;
	must(bide_scope_enter(&static_scope, BIDE_NEVER, 0) == 0);
	enter(&inner, 0, BIDE_COLLECT);
	add(&inner, &a);
	add(&inner, &stubborn);
	add(outer, &endless);
	pass(20 * MS);
	bide_exit("exit");
}

static void *exit_inside(void *arg)
{
	bide_group outer;
	(void)arg;
	enter(&outer, 0, 0);
	add(&outer, &stubborn);
	leave_by_exit(&outer);
}

VIRTUAL_TEST(bide_exit_ends_the_children_of_the_groups_around_it)
{
	ck_assert_str_eq(must_end_well(must_spawn(exit_inside, NULL)), "exit");
	ck_assert(bide_now() == 120 * MS); /* the inner group first, then the outer one */
	expect_notes("a=10 sx70 ex70 sx120");
	nobody_is_left();
}

static void *return_inside(void *arg)
{
	static bide_group group;
	(void)arg;
	must(bide_group_enter(&group, 0, 0) == 0);
	must(bide_group_spawn(&group, nothing, NULL, NULL));
	return NULL;
}

static void return_inside_a_group(void *arg)
{
	bide_run(return_inside, arg, NULL, NULL);
}

START_TEST(a_body_that_returns_without_leaving_its_group_is_stopped)
{
	struct death death = death_of(return_inside_a_group, NULL);
	ck_assert(died_of_rule(&death, "a body leaves the groups that it entered"));
}
END_TEST

static void *return_from_main(void *arg)
{
	bide_group group;
	must(bide_group_enter(&group, 0, 0) == 0);
	add(&group, &stubborn);
	pass(MS);
	(void)arg;
	bide_exit("v");
}

START_TEST(main_may_exit_inside_a_group)
{
	alive = 0;
	ck_assert_str_eq(run_virtual(return_from_main, NULL), "v");
	ck_assert_int_eq(alive, 0);
}
END_TEST

/* ---- bad input ------------------------------------------------------------------------------------------ */

static void *meddle(void *arg)
{
	ck_fails(bide_group_leave(arg), EINVAL);
	ck_fails(bide_group_next(arg, NULL, NULL), EPERM);
	return NULL;
}

static bide_group shared;

static void *meddle_from_a_thread(void *arg)
{
	ck_fails_null(bide_group_spawn(&shared, nothing, NULL, NULL), EPERM);
	ck_fails_null(bide_group_start(&shared, nothing, NULL, NULL, NULL), EPERM);
	ck_fails(bide_group_cancel(&shared, NULL), EPERM);
	ck_fails(bide_group_next(&shared, NULL, NULL), EPERM);
	ck_fails(bide_group_leave(&shared), EINVAL);
	ck_fails(bide_group_enter(&shared, 0, 0), EPERM);
	ck_fails(bide_started(NULL), EPERM);
	return arg;
}

static void *with_a_loop(void *arg)
{
	ck_fails_null(bide_group_spawn(&shared, nothing, NULL, NULL), EPERM);
	ck_fails_null(bide_group_start(&shared, nothing, NULL, NULL, NULL), EPERM);
	ck_fails(bide_group_cancel(&shared, NULL), EPERM);
	return arg;
}

static void *in_a_thread(void *arg)
{
	meddle_from_a_thread(arg);
	return run_virtual(with_a_loop, arg);
}

VIRTUAL_TEST(nonsense_is_refused_and_nothing_is_done)
{
	bide_group never = { { 0 } };
	pthread_t thread;
	void *result;
	ck_fails(bide_group_enter(NULL, 0, 0), EINVAL);
	ck_fails(bide_group_enter(&never, 0, 4), EINVAL);
	ck_fails(bide_group_leave(NULL), EINVAL);
	ck_fails(bide_group_leave(&never), EINVAL);
	ck_fails(bide_group_cancel(NULL, NULL), EINVAL);
	ck_fails(bide_group_cancel(&never, NULL), EINVAL);
	ck_fails(bide_group_next(NULL, NULL, NULL), EINVAL);
	ck_fails(bide_group_next(&never, NULL, NULL), EINVAL);
	ck_fails_null(bide_group_spawn(NULL, nothing, NULL, NULL), EINVAL);
	ck_fails_null(bide_group_spawn(&never, nothing, NULL, NULL), EINVAL);
	ck_fails_null(bide_group_start(NULL, nothing, NULL, NULL, NULL), EINVAL);
	enter(&shared, 0, 0);
	ck_fails(bide_group_enter(&shared, 0, 0), EINVAL);
	ck_fails(bide_group_next(&shared, NULL, NULL), EINVAL); /* no BIDE_COLLECT */
	add(&shared, &a);
	must_end_well(must_spawn(meddle, &shared));
	must(pthread_create(&thread, NULL, in_a_thread, "v") == 0 && pthread_join(thread, &result) == 0);
	ck_assert_str_eq(result, "v");
	ck_assert_int_eq(bide_group_leave(&shared), 0);
	expect_notes("a=10");
	ck_fails(bide_group_leave(&shared), EINVAL);
}

/* ---- memory --------------------------------------------------------------------------------------------- */

static void *group_without_memory(void *arg)
{
	int *refused = arg;
	for (int at = 1; at < 40; at++) {
		char spec[40];
		bide_group group;
		static int how = STARTS;
		snprintf(spec, sizeof spec, "malloc:ENOMEM@%d", at);
		must(bide_fault(spec) == 0);
		must(bide_group_enter(&group, 2, BIDE_COLLECT) == 0);
		for (int i = 0; i < 4; i++)
			if (!(i % 2 ? bide_group_start(&group, start_somehow, &how, NULL, NULL) : bide_group_spawn(&group, nothing, NULL, NULL)))
				must(errno == ENOMEM && ++*refused > 0);
		bide_fault(NULL);
		must(bide_group_leave(&group) == 0 && loop_current->tasks.live == 1);
	}
	return NULL;
}

START_TEST(without_memory_a_child_is_refused_and_nothing_leaks)
{
	struct reports reports = { { 0 }, { "" } };
	struct counting counting;
	int refused = 0;
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	counting_init(&counting, true);
	config.allocator = &counting.allocator;
	ck_assert_int_eq(bide_run(group_without_memory, &refused, &config, NULL), 0);
	ck_assert(counting_is_balanced(&counting));
	ck_assert_int_gt(refused, 0);
}
END_TEST

/* A run that is given up with children parked for ever gives their memory back too. */
static void *ignore_everything(void *arg)
{
	(void)arg;
	while (!bide_scope_expired(NULL)) /* for ever */
		(void)bide_sleep(BIDE_SEC);
	return NULL;
}

static void *group_that_never_ends(void *arg)
{
	bide_group group;
	(void)arg;
	must(bide_group_enter(&group, 0, BIDE_COLLECT) == 0);
	must(bide_group_spawn(&group, ignore_everything, NULL, NULL));
	must(bide_group_spawn(&group, nothing, NULL, NULL));
	bide_group_leave(&group);
	return NULL;
}

static void *leave_a_group_behind(void *arg)
{
	must_spawn(group_that_never_ends, NULL);
	pass(1);
	return arg;
}

START_TEST(a_group_whose_children_never_end_is_freed_with_the_run)
{
	struct reports reports = { { 0 }, { "" } };
	struct counting counting;
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	counting_init(&counting, true);
	config.allocator = &counting.allocator;
	config.shutdown_grace = 50 * MS;
	ck_fails(bide_run(leave_a_group_behind, NULL, &config, NULL), EBUSY);
	ck_assert_int_eq(reports.count[BIDE_REPORT_LEFTOVER], 2);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

static void *fail_unseen(void *arg)
{
	bide_group group;
	(void)arg;
	must(bide_group_enter(&group, 0, BIDE_KEEP_GOING | BIDE_COLLECT) == 0);
	add(&group, &failing);
	add(&group, &failing);
	must(bide_group_next(&group, NULL, NULL) == 0);
	must(bide_group_leave(&group) < 0);
	return NULL;
}

START_TEST(a_childs_failure_is_told_by_the_group_and_not_reported)
{
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK | BIDE_DEBUG, &reports);
	ck_assert_int_eq(bide_run(fail_unseen, NULL, &config, NULL), 0);
	for (int kind = 0; kind < REPORT_KINDS; kind++)
		ck_assert_msg(reports.count[kind] == 0, "%s", reports.text[kind]);
}
END_TEST

int main(void)
{
	return SUITE("group",
	    TEST(a_group_is_left_when_every_child_has_ended),
	    LOOP(an_empty_group_is_left_at_once, 0, 2),
	    LOOP(a_failure_cancels_the_siblings_and_the_body, 0, 3),
	    TEST(the_parents_own_cancel_count_is_unchanged_by_a_failure),
	    LOOP(all_failures_are_listed_in_order_and_the_first_is_told, 0, 2),
	    TEST(one_that_keeps_going_cancels_nobody),
	    TEST(a_single_child_canceled_is_no_failure),
	    LOOP(an_outer_cancel_ends_the_children_and_leave_waits_for_them, 0, 2),
	    LOOP(a_deadline_outside_ends_the_children, 0, 2),
	    TEST(the_scope_outside_claims_what_only_leave_has_seen),
	    TEST(a_shield_around_a_group_keeps_cancels_from_it),
	    TEST(the_first_failure_is_told_though_the_parent_is_canceled_meanwhile),
	    LOOP(a_group_canceled_by_somebody_else_is_left_with_success, 0, 4),
	    TEST(the_reason_reaches_the_children_and_calls_of_the_body_fail),
	    LOOP(a_group_that_is_canceled_or_left_takes_no_child, 0, 2),
	    TEST(any_task_or_callback_may_spawn_into_it_also_while_it_is_being_left),
	    TEST(attributes_are_obeyed),
	    TEST(at_the_limit_a_spawn_waits_for_room),
	    LOOP(a_canceled_spawner_passes_its_room_on, 0, 2),
	    TEST(room_that_a_spawner_could_not_use_goes_to_the_next),
	    TEST(room_that_comes_while_a_spawner_lets_others_run_is_used),
	    TEST(a_cancel_that_comes_while_a_spawner_lets_others_run_is_seen_by_it),
	    TEST(room_that_was_given_before_the_cancel_is_used),
	    LOOP(room_that_was_given_is_not_taken_by_who_comes_later, 0, 2),
	    LOOP(spawners_that_wait_are_let_in_before_the_group_is_left_or_told_of_its_cancel, 0, 2),
	    TEST(never_more_than_the_limit_live),
	    LOOP(start_returns_when_the_child_says_so_or_has_ended, 0, WAYS),
	    LOOP(a_canceled_start_leaves_the_child_in_the_group, 0, 2),
	    TEST(a_cancel_that_came_with_the_room_ends_the_wait_for_the_handshake),
	    TEST(nobody_waits_for_started),
	    LOOP(children_are_told_of_once_each_in_the_order_in_which_they_ended, 0, 2),
	    TEST(outcomes_not_asked_for_are_gone_with_the_group),
	    TEST(a_canceled_next_loses_no_outcome),
	    TEST(an_inner_failure_reaches_the_outer_group_as_one),
	    LOOP(groups_of_one_task_nest_like_scopes, 0, 2),
	    TEST(bide_exit_ends_the_children_of_the_groups_around_it),
	    TEST(a_body_that_returns_without_leaving_its_group_is_stopped),
	    TEST(main_may_exit_inside_a_group),
	    TEST(nonsense_is_refused_and_nothing_is_done),
	    TEST(without_memory_a_child_is_refused_and_nothing_leaks),
	    TEST(a_group_whose_children_never_end_is_freed_with_the_run),
	    TEST(a_childs_failure_is_told_by_the_group_and_not_reported));
}
