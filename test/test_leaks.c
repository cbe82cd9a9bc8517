/* SPDX-License-Identifier: MIT
 * What is left when a loop ends, told in debug mode with the place it was made at. Statement 194. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "resources.h"
#include "runs.h"
#include "sockets.h"

static struct reports reports;

static void run_in(unsigned flags, bide_fn *main_fn, void *arg)
{
	struct counting counting;
	bide_config config = config_with(flags, &reports);
	memset(&reports, 0, sizeof reports);
	counting_init(&counting, false);
	config.allocator = &counting.allocator;
	ck_assert_int_eq(bide_run(main_fn, arg, &config, NULL), 0);
	ck_assert(counting_is_balanced(&counting));
}

static void expect_leaks(int count, const char *what)
{
	const char *text = reports.text[BIDE_REPORT_LEAK];
	ck_assert_msg(reports.count[BIDE_REPORT_LEAK] == count, "%d reports: %s", reports.count[BIDE_REPORT_LEAK], text);
	ck_assert_msg(count == 0 || strstr(text, what), "no '%s' in: %s", what, text);
}

static char expected[300];

#define EXPECT_AT_NEXT_LINE(format, function)                                                      \
	snprintf(expected, sizeof expected, format " at " function " (test_leaks.c:%d)", __LINE__ + 1)

static void never(void *arg)
{
	(void)arg;
	ck_abort_msg("a timer that was left fires");
}

static void *leave_a_timer(void *arg)
{
	static bide_timer timer;
	EXPECT_AT_NEXT_LINE("a timer is still armed, for 5.000 s from now; armed", "leave_a_timer");
	must(bide_call_later(&timer, 5 * BIDE_SEC, never, arg) == 0);
	return arg;
}

static void *leave_one_at_never(void *arg)
{
	static bide_timer timer;
	EXPECT_AT_NEXT_LINE("a timer is still armed, for never; armed", "leave_one_at_never");
	must(bide_call_at(&timer, BIDE_NEVER, never, arg) == 0);
	return arg;
}

static void *yield_once(void *arg)
{
	return bide_coro_yield(arg);
}

static bide_coro *coro;

static void *leave_a_coroutine(void *arg)
{
	EXPECT_AT_NEXT_LINE("a coroutine was never closed, and keeps its stack; made", "leave_a_coroutine");
	coro = bide_coro_new(yield_once, arg, 0);
	must(coro && bide_coro_resume(coro, NULL, NULL) == 1);
	return arg;
}

static void *leave_one_that_never_ran(void *arg)
{
	EXPECT_AT_NEXT_LINE("a coroutine was never closed, and keeps its stack; made", "leave_one_that_never_ran");
	coro = bide_coro_new(yield_once, arg, 0);
	must(coro);
	return arg;
}

static int fds[2];

static void *read_one(void *arg)
{
	char byte;
	must(bide_read(fds[0], &byte, 1) == 1);
	return arg;
}

static void *leave_a_descriptor(void *arg)
{
	make_unix(fds);
	snprintf(expected, sizeof expected, "descriptor %d was not closed by bide_close(); first waited for", fds[0]);
	bide_task *reader = must_spawn(read_one, NULL);
	must(bide_yield() == 0);
	must_write(fds[1], "x", 1);
	must_end_well(reader);
	return arg;
}

/* Two, of which the later has a number far beyond the other's. */
static void *leave_one_far_away(void *arg)
{
	make_unix(fds);
	int far = fcntl(fds[0], F_DUPFD, 1000);
	must(far == 1000);
	bide_task *reader = must_spawn(read_one, NULL);
	must(bide_yield() == 0);
	must_write(fds[1], "x", 1);
	must_end_well(reader);
	must(bide_close(fds[0]) == 0);
	fds[0] = far;
	reader = must_spawn(read_one, NULL);
	must(bide_yield() == 0);
	must_write(fds[1], "x", 1);
	must_end_well(reader);
	snprintf(expected, sizeof expected, "descriptor 1000 was not closed by bide_close(); first waited for");
	return arg;
}

static const struct {
	bide_fn *main_fn;
	bool has_coro, has_fds;
} leavers[] = { { leave_a_timer, 0, 0 }, { leave_one_at_never, 0, 0 }, { leave_a_coroutine, 1, 0 },
	{ leave_one_that_never_ran, 1, 0 }, { leave_a_descriptor, 0, 1 },
	{ leave_one_far_away, 0, 1 } };

/* In debug mode once, in the same words in every locale; without it never, and that the coroutine is still there was
 * told before is not told again. */
START_TEST(what_is_left_is_told_with_the_place_it_was_made_at)
{
	suite_use_decimal_comma();
	run_in(BIDE_VIRTUAL_CLOCK | (_i % 2 ? BIDE_DEBUG : 0u), leavers[_i / 2].main_fn, NULL);
	suite_use_c_locale();
	expect_leaks(_i % 2, expected);
	run_in(BIDE_VIRTUAL_CLOCK | BIDE_DEBUG, nothing, NULL);
	expect_leaks(0, "");
	if (leavers[_i / 2].has_coro)
		must(bide_coro_close(coro) == 0);
	if (leavers[_i / 2].has_fds) {
		close(fds[0]);
		close(fds[1]);
	}
}
END_TEST

static bide_timer many_timers[20];

static void *leave_many(void *arg)
{
	for (int i = 0; i < 20; i++)
		must(bide_call_later(&many_timers[i], BIDE_SEC, never, arg) == 0);
	return arg;
}

START_TEST(of_many_some_are_told_and_the_rest_is_counted)
{
	run_in(BIDE_VIRTUAL_CLOCK | BIDE_DEBUG, leave_many, NULL);
	expect_leaks(17, "and 4 more timers");
}
END_TEST

static int fired;

static void fire(void *arg)
{
	(void)arg;
	fired++;
}

static void *clean_up_after_itself(void *arg)
{
	static bide_timer fires, is_canceled;
	must(bide_call_later(&fires, BIDE_SEC, fire, NULL) == 0 && bide_call_later(&is_canceled, BIDE_SEC, never, NULL) == 0);
	must(bide_timer_cancel(&is_canceled) == 1);
	leave_a_descriptor(NULL);
	must(bide_close(fds[0]) == 0 && bide_close(fds[1]) == 0);
	leave_a_coroutine(NULL);
	must(bide_coro_close(coro) == 0);
	must(bide_join(must_spawn(nothing, NULL), NULL) == 0);
	bide_time second = BIDE_SEC;
	must(bide_detach(must_spawn(sleeper, &second)) == 0); /* canceled with the loop's end, as it should be */
	pass(2 * BIDE_SEC);
	return arg;
}

START_TEST(a_clean_program_is_told_nothing)
{
	run_in(BIDE_VIRTUAL_CLOCK | BIDE_DEBUG, clean_up_after_itself, NULL);
	ck_assert_int_eq(fired, 1);
	for (int kind = 0; kind < REPORT_KINDS; kind++)
		ck_assert_msg(reports.count[kind] == 0, "%s", reports.text[kind]);
}
END_TEST

static void *close_behind_its_back(void *arg)
{
	leave_a_descriptor(NULL);
	close(fds[0]);
	close(fds[1]);
	return arg;
}

static void *read_standard_input(void *arg)
{
	make_unix(fds);
	must(dup2(fds[0], STDIN_FILENO) == STDIN_FILENO);
	must_write(fds[1], "x", 1);
	char byte;
	must(bide_read(STDIN_FILENO, &byte, 1) == 1);
	must_write(fds[1], "x", 1);
	bide_close(fds[0]);
	bide_close(fds[1]);
	return arg;
}

/* What is closed by other means is not open any more; and the standard descriptors are nobody's to close. */
START_TEST(descriptors_that_are_no_leak_are_not_told)
{
	int input = dup(STDIN_FILENO);
	run_in(BIDE_VIRTUAL_CLOCK | BIDE_DEBUG, _i ? read_standard_input : close_behind_its_back, NULL);
	expect_leaks(0, "");
	if (input >= 0) {
		dup2(input, STDIN_FILENO);
		close(input);
	}
}
END_TEST

/* The notes need memory: without, they are not there, and nothing else is different. */
START_TEST(without_memory_for_the_notes_the_run_goes_on)
{
	for (int n = 1; n < 12; n++) {
		char spec[32];
		snprintf(spec, sizeof spec, "malloc:ENOMEM@%d", n);
		bide_config config = config_with(BIDE_VIRTUAL_CLOCK | BIDE_DEBUG, &reports);
		bide_result result;
		must(bide_fault(spec) == 0);
		int status = bide_run(nothing, "fine", &config, &result);
		must(bide_fault(NULL) == 0);
		must(status == 0 || errno == ENOMEM);
	}
}
END_TEST

int main(void)
{
	return SUITE("leaks", LOOP(what_is_left_is_told_with_the_place_it_was_made_at, 0, 12),
	    TEST(of_many_some_are_told_and_the_rest_is_counted), TEST(a_clean_program_is_told_nothing),
	    LOOP(descriptors_that_are_no_leak_are_not_told, 0, 2), TEST(without_memory_for_the_notes_the_run_goes_on));
}
