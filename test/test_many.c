/* SPDX-License-Identifier: MIT
 * Several loops that begin and end together: bide/many.h. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "death.h"
#include "resources.h"
#include "runs.h"

#define LOOPS 4

/* Waits to be canceled. A cancel that does not come is a failure that says so, not a test that hangs. In small
 * steps: ThreadSanitizer holds a signal back until the thread makes a call that it knows. */
static bool is_canceled_in_time(void)
{
	bide_time end = bide_after(2 * BIDE_SEC * suite_scale());
	while (bide_now() < end)
		if (bide_sleep(10 * BIDE_MSEC) < 0)
			return errno == ECANCELED;
	return false;
}

static void *note_number(void *arg)
{
	atomic_uint *numbers = arg;
	int number = bide_loop_number();
	must(number >= 0 && number < LOOPS);
	must(!(atomic_fetch_or(numbers, 1u << number) & 1u << number));
	pass(BIDE_MSEC);
	return numbers;
}

START_TEST(each_loop_has_a_number_and_an_outcome)
{
	atomic_uint numbers = 0;
	bide_result out[LOOPS];
	int fds = count_fds();
	ck_assert_int_eq(bide_run_many(LOOPS, note_number, &numbers, NULL, out), 0);
	ck_assert_uint_eq(numbers, (1u << LOOPS) - 1);
	for (int i = 0; i < LOOPS; i++)
		must(out[i].value == &numbers && out[i].err == 0);
	ck_assert_int_eq(count_fds(), fds);
}
END_TEST

static void *count_loops(void *arg)
{
	atomic_fetch_add((atomic_uint *)arg, 1);
	return NULL;
}

START_TEST(none_named_is_one_for_each_processor)
{
	cpu_set_t set;
	atomic_uint loops = 0;
	must(sched_getaffinity(0, sizeof set, &set) == 0);
	ck_assert_int_eq(bide_run_many(0, count_loops, &loops, NULL, NULL), 0);
	ck_assert_uint_eq(loops, (unsigned)CPU_COUNT(&set));
}
END_TEST

static void *nest(void *arg)
{
	(void)arg;
	ck_fails(bide_run_many(2, nothing, NULL, NULL, NULL), EBUSY);
	must(bide_loop_number() == 0);
	return NULL;
}

START_TEST(bad_input_is_refused)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.size = 1;
	ck_fails(bide_run_many(2, NULL, NULL, NULL, NULL), EINVAL);
	ck_fails(bide_run_many(2, nothing, NULL, &config, NULL), EINVAL);
	ck_fails(bide_loop_number(), EPERM);
	run_real(nest, NULL);
}
END_TEST

static void *wait_for_the_others(void *arg)
{
	must_msg(is_canceled_in_time(), "loop %d goes on though loop %d has failed", bide_loop_number(), *(int *)arg);
	must(strcmp(bide_cancel_reason(), "another loop failed") == 0);
	return NULL;
}

static atomic_int begun;

static void *fail_if_first(void *arg)
{
	atomic_fetch_add(&begun, 1);
	if (bide_loop_number() != *(int *)arg)
		return wait_for_the_others(arg);
	while (atomic_load(&begun) < LOOPS)
		pass(BIDE_MSEC);
	must(bide_fault("malloc:ENOMEM") == 0); /* to cancel takes no memory */
	return bide_fail(EPROTO);
}

START_TEST(one_that_fails_ends_all)
{
	bide_result out[LOOPS];
	int failing = _i;
	atomic_store(&begun, 0);
	ck_fails(bide_run_many(LOOPS, fail_if_first, &failing, NULL, out), EPROTO);
	must(bide_fault(NULL) == 0);
	for (int i = 0; i < LOOPS; i++)
		must(out[i].err == (i == failing ? EPROTO : ECANCELED));
}
END_TEST

static void *end_when_canceled(void *arg)
{
	return is_canceled_in_time() ? bide_fail(ECANCELED) : arg;
}

START_TEST(without_a_thread_for_each_all_are_canceled)
{
	char spec[64];
	bide_result out[LOOPS];
	snprintf(spec, sizeof spec, "pthread_create:EAGAIN@%d", _i);
	must(bide_fault(spec) == 0);
	ck_fails(bide_run_many(LOOPS, end_when_canceled, NULL, NULL, out), EAGAIN);
	must(bide_fault(NULL) == 0);
	for (int i = 0; i < LOOPS; i++)
		ck_assert_int_eq(out[i].err, ECANCELED);
}
END_TEST

static void *end_early(void *arg)
{
	atomic_uint *ended = arg;
	if (bide_loop_number() > 0) {
		atomic_fetch_add(ended, 1);
		return NULL;
	}
	while (*ended < LOOPS - 1)
		pass(BIDE_MSEC);
	pass(BIDE_MSEC); /* nobody cancels it */
	return NULL;
}

START_TEST(one_that_just_returns_leaves_the_others_alone)
{
	atomic_uint ended = 0;
	ck_assert_int_eq(bide_run_many(LOOPS, end_early, &ended, NULL, NULL), 0);
}
END_TEST

static void *wait_for_a_signal_to_end(void *arg)
{
	if (bide_loop_number() == 1) {
		pass(20 * BIDE_MSEC);
		must(kill(getpid(), SIGTERM) == 0);
	}
	(void)arg;
	return is_canceled_in_time() ? "canceled" : bide_fail(EPROTO);
}

static void end_by_signal(void *arg)
{
	bide_result out[LOOPS];
	int status = bide_run_many(LOOPS, wait_for_a_signal_to_end, arg, NULL, out);
	for (int i = 0; i < LOOPS; i++) /* one that had not begun does not begin */
		if (out[i].err != ECANCELED && !out[i].value)
			_exit(3);
	_exit(status == 0 ? 0 : 2);
}

START_TEST(a_signal_to_end_ends_all)
{
	struct death death = death_of(end_by_signal, NULL);
	ck_assert_msg(death.signal == 0 && death.exit_status == 0, "signal %d, exit status %d: %s", death.signal,
	    death.exit_status, death.text);
}
END_TEST

#define MANY_LOOPS 16 /* the first begins long before the last */

static atomic_flag is_sent;

static void *send_a_signal_at_once(void *arg)
{
	if (!atomic_flag_test_and_set(&is_sent))
		must(kill(getpid(), SIGTERM) == 0);
	(void)arg;
	return is_canceled_in_time() ? "canceled" : NULL; /* a failure would end the others */
}

static void end_by_early_signals(void *arg)
{
	bide_result out[MANY_LOOPS];
	(void)arg;
	for (int round = suite_scaled_down(30, 5); round > 0; round--) {
		atomic_flag_clear(&is_sent);
		bide_run_many(MANY_LOOPS, send_a_signal_at_once, NULL, NULL, out);
		for (int i = 0; i < MANY_LOOPS; i++)
			if (out[i].err != ECANCELED && !out[i].value)
				_exit(3);
	}
}

/* Also those that had not begun when it came. */
START_TEST(a_signal_to_end_that_comes_while_loops_begin_ends_all)
{
	struct death death = death_of(end_by_early_signals, NULL);
	ck_assert_msg(death.signal == 0 && death.exit_status == 0, "signal %d, exit status %d: %s", death.signal,
	    death.exit_status, death.text);
}
END_TEST

int main(void)
{
	return SUITE("many", TEST(each_loop_has_a_number_and_an_outcome), TEST(none_named_is_one_for_each_processor),
	    TEST(bad_input_is_refused), LOOP(one_that_fails_ends_all, 0, 2),
	    LOOP(without_a_thread_for_each_all_are_canceled, 1, LOOPS),
	    TEST(one_that_just_returns_leaves_the_others_alone), TEST(a_signal_to_end_ends_all),
	    TEST(a_signal_to_end_that_comes_while_loops_begin_ends_all));
}
