/* SPDX-License-Identifier: MIT
 * Reading the clock, sleeping, the virtual clock: bide/time.h, bide/testing.h. */
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "runs.h"
#include "trace.h"

/* ---- the wall clock: semantics 93, scenario D7 ----------------------------------------------------- */

/* These stand in front of the C library's for the whole program. */
static int wall_clock_reads;
static time_t wall_clock_shift;

int clock_gettime(clockid_t id, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, id, now);
	if (id != CLOCK_MONOTONIC) {
		wall_clock_reads++;
		now->tv_sec += wall_clock_shift;
	}
	return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec exact;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &exact);
	*now = (struct timeval){ exact.tv_sec, exact.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *out)
{
	struct timespec exact;
	clock_gettime(CLOCK_REALTIME, &exact);
	if (out)
		*out = exact.tv_sec;
	return exact.tv_sec;
}

static void *sleep_while_the_wall_clock_jumps(void *arg)
{
	bide_time start = bide_now(), delay = 5 * BIDE_MSEC;
	bide_task *task = must_spawn(sleeper, &delay);
	(void)arg;
	must(bide_yield() == 0);
	wall_clock_shift = 3600;
	pass(delay);
	wall_clock_shift = -3600;
	pass(delay);
	must_end_well(task);
	must(bide_now() - start >= 2 * delay);
	must(bide_now() - start < 1800 * BIDE_SEC);
	return NULL;
}

START_TEST(nothing_looks_at_the_wall_clock)
{
	wall_clock_reads = 0;
	run_real(sleep_while_the_wall_clock_jumps, NULL);
	ck_assert_int_eq(wall_clock_reads, 0);
	time(NULL);
	ck_assert_int_eq(wall_clock_reads, 1); /* and it would have been seen */
	wall_clock_shift = 0;
}
END_TEST

/* ---- now ------------------------------------------------------------------------------------------- */

START_TEST(outside_a_run_now_is_the_monotonic_clock)
{
	bide_time before = clock_monotonic(), now = bide_now();
	ck_assert(before <= now && now <= clock_monotonic());
	bide_time later = bide_after(BIDE_SEC);
	ck_assert(later >= now + BIDE_SEC && later <= clock_monotonic() + BIDE_SEC);
}
END_TEST

/* bide/time.h: read anew at each call */
REAL_TEST(now_is_right_after_a_long_computation)
{
	bide_time start = bide_now();
	compute(5 * BIDE_MSEC);
	ck_assert(bide_now() - start >= 5 * BIDE_MSEC);
	ck_assert(bide_now() <= clock_monotonic());
	pass(5 * BIDE_MSEC); /* from now, not from when the turn began */
	ck_assert(bide_now() - start >= 10 * BIDE_MSEC);
}

static const struct {
	bide_time delay, after; /* on a clock that stands at 1 s */
} afters[] = {
	{ 0, BIDE_SEC },
	{ -1, BIDE_SEC },
	{ INT64_MIN, BIDE_SEC },
	{ 1, BIDE_SEC + 1 },
	{ BIDE_NEVER - BIDE_SEC - 1, BIDE_NEVER - 1 },
	{ BIDE_NEVER - BIDE_SEC, BIDE_NEVER },
	{ BIDE_NEVER - 1, BIDE_NEVER },
	{ BIDE_NEVER, BIDE_NEVER },
};

VIRTUAL_TEST(after_saturates)
{
	pass(BIDE_SEC);
	ck_assert(bide_after(afters[_i].delay) == afters[_i].after);
}

static void *real_time_there(void *arg)
{
	bide_time before = clock_monotonic();
	*(bool *)arg = bide_now() >= before;
	return NULL;
}

VIRTUAL_TEST(a_virtual_clock_is_that_of_its_loop_only)
{
	pthread_t thread;
	bool is_real = false;
	ck_assert(bide_now() == 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, real_time_there, &is_real), 0);
	pthread_join(thread, NULL);
	ck_assert(is_real);
}

/* ---- the virtual clock ------------------------------------------------------------------------------ */

VIRTUAL_TEST(a_virtual_clock_starts_at_zero_and_stands_while_anything_runs)
{
	ck_assert(bide_now() == 0);
	compute(2 * BIDE_MSEC);
	for (int i = 0; i < 1000; i++)
		must(bide_yield() == 0);
	ck_assert(bide_now() == 0);
}

/* semantics 190 */
VIRTUAL_TEST(an_hour_takes_no_time_and_is_exact)
{
	bide_time start = clock_monotonic();
	pass(3600 * BIDE_SEC);
	ck_assert(bide_now() == 3600 * BIDE_SEC);
	pass(1);
	ck_assert(bide_now() == 3600 * BIDE_SEC + 1);
	ck_assert(clock_monotonic() - start < suite_scale() * 50 * BIDE_MSEC);
}

static void *sleep_a_thousand_days(void *arg)
{
	bide_time step = *(bide_time *)arg;
	for (int day = 1; day <= 1000; day++) {
		pass(step);
		must(bide_now() == day * step);
	}
	return NULL;
}

VIRTUAL_TEST(many_sleepers_each_wake_at_their_exact_times)
{
	static bide_time steps[50];
	bide_task *tasks[50];
	for (int i = 0; i < 50; i++) {
		steps[i] = (i + 1) * 86400 * BIDE_SEC / 50 + i;
		tasks[i] = must_spawn(sleep_a_thousand_days, &steps[i]);
	}
	for (int i = 0; i < 50; i++)
		must_end_well(tasks[i]);
	ck_assert(bide_now() == 1000 * steps[49]);
}

struct pipe_reader {
	int fd;
	bide_time read_at;
};

static void *read_one(void *arg)
{
	struct pipe_reader *reader = arg;
	char byte;
	must(bide_read(reader->fd, &byte, 1) == 1);
	reader->read_at = bide_now();
	return NULL;
}

/* semantics 191: what is there already is read before time passes */
VIRTUAL_TEST(data_that_is_there_comes_before_a_jump_of_the_clock)
{
	int fds[2];
	ck_assert_int_eq(pipe(fds), 0);
	struct pipe_reader reader = { fds[0], -1 };
	bide_task *task = must_spawn(read_one, &reader);
	pass(BIDE_SEC);
	ck_assert(reader.read_at == -1);
	ck_assert_int_eq(bide_write(fds[1], "x", 1), 1);
	pass(3600 * BIDE_SEC);
	ck_assert(reader.read_at == BIDE_SEC);
	must_end_well(task);
	bide_close(fds[0]);
	bide_close(fds[1]);
}

/* bide/testing.h: while descriptors are waited for, real I/O has a millisecond to come before a jump, also where
 * signals come in between. */
VIRTUAL_TEST(a_jump_gives_real_data_a_millisecond_to_come)
{
	int fds[2];
	ck_assert_int_eq(bide_fault(_i ? "epoll_wait:EINTR%2" : NULL), 0);
	ck_assert_int_eq(pipe(fds), 0);
	struct pipe_reader reader = { fds[0], -1 };
	bide_task *task = must_spawn(read_one, &reader);
	settle();
	bide_time start = clock_monotonic();
	for (int i = 0; i < 10; i++)
		pass(BIDE_SEC);
	ck_assert(clock_monotonic() - start >= 10 * BIDE_MSEC);
	ck_assert_int_eq(write(fds[1], "x", 1), 1);
	must_end_well(task);
	bide_close(fds[0]);
	bide_close(fds[1]);
}

static void *write_a_little_later(void *arg)
{
	usleep(2000);
	must(write(*(int *)arg, "x", 1) == 1);
	return NULL;
}

/* Without a deadline to jump to, a virtual clock waits for descriptors as a real one does. */
VIRTUAL_TEST(without_a_timer_the_virtual_clock_waits_for_real_data)
{
	int fds[2];
	pthread_t thread;
	char byte;
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, write_a_little_later, &fds[1]), 0);
	ck_assert_int_eq(bide_read(fds[0], &byte, 1), 1);
	ck_assert(bide_now() == 0);
	pthread_join(thread, NULL);
	bide_close(fds[0]);
	bide_close(fds[1]);
}

/* ---- the golden trace: semantics 192 ----------------------------------------------------------------- */

static void *countdown(void *arg)
{
	(void)arg;
	for (int n = 5; n > 0; n--) {
		note("(%lld Down %d)", (long long)(bide_now() / BIDE_SEC), n);
		pass(4 * BIDE_SEC);
	}
	return NULL;
}

static void *countup(void *arg)
{
	(void)arg;
	for (int n = 0; n < 20; n++) {
		note("(%lld Up %d)", (long long)(bide_now() / BIDE_SEC), n);
		pass(BIDE_SEC);
	}
	return NULL;
}

ORDERED_TEST(countdown_beside_countup_gives_the_golden_trace)
{
	bide_task *down = must_spawn(countdown, NULL), *up = must_spawn(countup, NULL);
	must_end_well(down);
	must_end_well(up);
	expect_notes("(0 Down 5) (0 Up 0) (1 Up 1) (2 Up 2) (3 Up 3) (4 Down 4) (4 Up 4) (5 Up 5) (6 Up 6) "
	             "(7 Up 7) (8 Down 3) (8 Up 8) (9 Up 9) (10 Up 10) (11 Up 11) (12 Down 2) (12 Up 12) "
	             "(13 Up 13) (14 Up 14) (15 Up 15) (16 Down 1) (16 Up 16) (17 Up 17) (18 Up 18) (19 Up 19)");
	ck_assert(bide_now() == 20 * BIDE_SEC);
}

/* ---- sleeping ---------------------------------------------------------------------------------------- */

static bool is_done;

static void *note_twice(void *arg)
{
	for (int i = 0; i < 2; i++) {
		note_arg(arg);
		must(bide_yield() == 0);
	}
	return NULL;
}

static int sleep_0(void) { return bide_sleep(0); }
static int sleep_negative(void) { return bide_sleep(-1); }
static int sleep_minimum(void) { return bide_sleep(INT64_MIN); }
static int sleep_until_now(void) { return bide_sleep_until(bide_now()); }
static int sleep_until_past(void) { return bide_sleep_until(-5); }
static int sleep_until_minimum(void) { return bide_sleep_until(INT64_MIN); }
static int yield_once(void) { return bide_yield(); }

static int (*const one_turn[])(void) = { sleep_0, sleep_negative, sleep_minimum, sleep_until_now,
	sleep_until_past, sleep_until_minimum, yield_once };

/* semantics 87; scenario D2 */
ORDERED_TEST(a_sleep_of_nothing_is_exactly_one_turn)
{
	must_spawn(note_twice, "a");
	must_spawn(note_twice, "b");
	uint64_t turn = loop_current->ready.turn;
	ck_assert_int_eq(one_turn[_i](), 0);
	ck_assert_uint_eq(loop_current->ready.turn, turn + 1);
	expect_notes("a b"); /* all that were ready, each once */
	loop_current->budget = 1; /* calls that did not suspend came before: no second turn for that */
	ck_assert_int_eq(one_turn[_i](), 0);
	ck_assert_uint_eq(loop_current->ready.turn, turn + 2);
	expect_notes("a b a b");
	ck_assert(bide_now() == 0);
}

START_TEST(a_sleep_of_nothing_works_alone_on_either_clock)
{
	bide_time delay = 0;
	for (int i = 0; i < 100; i++) {
		run_virtual(sleeper, &delay);
		run_real(sleeper, &delay);
	}
}
END_TEST

static const bide_time forever[] = { BIDE_NEVER, BIDE_NEVER - 1, BIDE_NEVER / 2, INT32_MAX * BIDE_SEC,
	UINT32_MAX * BIDE_MSEC, INT32_MAX * BIDE_MSEC };

static void *sleep_long(void *arg)
{
	int result = *(bide_time *)arg == BIDE_NEVER ? bide_sleep_until(BIDE_NEVER) : bide_sleep(*(bide_time *)arg);
	is_done = true;
	return result == 0 ? NULL : bide_fail(errno);
}

/* semantics 88; scenario D1 */
VIRTUAL_TEST(a_huge_sleep_lasts_until_it_is_canceled)
{
	bide_time delay = forever[_i];
	is_done = false;
	pass(BIDE_SEC);
	bide_task *task = must_spawn(sleep_long, &delay);
	pass(20 * BIDE_MSEC);
	pass(3600 * BIDE_SEC);
	ck_assert(!is_done);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_SUSPENDED);
	ck_assert_int_eq(bide_cancel(task, NULL), 0);
	ck_assert_int_eq(must_join(task).err, ECANCELED);
	ck_assert_uint_eq(loop_current->timers.heap.count, 0);
}

/* The same in real time: what the kernel is told must not wrap either. */
REAL_TEST(a_huge_sleep_does_not_wrap_in_real_time)
{
	bide_time delay = forever[_i], start = bide_now();
	is_done = false;
	bide_task *task = must_spawn(sleep_long, &delay);
	pass(2 * BIDE_MSEC);
	pass(20 * BIDE_MSEC);
	ck_assert(bide_now() - start >= 22 * BIDE_MSEC);
	ck_assert(!is_done);
	ck_assert_int_eq(bide_cancel(task, NULL), 0);
	ck_assert_int_eq(must_join(task).err, ECANCELED);
}

VIRTUAL_TEST(the_longest_finite_sleep_ends)
{
	pass(BIDE_NEVER - 1);
	ck_assert(bide_now() == BIDE_NEVER - 1);
}

/* ---- settling ---------------------------------------------------------------------------------------- */

static void *yield_five_times(void *arg)
{
	for (int i = 0; i < 5; i++)
		must(bide_yield() == 0);
	note_arg(arg);
	return NULL;
}

static void soon_four_deep(void *arg)
{
	int *depth = arg;
	if (++*depth < 4)
		must(bide_call_soon(soon_four_deep, arg) == 0);
	else
		note("soon");
}

VIRTUAL_TEST(settle_waits_until_all_others_are_parked_and_no_callback_is_ready)
{
	static int depth;
	bide_time second = BIDE_SEC;
	depth = 0;
	settle(); /* alone: at once */
	must_spawn(yield_five_times, "yielder");
	bide_task *task = must_spawn(sleeper, &second);
	must(bide_call_soon(soon_four_deep, &depth) == 0);
	settle();
	expect_notes("soon yielder");
	ck_assert(bide_now() == 0);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_SUSPENDED);
	must_end_well(task);
}

static void *settle_and_note(void *arg)
{
	settle();
	note_arg(arg);
	return NULL;
}

ORDERED_TEST(several_may_wait_for_the_loop_to_settle)
{
	bide_task *a = must_spawn(settle_and_note, "a"), *b = must_spawn(settle_and_note, "b");
	must_spawn(yield_five_times, "yielder");
	must_end_well(b);
	must_end_well(a);
	expect_notes("yielder a b");
}

VIRTUAL_TEST(settle_lets_ready_descriptors_be_served)
{
	int fds[2];
	ck_assert_int_eq(pipe(fds), 0);
	struct pipe_reader reader = { fds[0], -1 };
	bide_task *task = must_spawn(read_one, &reader);
	settle();
	ck_assert(reader.read_at == -1);
	ck_assert_int_eq(write(fds[1], "x", 1), 1);
	settle();
	ck_assert(reader.read_at == 0);
	must_end_well(task);
	bide_close(fds[0]);
	bide_close(fds[1]);
}

static void *read_one_and_go_on(void *arg)
{
	read_one(arg);
	for (int i = 0; i < 3; i++)
		must(bide_yield() == 0);
	note("reader");
	return NULL;
}

VIRTUAL_TEST(settle_waits_for_those_whom_a_descriptor_woke)
{
	int fds[2];
	ck_assert_int_eq(pipe(fds), 0);
	struct pipe_reader reader = { fds[0], -1 };
	bide_task *task = must_spawn(read_one_and_go_on, &reader);
	settle();
	ck_assert_int_eq(write(fds[1], "x", 1), 1);
	settle();
	expect_notes("reader");
	must_end_well(task);
	bide_close(fds[0]);
	bide_close(fds[1]);
}

REAL_TEST(settle_works_on_the_real_clock)
{
	bide_time hour = 3600 * BIDE_SEC;
	bide_task *task = must_spawn(sleeper, &hour);
	settle();
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_SUSPENDED);
}

/* ---- advancing by hand ------------------------------------------------------------------------------- */

static bide_timer rearmed;

static void rearm_once(void *arg)
{
	note_arg_at(arg);
	must(bide_call_later(&rearmed, BIDE_SEC, note_arg_at, "again") == 0);
}

VIRTUAL_TEST(advance_fires_all_on_the_way_in_order_each_at_its_time)
{
	static bide_timer late, early, after;
	bide_time delay = 2 * BIDE_SEC;
	bide_task *task = must_spawn(sleeper, &delay);
	settle();
	ck_assert_int_eq(bide_call_at(&late, 4 * BIDE_SEC, note_arg_at, "late"), 0);
	ck_assert_int_eq(bide_call_at(&early, BIDE_SEC, rearm_once, "early"), 0);
	ck_assert_int_eq(bide_call_at(&after, 5 * BIDE_SEC + 1, note_arg_at, "after"), 0);
	ck_assert_int_eq(bide_clock_advance(5 * BIDE_SEC), 0);
	expect_notes("early@1 again@2 late@4");
	ck_assert(bide_now() == 5 * BIDE_SEC);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_DONE);
	ck_assert_int_eq(bide_clock_advance(1), 0);
	expect_notes("early@1 again@2 late@4 after@5");
	must_end_well(task);
}

VIRTUAL_TEST(advance_to_a_deadline_reaches_it_and_one_less_does_not)
{
	bide_time second = BIDE_SEC;
	bide_task *task = must_spawn(sleeper, &second);
	settle();
	ck_assert_int_eq(bide_clock_advance(BIDE_SEC - 1), 0);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_SUSPENDED);
	ck_assert_int_eq(bide_clock_advance(0), 0);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_SUSPENDED);
	ck_assert_int_eq(bide_clock_advance(1), 0);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_DONE);
	must_end_well(task);
}

VIRTUAL_TEST(advance_without_a_timer_only_moves_the_clock)
{
	ck_assert_int_eq(bide_clock_advance(0), 0);
	ck_assert(bide_now() == 0);
	ck_assert_int_eq(bide_clock_advance(7), 0);
	ck_assert(bide_now() == 7);
}

VIRTUAL_TEST(advance_to_the_end_of_time_fires_everything_that_has_a_time)
{
	static bide_timer finite, never;
	ck_assert_int_eq(bide_call_at(&finite, 9 * BIDE_SEC, note_arg_at, "finite"), 0);
	ck_assert_int_eq(bide_call_at(&never, BIDE_NEVER, note_arg_at, "never"), 0);
	ck_assert_int_eq(bide_clock_advance(BIDE_NEVER), 0);
	expect_notes("finite@9");
	ck_assert(bide_now() == BIDE_NEVER);
	settle();
	expect_notes("finite@9");
	ck_assert_int_eq(bide_call_at(&finite, 0, note_arg, "overdue"), 0);
	settle();
	expect_notes("finite@9 overdue");
}

static void *advance_two_seconds(void *arg)
{
	(void)arg;
	must(bide_clock_advance(2 * BIDE_SEC) == 0);
	note("advanced@%lld", (long long)(bide_now() / BIDE_SEC));
	return NULL;
}

VIRTUAL_TEST(advance_is_refused_with_no_effect_where_it_makes_no_sense)
{
	ck_fails(bide_clock_advance(-1), EINVAL);
	ck_fails(bide_clock_advance(INT64_MIN), EINVAL);
	ck_assert(bide_now() == 0);
	must_end_well(must_spawn(advance_two_seconds, NULL));
	expect_notes("advanced@2");
}

REAL_TEST(a_real_clock_cannot_be_advanced)
{
	ck_fails(bide_clock_advance(1), ENOTSUP);
	ck_fails(bide_clock_advance(-1), EINVAL);
}

int main(void)
{
	return SUITE("time",
	    TEST(nothing_looks_at_the_wall_clock),
	    TEST(outside_a_run_now_is_the_monotonic_clock),
	    TEST(now_is_right_after_a_long_computation),
	    TABLE(after_saturates, afters),
	    TEST(a_virtual_clock_is_that_of_its_loop_only),
	    TEST(a_virtual_clock_starts_at_zero_and_stands_while_anything_runs),
	    TEST(an_hour_takes_no_time_and_is_exact),
	    TEST(many_sleepers_each_wake_at_their_exact_times),
	    TEST(data_that_is_there_comes_before_a_jump_of_the_clock),
	    LOOP(a_jump_gives_real_data_a_millisecond_to_come, 0, 2),
	    TEST(without_a_timer_the_virtual_clock_waits_for_real_data),
	    TEST(countdown_beside_countup_gives_the_golden_trace),
	    TABLE(a_sleep_of_nothing_is_exactly_one_turn, one_turn),
	    TEST(a_sleep_of_nothing_works_alone_on_either_clock),
	    TABLE(a_huge_sleep_lasts_until_it_is_canceled, forever),
	    TABLE(a_huge_sleep_does_not_wrap_in_real_time, forever),
	    TEST(the_longest_finite_sleep_ends),
	    TEST(settle_waits_until_all_others_are_parked_and_no_callback_is_ready),
	    TEST(several_may_wait_for_the_loop_to_settle),
	    TEST(settle_lets_ready_descriptors_be_served),
	    TEST(settle_waits_for_those_whom_a_descriptor_woke),
	    TEST(settle_works_on_the_real_clock),
	    TEST(advance_fires_all_on_the_way_in_order_each_at_its_time),
	    TEST(advance_to_a_deadline_reaches_it_and_one_less_does_not),
	    TEST(advance_without_a_timer_only_moves_the_clock),
	    TEST(advance_to_the_end_of_time_fires_everything_that_has_a_time),
	    TEST(advance_is_refused_with_no_effect_where_it_makes_no_sense),
	    TEST(a_real_clock_cannot_be_advanced));
}
