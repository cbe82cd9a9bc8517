/* SPDX-License-Identifier: MIT
 * Whose a coroutine is, and what becomes of it when its owner ends: bide/coro.h. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "runs.h"
#include "trace.h"

static bide_coro *new_coro(bide_fn *body, void *arg)
{
	bide_coro *coro = bide_coro_new(body, arg, 0);
	must_msg(coro, "bide_coro_new: %s", strerror(errno));
	return coro;
}

static void begin_coro(bide_coro *coro)
{
	must(bide_coro_resume(coro, NULL, NULL) == 1);
}

static void close_coro(bide_coro *coro)
{
	must_msg(bide_coro_close(coro) == 0, "bide_coro_close: %s", strerror(errno));
}

static void *yield_once(void *arg)
{
	if (!bide_coro_yield(NULL) && errno == ECANCELED)
		note("%s cleaned up", (char *)arg);
	return NULL;
}

/* The first two were ended; the third is open still, and cleans up when it is closed. */
static void expect_all_but_the_third_closed(bide_coro *const coros[3])
{
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(bide_coro_state(coros[i]), BIDE_CORO_CLOSED);
	for (int i = 0; i < 3; i++)
		close_coro(coros[i]);
	expect_notes("the third cleaned up");
}

/* ---- owners that have ended ------------------------------------------------------------------------------- */

static void *begin_and_end(void *arg)
{
	begin_coro(arg);
	return NULL;
}

/* It gets the record of the task that has ended. */
static void *use_what_is_not_its_own(void *arg)
{
	ck_fails(bide_coro_resume(arg, NULL, NULL), EPERM);
	return NULL;
}

VIRTUAL_TEST(a_task_with_the_record_of_the_owner_is_not_the_owner)
{
	bide_coro *coro = new_coro(yield_once, "it");
	bide_task *owner = must_spawn(begin_and_end, coro);
	must_end_well(owner);
	bide_task *other = must_spawn(use_what_is_not_its_own, coro);
	must(((uintptr_t)owner ^ (uintptr_t)other) << 16 == 0); /* the same record, or this shows nothing */
	must_end_well(other);
	must(bide_coro_state(coro) == BIDE_CORO_SUSPENDED);
	close_coro(coro);
	expect_notes("it cleaned up");
}

static void *close_it(void *arg)
{
	close_coro(arg);
	return NULL;
}

static void on_another_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, fn, arg), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* A later thread often has its thread-local variables in the same place. */
START_TEST(a_thread_in_the_place_of_the_owner_is_not_the_owner)
{
	for (int i = 0; i < 10; i++) {
		bide_coro *coro = new_coro(yield_once, "it");
		on_another_thread(begin_and_end, coro);
		on_another_thread(use_what_is_not_its_own, coro);
		ck_fails(bide_coro_resume(coro, NULL, NULL), EPERM);
		if (i % 2)
			close_coro(coro);
		else
			on_another_thread(close_it, coro);
	}
}
END_TEST

static _Atomic bool goes_on;
static bide_coro *_Atomic handed_over;

static void *end_what_is_handed_over(void *arg)
{
	while (goes_on) {
		bide_coro *coro = atomic_exchange(&handed_over, NULL);
		if (!coro) {
			sched_yield();
			continue;
		}
		begin_coro(coro);
		must(bide_coro_resume(coro, arg, NULL) == 0);
		close_coro(coro);
	}
	return NULL;
}

/* It looks through all that are idle here, and that one is not any more: for ThreadSanitizer to say. */
START_TEST(one_made_here_may_begin_elsewhere_while_this_thread_trims)
{
	pthread_t thread;
	goes_on = true;
	must(pthread_create(&thread, NULL, end_what_is_handed_over, &goes_on) == 0);
	for (int i = 0; i < suite_scaled_down(500, 100); i++) {
		bide_coro *none = NULL, *coro = new_coro(yield_once, "it");
		while (!atomic_compare_exchange_weak(&handed_over, &none, coro)) {
			none = NULL;
			sched_yield(); /* on a busy machine the other one may not have a processor */
		}
		must(bide_trim() == 0);
	}
	while (handed_over)
		sched_yield();
	goes_on = false;
	pthread_join(thread, NULL);
}
END_TEST

static void *exit_the_thread(void *arg)
{
	(void)arg;
	pthread_exit(NULL);
}

static void *begin_another(void *arg)
{
	bide_coro **coros = arg;
	bide_coro_resume(coros[1], NULL, NULL);
	return NULL;
}

static void *exit_in_a_tower(void *arg)
{
	begin_coro(((bide_coro **)arg)[2]);
	bide_coro_resume(*(bide_coro **)arg, arg, NULL);
	return NULL;
}

START_TEST(coroutines_in_which_a_thread_exits_can_be_closed)
{
	bide_coro *coros[3];
	if (suite_is_for("thread")) /* which wants a thread to end on its own stack */
		return;
	coros[0] = new_coro(begin_another, coros);
	coros[1] = new_coro(exit_the_thread, NULL);
	coros[2] = new_coro(yield_once, "the third");
	on_another_thread(exit_in_a_tower, coros);
	expect_all_but_the_third_closed(coros);
}
END_TEST

static void *end_a_whole_loop(void *arg)
{
	must_spawn(begin_and_end, arg);
	pass(1);
	return NULL;
}

START_TEST(what_a_loop_left_behind_can_be_closed_outside_and_in_the_next_one)
{
	bide_coro *coros[] = { new_coro(yield_once, "one"), new_coro(yield_once, "two") };
	for (int i = 0; i < 2; i++)
		run_virtual(end_a_whole_loop, coros[i]);
	ck_fails(bide_coro_resume(coros[0], NULL, NULL), EPERM);
	close_coro(coros[0]);
	run_virtual(close_it, coros[1]);
	expect_notes("one cleaned up two cleaned up");
}
END_TEST

static void close_deferred(void *arg)
{
	close_coro(arg);
}

static void *defer_the_close(void *arg)
{
	must(bide_defer(close_deferred, arg) == 0);
	begin_coro(arg);
	return NULL;
}

VIRTUAL_TEST(deferred_calls_of_the_owner_may_still_close_it)
{
	must_end_well(must_spawn(defer_the_close, new_coro(yield_once, "it")));
	expect_notes("it cleaned up");
}

static bool may_end;

static void *yield_for_ever(void *arg)
{
	while (!may_end)
		bide_coro_yield(NULL);
	return arg;
}

/* Then it is the caller's, who may resume it. */
VIRTUAL_TEST(who_closes_what_nobody_owns_owns_it)
{
	bide_coro *coro = new_coro(yield_for_ever, NULL);
	may_end = false;
	must_end_well(must_spawn(begin_and_end, coro));
	ck_fails(bide_coro_close(coro), EDEADLK);
	must_end_well(must_spawn(use_what_is_not_its_own, coro));
	ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 1);
	may_end = true;
	close_coro(coro);
}

/* ---- bide_exit() inside ------------------------------------------------------------------------------------ */

static bide_coro *tower[3];

static void *exit_from_within(void *arg)
{
	int level = *(int *)arg;
	if (level == 2)
		bide_exit("exited");
	level++;
	tower[level] = new_coro(exit_from_within, &level);
	bide_coro_resume(tower[level], NULL, NULL);
	note("returned");
	return NULL;
}

static void *run_what_exits(void *arg)
{
	int level = 0;
	bide_coro *bystander = arg;
	must(bide_defer(note_arg, "deferred") == 0);
	begin_coro(bystander);
	tower[0] = new_coro(exit_from_within, &level);
	bide_coro_resume(tower[0], NULL, NULL);
	note("returned");
	return NULL;
}

VIRTUAL_TEST(exit_inside_a_tower_ends_its_coroutines_and_the_task)
{
	for (int i = 0; i < 10; i++) {
		bide_coro *bystander = new_coro(yield_once, "bystander");
		ck_assert_str_eq(must_end_well(must_spawn(run_what_exits, bystander)), "exited");
		expect_notes("deferred");
		forget_notes();
		for (int j = 0; j < 3; j++) {
			must(bide_coro_state(tower[j]) == BIDE_CORO_CLOSED);
			close_coro(tower[j]);
		}
		close_coro(bystander);
		expect_notes("bystander cleaned up");
		forget_notes();
	}
}

static void *exit_when_closed(void *arg)
{
	bide_coro_yield(NULL);
	bide_exit(arg);
}

static void *close_what_exits(void *arg)
{
	begin_coro(arg);
	bide_coro_close(arg);
	note("returned");
	return NULL;
}

VIRTUAL_TEST(exit_in_a_body_that_is_being_closed_ends_the_task_that_closes)
{
	bide_coro *coro = new_coro(exit_when_closed, "exited");
	ck_assert_str_eq(must_end_well(must_spawn(close_what_exits, coro)), "exited");
	must(bide_coro_state(coro) == BIDE_CORO_CLOSED);
	close_coro(coro);
	expect_notes("");
}

/* ---- tasks that never run again ------------------------------------------------------------------------------- */

static void *park_for_ever(void *arg)
{
	for (may_end = false; !may_end;)
		bide_sleep(3600 * BIDE_SEC);
	return arg;
}

static void *put_another_on_top(void *arg)
{
	bide_coro **coros = arg;
	begin_coro(coros[2]);
	bide_coro_resume(coros[1], NULL, NULL);
	return NULL;
}

static void *be_stubborn(void *arg)
{
	bide_coro_resume(*(bide_coro **)arg, NULL, NULL);
	return NULL;
}

static void *leave_it_behind(void *arg)
{
	must_spawn(be_stubborn, arg);
	pass(1);
	return NULL;
}

START_TEST(coroutines_of_a_task_that_was_given_up_can_be_closed)
{
	bide_coro *coros[3];
	struct reports reports = { .count = { 0 } };
	bide_config config = config_with(0, &reports);
	coros[0] = new_coro(put_another_on_top, coros);
	coros[1] = new_coro(park_for_ever, NULL);
	coros[2] = new_coro(yield_once, "the third");
	ck_fails(bide_run(leave_it_behind, coros, &config, NULL), EBUSY);
	expect_all_but_the_third_closed(coros);
}
END_TEST

int main(void)
{
	return SUITE("coro_owner", TEST(a_task_with_the_record_of_the_owner_is_not_the_owner),
	    TEST(a_thread_in_the_place_of_the_owner_is_not_the_owner),
	    TEST(one_made_here_may_begin_elsewhere_while_this_thread_trims),
	    TEST(coroutines_in_which_a_thread_exits_can_be_closed),
	    TEST(what_a_loop_left_behind_can_be_closed_outside_and_in_the_next_one),
	    TEST(deferred_calls_of_the_owner_may_still_close_it), TEST(who_closes_what_nobody_owns_owns_it),
	    TEST(exit_inside_a_tower_ends_its_coroutines_and_the_task),
	    TEST(exit_in_a_body_that_is_being_closed_ends_the_task_that_closes),
	    TEST(coroutines_of_a_task_that_was_given_up_can_be_closed));
}
