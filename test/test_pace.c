/* SPDX-License-Identifier: MIT
 * When the loop has to look again. Statement 3. */
#include "base/clock.h"
#include "sched/pace.h"
#include "suite.h"

static struct pace pace;

/* A pace that has measured the counter and has just been looked at. */
static void begin(bool is_virtual)
{
	pace_init(&pace, clock_monotonic(), is_virtual);
	for (bide_time start = clock_monotonic(); clock_monotonic() < start + BIDE_MSEC;)
		;
	pace_looked(&pace, clock_monotonic());
}

/* Switches until a look is due, each after a slice of so long. */
static int switches_to_look(bide_time slice, bool somebody_waits)
{
	for (int count = 1;; count++) {
		for (bide_time start = clock_monotonic(); slice && clock_monotonic() < start + slice;)
			;
		if (!pace_goes_on(&pace) && pace_is_due(&pace, somebody_waits))
			return count;
	}
}

START_TEST(the_first_switch_brings_a_look)
{
	pace_init(&pace, clock_monotonic(), _i);
	ck_assert_int_eq(switches_to_look(0, false), 1);
}
END_TEST

START_TEST(the_virtual_clock_looks_by_count_alone)
{
	begin(true);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(switches_to_look(i * BIDE_USEC * 50, i % 2), LOOK_SWITCHES_VIRTUAL);
		ck_assert(pace_is_look_due(&pace));
		pace_looked(&pace, clock_monotonic());
		ck_assert(!pace_is_look_due(&pace));
	}
}
END_TEST

START_TEST(a_look_is_due_after_64_switches_however_short)
{
	int most = 0;
	begin(false);
	for (int i = 0; i < 1000; i++) {
		int count = switches_to_look(0, _i);
		most = count > most ? count : most;
		ck_assert_int_le(count, LOOK_SWITCHES);
		pace_looked(&pace, clock_monotonic());
	}
	ck_assert_int_eq(most, LOOK_SWITCHES); /* and not each time before that */
}
END_TEST

START_TEST(a_long_slice_makes_a_look_due_at_the_next_check)
{
	for (int i = 0; i < 20; i++) {
		begin(false);
		switches_to_look(0, true); /* used to short ones */
		pace_looked(&pace, clock_monotonic());
		ck_assert_int_le(switches_to_look(2 * LOOK_NS, true), CHECK_SWITCHES);
	}
}
END_TEST

START_TEST(once_slices_are_long_each_of_them_is_checked)
{
	begin(false);
	switches_to_look(LOOK_NS, true);
	for (int i = 0; i < 20; i++) {
		pace_looked(&pace, clock_monotonic());
		/* The counter may run a little slower than was measured. */
		ck_assert_int_le(switches_to_look(LOOK_NS + LOOK_NS / 4, _i), 2);
	}
}
END_TEST

START_TEST(who_begins_to_wait_is_expected_at_once)
{
	begin(false);
	for (int i = 0; i < 100; i++) { /* nobody waits: only a count */
		switches_to_look(0, false);
		pace_looked(&pace, clock_monotonic());
	}
	if (!suite_is_hostile()) /* where each switch brings a look */
		ck_assert_uint_gt(pace.check_at, pace.switches + CHECK_SWITCHES);
	pace_expect(&pace);
	ck_assert_int_le(switches_to_look(2 * LOOK_NS, true), CHECK_SWITCHES);
	pace_looked(&pace, clock_monotonic());
	ck_assert_int_le(switches_to_look(2 * LOOK_NS, true), CHECK_SWITCHES);
}
END_TEST

START_TEST(a_check_can_be_demanded)
{
	begin(_i);
	pace_check_now(&pace);
	ck_assert(!pace_goes_on(&pace));
	ck_assert(!pace_is_look_due(&pace) || suite_is_hostile());
}
END_TEST

int main(void)
{
	return SUITE("pace", LOOP(the_first_switch_brings_a_look, 0, 2),
	    TEST(the_virtual_clock_looks_by_count_alone),
	    LOOP(a_look_is_due_after_64_switches_however_short, 0, 2),
	    TEST(a_long_slice_makes_a_look_due_at_the_next_check),
	    LOOP(once_slices_are_long_each_of_them_is_checked, 0, 2),
	    TEST(who_begins_to_wait_is_expected_at_once), LOOP(a_check_can_be_demanded, 0, 2));
}
