/* SPDX-License-Identifier: MIT
 * Callbacks that change what is just being called, and callbacks that are taken back while they are due or come
 * all the time. Statements 91, 95, 100, 101, 105; scenarios H6, H7. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/random.h"
#include "runs.h"
#include "trace.h"

/* ---- each kind, once: scenario H6 ------------------------------------------------------------------------ */

static void note_done(bide_future *future, void *arg)
{
	(void)future;
	note_arg(arg);
}

static void *note_run(void *arg)
{
	note_arg(arg);
	return NULL;
}

static bide_future *first, *other;
static bide_timer *timers[4];
static char second[] = "second", third[] = "third";

static void spawn_noted(bide_future *future, void *arg)
{
	(void)future;
	must_spawn(note_run, arg);
}

/* Removes the second, adds a third, resolves another future, whose callback spawns. */
static void change_all(bide_future *future, void *arg)
{
	note_arg(arg);
	must(bide_off_done(future, note_done, second) == 1);
	must(bide_on_done(future, note_done, third) == 0);
	must(bide_on_done(other, spawn_noted, "spawned") == 0);
	must(bide_future_set(other, NULL) == 0);
}

static void change_all_and_free(bide_future *future, void *arg)
{
	change_all(future, arg);
	must(bide_future_destroy(future) == 0);
	free(future);
	first = NULL;
}

/* _i: the callback also frees the future; then the third goes with it. */
ORDERED_TEST(a_callback_of_a_future_may_change_and_free_it)
{
	bide_future on_stack = { { 0 } };
	other = &on_stack;
	first = calloc(1, sizeof *first);
	must(bide_on_done(first, _i ? change_all_and_free : change_all, "first") == 0);
	must(bide_on_done(first, note_done, second) == 0);
	must(bide_future_set(first, NULL) == 0);
	settle();
	expect_notes(_i ? "first spawned" : "first third spawned");
	must(bide_future_destroy(other) == 0);
	if (first)
		must(bide_future_destroy(first) == 0);
	free(first);
}

static void note_timer(void *arg)
{
	note("timer%d", (int)(intptr_t)arg);
}

/* The first of several that are due together: cancels the second, arms the third anew, frees itself. */
static void change_timers(void *arg)
{
	note_arg(arg);
	must(bide_timer_cancel(timers[0]) == 0); /* it runs just now */
	free(timers[0]);
	must(bide_timer_cancel(timers[1]) == 1);
	free(timers[1]);
	must(bide_timer_cancel(timers[2]) == 1);
	must(bide_call_later(timers[2], 0, note_timer, (void *)9) == 0);
}

ORDERED_TEST(a_callback_of_a_timer_may_change_and_free_those_that_are_due)
{
	bide_time when = bide_after(BIDE_SEC);
	for (intptr_t i = 0; i < 4; i++) {
		timers[i] = calloc(1, sizeof *timers[i]);
		must(bide_call_at(timers[i], when, i ? note_timer : change_timers, i ? (void *)i : "first") == 0);
	}
	pass(2 * BIDE_SEC);
	expect_notes("first timer3 timer9");
	free(timers[2]);
	free(timers[3]);
}

/* ---- all of them, at random: scenario H6 -------------------------------------------------------------------- */

#define OBJECTS 20
#define CALLBACKS 20000

/* A registration: it runs once, unless it was taken back or its object went. */
struct expected {
	int object;
	bool has_ended; /* ran, or was taken back */
};

static struct {
	struct random dice;
	bide_future *futures[OBJECTS];
	bide_timer *timers[OBJECTS];
	struct expected *of_timer[OBJECTS]; /* NULL: not armed */
	struct expected *all;               /* of futures, then of timers, as they come */
	int count, ran, removed;
} chaos;

static int below(int limit)
{
	return (int)random_below(&chaos.dice, (uint64_t)limit);
}

static struct expected *expect_one(int object)
{
	struct expected *expected = &chaos.all[chaos.count++];
	*expected = (struct expected){ .object = object };
	return expected;
}

static void has_run(struct expected *expected)
{
	must(!expected->has_ended);
	expected->has_ended = true;
	chaos.ran++;
}

static void was_removed(struct expected *expected)
{
	must(!expected->has_ended);
	expected->has_ended = true;
	chaos.removed++;
}

static void change_something(void);

static void future_came(bide_future *future, void *arg)
{
	struct expected *expected = arg;
	must(chaos.futures[expected->object] == future);
	has_run(expected);
	change_something();
}

static void timer_came(void *arg)
{
	struct expected *expected = arg;
	must(chaos.of_timer[expected->object] == expected);
	chaos.of_timer[expected->object] = NULL;
	has_run(expected);
	change_something();
}

static void add_callback(int object)
{
	if (chaos.count < CALLBACKS)
		must(bide_on_done(chaos.futures[object], future_came, expect_one(object)) == 0);
}

/* Takes back one that has not run, whichever it is. */
static void remove_callback(int object)
{
	for (int tries = 0; tries < 20 && chaos.count > 0; tries++) {
		struct expected *expected = &chaos.all[below(chaos.count)];
		if (bide_off_done(chaos.futures[object], future_came, expected) == 0)
			continue;
		must(expected->object == object);
		was_removed(expected);
		return;
	}
}

/* With all its callbacks; memory of its own, so that a look at it afterwards is found. */
static void replace_future(int object)
{
	must(bide_future_destroy(chaos.futures[object]) == 0);
	free(chaos.futures[object]);
	must(chaos.futures[object] = calloc(1, sizeof(bide_future)));
	for (int i = 0; i < chaos.count; i++)
		if (chaos.all[i].object == object && !chaos.all[i].has_ended && chaos.of_timer[object] != &chaos.all[i])
			was_removed(&chaos.all[i]);
}

static void arm_timer(int object)
{
	if (chaos.of_timer[object] || chaos.count >= CALLBACKS)
		return;
	chaos.of_timer[object] = expect_one(object);
	must(bide_call_later(chaos.timers[object], below(3), timer_came, chaos.of_timer[object]) == 0);
}

static void remove_timer(int object)
{
	must(bide_timer_cancel(chaos.timers[object]) == (chaos.of_timer[object] ? 1 : 0));
	if (chaos.of_timer[object])
		was_removed(chaos.of_timer[object]);
	chaos.of_timer[object] = NULL;
	free(chaos.timers[object]);
	must(chaos.timers[object] = calloc(1, sizeof(bide_timer)));
}

static void change_something(void)
{
	for (int i = below(4); i >= 0; i--) {
		int object = below(OBJECTS), kind = below(12);
		if (kind < 4)
			add_callback(object);
		else if (kind < 6)
			(void)bide_future_set(chaos.futures[object], NULL);
		else if (kind < 7)
			remove_callback(object);
		else if (kind < 8)
			replace_future(object);
		else if (kind < 11)
			arm_timer(object);
		else
			remove_timer(object);
	}
}

static void begin_chaos(uint64_t seed)
{
	memset(&chaos, 0, sizeof chaos);
	chaos.dice = (struct random){ seed };
	must(chaos.all = calloc(CALLBACKS, sizeof *chaos.all));
	for (int i = 0; i < OBJECTS; i++)
		must((chaos.futures[i] = calloc(1, sizeof(bide_future))) && (chaos.timers[i] = calloc(1, sizeof(bide_timer))));
}

static void end_chaos(void)
{
	for (int i = 0; i < OBJECTS; i++) {
		remove_timer(i);
		replace_future(i);
		free(chaos.timers[i]);
		free(chaos.futures[i]);
	}
	free(chaos.all);
}

VIRTUAL_TEST(whatever_callbacks_do_each_runs_once_unless_it_is_taken_back)
{
	begin_chaos(suite_seed() + (uint64_t)_i);
	for (int round = 0; round < suite_scaled_down(1000, 200); round++) {
		change_something();
		if (below(4) == 0)
			pass(below(3));
		else
			must(bide_yield() == 0);
	}
	settle();
	end_chaos();
	must(chaos.ran > 100 && chaos.removed > 50 && chaos.ran + chaos.removed == chaos.count);
}

/* ---- from another thread: scenario H7 ------------------------------------------------------------------------ */

/* A timer that fires all the time, on the loop; the thread that had it made takes it back and frees it. */
struct watch {
	bide_loop *loop;
	bide_timer timer;
	sem_t removed;
	bool is_removed;
	unsigned fired;
};

static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned fired_in_all; /* under it */

static void fire(void *arg)
{
	struct watch *watch = arg;
	pthread_mutex_lock(&users_lock);
	must(!watch->is_removed);
	watch->fired++;
	fired_in_all++;
	pthread_mutex_unlock(&users_lock);
	must(bide_call_later(&watch->timer, 0, fire, watch) == 0);
}

/* On the loop, where it is synchronous: after it the callback never runs. */
static void remove_watch(void *arg)
{
	struct watch *watch = arg;
	must(bide_timer_cancel(&watch->timer) == 1);
	watch->is_removed = true;
	sem_post(&watch->removed);
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) < 0)
		must(errno == EINTR);
}

/* The request does not wait for the callback, so that it may be made with a lock that the callback takes. */
static void remove_with_the_lock_held(struct watch *watch)
{
	pthread_mutex_lock(&users_lock);
	must(bide_post(watch->loop, remove_watch, watch) == 0);
	pthread_mutex_unlock(&users_lock);
}

static bool has_fired(struct watch *watch)
{
	pthread_mutex_lock(&users_lock);
	bool result = watch->fired > 0;
	pthread_mutex_unlock(&users_lock);
	return result;
}

static void *add_and_remove(void *loop)
{
	for (int i = 0; i < suite_scaled_down(1000, 100); i++) {
		struct watch *watch = calloc(1, sizeof *watch);
		must(watch && sem_init(&watch->removed, 0, 0) == 0);
		watch->loop = loop;
		must(bide_post(loop, fire, watch) == 0);
		while (i % 8 == 0 && !has_fired(watch))
			sched_yield();
		remove_with_the_lock_held(watch);
		wait_for(&watch->removed);
		sem_destroy(&watch->removed);
		free(watch);
	}
	return NULL;
}

static void thread_has_ended(void *event)
{
	must(bide_event_set(event) == 0);
}

struct requester {
	bide_loop *loop;
	bide_event *ended;
};

static void *request_all(void *arg)
{
	struct requester *requester = arg;
	add_and_remove(requester->loop);
	must(bide_post(requester->loop, thread_has_ended, requester->ended) == 0);
	return NULL;
}

#define THREADS 2

REAL_TEST(a_thread_may_free_what_it_had_removed_once_it_is_told)
{
	bide_event ended[THREADS] = { { { 0 } } };
	struct requester requesters[THREADS];
	pthread_t threads[THREADS];
	must(bide_loop_ref(bide_loop_self()) == 0);
	for (int i = 0; i < THREADS; i++) {
		requesters[i] = (struct requester){ bide_loop_self(), &ended[i] };
		must(pthread_create(&threads[i], NULL, request_all, &requesters[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++) {
		must(bide_event_wait(&ended[i]) == 0);
		must(pthread_join(threads[i], NULL) == 0);
	}
	must(bide_loop_unref(bide_loop_self()) == 0);
	ck_assert_uint_gt(fired_in_all, 0);
}

int main(void)
{
	return SUITE("reentry",
	    LOOP(a_callback_of_a_future_may_change_and_free_it, 0, 2),
	    TEST(a_callback_of_a_timer_may_change_and_free_those_that_are_due),
	    LOOP(whatever_callbacks_do_each_runs_once_unless_it_is_taken_back, 0, 6),
	    TEST(a_thread_may_free_what_it_had_removed_once_it_is_told));
}
