/* SPDX-License-Identifier: MIT
 * Bad input to each call of api.h, loop.h, task.h, time.h, cancel.h, coro.h and testing.h: the errno that
 * the header names, no effect, nothing leaked. Handles that are stale: test_task.c; coroutines of others:
 * test_coro.c; timers of other loops: test_timer.c. */
#include <pthread.h>
#include <stdlib.h>

#include "resources.h"
#include "runs.h"
#include "trace.h"

static bide_task *a_task; /* of the loop under test: parked */
static bide_timer a_timer, idle_timer;
static bide_ticker a_ticker, no_ticker;
static const bide_key a_key;
static bide_result untouched = { &untouched, 77 };

static void *never_entered(void *arg)
{
	(void)arg;
	ck_abort_msg("entered");
}

static void never_called(void *arg)
{
	(void)arg;
	ck_abort_msg("called");
}

/* ---- the calls ------------------------------------------------------------------------------------------- */

/* Each gives 0 or -1 as the call does; a NULL, or an id of 0, counts as -1. */
#define NULL_IS_FAILURE(pointer) ((pointer) ? 0 : -1)

static bide_task_attr attr_with(size_t size, unsigned flags, size_t stack_size, void *stack)
{
	return (bide_task_attr){ size, NULL, flags, stack_size, stack, never_called };
}

static int spawn_with(size_t size, unsigned flags, size_t stack_size, void *stack)
{
	bide_task_attr attr = attr_with(size, flags, stack_size, stack);
	return NULL_IS_FAILURE(bide_spawn_with(never_entered, NULL, &attr));
}

#define CALL(name, expression)                                                                     \
	static int name(void)                                                                          \
	{                                                                                              \
		return expression;                                                                         \
	}

CALL(spawn, NULL_IS_FAILURE(bide_spawn(never_entered, NULL)))
CALL(spawn_null, NULL_IS_FAILURE(bide_spawn(NULL, NULL)))
CALL(spawn_with_null, NULL_IS_FAILURE(bide_spawn_with(NULL, NULL, NULL)))
CALL(spawn_size_0, spawn_with(0, 0, 0, NULL))
CALL(spawn_size_less, spawn_with(sizeof(bide_task_attr) - 1, 0, 0, NULL))
CALL(spawn_size_more, spawn_with(sizeof(bide_task_attr) + 8, 0, 0, NULL))
CALL(spawn_size_huge, spawn_with(SIZE_MAX, 0, 0, NULL))
CALL(spawn_flag_8, spawn_with(sizeof(bide_task_attr), 0x8u, 0, NULL))
CALL(spawn_flag_high, spawn_with(sizeof(bide_task_attr), 0x80000000u, 0, NULL))
CALL(spawn_flags_all, spawn_with(sizeof(bide_task_attr), ~0u, 0, NULL))
CALL(spawn_eager, spawn_with(sizeof(bide_task_attr), BIDE_EAGER, 0, NULL))
CALL(spawn_stack_without_size, spawn_with(sizeof(bide_task_attr), 0, 0, &a_timer))
CALL(spawn_own_stack_tiny, spawn_with(sizeof(bide_task_attr), 0, 100, &a_timer))
CALL(spawn_stack_tiny, spawn_with(sizeof(bide_task_attr), 0, 1, NULL))
CALL(spawn_stack_4095, spawn_with(sizeof(bide_task_attr), 0, 4095, NULL))
CALL(spawn_stack_huge, spawn_with(sizeof(bide_task_attr), 0, SIZE_MAX, NULL))
CALL(spawn_stack_half, spawn_with(sizeof(bide_task_attr), 0, SIZE_MAX / 2, NULL))
CALL(spawn_stack_minus_4096, spawn_with(sizeof(bide_task_attr), 0, (size_t)-4096, NULL))
CALL(go, bide_go(never_entered, NULL))
CALL(go_null, bide_go(NULL, NULL))
CALL(join, bide_join(a_task, &untouched))
CALL(join_null, bide_join(NULL, &untouched))
CALL(detach, bide_detach(a_task))
CALL(detach_null, bide_detach(NULL))
CALL(ref, NULL_IS_FAILURE(bide_task_ref(a_task)))
CALL(ref_null, NULL_IS_FAILURE(bide_task_ref(NULL)))
CALL(state, bide_task_state(a_task))
CALL(state_null, bide_task_state(NULL))
CALL(id, NULL_IS_FAILURE(bide_task_id(a_task)))
CALL(id_null, NULL_IS_FAILURE(bide_task_id(NULL)))
CALL(set_name, bide_task_set_name(a_task, "x"))
CALL(set_name_self, bide_task_set_name(NULL, "x"))
CALL(name, NULL_IS_FAILURE(bide_task_name(a_task)))
CALL(name_self, NULL_IS_FAILURE(bide_task_name(NULL)))
CALL(yield_, bide_yield())
CALL(fail_, NULL_IS_FAILURE(bide_fail(EIO)))
CALL(defer, bide_defer(never_called, NULL))
CALL(defer_null, bide_defer(NULL, NULL))
CALL(undefer, bide_undefer(true))
CALL(local_set, bide_local_set(&a_key, "x"))
CALL(local_set_null, bide_local_set(NULL, "x"))
CALL(sleep_, bide_sleep(1))
CALL(sleep_nothing, bide_sleep(0))
CALL(sleep_negative, bide_sleep(INT64_MIN))
CALL(sleep_never, bide_sleep(BIDE_NEVER))
CALL(sleep_until, bide_sleep_until(BIDE_NEVER))
CALL(call_soon, bide_call_soon(never_called, NULL))
CALL(call_soon_null, bide_call_soon(NULL, NULL))
CALL(call_at, bide_call_at(&idle_timer, 0, never_called, NULL))
CALL(call_at_no_timer, bide_call_at(NULL, 0, never_called, NULL))
CALL(call_at_no_fn, bide_call_at(&idle_timer, 0, NULL, NULL))
CALL(call_at_no_fn_armed, bide_call_at(&a_timer, 0, NULL, NULL))
CALL(call_later, bide_call_later(&idle_timer, 1, never_called, NULL))
CALL(call_later_no_timer, bide_call_later(NULL, 1, never_called, NULL))
CALL(call_later_no_fn, bide_call_later(&idle_timer, INT64_MIN, NULL, NULL))
CALL(timer_cancel, bide_timer_cancel(&a_timer))
CALL(timer_cancel_null, bide_timer_cancel(NULL))
CALL(ticker_init, bide_ticker_init(&no_ticker, 1, BIDE_TICK_SKIP))
CALL(ticker_null, bide_ticker_init(NULL, 1, BIDE_TICK_SKIP))
CALL(ticker_0, bide_ticker_init(&no_ticker, 0, BIDE_TICK_SKIP))
CALL(ticker_negative, bide_ticker_init(&no_ticker, -1, BIDE_TICK_SKIP))
CALL(ticker_minimum, bide_ticker_init(&no_ticker, INT64_MIN, BIDE_TICK_SKIP))
CALL(ticker_policy_negative, bide_ticker_init(&no_ticker, 1, -1))
CALL(ticker_policy_3, bide_ticker_init(&no_ticker, 1, 3))
CALL(ticker_policy_huge, bide_ticker_init(&no_ticker, 1, INT32_MAX))
CALL(tick, bide_tick(&a_ticker, NULL))
CALL(tick_null, bide_tick(NULL, NULL))
CALL(tick_not_initialized, bide_tick(&no_ticker, NULL))
CALL(cancel, bide_cancel(a_task, "x"))
CALL(cancel_null, bide_cancel(NULL, "x"))
CALL(uncancel, bide_uncancel())
CALL(checkpoint_, bide_checkpoint())
CALL(stop, bide_stop())
CALL(settle_, bide_settle())
CALL(advance, bide_clock_advance(1))
CALL(advance_negative, bide_clock_advance(-1))
CALL(advance_minimum, bide_clock_advance(INT64_MIN))
CALL(coro_null, NULL_IS_FAILURE(bide_coro_new(NULL, NULL, 0)))
CALL(coro_tiny, NULL_IS_FAILURE(bide_coro_new(never_entered, NULL, 1)))
CALL(coro_huge, NULL_IS_FAILURE(bide_coro_new(never_entered, NULL, SIZE_MAX)))
CALL(coro_minus_4096, NULL_IS_FAILURE(bide_coro_new(never_entered, NULL, (size_t)-4096)))
CALL(coro_resume_null, bide_coro_resume(NULL, NULL, NULL))
CALL(coro_state_null, bide_coro_state(NULL))
CALL(coro_close_null, bide_coro_close(NULL))
CALL(coro_yield, NULL_IS_FAILURE(bide_coro_yield("x")))
CALL(fault_nonsense, bide_fault("nonsense"))

struct refusal {
	const char *name;
	int (*fn)(void);
	int err;
};

#define REFUSE(fn, err) { #fn, fn, err }

/* In a task of the loop itself. */
static const struct refusal in_a_task[] = {
	REFUSE(spawn_null, EINVAL), REFUSE(spawn_with_null, EINVAL), REFUSE(spawn_size_0, EINVAL),
	REFUSE(spawn_size_less, EINVAL), REFUSE(spawn_size_more, EINVAL), REFUSE(spawn_size_huge, EINVAL),
	REFUSE(spawn_flag_8, EINVAL), REFUSE(spawn_flag_high, EINVAL), REFUSE(spawn_flags_all, EINVAL),
	REFUSE(spawn_stack_without_size, EINVAL), REFUSE(spawn_own_stack_tiny, EINVAL), REFUSE(spawn_stack_tiny, EINVAL),
	REFUSE(spawn_stack_4095, EINVAL), REFUSE(spawn_stack_huge, EINVAL), REFUSE(spawn_stack_half, EINVAL),
	REFUSE(spawn_stack_minus_4096, EINVAL), REFUSE(go_null, EINVAL), REFUSE(join_null, EINVAL),
	REFUSE(detach_null, EINVAL), REFUSE(ref_null, EINVAL), REFUSE(state_null, EINVAL), REFUSE(id_null, EINVAL),
	REFUSE(defer_null, EINVAL), REFUSE(undefer, ENOENT), REFUSE(local_set_null, EINVAL), REFUSE(call_soon_null, EINVAL),
	REFUSE(call_at_no_timer, EINVAL), REFUSE(call_at_no_fn, EINVAL), REFUSE(call_at_no_fn_armed, EINVAL),
	REFUSE(call_later_no_timer, EINVAL), REFUSE(call_later_no_fn, EINVAL), REFUSE(timer_cancel_null, EINVAL),
	REFUSE(ticker_null, EINVAL), REFUSE(ticker_0, EINVAL), REFUSE(ticker_negative, EINVAL),
	REFUSE(ticker_minimum, EINVAL), REFUSE(ticker_policy_negative, EINVAL), REFUSE(ticker_policy_3, EINVAL),
	REFUSE(ticker_policy_huge, EINVAL), REFUSE(tick_null, EINVAL), REFUSE(tick_not_initialized, EINVAL),
	REFUSE(cancel_null, EINVAL), REFUSE(advance_negative, EINVAL), REFUSE(advance_minimum, EINVAL),
	REFUSE(coro_null, EINVAL), REFUSE(coro_tiny, EINVAL), REFUSE(coro_huge, EINVAL), REFUSE(coro_minus_4096, EINVAL),
	REFUSE(coro_resume_null, EINVAL), REFUSE(coro_state_null, EINVAL), REFUSE(coro_close_null, EINVAL),
	REFUSE(coro_yield, EPERM), REFUSE(fault_nonsense, EINVAL),
};

/* In a callback of the loop. */
static const struct refusal in_a_callback[] = {
	REFUSE(spawn_null, EINVAL), REFUSE(spawn_eager, EINVAL), REFUSE(spawn_flag_8, EINVAL), REFUSE(join, EPERM),
	REFUSE(join_null, EPERM), REFUSE(set_name_self, EPERM), REFUSE(name_self, EPERM), REFUSE(yield_, EPERM),
	REFUSE(fail_, EPERM), REFUSE(defer, EPERM), REFUSE(defer_null, EPERM), REFUSE(undefer, EPERM),
	REFUSE(local_set, EPERM), REFUSE(sleep_, EPERM), REFUSE(sleep_nothing, EPERM), REFUSE(sleep_negative, EPERM),
	REFUSE(sleep_never, EPERM), REFUSE(sleep_until, EPERM), REFUSE(tick, EPERM), REFUSE(uncancel, EPERM),
	REFUSE(checkpoint_, EPERM), REFUSE(settle_, EPERM), REFUSE(advance, EPERM), REFUSE(coro_yield, EPERM),
	REFUSE(detach_null, EINVAL), REFUSE(cancel_null, EINVAL), REFUSE(call_soon_null, EINVAL),
};

/* On a thread that runs no loop. */
static const struct refusal on_a_plain_thread[] = {
	REFUSE(spawn, EPERM), REFUSE(spawn_null, EINVAL), REFUSE(go, EPERM), REFUSE(go_null, EINVAL), REFUSE(join, EPERM),
	REFUSE(detach, EPERM), REFUSE(ref, EPERM), REFUSE(state, EPERM), REFUSE(id, EPERM), REFUSE(set_name, EPERM),
	REFUSE(set_name_self, EPERM), REFUSE(name, EPERM), REFUSE(name_self, EPERM), REFUSE(yield_, EPERM),
	REFUSE(fail_, EPERM), REFUSE(defer, EPERM), REFUSE(undefer, EPERM), REFUSE(local_set, EPERM), REFUSE(sleep_, EPERM),
	REFUSE(sleep_nothing, EPERM), REFUSE(sleep_negative, EPERM), REFUSE(sleep_never, EPERM), REFUSE(sleep_until, EPERM),
	REFUSE(call_soon, EPERM), REFUSE(call_soon_null, EINVAL), REFUSE(call_at, EPERM), REFUSE(call_at_no_timer, EINVAL),
	REFUSE(call_later, EPERM), REFUSE(timer_cancel, EPERM), REFUSE(timer_cancel_null, EINVAL),
	REFUSE(ticker_init, EPERM), REFUSE(ticker_null, EINVAL), REFUSE(tick, EPERM), REFUSE(tick_null, EINVAL),
	REFUSE(cancel, EPERM), REFUSE(cancel_null, EINVAL), REFUSE(uncancel, EPERM), REFUSE(checkpoint_, EPERM),
	REFUSE(stop, EPERM), REFUSE(settle_, EPERM), REFUSE(advance, EPERM), REFUSE(coro_yield, EPERM),
	REFUSE(detach_null, EINVAL), REFUSE(state_null, EINVAL), REFUSE(ref_null, EINVAL),
};

/* In a task of another loop. */
static const struct refusal of_foreign_handles[] = {
	REFUSE(join, EPERM), REFUSE(detach, EPERM), REFUSE(ref, EPERM), REFUSE(state, EPERM), REFUSE(id, EPERM),
	REFUSE(set_name, EPERM), REFUSE(name, EPERM), REFUSE(cancel, EPERM),
};
static const struct refusal of_foreign_timers[] = { REFUSE(timer_cancel, EPERM) };

/* ---- what must not change ---------------------------------------------------------------------------------- */

static struct counting counting;
static bide_time clock_before;
static size_t blocks_before;
static int fds_before;
static uint64_t turn_before;

static void look(void)
{
	clock_before = bide_now();
	blocks_before = counting.blocks;
	fds_before = count_fds();
	undisturbed();
	turn_before = loop_current->ready.turn;
}

static void check_that_nothing_changed(const char *what)
{
	sched_check(loop_current);
	must_msg(bide_now() == clock_before && counting.blocks == blocks_before && count_fds() == fds_before &&
	    loop_current->ready.turn == turn_before, "%s had an effect", what);
	must(loop_current->tasks.live == 2 && bide_task_state(a_task) == BIDE_TASK_SUSPENDED);
	must(strcmp(bide_task_name(a_task), "parked") == 0);
	must(untouched.value == &untouched && untouched.err == 77);
}

static void try_all(const struct refusal *refusals, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		errno = 0;
		int status = refusals[i].fn(), err = errno;
		must_msg(status == -1, "%s succeeded", refusals[i].name);
		must_msg(err == refusals[i].err, "%s failed with %s", refusals[i].name, strerror(err));
		bide_task_unref(a_task);
		bide_task_unref(NULL);
	}
}

#define TRY_ALL(table) try_all(table, sizeof(table) / sizeof *(table))

/* The task, timer and ticker that the calls are aimed at. */
static void make_targets(void)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.name = "parked";
	a_task = bide_spawn_with(forever_sleeper, NULL, &attr);
	a_timer = idle_timer = (bide_timer){ { 0 } };
	no_ticker = (bide_ticker){ { 0 } };
	must(bide_call_later(&a_timer, 3600 * BIDE_SEC, never_called, NULL) == 0);
	must(bide_ticker_init(&a_ticker, BIDE_SEC, BIDE_TICK_SKIP) == 0);
	settle();
}

static void run_and_try(bide_fn *main_fn, void *arg)
{
	counting_init(&counting, true);
	run_counted(&counting, BIDE_VIRTUAL_CLOCK, main_fn, arg);
}

static void *try_in_a_task(void *arg)
{
	make_targets();
	look();
	TRY_ALL(in_a_task);
	check_that_nothing_changed("a call in a task");
	return arg;
}

START_TEST(calls_in_a_task_are_refused)
{
	run_and_try(try_in_a_task, NULL);
}
END_TEST

static void callback(void *arg)
{
	(void)arg;
	look();
	TRY_ALL(in_a_callback);
	check_that_nothing_changed("a call in a callback");
	note("tried");
}

static void *try_in_a_callback(void *arg)
{
	make_targets();
	must(bide_call_soon(callback, NULL) == 0);
	must(bide_yield() == 0);
	return arg;
}

START_TEST(calls_in_a_callback_are_refused)
{
	run_and_try(try_in_a_callback, NULL);
	expect_notes("tried");
}
END_TEST

/* The thread under test is joined with pthread_join, so the loop stands still meanwhile. */
static void *plain_thread(void *arg)
{
	TRY_ALL(on_a_plain_thread);
	must(!bide_self() && !bide_loop_self() && bide_canceling() == 0 && !bide_cancel_reason() && !bide_local_get(&a_key));
	return arg;
}

static void *task_of_another_loop(void *arg)
{
	TRY_ALL(of_foreign_handles);
	TRY_ALL(of_foreign_timers);
	return arg;
}

static void *thread_with_a_loop(void *arg)
{
	run_virtual(task_of_another_loop, NULL);
	return arg;
}

static void *try_on_another_thread(void *arg)
{
	pthread_t thread;
	make_targets();
	look();
	must(pthread_create(&thread, NULL, *(int *)arg ? thread_with_a_loop : plain_thread, NULL) == 0);
	pthread_join(thread, NULL);
	check_that_nothing_changed("a call on another thread");
	return NULL;
}

/* semantics 12, 13, 63 */
START_TEST(calls_on_another_thread_are_refused)
{
	run_and_try(try_on_another_thread, &_i);
}
END_TEST

START_TEST(calls_before_any_run_are_refused)
{
	a_task = NULL;
	for (size_t i = 0; i < sizeof on_a_plain_thread / sizeof *on_a_plain_thread; i++) {
		const struct refusal *refusal = &on_a_plain_thread[i];
		errno = 0;
		must_msg(refusal->fn() == -1 || refusal->fn == timer_cancel, "%s succeeded", refusal->name);
	}
	bide_task_unref(NULL);
}
END_TEST

/* ---- handles of a run that is over ------------------------------------------------------------------------------ */

static bide_task *old_handles[3];

static void *keep_handles(void *arg)
{
	old_handles[0] = must_spawn(nothing, NULL);
	old_handles[1] = must_spawn(forever_sleeper, NULL);
	old_handles[2] = bide_self();
	must(bide_task_ref(old_handles[0]) != NULL);
	settle();
	return arg;
}

static void *use_old_handles(void *arg)
{
	/* As many and more of the present run, so that their memory may be used again. */
	bide_task *young[10];
	for (int i = 0; i < 10; i++)
		young[i] = must_spawn(forever_sleeper, NULL);
	settle();
	for (int i = 0; i < 3; i++) {
		a_task = old_handles[i];
		TRY_ALL(of_foreign_handles);
	}
	for (int i = 0; i < 10; i++)
		must(bide_task_state(young[i]) == BIDE_TASK_SUSPENDED);
	return arg;
}

START_TEST(handles_of_a_run_that_is_over_are_refused)
{
	run_virtual(keep_handles, NULL);
	for (int runs = 0; runs < 5; runs++)
		for (int i = 0; i < 3; i++) {
			a_task = old_handles[i];
			ck_fails(bide_cancel(a_task, NULL), EPERM);
			ck_fails(bide_task_state(a_task), EPERM);
			run_virtual(nothing, NULL);
		}
}
END_TEST

START_TEST(handles_of_a_run_that_is_over_are_refused_in_the_next)
{
	struct counting mine;
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	counting_init(&mine, true); /* fills what is freed with rubbish */
	config.flags = BIDE_VIRTUAL_CLOCK;
	config.allocator = &mine.allocator;
	ck_assert_int_eq(bide_run(keep_handles, NULL, &config, &result), 0);
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(bide_run(use_old_handles, NULL, i % 2 ? NULL : &config, &result), 0);
		ck_assert_int_eq(result.err, 0);
	}
}
END_TEST

/* ---- bide_run ------------------------------------------------------------------------------------------------------ */

static void bad_size_0(bide_config *config) { config->size = 0; }
static void bad_size_less(bide_config *config) { config->size--; }
static void bad_size_more(bide_config *config) { config->size += 8; }
static void bad_size_huge(bide_config *config) { config->size = SIZE_MAX; }
static void bad_flag_high(bide_config *config) { config->flags = 0x80000000u; }
static void bad_flag_middle(bide_config *config) { config->flags = BIDE_VIRTUAL_CLOCK | 0x10000u; }
static void bad_flags_all(bide_config *config) { config->flags = ~0u; }
static void bad_grace(bide_config *config) { config->shutdown_grace = -1; }
static void bad_grace_minimum(bide_config *config) { config->shutdown_grace = INT64_MIN; }
static void bad_trim(bide_config *config) { config->trim_after = -1; }
static void bad_stack_tiny(bide_config *config) { config->stack_size = 1; }
static void bad_stack_4095(bide_config *config) { config->stack_size = 4095; }
static void bad_stack_huge(bide_config *config) { config->stack_size = SIZE_MAX; }
static void bad_stack_minus_4096(bide_config *config) { config->stack_size = (size_t)-4096; }

static void bad_half_of_hooks(bide_config *config, bool no_alloc, bool stacks)
{
	static struct counting half;
	counting_init(&half, true);
	if (stacks && no_alloc)
		half.allocator.stack_alloc = NULL;
	else if (stacks)
		half.allocator.stack_free = NULL;
	else if (no_alloc)
		half.allocator.alloc = NULL;
	else
		half.allocator.free = NULL;
	config->allocator = &half.allocator;
}

static void bad_no_alloc(bide_config *config) { bad_half_of_hooks(config, true, false); }
static void bad_no_free(bide_config *config) { bad_half_of_hooks(config, false, false); }
static void bad_no_stack_alloc(bide_config *config) { bad_half_of_hooks(config, true, true); }
static void bad_no_stack_free(bide_config *config) { bad_half_of_hooks(config, false, true); }

static void (*const bad_configs[])(bide_config *) = { bad_size_0, bad_size_less, bad_size_more, bad_size_huge,
	bad_flag_high, bad_flag_middle, bad_flags_all, bad_grace, bad_grace_minimum, bad_trim, bad_stack_tiny,
	bad_stack_4095, bad_stack_huge, bad_stack_minus_4096, bad_no_alloc, bad_no_free, bad_no_stack_alloc,
	bad_no_stack_free };

START_TEST(a_bad_config_is_refused)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result = { &result, 77 };
	bad_configs[_i](&config);
	ck_fails(bide_run(never_entered, NULL, &config, &result), EINVAL);
	ck_assert_int_eq(result.err, EINVAL);
	ck_assert_ptr_null(result.value);
	ck_fails(bide_run(never_entered, NULL, &config, NULL), EINVAL);
	run_virtual(nothing, NULL);
}
END_TEST

START_TEST(a_run_needs_a_function)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result = { &result, 77 };
	ck_fails(bide_run(NULL, NULL, NULL, &result), EINVAL);
	ck_assert_int_eq(result.err, EINVAL);
	ck_fails(bide_run(NULL, NULL, &config, NULL), EINVAL);
}
END_TEST

static void *run_null_inside(void *arg)
{
	ck_fails(bide_run(NULL, NULL, NULL, NULL), EINVAL);
	ck_fails(bide_run(never_entered, NULL, NULL, NULL), EBUSY);
	return arg;
}

START_TEST(a_bad_run_inside_a_run_harms_nobody)
{
	ck_assert_str_eq(run_virtual(run_null_inside, "fine"), "fine");
}
END_TEST

/* ---- names and reasons that are no trouble --------------------------------------------------------------------------- */

VIRTUAL_TEST(what_may_be_null_may_be_null)
{
	bide_time second = BIDE_SEC;
	bide_task *task = must_spawn(sleeper, &second);
	ck_assert_int_eq(bide_task_set_name(task, NULL), 0);
	ck_assert_str_eq(bide_task_name(task), "");
	ck_assert_int_eq(bide_cancel(task, NULL), 0);
	ck_assert_int_eq(bide_join(task, NULL), 0);
	ck_assert_int_eq(bide_local_set(&a_key, NULL), 0);
	ck_assert_ptr_null(bide_local_get(NULL));
	ck_assert_int_eq(bide_fault(NULL), 0);
	ck_assert_int_eq(bide_ticker_init(&a_ticker, 1, BIDE_TICK_SKIP), 0);
	ck_assert_int_eq(bide_tick(&a_ticker, NULL), 0);
}

int main(void)
{
	return SUITE("bad input",
	    TEST(calls_in_a_task_are_refused),
	    TEST(calls_in_a_callback_are_refused),
	    LOOP(calls_on_another_thread_are_refused, 0, 2),
	    TEST(calls_before_any_run_are_refused),
	    TEST(handles_of_a_run_that_is_over_are_refused),
	    TEST(handles_of_a_run_that_is_over_are_refused_in_the_next),
	    TABLE(a_bad_config_is_refused, bad_configs),
	    TEST(a_run_needs_a_function),
	    TEST(a_bad_run_inside_a_run_harms_nobody),
	    TEST(what_may_be_null_may_be_null));
}
