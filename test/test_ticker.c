/* SPDX-License-Identifier: MIT
 * Tickers: bide/time.h. All on the virtual clock, in milliseconds. */
#include "runs.h"
#include "trace.h"

static void tick_and_note(bide_ticker *ticker)
{
	uint64_t missed = 99;
	must(bide_tick(ticker, &missed) == 0);
	note("%lld(%llu)", (long long)(bide_now() / BIDE_MSEC), (unsigned long long)missed);
}

/* semantics 94: the body of the first tick, which is at 10, takes `stall` */
static const struct {
	int policy;
	bide_time stall;
	const char *ticks;
} stalls[] = {
	{ BIDE_TICK_SKIP, 35, "10(0) 45(2) 50(0) 60(0) 70(0)" },
	{ BIDE_TICK_BURST, 35, "10(0) 45(2) 45(1) 45(0) 50(0)" },
	{ BIDE_TICK_DELAY, 35, "10(0) 45(2) 55(0) 65(0) 75(0)" },
	/* To a tick exactly: that one is due now, and counts as gone by. */
	{ BIDE_TICK_SKIP, 30, "10(0) 40(2) 50(0) 60(0) 70(0)" },
	{ BIDE_TICK_BURST, 30, "10(0) 40(2) 40(1) 40(0) 50(0)" },
	{ BIDE_TICK_DELAY, 30, "10(0) 40(2) 50(0) 60(0) 70(0)" },
	/* Late, but by less than a period: nothing is missed, and only DELAY leaves the grid... */
	{ BIDE_TICK_SKIP, 14, "10(0) 24(0) 30(0) 40(0) 50(0)" },
	{ BIDE_TICK_BURST, 14, "10(0) 24(0) 30(0) 40(0) 50(0)" },
	{ BIDE_TICK_DELAY, 14, "10(0) 24(0) 30(0) 40(0) 50(0)" },
	/* Not late. */
	{ BIDE_TICK_SKIP, 9, "10(0) 20(0) 30(0) 40(0) 50(0)" },
	{ BIDE_TICK_BURST, 9, "10(0) 20(0) 30(0) 40(0) 50(0)" },
	{ BIDE_TICK_DELAY, 9, "10(0) 20(0) 30(0) 40(0) 50(0)" },
	{ BIDE_TICK_SKIP, 10, "10(0) 20(0) 30(0) 40(0) 50(0)" },
};

VIRTUAL_TEST(missed_ticks_are_treated_by_the_policy)
{
	bide_ticker ticker;
	ck_assert_int_eq(bide_ticker_init(&ticker, 10 * BIDE_MSEC, stalls[_i].policy), 0);
	tick_and_note(&ticker);
	pass(stalls[_i].stall * BIDE_MSEC);
	for (int i = 0; i < 4; i++)
		tick_and_note(&ticker);
	expect_notes(stalls[_i].ticks);
}

static const int policies[] = { BIDE_TICK_SKIP, BIDE_TICK_BURST, BIDE_TICK_DELAY };

VIRTUAL_TEST(a_body_that_is_quick_enough_makes_no_drift)
{
	bide_ticker ticker;
	uint64_t missed = 99;
	pass(7);
	ck_assert_int_eq(bide_ticker_init(&ticker, 10 * BIDE_MSEC, policies[_i]), 0);
	for (int i = 1; i <= 1000; i++) {
		must(bide_tick(&ticker, i % 2 ? &missed : NULL) == 0);
		must(bide_now() == i * 10 * BIDE_MSEC + 7);
		must(i % 2 == 0 || missed == 0);
		pass((i % 10) * BIDE_MSEC);
	}
}

VIRTUAL_TEST(the_first_tick_is_one_period_after_init_and_init_starts_anew)
{
	bide_ticker ticker;
	pass(3 * BIDE_MSEC);
	ck_assert_int_eq(bide_ticker_init(&ticker, 10 * BIDE_MSEC, BIDE_TICK_SKIP), 0);
	pass(4 * BIDE_MSEC);
	tick_and_note(&ticker);
	pass(5 * BIDE_MSEC);
	ck_assert_int_eq(bide_ticker_init(&ticker, 2 * BIDE_MSEC, BIDE_TICK_SKIP), 0);
	tick_and_note(&ticker);
	expect_notes("13(0) 20(0)");
}

static void *be_canceled_in_a_tick(void *arg)
{
	bide_ticker *ticker = arg;
	ck_fails(bide_tick(ticker, NULL), ECANCELED);
	ck_fails(bide_tick(ticker, NULL), ECANCELED);
	ck_assert_int_eq(bide_uncancel(), 0);
	tick_and_note(ticker);
	tick_and_note(ticker);
	pass(25 * BIDE_MSEC);
	/* One is due now, but the cancel comes first. */
	ck_assert_int_eq(bide_cancel(bide_self(), NULL), 0);
	ck_fails(bide_tick(ticker, NULL), ECANCELED);
	ck_assert_int_eq(bide_uncancel(), 0);
	tick_and_note(ticker);
	tick_and_note(ticker);
	return NULL;
}

/* semantics 40 */
VIRTUAL_TEST(a_canceled_call_consumes_no_tick)
{
	bide_ticker ticker;
	ck_assert_int_eq(bide_ticker_init(&ticker, 10 * BIDE_MSEC, BIDE_TICK_BURST), 0);
	bide_task *task = must_spawn(be_canceled_in_a_tick, &ticker);
	pass(5 * BIDE_MSEC);
	ck_assert_int_eq(bide_cancel(task, NULL), 0);
	must_end_well(task);
	expect_notes("10(0) 20(0) 45(1) 45(0)");
}

static void *tick_for_ever(void *arg)
{
	must(bide_tick(arg, NULL) < 0);
	return bide_fail(errno);
}

/* scenario D1 */
VIRTUAL_TEST(a_period_without_end_ticks_never)
{
	bide_ticker ticker;
	pass(BIDE_SEC);
	ck_assert_int_eq(bide_ticker_init(&ticker, BIDE_NEVER, policies[_i]), 0);
	bide_task *task = must_spawn(tick_for_ever, &ticker);
	pass(1000000 * BIDE_SEC);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_SUSPENDED);
	ck_assert_int_eq(bide_cancel(task, NULL), 0);
	ck_assert_int_eq(must_join(task).err, ECANCELED);
}

VIRTUAL_TEST(a_period_beyond_half_of_time_does_not_wrap)
{
	bide_ticker ticker;
	uint64_t missed;
	ck_assert_int_eq(bide_ticker_init(&ticker, BIDE_NEVER / 3 * 2, policies[_i]), 0);
	ck_assert_int_eq(bide_tick(&ticker, &missed), 0);
	ck_assert(bide_now() == BIDE_NEVER / 3 * 2);
	bide_task *task = must_spawn(tick_for_ever, &ticker);
	pass(BIDE_NEVER / 4);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_SUSPENDED);
}

VIRTUAL_TEST(ticks_missed_are_counted_however_many)
{
	bide_ticker ticker;
	uint64_t missed = 0;
	ck_assert_int_eq(bide_ticker_init(&ticker, 1, policies[_i]), 0);
	pass(3600 * BIDE_SEC);
	ck_assert_int_eq(bide_tick(&ticker, &missed), 0);
	ck_assert_uint_eq(missed, UINT64_C(3600000000000) - 1);
	ck_assert(bide_now() == 3600 * BIDE_SEC);
}

static void *count_turns(void *arg)
{
	for (;;) {
		++*(int *)arg;
		if (bide_yield() < 0)
			return NULL;
	}
}

/* semantics 6: ticks that are due do not suspend, but others get their turns */
ORDERED_TEST(catching_up_on_many_ticks_lets_others_run)
{
	static int turns; /* is counted on when this function has returned */
	bide_ticker ticker;
	turns = 0;
	ck_assert_int_eq(bide_ticker_init(&ticker, 1, BIDE_TICK_BURST), 0);
	pass(100000);
	must_spawn(count_turns, &turns);
	for (int i = 0; i < 12800; i++)
		must(bide_tick(&ticker, NULL) == 0);
	ck_assert(bide_now() == 100000);
	ck_assert_int_ge(turns, 12800 / CALL_BUDGET);
	ck_assert_int_le(turns, 2 * 12800 / CALL_BUDGET); /* and the budget is not just a yield at each call */
}

int main(void)
{
	return SUITE("ticker",
	    TABLE(missed_ticks_are_treated_by_the_policy, stalls),
	    TABLE(a_body_that_is_quick_enough_makes_no_drift, policies),
	    TEST(the_first_tick_is_one_period_after_init_and_init_starts_anew),
	    TEST(a_canceled_call_consumes_no_tick),
	    TABLE(a_period_without_end_ticks_never, policies),
	    TABLE(a_period_beyond_half_of_time_does_not_wrap, policies),
	    TABLE(ticks_missed_are_counted_however_many, policies),
	    TEST(catching_up_on_many_ticks_lets_others_run));
}
