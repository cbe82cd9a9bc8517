/* SPDX-License-Identifier: MIT
 * Failures injected at each step of what can fail: a clean error, nothing leaked, what runs goes on, the
 * next attempt works. Semantics 35; the limits of the system itself are in test_run.c. */
#include <stdlib.h>
#include <unistd.h>

#include "resources.h"
#include "runs.h"
#include "trace.h"

static struct counting counting;
static struct reports reports;

static bide_config counted_config(unsigned flags, bool stacks_too)
{
	bide_config config = config_with(flags, &reports);
	memset(&reports, 0, sizeof reports);
	counting_init(&counting, stacks_too);
	config.allocator = &counting.allocator;
	return config;
}

static const char *spec_of(const char *call, const char *err, int k)
{
	static char spec[64];
	snprintf(spec, sizeof spec, "%s:%s@%d", call, err, k);
	return spec;
}

/* ---- bide_run --------------------------------------------------------------------------------------------- */

static const struct {
	const char *call, *name;
	int err;
} run_failures[] = {
	{ "malloc", "ENOMEM", ENOMEM },
	{ "mmap", "ENOMEM", ENOMEM },
	{ "epoll_create", "EMFILE", EMFILE },
	{ "epoll_create", "ENFILE", ENFILE },
	{ "epoll_create", "ENOMEM", ENOMEM },
	{ "eventfd", "EMFILE", EMFILE },
	{ "eventfd", "ENFILE", ENFILE },
	{ "epoll_ctl", "ENOMEM", ENOMEM },
	{ "epoll_ctl", "ENOSPC", ENOSPC },
	{ "sigaltstack", "ENOMEM", ENOMEM },
};

static int entered;

static void *count_entry(void *arg)
{
	entered++;
	return arg;
}

/* The k-th call fails, for every k that is reached before main is entered. */
START_TEST(a_run_that_cannot_begin_says_why_and_leaves_nothing)
{
	int k = 1, fds = count_fds();
	entered = 0;
	for (;; k++) {
		bide_config config = counted_config(0, false);
		bide_result result = { &result, 77 };
		must(k < 100);
		must(bide_fault(spec_of(run_failures[_i].call, run_failures[_i].name, k)) == 0);
		errno = 0;
		int status = bide_run(count_entry, &entered, &config, &result), err = errno;
		bide_fault(NULL);
		must(counting_is_balanced(&counting));
		must(count_fds() == fds && !bide_loop_self());
		if (status == 0)
			break;
		must(entered == 0);
		must_msg(err == run_failures[_i].err && result.err == err && !result.value, "%s@%d: %s",
		    run_failures[_i].call, k, strerror(err));
		run_virtual(nothing, NULL);
	}
	ck_assert_int_eq(entered, 1);
	ck_assert_int_ge(k, 2); /* it did fail, at least once */
}
END_TEST

/* What can be done without is done without. */
static const char *const optional[] = { "munmap:ENOMEM", "madvise:EINVAL", "open:EMFILE", "epoll_wait:EINTR@1" };

START_TEST(a_run_begins_without_what_it_does_not_need)
{
	bide_config config = counted_config(0, false);
	bide_result result = { NULL, 77 };
	ck_assert_int_eq(bide_fault(optional[_i]), 0);
	entered = 0;
	int status = bide_run(count_entry, &entered, &config, &result);
	bide_fault(NULL);
	ck_assert_int_eq(status, 0);
	ck_assert_ptr_eq(result.value, &entered);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

START_TEST(the_user_s_allocator_may_say_no_at_any_time)
{
	for (size_t k = 1;; k++) {
		bide_config config = counted_config(0, true);
		bide_result result = { &result, 77 };
		must(k < 100);
		*(_i ? &counting.stack_fail_at : &counting.fail_at) = k;
		entered = 0;
		int status = bide_run(count_entry, &entered, &config, &result);
		must(counting_is_balanced(&counting));
		must(entered == (status == 0));
		if (status == 0) {
			ck_assert_uint_ge(k, 2);
			return;
		}
		must(errno == ENOMEM && result.err == ENOMEM);
	}
}
END_TEST

/* ---- bide_spawn ---------------------------------------------------------------------------------------------- */

static const bide_key keys[3] = { { .flags = BIDE_KEY_INHERIT }, { .flags = BIDE_KEY_INHERIT },
	{ .flags = BIDE_KEY_INHERIT } };

static void never_dropped(void *arg)
{
	(void)arg;
	ck_abort_msg("the argument of a failed spawn was dropped");
}

static const struct {
	const char *call, *name;
	bool protects; /* guards by mprotect, so that this can fail */
} spawn_failures[] = {
	{ "malloc", "ENOMEM", false },
	{ "mmap", "ENOMEM", false },
	{ "mprotect", "ENOMEM", true },
};

/* A size that nothing else uses, so that each time a stack must be made. */
static bide_task_attr fresh_attr(int i)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.name = "fresh";
	attr.stack_size = (size_t)(300 + 50 * i) * 1024;
	attr.drop = never_dropped;
	return attr;
}

static void *spawn_at_each_step(void *arg)
{
	int i = *(int *)arg, k = 1;
	bide_task_attr attr = fresh_attr(i);
	bide_task *task = NULL;
	for (int j = 0; j < 3; j++)
		must(bide_local_set(&keys[j], &counting) == 0);
	for (;; k++) {
		char spec[128];
		must(k < 100);
		snprintf(spec, sizeof spec, "%s%s", spawn_failures[i].protects ? "madvise:EINVAL," : "",
		    spec_of(spawn_failures[i].call, spawn_failures[i].name, k));
		size_t live = loop_current->tasks.live;
		must(bide_fault(spec) == 0);
		errno = 0;
		task = bide_spawn_with(nothing, "value", &attr);
		int err = errno;
		bide_fault(NULL);
		sched_check(loop_current);
		if (task)
			break;
		must_msg(err == ENOMEM, "%s: %s", spec, strerror(err));
		must(loop_current->tasks.live == live);
		pass(1); /* what lives goes on */
	}
	must(k >= 2);
	must(strcmp(must_end_well(task), "value") == 0);
	return NULL;
}

START_TEST(a_spawn_that_fails_at_any_step_consumes_nothing)
{
	bide_config config = counted_config(BIDE_VIRTUAL_CLOCK, false);
	bide_result result;
	ck_assert_int_eq(bide_run(spawn_at_each_step, &_i, &config, &result), 0);
	ck_assert_int_eq(result.err, 0);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

/* Failing over and over again takes nothing more. */
static void *fail_often(void *arg)
{
	bide_task_attr attr = fresh_attr(*(int *)arg + 10);
	char spec[64];
	size_t bytes = 0;
	int mappings = 0;
	for (int i = 0; i < 200; i++) {
		snprintf(spec, sizeof spec, "malloc:ENOMEM@%d", *(int *)arg);
		must(bide_fault(*(int *)arg ? spec : "mmap:ENOMEM") == 0);
		bide_task *task = bide_spawn_with(nothing, NULL, &attr);
		bide_fault(NULL);
		if (task) {
			must_end_well(task);
			return NULL; /* so many steps there are not */
		}
		if (i == 10) {
			bytes = counting.bytes;
			mappings = count_mappings();
		}
	}
	must(counting.bytes == bytes);
	must(!suite_is_native() || count_mappings() <= mappings + 2);
	must_end_well(bide_spawn_with(nothing, NULL, &attr));
	return NULL;
}

START_TEST(failing_often_costs_nothing)
{
	bide_config config = counted_config(BIDE_VIRTUAL_CLOCK, false);
	bide_result result;
	ck_assert_int_eq(bide_run(fail_often, &_i, &config, &result), 0);
	ck_assert_int_eq(result.err, 0);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

/* ---- what allocates nothing ------------------------------------------------------------------------------------ */

static void *wait_in_many_ways(void *arg)
{
	bide_ticker ticker;
	pass(1);
	must(bide_yield() == 0);
	must(bide_ticker_init(&ticker, 5, BIDE_TICK_SKIP) == 0);
	for (int i = 0; i < 3; i++)
		must(bide_tick(&ticker, NULL) == 0);
	return arg;
}

/* bide/time.h, design: a blocking call allocates nothing */
VIRTUAL_TEST(what_runs_already_needs_no_memory_to_go_on)
{
	static bide_timer timer;
	int fds[2];
	char byte;
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(bide_write(fds[1], "x", 1), 1); /* the descriptors are known from here on */
	ck_assert_int_eq(bide_read(fds[0], &byte, 1), 1);
	ck_assert_int_eq(bide_call_later(&timer, 3, note_arg, "fired"), 0);
	bide_task *tasks[20], *canceled = must_spawn(forever_sleeper, NULL);
	for (int i = 0; i < 20; i++)
		tasks[i] = must_spawn(wait_in_many_ways, NULL);
	bide_coro *coro = bide_coro_new(wait_in_many_ways, NULL, 0);
	ck_assert_int_eq(bide_fault("malloc:ENOMEM,mmap:ENOMEM,mprotect:ENOMEM,madvise:ENOMEM"), 0);
	for (int i = 0; i < 20; i++)
		must_end_well(tasks[i]);
	ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 0);
	ck_assert_int_eq(bide_coro_close(coro), 0);
	expect_notes("fired");
	settle();
	ck_assert_int_eq(bide_cancel(canceled, NULL), 0);
	ck_assert_int_eq(must_join(canceled).err, ECANCELED);
	ck_assert_int_eq(bide_clock_advance(100), 0);
	ck_assert_int_eq(bide_write(fds[1], "x", 1), 1);
	ck_assert_int_eq(bide_read(fds[0], &byte, 1), 1);
	ck_fails_null(bide_spawn_with(nothing, NULL, &(bide_task_attr){ .size = sizeof(bide_task_attr), .stack_size = 1 << 24 }),
	    ENOMEM);
	bide_fault(NULL);
	bide_close(fds[0]);
	bide_close(fds[1]);
}

/* ---- a program in a leaky boat ------------------------------------------------------------------------------------- */

static int done, refused;

static void tally(int status)
{
	if (status < 0)
		must(errno == ENOMEM || errno == EAGAIN);
	*(status < 0 ? &refused : &done) += 1;
}

static void nothing_deferred(void *arg)
{
	(void)arg;
}

static void *do_what_can_be_done(void *arg)
{
	tally(bide_defer(nothing_deferred, NULL));
	for (int i = 0; i < 3; i++)
		tally(bide_local_set(&keys[i], arg));
	pass(1);
	tally(bide_call_soon(nothing_deferred, NULL));
	bide_coro *coro = bide_coro_new(nothing, arg, 0);
	tally(coro ? 0 : -1);
	if (coro) {
		must(bide_coro_resume(coro, NULL, NULL) == 0);
		must(bide_coro_close(coro) == 0);
	}
	return arg;
}

static void *program(void *arg)
{
	static bide_timer timers[50];
	for (int i = 0; i < 200; i++) {
		bide_task *task = bide_spawn(do_what_can_be_done, arg);
		tally(task ? 0 : -1);
		if (!task)
			continue;
		if (i % 3 == 0)
			must(bide_detach(task) == 0);
		else if (i % 3 == 1)
			must(must_join(task).err == 0);
	}
	for (int i = 0; i < 50; i++)
		tally(bide_call_later(&timers[i], i % 10, nothing_deferred, NULL));
	pass(5);
	sched_check(loop_current);
	return NULL;
}

START_TEST(every_nth_allocation_fails_and_the_rest_is_done)
{
	int n = _i;
	int fds = count_fds(), runs = 0;
	done = refused = 0;
	for (int i = 0; i < 3; i++) {
		char spec[64];
		bide_config config = counted_config(BIDE_VIRTUAL_CLOCK | (i == 1 ? BIDE_RANDOM_ORDER : 0u), false);
		bide_result result;
		config.seed = 5;
		/* A run takes up to three mappings to begin. */
		snprintf(spec, sizeof spec, "malloc:ENOMEM%%%d,mmap:ENOMEM%%4", n);
		must(bide_fault(spec) == 0);
		int status = bide_run(program, &done, &config, &result);
		bide_fault(NULL);
		must(status == 0 || errno == ENOMEM);
		runs += status == 0;
		must(counting_is_balanced(&counting));
		must(count_fds() == fds);
	}
	if (n > 10) {
		ck_assert_int_gt(runs, 0);
		ck_assert_int_gt(done, 0);
		ck_assert_int_gt(refused, 0);
	}
}
END_TEST

int main(void)
{
	return SUITE("out of memory",
	    TABLE(a_run_that_cannot_begin_says_why_and_leaves_nothing, run_failures),
	    TABLE(a_run_begins_without_what_it_does_not_need, optional),
	    LOOP(the_user_s_allocator_may_say_no_at_any_time, 0, 2),
	    TABLE(a_spawn_that_fails_at_any_step_consumes_nothing, spawn_failures),
	    LOOP(failing_often_costs_nothing, 0, 8),
	    TEST(what_runs_already_needs_no_memory_to_go_on),
	    LOOP(every_nth_allocation_fails_and_the_rest_is_done, 1, 40));
}
