/* SPDX-License-Identifier: MIT
 * Timers with a callback, and bide_call_soon(): bide/time.h, sched/timer.h. */
#include <pthread.h>
#include <stdlib.h>

#include "base/random.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

static void count(void *arg)
{
	++*(int *)arg;
}

static size_t armed(void)
{
	sched_check(loop_current);
	return loop_current->timers.heap.count;
}

/* ---- when ---------------------------------------------------------------------------------------- */

VIRTUAL_TEST(callbacks_run_at_their_deadlines)
{
	static bide_timer a, b, c;
	ck_assert_int_eq(bide_call_at(&a, 3 * BIDE_SEC, note_arg_at, "a"), 0);
	ck_assert_int_eq(bide_call_later(&b, BIDE_SEC, note_arg_at, "b"), 0);
	ck_assert_int_eq(bide_call_at(&c, 2 * BIDE_SEC, note_arg_at, "c"), 0);
	expect_notes("");
	pass(4 * BIDE_SEC);
	expect_notes("b@1 c@2 a@3");
	ck_assert_uint_eq(armed(), 0);
}

/* semantics 84; scenario D10 */
VIRTUAL_TEST(equal_deadlines_fire_in_the_order_in_which_they_were_armed)
{
	static bide_timer timers[8];
	static char *names[] = { "0", "1", "2", "3", "4", "5", "6", "7" };
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(bide_call_at(&timers[i], BIDE_SEC, note_arg, names[i]), 0);
	pass(2 * BIDE_SEC);
	expect_notes("0 1 2 3 4 5 6 7");
}

static int next_number;

static void expect_number(void *arg)
{
	must_msg(*(int *)arg == next_number, "%d came in place %d", *(int *)arg, next_number);
	next_number++;
}

static void *sleep_to_one_second(void *arg)
{
	must(bide_sleep_until(BIDE_SEC) == 0);
	expect_number(arg);
	return NULL;
}

/* scenario D10, with callbacks between the sleepers */
ORDERED_TEST(a_thousand_sleepers_and_callbacks_to_one_deadline_wake_in_arming_order)
{
	enum { COUNT = 1000 };
	static bide_timer timers[COUNT];
	static int numbers[COUNT];
	next_number = 0;
	for (int i = 0; i < COUNT; i++) {
		numbers[i] = i;
		if (i % 3 == 1) {
			must(bide_call_at(&timers[i], BIDE_SEC, expect_number, &numbers[i]) == 0);
		} else {
			must_spawn(sleep_to_one_second, &numbers[i]);
			settle(); /* so that it is armed now */
		}
	}
	pass(2 * BIDE_SEC);
	ck_assert_int_eq(next_number, COUNT);
}

static const bide_time past[] = { INT64_MIN, -BIDE_SEC, -1, 0, 5, 10 * BIDE_SEC };

/* scenario D2 */
VIRTUAL_TEST(a_deadline_that_has_passed_fires_next_and_never_inside_the_call)
{
	static bide_timer timer;
	pass(10 * BIDE_SEC);
	ck_assert_int_eq(bide_call_at(&timer, past[_i], note_arg_at, "past"), 0);
	expect_notes("");
	settle();
	expect_notes("past@10");
	/* And when time has to pass for it, the clock does not go back. */
	ck_assert_int_eq(bide_call_at(&timer, past[_i], note_arg_at, "past"), 0);
	pass(BIDE_SEC);
	expect_notes("past@10 past@10");
	ck_assert(bide_now() == 11 * BIDE_SEC);
}

static const bide_time no_delay[] = { INT64_MIN, -1, 0 };

VIRTUAL_TEST(a_delay_of_nothing_fires_next_and_never_inside_the_call)
{
	static bide_timer timer;
	pass(10 * BIDE_SEC);
	ck_assert_int_eq(bide_call_later(&timer, no_delay[_i], note_arg_at, "now"), 0);
	expect_notes("");
	settle();
	expect_notes("now@10");
}

/* semantics 88; scenario D1 */
VIRTUAL_TEST(huge_delays_do_not_fire_beside_a_short_one)
{
	static const bide_time huge[] = { BIDE_NEVER, BIDE_NEVER - 1, UINT32_MAX * BIDE_MSEC,
		INT32_MAX * BIDE_MSEC, INT32_MAX * BIDE_SEC, BIDE_NEVER / 2 };
	static bide_timer timers[6], small;
	static int fired;
	pass(BIDE_SEC); /* so that a sum can pass the end */
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(bide_call_later(&timers[i], huge[i], count, &fired), 0);
	ck_assert_int_eq(bide_call_later(&small, 20 * BIDE_MSEC, note_arg, "small"), 0);
	pass(BIDE_SEC);
	expect_notes("small");
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(bide_timer_cancel(&timers[i]), 1);
	ck_assert_int_eq(fired, 0);
	ck_assert_uint_eq(armed(), 0);
}

VIRTUAL_TEST(never_is_never_until_it_is_moved)
{
	static bide_timer timer;
	ck_assert_int_eq(bide_call_at(&timer, BIDE_NEVER, note_arg_at, "x"), 0);
	pass(3600 * BIDE_SEC);
	expect_notes("");
	ck_assert_int_eq(bide_call_later(&timer, BIDE_SEC, note_arg_at, "x"), 0);
	pass(2 * BIDE_SEC);
	expect_notes("x@3601");
	ck_assert_int_eq(bide_timer_cancel(&timer), 0);
}

/* ---- in what surroundings -------------------------------------------------------------------------- */

/* semantics 12 */
static void try_to_suspend(void *arg)
{
	char byte;
	must(!bide_self() && bide_loop_self());
	ck_fails(bide_sleep(1), EPERM);
	ck_fails(bide_sleep(0), EPERM);
	ck_fails(bide_sleep_until(BIDE_NEVER), EPERM);
	ck_fails(bide_yield(), EPERM);
	ck_fails(bide_join(arg, NULL), EPERM);
	ck_fails(bide_checkpoint(), EPERM);
	ck_fails(bide_settle(), EPERM);
	ck_fails(bide_clock_advance(1), EPERM);
	ck_fails(bide_read(0, &byte, 1), EPERM);
	ck_fails(bide_defer(count, NULL), EPERM);
	note("refused");
}

VIRTUAL_TEST(a_callback_cannot_suspend)
{
	static bide_timer timer;
	ck_assert_int_eq(bide_call_later(&timer, BIDE_SEC, try_to_suspend, bide_self()), 0);
	ck_assert_int_eq(bide_call_soon(try_to_suspend, bide_self()), 0);
	pass(2 * BIDE_SEC);
	expect_notes("refused refused");
}

static void *note_in_task(void *arg)
{
	note_arg(arg);
	return NULL;
}

static void spawn_arm_and_cancel(void *arg)
{
	static bide_timer timer;
	must_spawn(note_in_task, "spawned");
	must(bide_cancel(arg, NULL) == 0);
	must(bide_call_later(&timer, BIDE_SEC, note_arg_at, "armed") == 0);
	must(bide_call_soon(note_arg, "soon") == 0);
	sched_check(loop_current);
}

VIRTUAL_TEST(a_callback_may_spawn_arm_and_cancel)
{
	static bide_timer timer;
	bide_task *victim = must_spawn(forever_sleeper, NULL);
	pass(BIDE_SEC);
	ck_assert_int_eq(bide_call_later(&timer, BIDE_SEC, spawn_arm_and_cancel, victim), 0);
	ck_assert_int_eq(must_join(victim).err, ECANCELED);
	pass(2 * BIDE_SEC);
	expect_notes("spawned soon armed@3");
}

static void *note_three_times(void *arg)
{
	for (int i = 0; i < 3; i++) {
		note_arg(arg);
		must(bide_yield() == 0);
	}
	return NULL;
}

/* semantics 1, 3 */
ORDERED_TEST(callbacks_and_tasks_share_one_queue)
{
	must_spawn(note_in_task, "t1");
	ck_assert_int_eq(bide_call_soon(note_arg, "c1"), 0);
	must_spawn(note_three_times, "y");
	ck_assert_int_eq(bide_call_soon(note_arg, "c2"), 0);
	must_spawn(note_in_task, "t2");
	expect_notes("");
	settle();
	expect_notes("t1 c1 y c2 t2 y y");
}

static uint64_t asked_in_turn;

static void soon_again(void *arg)
{
	int *left = arg;
	must_msg(loop_current->ready.turn > asked_in_turn, "a callback ran in the turn that asked for it");
	asked_in_turn = loop_current->ready.turn;
	if (--*left > 0)
		must(bide_call_soon(soon_again, left) == 0);
}

/* semantics 3 */
VIRTUAL_TEST(a_callback_asked_for_by_a_callback_runs_in_a_later_turn)
{
	static int left;
	left = 10;
	asked_in_turn = loop_current->ready.turn;
	ck_assert_int_eq(bide_call_soon(soon_again, &left), 0);
	settle();
	ck_assert_int_eq(left, 0);
}

/* ---- moving ---------------------------------------------------------------------------------------- */

VIRTUAL_TEST(an_armed_timer_is_moved_later_or_earlier)
{
	static bide_timer a, b;
	ck_assert_int_eq(bide_call_at(&a, 2 * BIDE_SEC, note_arg_at, "a"), 0);
	ck_assert_int_eq(bide_call_at(&b, 5 * BIDE_SEC, note_arg_at, "b"), 0);
	ck_assert_int_eq(bide_call_at(&a, 4 * BIDE_SEC, note_arg_at, "A"), 0);
	ck_assert_int_eq(bide_call_at(&b, 1 * BIDE_SEC, note_arg_at, "B"), 0);
	ck_assert_uint_eq(armed(), 2);
	pass(10 * BIDE_SEC);
	expect_notes("B@1 A@4");
}

static void move_it(void *arg)
{
	must(bide_call_later(arg, BIDE_SEC, note_arg_at, "moved") == 0);
	sched_check(loop_current);
}

VIRTUAL_TEST(a_timer_that_is_due_but_has_not_run_is_moved_too)
{
	static bide_timer first, second;
	ck_assert_int_eq(bide_call_at(&first, BIDE_SEC, move_it, &second), 0);
	ck_assert_int_eq(bide_call_at(&second, BIDE_SEC, note_arg_at, "too early"), 0);
	pass(3 * BIDE_SEC);
	expect_notes("moved@2");
}

VIRTUAL_TEST(moving_a_timer_puts_it_behind_its_equals)
{
	static bide_timer a, b;
	ck_assert_int_eq(bide_call_at(&a, BIDE_SEC, note_arg, "a"), 0);
	ck_assert_int_eq(bide_call_at(&b, BIDE_SEC, note_arg, "b"), 0);
	ck_assert_int_eq(bide_call_at(&a, BIDE_SEC, note_arg, "a"), 0);
	pass(2 * BIDE_SEC);
	expect_notes("b a");
}

/* ---- canceling ------------------------------------------------------------------------------------- */

/* semantics 95 */
VIRTUAL_TEST(cancel_tells_whether_it_prevented_the_callback)
{
	static bide_timer timer;
	ck_assert_int_eq(bide_timer_cancel(&timer), 0); /* never armed */
	ck_assert_int_eq(bide_call_later(&timer, BIDE_SEC, note_arg, "no"), 0);
	ck_assert_int_eq(bide_timer_cancel(&timer), 1);
	ck_assert_int_eq(bide_timer_cancel(&timer), 0);
	ck_assert_uint_eq(armed(), 0);
	pass(2 * BIDE_SEC);
	ck_assert_int_eq(bide_call_later(&timer, BIDE_SEC, note_arg, "yes"), 0);
	pass(2 * BIDE_SEC);
	ck_assert_int_eq(bide_timer_cancel(&timer), 0); /* it ran */
	ck_assert_int_eq(bide_call_at(&timer, BIDE_NEVER, note_arg, "no"), 0);
	ck_assert_int_eq(bide_timer_cancel(&timer), 1);
	ck_assert_int_eq(bide_timer_cancel(&timer), 0);
	expect_notes("yes");
}

static bide_timer *victim;

static void cancel_and_free_victim(void *arg)
{
	(void)arg;
	must(bide_timer_cancel(victim) == 1);
	free(victim);
	sched_check(loop_current);
}

/* semantics 91; scenario D9 */
VIRTUAL_TEST(a_callback_cancels_and_frees_one_that_is_due_in_the_same_batch)
{
	static bide_timer first, third;
	victim = calloc(1, sizeof *victim);
	ck_assert_int_eq(bide_call_at(&first, BIDE_SEC, cancel_and_free_victim, NULL), 0);
	ck_assert_int_eq(bide_call_at(victim, BIDE_SEC, note_arg, "victim"), 0);
	ck_assert_int_eq(bide_call_at(&third, BIDE_SEC, note_arg, "third"), 0);
	pass(2 * BIDE_SEC);
	expect_notes("third");
}

static void *cancel_at_one_second(void *arg)
{
	must(bide_sleep_until(BIDE_SEC) == 0);
	note("canceled %d", bide_timer_cancel(arg));
	return NULL;
}

ORDERED_TEST(a_task_cancels_a_timer_that_is_due_already)
{
	static bide_timer timer;
	must_spawn(cancel_at_one_second, &timer);
	settle();
	ck_assert_int_eq(bide_call_at(&timer, BIDE_SEC, note_arg, "ran"), 0);
	pass(2 * BIDE_SEC);
	expect_notes("canceled 1");
}

static void free_me(void *arg)
{
	memset(arg, 0xff, sizeof(bide_timer));
	free(arg);
	note("freed");
}

VIRTUAL_TEST(a_callback_may_free_its_own_timer)
{
	bide_timer *timer = calloc(1, sizeof *timer);
	ck_assert_int_eq(bide_call_later(timer, BIDE_SEC, free_me, timer), 0);
	pass(2 * BIDE_SEC);
	expect_notes("freed");
}

/* scenario D9: the callback of one timer cancels another one that is due now, frees it, and arms both
 * anew, its own first later and then earlier. */
struct churn {
	bide_timer mine;
	bide_timer *other;
	int left;
};

static void never_runs(void *arg)
{
	(void)arg;
	ck_abort_msg("a timer ran that was canceled");
}

static void churn(void *arg)
{
	struct churn *churn_ = arg;
	bide_time now = bide_now();
	must(bide_timer_cancel(churn_->other) == 1);
	free(churn_->other);
	if (--churn_->left == 0)
		return;
	churn_->other = calloc(1, sizeof *churn_->other);
	must(bide_call_at(&churn_->mine, now + 100, churn, churn_) == 0);
	must(bide_call_at(&churn_->mine, now + churn_->left % 3, churn, churn_) == 0);
	must(bide_call_at(churn_->other, now + churn_->left % 3, never_runs, NULL) == 0);
}

VIRTUAL_TEST(a_callback_that_cancels_frees_and_arms_anew_a_hundred_thousand_times)
{
	static struct churn churns[3];
	int rounds = suite_scaled_down(100000, 2000);
	for (int i = 0; i < 3; i++) {
		churns[i] = (struct churn){ .other = calloc(1, sizeof(bide_timer)), .left = rounds + i };
		must(bide_call_at(&churns[i].mine, 1, churn, &churns[i]) == 0);
		must(bide_call_at(churns[i].other, 1, never_runs, NULL) == 0);
	}
	pass(BIDE_SEC);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(churns[i].left, 0);
	ck_assert_uint_eq(armed(), 0);
}

/* ---- many ------------------------------------------------------------------------------------------ */

static void shuffle(int *order, int count, struct random *random)
{
	for (int i = 0; i < count; i++)
		order[i] = i;
	for (int i = count - 1; i > 0; i--) {
		int j = (int)random_below(random, (uint64_t)i + 1), swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
}

static void *arm_and_cancel_many(void *arg)
{
	enum { COUNT = 100000 };
	bide_timer *timers = calloc(COUNT, sizeof *timers);
	int *order = malloc(COUNT * sizeof *order);
	struct random random = { 90 };
	struct counting *counting = arg;
	static bide_timer one_more;
	must(timers && order);
	must(bide_call_later(&one_more, 1, note_arg, "x") == 0);
	pass(2);
	size_t bytes_before = counting->bytes;
	shuffle(order, COUNT, &random);
	for (int i = 0; i < COUNT; i++)
		must(bide_call_later(&timers[i], (bide_time)random_below(&random, 1000) + BIDE_SEC, never_runs,
		    NULL) == 0);
	ck_assert_uint_eq(armed(), COUNT);
	for (int i = 0; i < COUNT; i++) {
		must(bide_timer_cancel(&timers[order[i]]) == 1);
		must(loop_current->timers.heap.count == (size_t)(COUNT - i - 1));
		if (i % 10000 == 0)
			sched_check(loop_current);
	}
	for (int i = 0; i < 10; i++)
		pass(1); /* the array shrinks when the loop is idle */
	ck_assert_uint_le(counting->bytes, bytes_before + 4096);
	free(order);
	free(timers);
	return NULL;
}

/* semantics 90; scenario D8 */
START_TEST(a_hundred_thousand_timers_set_and_canceled_leave_nothing_in_the_heap)
{
	struct counting counting;
	counting_init(&counting, false);
	run_counted(&counting, BIDE_VIRTUAL_CLOCK, arm_and_cancel_many, &counting);
}
END_TEST

/* Against a list of what ought to fire: random arming, moving and canceling, at times that often
 * coincide. */
#define MODEL_TIMERS 200

static struct model {
	bide_timer timer;
	bide_time deadline; /* -1: idle */
	uint64_t armed_as;  /* among equals, the lower first */
} model[MODEL_TIMERS];

static uint64_t model_seed, model_fired;

static void model_fire(void *arg)
{
	struct model *mine = arg;
	must_msg(mine->deadline == bide_now(), "seed %llu: fired at another time", (unsigned long long)model_seed);
	for (int i = 0; i < MODEL_TIMERS; i++)
		must_msg(model[i].deadline < 0 || model[i].deadline > mine->deadline ||
		    (model[i].deadline == mine->deadline && model[i].armed_as >= mine->armed_as),
		    "seed %llu: another should have fired first", (unsigned long long)model_seed);
	mine->deadline = -1;
	model_fired++;
}

VIRTUAL_TEST(random_arming_moving_and_canceling_fires_as_a_sorted_list_would)
{
	model_seed = 0x71e4u + (uint64_t)_i;
	struct random random = { model_seed };
	uint64_t arms = 0, canceled = 0, moved = 0;
	int steps = suite_scaled_down(20000, 3000);
	model_fired = 0;
	for (int i = 0; i < MODEL_TIMERS; i++)
		model[i] = (struct model){ .deadline = -1 };
	for (int step = 0; step < steps; step++) {
		struct model *one = &model[random_below(&random, MODEL_TIMERS)];
		if (random_below(&random, 3) == 0) {
			int prevented = bide_timer_cancel(&one->timer);
			must_msg(prevented == (one->deadline >= 0), "seed %llu, step %d", (unsigned long long)model_seed,
			    step);
			canceled += (uint64_t)prevented;
			one->deadline = -1;
		} else {
			moved += one->deadline >= 0;
			one->deadline = bide_now() + 1 + (bide_time)random_below(&random, 50);
			one->armed_as = arms++;
			must(bide_call_at(&one->timer, one->deadline, model_fire, one) == 0);
		}
		if (random_below(&random, 20) == 0)
			pass((bide_time)random_below(&random, 30));
	}
	pass(BIDE_SEC);
	ck_assert_uint_eq(armed(), 0);
	ck_assert_uint_eq(model_fired + canceled + moved, arms);
	ck_assert_uint_gt(model_fired, 100);
	ck_assert_uint_gt(canceled, 100);
}

/* ---- timers and runs ------------------------------------------------------------------------------- */

static bide_timer kept[4];

static void *arm_one_that_is_due_with_main(void *moment)
{
	must(bide_call_at(&kept[2], *(bide_time *)moment, never_runs, NULL) == 0);
	return NULL;
}

/* When main wakes, and returns, one of its timers is due too and stands behind it in the ready queue. */
static void *leave_timers_behind(void *arg)
{
	static bide_time moment = BIDE_SEC;
	(void)arg;
	must(bide_call_at(&kept[0], 10 * BIDE_SEC, never_runs, NULL) == 0);
	must(bide_call_at(&kept[1], BIDE_NEVER, never_runs, NULL) == 0);
	must_spawn(arm_one_that_is_due_with_main, &moment);
	undisturbed();
	must(bide_sleep_until(moment) == 0);
	must(loop_current->timers.heap.count <= 2 && !ready_is_empty(&loop_current->ready));
	must(bide_call_soon(never_runs, NULL) == 0);
	return NULL;
}

static void *use_them_again(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++)
		must_msg(bide_timer_cancel(&kept[i]) == 0, "timer %d is armed still", i);
	must(bide_call_later(&kept[0], BIDE_SEC, note_arg_at, "a") == 0);
	must(bide_call_later(&kept[1], BIDE_SEC, note_arg_at, "b") == 0);
	must(bide_call_later(&kept[2], BIDE_SEC, note_arg_at, "c") == 0);
	pass(2 * BIDE_SEC);
	return NULL;
}

/* bide/loop.h: callbacks still armed are dropped */
START_TEST(timers_left_armed_do_not_run_and_can_be_used_in_the_next_run)
{
	run_virtual_in_order(leave_timers_behind, NULL);
	run_virtual(use_them_again, NULL);
	expect_notes("a@1 b@1 c@1");
}
END_TEST

/* The same, with the next run in another place of the stack. */
static __attribute__((noinline)) void run_deeper(bide_fn *fn)
{
	char room[10000];
	__asm__ volatile("" : : "r"(room) : "memory");
	run_virtual(fn, NULL);
	__asm__ volatile("" : : "r"(room) : "memory");
}

START_TEST(timers_left_armed_can_be_used_by_a_run_elsewhere)
{
	run_virtual_in_order(leave_timers_behind, NULL);
	run_deeper(use_them_again);
	expect_notes("a@1 b@1 c@1");
}
END_TEST

static void *leave_many_nevers(void *arg)
{
	static bide_timer nevers[200];
	(void)arg;
	for (int i = 0; i < 200; i++)
		must(bide_call_at(&nevers[i], BIDE_NEVER, never_runs, NULL) == 0);
	for (int i = 0; i < 200; i++)
		must(bide_call_at(&nevers[i], BIDE_SEC, note_arg, "x") == 0);
	for (int i = 0; i < 200; i++)
		must(bide_call_at(&nevers[i], BIDE_NEVER, never_runs, NULL) == 0);
	return NULL;
}

/* Each armed timer has its room in the heap, whatever its deadline was at first. */
START_TEST(timers_at_never_have_their_room_in_every_run)
{
	for (int i = 0; i < 3; i++)
		run_virtual(leave_many_nevers, NULL);
}
END_TEST

static void *use_in_another_loop(void *arg)
{
	ck_fails(bide_call_at(arg, 1, never_runs, NULL), EPERM);
	ck_fails(bide_call_later(arg, 1, never_runs, NULL), EPERM);
	ck_fails(bide_timer_cancel(arg), EPERM);
	return NULL;
}

static void *thread_with_a_loop(void *arg)
{
	run_virtual(use_in_another_loop, arg);
	return NULL;
}

static void *thread_without_a_loop(void *arg)
{
	ck_fails(bide_call_at(arg, 1, never_runs, NULL), EPERM);
	ck_fails(bide_timer_cancel(arg), EPERM);
	ck_fails(bide_call_soon(never_runs, NULL), EPERM);
	return NULL;
}

/* semantics 13 */
VIRTUAL_TEST(a_timer_armed_in_one_loop_is_refused_to_other_threads)
{
	static bide_timer timer;
	pthread_t thread;
	ck_assert_int_eq(bide_call_at(&timer, BIDE_SEC, note_arg_at, "mine"), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, _i ? thread_with_a_loop : thread_without_a_loop, &timer), 0);
	pthread_join(thread, NULL);
	pass(2 * BIDE_SEC);
	expect_notes("mine@1");
}

int main(void)
{
	return SUITE("timer",
	    TEST(callbacks_run_at_their_deadlines),
	    TEST(equal_deadlines_fire_in_the_order_in_which_they_were_armed),
	    TEST(a_thousand_sleepers_and_callbacks_to_one_deadline_wake_in_arming_order),
	    TABLE(a_deadline_that_has_passed_fires_next_and_never_inside_the_call, past),
	    TABLE(a_delay_of_nothing_fires_next_and_never_inside_the_call, no_delay),
	    TEST(huge_delays_do_not_fire_beside_a_short_one),
	    TEST(never_is_never_until_it_is_moved),
	    TEST(a_callback_cannot_suspend),
	    TEST(a_callback_may_spawn_arm_and_cancel),
	    TEST(callbacks_and_tasks_share_one_queue),
	    TEST(a_callback_asked_for_by_a_callback_runs_in_a_later_turn),
	    TEST(an_armed_timer_is_moved_later_or_earlier),
	    TEST(a_timer_that_is_due_but_has_not_run_is_moved_too),
	    TEST(moving_a_timer_puts_it_behind_its_equals),
	    TEST(cancel_tells_whether_it_prevented_the_callback),
	    TEST(a_callback_cancels_and_frees_one_that_is_due_in_the_same_batch),
	    TEST(a_task_cancels_a_timer_that_is_due_already),
	    TEST(a_callback_may_free_its_own_timer),
	    TEST(a_callback_that_cancels_frees_and_arms_anew_a_hundred_thousand_times),
	    TEST(a_hundred_thousand_timers_set_and_canceled_leave_nothing_in_the_heap),
	    LOOP(random_arming_moving_and_canceling_fires_as_a_sorted_list_would, 0, 4),
	    TEST(timers_left_armed_do_not_run_and_can_be_used_in_the_next_run),
	    TEST(timers_left_armed_can_be_used_by_a_run_elsewhere),
	    TEST(timers_at_never_have_their_room_in_every_run),
	    LOOP(a_timer_armed_in_one_loop_is_refused_to_other_threads, 0, 2));
}
