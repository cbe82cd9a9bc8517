/* SPDX-License-Identifier: MIT
 * Scopes: deadlines, shields, cancels of a part of a task: bide/cancel.h, bide-deadlines(7). */
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "await/record.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

#define MS BIDE_MSEC

static void enter(bide_scope *scope, bide_time delay, unsigned flags)
{
	must_msg(bide_scope_enter(scope, delay == BIDE_NEVER ? BIDE_NEVER : bide_after(delay), flags) == 0, "enter: %s", strerror(errno));
}

static size_t timers_armed(void)
{
	return loop_current->timers.heap.count;
}

static void cancel(bide_task *task)
{
	must(bide_cancel(task, NULL) == 0);
}

/* ---- one scope ------------------------------------------------------------------------------------------ */

/* semantics 65 */
VIRTUAL_TEST(a_call_fails_at_the_deadline_and_the_scope_claims_it)
{
	bide_scope scope;
	enter(&scope, 50 * MS, 0);
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_assert(bide_now() == 50 * MS);
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT); /* and each further one */
	ck_fails(bide_yield(), ETIMEDOUT);
	ck_fails(bide_checkpoint(), ETIMEDOUT);
	ck_assert(bide_now() == 50 * MS);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	ck_assert(bide_scope_expired(&scope));
	pass(BIDE_SEC);
	ck_assert(bide_now() == 50 * MS + BIDE_SEC);
}

/* semantics 66 */
VIRTUAL_TEST(a_scope_left_in_time_leaves_no_timer)
{
	bide_scope scope;
	enter(&scope, BIDE_SEC, 0);
	ck_assert_uint_eq(timers_armed(), 1);
	pass(10 * MS);
	ck_assert_int_eq(bide_scope_leave(&scope), 0);
	ck_assert_uint_eq(timers_armed(), 0);
	pass(2 * BIDE_SEC);
	ck_assert(!bide_scope_expired(&scope)); /* it was left before */
}

/* semantics 72: with a deadline that has passed; also one at this very moment */
VIRTUAL_TEST(with_a_deadline_in_the_past_the_first_call_fails_without_effect)
{
	bide_scope scope;
	int fds[2];
	char byte;
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(write(fds[1], "x", 1), 1);
	pass(BIDE_SEC);
	ck_assert_int_eq(bide_scope_enter(&scope, bide_now() - _i, 0), 0);
	ck_assert(bide_scope_expired(&scope));
	note("body");
	ck_fails(bide_read(fds[0], &byte, 1), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	ck_assert_int_eq(bide_read(fds[0], &byte, 1), 1);
	expect_notes("body");
	bide_close(fds[0]);
	bide_close(fds[1]);
}

/* semantics 78 */
VIRTUAL_TEST(a_body_that_overran_without_a_call_leaves_with_success)
{
	bide_scope scope;
	enter(&scope, 10 * MS, 0);
	ck_assert(!bide_scope_expired(&scope));
	loop_current->clock.now += 20 * MS; /* computing */
	ck_assert(bide_scope_expired(&scope));
	ck_assert_int_eq(bide_scope_leave(&scope), 0);
	ck_assert(bide_scope_expired(&scope));
	pass(1);
}

static void be_busy(void *arg)
{
	loop_current->clock.now += *(bide_time *)arg;
}

/* semantics 71 */
VIRTUAL_TEST(of_a_result_and_a_deadline_found_late_together_the_earlier_counts)
{
	static bide_time busy = 60 * MS;
	bide_scope scope;
	must(bide_call_soon(be_busy, &busy) == 0);
	enter(&scope, (_i ? 52 : 50) * MS, 0);
	undisturbed();
	int status = bide_sleep(51 * MS);
	ck_assert(bide_now() == 60 * MS);
	ck_assert_int_eq(status, _i ? 0 : -1);
	ck_assert_int_eq(bide_scope_leave(&scope), _i ? 0 : -1);
}

/* semantics 73 */
static void *dribble(void *arg)
{
	while (bide_sleep(10 * MS) == 0 && bide_write(*(int *)arg, "x", 1) == 1)
		continue;
	return NULL;
}

REAL_TEST(a_peer_that_dribbles_does_not_get_round_the_deadline)
{
	bide_scope scope;
	int fds[2];
	char buf[1000];
	size_t done = 0;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	bide_task *peer = must_spawn(dribble, &fds[1]);
	bide_time start = bide_now();
	enter(&scope, 100 * MS, 0);
	ck_fails(bide_read_exact(fds[0], buf, sizeof buf, &done), ETIMEDOUT);
	ck_assert(bide_now() - start >= 100 * MS);
	ck_assert(bide_now() - start < 1000 * MS * suite_scale());
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	ck_assert_uint_gt(done, 0);
	ck_assert_uint_le(done, 10);
	cancel(peer);
	must_join(peer);
	bide_close(fds[0]);
	bide_close(fds[1]);
}

/* ---- nesting -------------------------------------------------------------------------------------------- */

/* semantics 67 */
VIRTUAL_TEST(the_outer_deadline_is_not_claimed_by_the_inner_scope)
{
	bide_scope outer, inner;
	enter(&outer, 10 * MS, 0);
	enter(&inner, 100 * MS, 0);
	ck_assert_uint_eq(timers_armed(), 1); /* the later one costs none */
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_assert(bide_now() == 10 * MS);
	ck_assert_int_eq(bide_scope_leave(&inner), 0);
	ck_assert(!bide_scope_expired(&inner));
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_fails(bide_scope_leave(&outer), ETIMEDOUT);
	ck_assert_uint_eq(timers_armed(), 0);
}

VIRTUAL_TEST(the_outer_scope_claims_a_failure_that_only_a_call_in_the_inner_one_saw)
{
	bide_scope outer, inner;
	enter(&outer, 10 * MS, 0);
	enter(&inner, 100 * MS, 0);
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_assert_int_eq(bide_scope_leave(&inner), 0);
	ck_fails(bide_scope_leave(&outer), ETIMEDOUT);
}

VIRTUAL_TEST(the_inner_deadline_leaves_the_outer_scope_alone)
{
	bide_scope outer, inner;
	enter(&outer, 100 * MS, 0);
	enter(&inner, 10 * MS, 0);
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_fails(bide_scope_leave(&inner), ETIMEDOUT);
	pass(50 * MS);
	ck_assert_int_eq(bide_scope_leave(&outer), 0);
	ck_assert(bide_now() == 60 * MS);
}

/* semantics 68 */
VIRTUAL_TEST(of_two_that_expired_in_one_turn_the_outermost_claims)
{
	static bide_time busy = 50 * MS;
	bide_scope outer, inner;
	must(bide_call_soon(be_busy, &busy) == 0);
	enter(&outer, 20 * MS, 0);
	enter(&inner, (_i ? 30 : 10) * MS, 0);
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_assert_int_eq(bide_scope_leave(&inner), 0);
	ck_assert(bide_scope_expired(&inner));
	ck_fails(bide_sleep(1), ETIMEDOUT);
	ck_fails(bide_scope_leave(&outer), ETIMEDOUT);
	pass(1);
}

static bool saw_inner_leave;

/* semantics 69 */
static void *cancel_and_timeout(void *arg)
{
	bide_scope outer, inner;
	enter(&outer, 10 * MS, 0);
	enter(&inner, BIDE_NEVER, 0);
	ck_fails(bide_sleep(BIDE_SEC), *(int *)arg ? ETIMEDOUT : ECANCELED);
	if (*(int *)arg)
		cancel(bide_self());
	ck_fails(bide_sleep(BIDE_SEC), ECANCELED);
	ck_assert_int_eq(bide_scope_leave(&inner), 0);
	ck_fails(bide_sleep(BIDE_SEC), ECANCELED);
	ck_assert_int_eq(bide_scope_leave(&outer), 0);
	ck_fails(bide_sleep(BIDE_SEC), ECANCELED);
	saw_inner_leave = true;
	return NULL;
}

VIRTUAL_TEST(a_cancel_of_the_task_comes_before_all_scopes)
{
	saw_inner_leave = false;
	bide_task *task = must_spawn(cancel_and_timeout, &_i);
	settle();
	if (!_i) {
		loop_current->clock.now += 20 * MS; /* the deadline has passed, and nobody has looked */
		cancel(task);
	}
	ck_assert_int_eq(must_join(task).err, ECANCELED);
	ck_assert(saw_inner_leave);
}

/* A cancel that is taken back must not swallow the failure that a scope has to claim. */
VIRTUAL_TEST(a_cancel_taken_back_leaves_the_scope_its_claim)
{
	bide_scope scope;
	enter(&scope, 10 * MS, 0);
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	cancel(bide_self());
	ck_fails(bide_sleep(BIDE_SEC), ECANCELED);
	ck_assert_int_eq(bide_uncancel(), 0);
	if (_i)
		ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
}

VIRTUAL_TEST(a_cancel_taken_back_inside_is_nobodys_claim)
{
	bide_scope scope;
	enter(&scope, BIDE_SEC, 0);
	cancel(bide_self());
	ck_fails(bide_sleep(1), ECANCELED);
	ck_assert_int_eq(bide_uncancel(), 0);
	pass(1);
	ck_assert_int_eq(bide_scope_leave(&scope), 0);
}

/* semantics 77 */
VIRTUAL_TEST(the_deadline_in_force_is_the_nearest_up_to_a_shield)
{
	bide_scope a, b, shield, c;
	ck_assert(bide_deadline() == BIDE_NEVER);
	enter(&a, 30 * MS, 0);
	ck_assert(bide_deadline() == 30 * MS);
	enter(&b, 50 * MS, 0);
	ck_assert(bide_deadline() == 30 * MS);
	enter(&shield, BIDE_NEVER, BIDE_SHIELD);
	ck_assert(bide_deadline() == BIDE_NEVER);
	enter(&c, 70 * MS, 0);
	ck_assert(bide_deadline() == 70 * MS);
	ck_assert_int_eq(bide_scope_leave(&c), 0);
	ck_assert_int_eq(bide_scope_leave(&shield), 0);
	ck_assert_int_eq(bide_scope_leave(&b), 0);
	ck_assert(bide_deadline() == 30 * MS);
	ck_assert_int_eq(bide_scope_leave(&a), 0);
	ck_assert(bide_deadline() == BIDE_NEVER);
}

VIRTUAL_TEST(scopes_nest_deeply_with_one_timer)
{
	static bide_scope scopes[200];
	for (int i = 0; i < 200; i++)
		enter(&scopes[i], (1000 - i) * MS, 0);
	ck_assert_uint_eq(timers_armed(), 1);
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_assert(bide_now() == 801 * MS);
	ck_fails(bide_scope_leave(&scopes[199]), ETIMEDOUT);
	for (int i = 198; i >= 0; i--)
		ck_assert_int_eq(bide_scope_leave(&scopes[i]), 0);
	ck_assert_uint_eq(timers_armed(), 0);
}

/* ---- shields -------------------------------------------------------------------------------------------- */

/* semantics 57; scenario E10 */
static void *clean_up_in_a_shield(void *arg)
{
	bide_scope shield;
	ck_fails(bide_sleep(BIDE_NEVER), ECANCELED);
	enter(&shield, BIDE_SEC, BIDE_SHIELD);
	ck_assert_int_eq(bide_write(*(int *)arg, "!", 1), 1);
	pass(10 * MS);
	ck_assert_int_eq(bide_scope_leave(&shield), 0);
	ck_fails(bide_sleep(1), ECANCELED);
	ck_assert_int_eq(bide_canceling(), 2);
	return NULL;
}

VIRTUAL_TEST(clean_up_in_a_shield_may_block_and_the_cancel_is_there_after_it)
{
	int fds[2];
	char byte = 0;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	bide_task *task = must_spawn(clean_up_in_a_shield, &fds[0]);
	settle();
	cancel(task);
	pass(5 * MS);
	cancel(task); /* while it is in the shield */
	ck_assert_int_eq(must_join(task).err, ECANCELED);
	ck_assert(bide_now() == 10 * MS);
	ck_assert_int_eq(read(fds[1], &byte, 1), 1);
	bide_close(fds[0]);
	bide_close(fds[1]);
}

/* semantics 58 */
VIRTUAL_TEST(a_shield_has_a_deadline_of_its_own)
{
	bide_scope outer, shield;
	enter(&outer, 10 * MS, 0);
	enter(&shield, 100 * MS, BIDE_SHIELD);
	cancel(bide_self());
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_assert(bide_now() == 100 * MS);
	ck_fails(bide_scope_leave(&shield), ETIMEDOUT);
	ck_fails(bide_sleep(1), ECANCELED);
	ck_assert_int_eq(bide_uncancel(), 0);
	ck_fails(bide_sleep(1), ETIMEDOUT); /* the outer one's, in its turn */
	ck_fails(bide_scope_leave(&outer), ETIMEDOUT);
}

VIRTUAL_TEST(an_outer_deadline_passes_over_a_shield_and_hits_the_first_call_after_it)
{
	bide_scope outer, shield;
	bide_future future = { { 0 } };
	bide_task *task = must_spawn(nothing, NULL);
	must(bide_future_set(&future, NULL) == 0);
	enter(&outer, 10 * MS, 0);
	enter(&shield, BIDE_NEVER, BIDE_SHIELD);
	pass(50 * MS);
	ck_assert_int_eq(bide_scope_leave(&shield), 0);
	ck_assert(bide_scope_expired(&outer));
	ck_fails(bide_join(task, NULL), ETIMEDOUT); /* although it would not have to wait */
	ck_fails(bide_scope_leave(&outer), ETIMEDOUT);
	ck_assert_int_eq(bide_join(task, NULL), 0);
}

VIRTUAL_TEST(an_outer_deadline_that_comes_after_the_shield_is_armed_again)
{
	bide_scope outer, shield;
	enter(&outer, 100 * MS, 0);
	enter(&shield, BIDE_NEVER, BIDE_SHIELD);
	ck_assert_uint_eq(timers_armed(), 0);
	pass(50 * MS);
	ck_assert_int_eq(bide_scope_leave(&shield), 0);
	ck_assert_uint_eq(timers_armed(), 1);
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_assert(bide_now() == 100 * MS);
	ck_fails(bide_scope_leave(&outer), ETIMEDOUT);
}

VIRTUAL_TEST(entering_and_leaving_work_with_a_cancel_pending)
{
	bide_scope scope;
	cancel(bide_self());
	ck_assert_int_eq(bide_scope_enter(&scope, BIDE_NEVER, 0), 0);
	ck_assert_int_eq(bide_scope_reset(&scope, bide_after(1)), 0);
	ck_assert_int_eq(bide_scope_leave(&scope), 0);
	ck_assert_int_eq(bide_uncancel(), 0);
}

/* semantics 59: a deferred call has its own deadlines, although nothing from outside reaches it */
static void say_goodbye(void *arg)
{
	bide_scope scope;
	int fds[2];
	char byte;
	(void)arg;
	must(pipe(fds) == 0);
	pass(10 * MS);
	enter(&scope, 100 * MS, 0);
	ck_fails(bide_read(fds[0], &byte, 1), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	pass(10 * MS);
	must(bide_close(fds[0]) == 0 && bide_close(fds[1]) == 0);
	note("goodbye");
}

static void *end_in_two_scopes(void *arg)
{
	static bide_scope a, b;
	must(bide_defer(say_goodbye, NULL) == 0);
	memset(&a, 0, sizeof a);
	memset(&b, 0, sizeof b);
	enter(&a, 5 * MS, 0);
	enter(&b, 20 * MS, *(int *)arg ? BIDE_SHIELD : 0);
	cancel(bide_self());
	if (*(int *)arg == 2)
		bide_exit("v");
	return "v";
}

VIRTUAL_TEST(deferred_calls_are_shielded_from_the_tasks_scopes_but_have_their_own)
{
	bide_task *task = must_spawn(end_in_two_scopes, &_i);
	ck_assert_str_eq(must_end_well(task), "v");
	ck_assert(bide_now() == 120 * MS);
	ck_assert_uint_eq(timers_armed(), 0);
	expect_notes("goodbye");
}

/* ---- moving a deadline: semantics 74, 75 ---------------------------------------------------------------- */

VIRTUAL_TEST(a_deadline_moved_later_does_not_fire_at_the_old_time)
{
	bide_scope scope;
	enter(&scope, 10 * MS, 0);
	pass(5 * MS);
	ck_assert_int_eq(bide_scope_reset(&scope, 100 * MS), 0);
	ck_assert(bide_deadline() == 100 * MS);
	pass(50 * MS);
	ck_assert_int_eq(bide_scope_reset(&scope, BIDE_NEVER), 0);
	ck_assert_uint_eq(timers_armed(), 0);
	pass(BIDE_SEC);
	ck_assert_int_eq(bide_scope_leave(&scope), 0);
}

VIRTUAL_TEST(a_deadline_moved_into_the_past_fails_the_next_call)
{
	bide_scope outer, inner;
	pass(BIDE_SEC);
	enter(&outer, BIDE_SEC, 0);
	enter(&inner, BIDE_NEVER, 0);
	ck_assert_int_eq(bide_scope_reset(_i ? &outer : &inner, bide_now() - 1), 0);
	ck_fails(bide_yield(), ETIMEDOUT);
	ck_fails(bide_scope_reset(_i ? &outer : &inner, BIDE_NEVER), ETIMEDOUT);
	if (_i)
		ck_assert_int_eq(bide_scope_leave(&inner), 0);
	else
		ck_fails(bide_scope_leave(&inner), ETIMEDOUT);
	if (_i)
		ck_fails(bide_scope_leave(&outer), ETIMEDOUT);
	else
		ck_assert_int_eq(bide_scope_leave(&outer), 0);
}

VIRTUAL_TEST(an_expired_scope_cannot_be_moved_whether_noticed_or_not)
{
	bide_scope scope;
	enter(&scope, 10 * MS, 0);
	if (_i)
		ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	else
		loop_current->clock.now += 10 * MS;
	ck_assert(bide_scope_expired(&scope));
	ck_fails(bide_scope_reset(&scope, BIDE_NEVER), ETIMEDOUT);
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
}

/* ---- canceling a scope ---------------------------------------------------------------------------------- */

static bide_scope *canceled_scope;

static void *wait_in_a_scope(void *arg)
{
	bide_scope scope, inner;
	enter(&scope, BIDE_SEC, 0);
	enter(&inner, BIDE_NEVER, 0);
	canceled_scope = &scope;
	ck_fails(bide_sleep(BIDE_NEVER), ECANCELED);
	ck_fails(bide_sleep(BIDE_NEVER), ECANCELED);
	ck_assert_int_eq(bide_canceling(), 0);
	ck_assert_int_eq(bide_scope_leave(&inner), 0);
	ck_fails(bide_scope_leave(&scope), ECANCELED);
	pass(1);
	return arg;
}

VIRTUAL_TEST(a_scope_is_canceled_by_another_task_and_the_task_is_not)
{
	bide_task *task = must_spawn(wait_in_a_scope, "v");
	settle();
	ck_assert_int_eq(bide_scope_cancel(canceled_scope), 0);
	ck_assert_int_eq(bide_scope_cancel(canceled_scope), 0);
	ck_assert_str_eq(must_end_well(task), "v");
	ck_assert(bide_now() == 1);
}

VIRTUAL_TEST(a_scope_canceled_by_its_own_task_fails_only_calls_inside_it)
{
	bide_scope outer, inner;
	enter(&outer, BIDE_NEVER, 0);
	enter(&inner, BIDE_NEVER, _i ? BIDE_SHIELD : 0);
	ck_assert_int_eq(bide_scope_cancel(_i ? &outer : &inner), 0);
	if (_i) {
		pass(1);
		ck_assert_int_eq(bide_scope_leave(&inner), 0);
		ck_fails(bide_sleep(1), ECANCELED);
		ck_fails(bide_scope_leave(&outer), ECANCELED);
	} else {
		ck_fails(bide_sleep(1), ECANCELED);
		ck_fails(bide_scope_leave(&inner), ECANCELED);
		pass(1);
		ck_assert_int_eq(bide_scope_leave(&outer), 0);
	}
}

VIRTUAL_TEST(a_canceled_scope_that_no_call_noticed_is_left_with_success)
{
	bide_scope scope;
	enter(&scope, BIDE_NEVER, 0);
	ck_assert_int_eq(bide_scope_cancel(&scope), 0);
	ck_assert_int_eq(bide_scope_leave(&scope), 0);
	ck_fails(bide_scope_cancel(&scope), EINVAL);
}

/* ---- bad input: semantics 76 ---------------------------------------------------------------------------- */

static void *meddle(void *arg)
{
	ck_fails(bide_scope_leave(arg), EINVAL);
	ck_fails(bide_scope_reset(arg, 0), EINVAL);
	return NULL;
}

static bide_scope foreign_scope;

static void *meddle_from_a_thread(void *arg)
{
	*(int *)arg = bide_scope_cancel(&foreign_scope) == -1 ? errno : 0;
	return NULL;
}

VIRTUAL_TEST(scopes_are_left_in_order_by_their_task)
{
	bide_scope outer, inner, never = { { 0 } };
	ck_fails(bide_scope_enter(NULL, BIDE_NEVER, 0), EINVAL);
	ck_fails(bide_scope_enter(&never, BIDE_NEVER, 2), EINVAL);
	ck_fails(bide_scope_leave(NULL), EINVAL);
	ck_fails(bide_scope_leave(&never), EINVAL);
	ck_fails(bide_scope_reset(NULL, 1), EINVAL);
	ck_fails(bide_scope_reset(&never, 1), EINVAL);
	ck_fails(bide_scope_cancel(NULL), EINVAL);
	ck_fails(bide_scope_cancel(&never), EINVAL);
	ck_assert(!bide_scope_expired(NULL));
	enter(&outer, 20 * MS, 0);
	enter(&inner, 10 * MS, 0);
	ck_fails(bide_scope_enter(&inner, BIDE_NEVER, 0), EINVAL);
	ck_fails(bide_scope_enter(&outer, BIDE_NEVER, 0), EINVAL);
	ck_fails(bide_scope_leave(&outer), EINVAL);
	must_end_well(must_spawn(meddle, &inner));
	ck_assert(bide_deadline() == 10 * MS); /* nothing has changed */
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_assert(bide_now() == 10 * MS);
	ck_fails(bide_scope_leave(&inner), ETIMEDOUT);
	ck_fails(bide_scope_leave(&inner), EINVAL);
	ck_assert_int_eq(bide_scope_leave(&outer), 0);
}

VIRTUAL_TEST(a_scope_can_be_entered_again_after_it_was_left)
{
	bide_scope scope;
	for (int i = 0; i < 3; i++) {
		enter(&scope, 10 * MS, 0);
		ck_assert(!bide_scope_expired(&scope));
		ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
		ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	}
	ck_assert(bide_now() == 30 * MS);
}

VIRTUAL_TEST(a_scope_of_another_loop_cannot_be_canceled)
{
	pthread_t thread;
	int err = 0;
	enter(&foreign_scope, BIDE_NEVER, 0);
	must(pthread_create(&thread, NULL, meddle_from_a_thread, &err) == 0 && pthread_join(thread, NULL) == 0);
	ck_assert_int_eq(err, EPERM);
	ck_assert_int_eq(bide_scope_leave(&foreign_scope), 0);
}

static void enter_outside(void *arg)
{
	bide_scope scope;
	ck_fails(bide_scope_enter(&scope, BIDE_NEVER, 0), EPERM);
	ck_assert(bide_deadline() == BIDE_NEVER);
	note_arg(arg);
}

VIRTUAL_TEST(a_callback_enters_no_scope)
{
	must(bide_call_soon(enter_outside, "callback") == 0);
	settle();
	expect_notes("callback");
}

START_TEST(outside_a_loop_there_are_no_scopes)
{
	enter_outside("outside");
	expect_notes("outside");
}
END_TEST

/* ---- BIDE_TIMEOUT --------------------------------------------------------------------------------------- */

static int sleep_in_a_block(bide_time timeout, bide_time delay, bool breaks, bool returns)
{
	int result = 7;
	BIDE_TIMEOUT(timeout) {
		if (returns)
			return 9;
		if (breaks)
			break;
		result = bide_sleep(delay);
	}
	return result;
}

VIRTUAL_TEST(a_timeout_block_is_left_however_it_is_left)
{
	ck_assert_int_eq(sleep_in_a_block(10 * MS, 5 * MS, false, false), 0);
	ck_fails(sleep_in_a_block(10 * MS, 50 * MS, false, false), ETIMEDOUT);
	ck_assert_int_eq(sleep_in_a_block(10 * MS, 5 * MS, true, false), 7);
	ck_assert_int_eq(sleep_in_a_block(10 * MS, 5 * MS, false, true), 9);
	for (int i = 0; i < 3; i++)
		BIDE_TIMEOUT(10 * MS) {
			if (i == 1)
				continue;
			goto out;
		}
out:
	ck_assert(bide_deadline() == BIDE_NEVER);
	ck_assert_uint_eq(timers_armed(), 0);
	pass(BIDE_SEC);
}

/* ---- a task that ends inside ---------------------------------------------------------------------------- */

static void end_deep_inside(int depth)
{
	bide_scope scope;
	if (depth < 0)
		return;
	enter(&scope, (depth + 1) * MS, depth % 2 ? BIDE_SHIELD : 0);
	end_deep_inside(depth - 1);
	bide_exit("deep");
}

static void *end_inside(void *arg)
{
	bide_scope scope;
	if (arg)
		end_deep_inside(5);
	enter(&scope, MS, 0);
	return "deep";
}

VIRTUAL_TEST(a_task_may_end_inside_its_scopes)
{
	for (int i = 0; i < 100; i++) {
		bide_task *task = must_spawn(end_inside, _i ? "x" : NULL);
		ck_assert_str_eq(must_end_well(task), "deep");
	}
	ck_assert_uint_eq(timers_armed(), 0);
	pass(BIDE_SEC);
}

/* ---- without memory ------------------------------------------------------------------------------------- */

/* What a task needs for its timers was set aside at its spawn. */
VIRTUAL_TEST(scopes_need_no_memory)
{
	bide_scope outer, inner;
	ck_assert_int_eq(bide_fault("malloc:ENOMEM"), 0);
	enter(&outer, 20 * MS, 0);
	enter(&inner, 10 * MS, BIDE_SHIELD);
	ck_fails(bide_sleep(BIDE_SEC), ETIMEDOUT);
	ck_fails(bide_scope_leave(&inner), ETIMEDOUT);
	ck_assert_int_eq(bide_scope_leave(&outer), 0);
	bide_fault(NULL);
}

/* ---- many tasks: semantics 62 --------------------------------------------------------------------------- */

#define MANY 10000

static int failed_with_canceled;

static struct future *inside(bide_future *future)
{
	return (struct future *)future;
}

static void *wait_and_count(void *arg)
{
	if (bide_await(arg, NULL) < 0 && errno == ECANCELED)
		failed_with_canceled++;
	return NULL;
}

ORDERED_TEST(ten_thousand_are_canceled_in_one_turn)
{
	static bide_task *tasks[MANY];
	static bide_future future;
	int count = suite_scaled_down(MANY, 1000);
	memset(&future, 0, sizeof future);
	failed_with_canceled = 0;
	for (int i = 0; i < count; i++)
		tasks[i] = must_spawn(wait_and_count, &future);
	settle();
	uint64_t turn = loop_current->ready.turn;
	for (int i = 0; i < count; i++)
		cancel(tasks[i]);
	must(list_is_empty(&inside(&future)->queue));
	must(bide_yield() == 0);
	ck_assert_int_eq(failed_with_canceled, count);
	ck_assert_uint_eq(loop_current->ready.turn, turn + 1);
	for (int i = 0; i < count; i++)
		must_join(tasks[i]);
	ck_assert_int_eq(bide_future_destroy(&future), 0);
}

int main(void)
{
	return SUITE("scope",
	    TEST(a_call_fails_at_the_deadline_and_the_scope_claims_it),
	    TEST(a_scope_left_in_time_leaves_no_timer),
	    LOOP(with_a_deadline_in_the_past_the_first_call_fails_without_effect, 0, 2),
	    TEST(a_body_that_overran_without_a_call_leaves_with_success),
	    LOOP(of_a_result_and_a_deadline_found_late_together_the_earlier_counts, 0, 2),
	    TEST(a_peer_that_dribbles_does_not_get_round_the_deadline),
	    TEST(the_outer_deadline_is_not_claimed_by_the_inner_scope),
	    TEST(the_outer_scope_claims_a_failure_that_only_a_call_in_the_inner_one_saw),
	    TEST(the_inner_deadline_leaves_the_outer_scope_alone),
	    LOOP(of_two_that_expired_in_one_turn_the_outermost_claims, 0, 2),
	    LOOP(a_cancel_of_the_task_comes_before_all_scopes, 0, 2),
	    LOOP(a_cancel_taken_back_leaves_the_scope_its_claim, 0, 2),
	    TEST(a_cancel_taken_back_inside_is_nobodys_claim),
	    TEST(the_deadline_in_force_is_the_nearest_up_to_a_shield),
	    TEST(scopes_nest_deeply_with_one_timer),
	    TEST(clean_up_in_a_shield_may_block_and_the_cancel_is_there_after_it),
	    TEST(a_shield_has_a_deadline_of_its_own),
	    TEST(an_outer_deadline_passes_over_a_shield_and_hits_the_first_call_after_it),
	    TEST(an_outer_deadline_that_comes_after_the_shield_is_armed_again),
	    TEST(entering_and_leaving_work_with_a_cancel_pending),
	    LOOP(deferred_calls_are_shielded_from_the_tasks_scopes_but_have_their_own, 0, 3),
	    TEST(a_deadline_moved_later_does_not_fire_at_the_old_time),
	    LOOP(a_deadline_moved_into_the_past_fails_the_next_call, 0, 2),
	    LOOP(an_expired_scope_cannot_be_moved_whether_noticed_or_not, 0, 2),
	    TEST(a_scope_is_canceled_by_another_task_and_the_task_is_not),
	    LOOP(a_scope_canceled_by_its_own_task_fails_only_calls_inside_it, 0, 2),
	    TEST(a_canceled_scope_that_no_call_noticed_is_left_with_success),
	    TEST(scopes_are_left_in_order_by_their_task),
	    TEST(a_scope_can_be_entered_again_after_it_was_left),
	    TEST(a_scope_of_another_loop_cannot_be_canceled),
	    TEST(a_callback_enters_no_scope),
	    TEST(outside_a_loop_there_are_no_scopes),
	    TEST(a_timeout_block_is_left_however_it_is_left),
	    LOOP(a_task_may_end_inside_its_scopes, 0, 2),
	    TEST(scopes_need_no_memory),
	    TEST(ten_thousand_are_canceled_in_one_turn));
}
