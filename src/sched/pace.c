/* SPDX-License-Identifier: MIT
 * Layer sched: when the loop has to look again. See pace.h. */
#include "sched/pace.h"

#include "context.h"

#include "context_inline.h"

#define MEASURE_LEAST_NS (10 * BIDE_USEC)
#define MEASURE_NS       (10 * BIDE_MSEC)
#define MEASURE_MOST_NS  (10 * BIDE_SEC) /* so that no product below overflows */

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void pace_init(struct pace *pace, bide_time now, bool is_virtual)
{
	*pace = (struct pace){ .interval = 1, .check_at = 1, .look_at = 1, .is_virtual = is_virtual };
	pace->checked = pace->looked = context_cycles();
	pace->since.ns = now;
	pace->since.cycles = pace->looked;
}

/* Twice as many switches as last time while they took less than half of LOOK_NS, as many as fit in it
 * otherwise. */
static uint64_t next_interval(const struct pace *pace, uint64_t elapsed, uint64_t most)
{
	if (elapsed <= pace->limit / 2)
		return smaller(2 * pace->interval, most);
	uint64_t fitting = pace->interval * pace->limit / elapsed;
	return fitting > 0 ? smaller(fitting, most) : 1;
}

static void set_check(struct pace *pace)
{
	pace->check_at = smaller(pace->switches + pace->interval, pace->look_at);
}

bool pace_is_due(struct pace *pace, bool somebody_waits)
{
	if (pace_is_look_due(pace))
		return true;
	if (pace->is_virtual) {
		pace->check_at = pace->look_at;
		return false;
	}
	uint64_t cycles = context_cycles();
	if (cycles - pace->looked >= pace->limit) {
		pace->look_at = pace->switches;
		return true;
	}
	uint64_t most = somebody_waits ? CHECK_SWITCHES : LOOK_SWITCHES;
	pace->interval = next_interval(pace, cycles - pace->checked, most);
	pace->checked = cycles;
	set_check(pace);
	return false;
}

/* How fast the counter runs; again and again, since a processor, or a virtual one, may change. */
static void measure(struct pace *pace, bide_time now, uint64_t cycles)
{
	bide_time ns = now - pace->since.ns;
	if (ns < (pace->limit ? MEASURE_NS : MEASURE_LEAST_NS))
		return;
	if (ns < MEASURE_MOST_NS)
		pace->limit = (cycles - pace->since.cycles) * LOOK_NS / (uint64_t)ns;
	pace->since.ns = now;
	pace->since.cycles = cycles;
}

void pace_looked(struct pace *pace, bide_time now)
{
	pace->look_at = pace->switches + (pace->is_virtual ? LOOK_SWITCHES_VIRTUAL : LOOK_SWITCHES);
	if (!pace->is_virtual) {
		uint64_t cycles = context_cycles();
		measure(pace, now, cycles);
		pace->checked = pace->looked = cycles;
	}
	set_check(pace);
}
