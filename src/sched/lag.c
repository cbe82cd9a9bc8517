/* SPDX-License-Identifier: MIT
 * Layer sched: looks and sleeps counted. See lag.h. */
#include "sched/lag.h"

/* The moment that is `now` in real time, by the loop's clock. */
static bide_time by_clock(const struct loop *loop, bide_time now)
{
	return loop->clock.is_virtual ? loop->clock.now : now;
}

#define PUBLISH_NS (50 * BIDE_USEC) /* between two looks that publish, so that looks which cost less are not dear */

static void publish(struct loop *loop, bide_time now)
{
	loop->published_at = now;
	if (loop->publish)
		loop->publish(loop);
}

void lag_begin(struct loop *loop, bide_time now)
{
	loop->looked_at = by_clock(loop, now);
	board_set(loop->board, BOARD_busy_since, (uint64_t)now);
}

void lag_look(struct loop *loop, bide_time now)
{
	bide_time moment = by_clock(loop, now);
	board_add(loop->board, BOARD_looks, 1);
	board_note(loop->board, BOARD_LOOK_GAP, moment - loop->looked_at);
	loop->looked_at = moment;
	if (now - loop->published_at >= PUBLISH_NS)
		publish(loop, now);
	board_set(loop->board, BOARD_busy_since, (uint64_t)now);
}

void lag_sleep(struct loop *loop, bide_time now, bide_time limit)
{
	board_add(loop->board, BOARD_sleeps, limit > 0);
	board_note(loop->board, BOARD_LOOK_GAP, by_clock(loop, now) - loop->looked_at);
	publish(loop, now);
	board_set(loop->board, BOARD_busy_since, 0);
}

void lag_wake(struct loop *loop, bide_time now)
{
	loop->looked_at = by_clock(loop, now);
	board_set(loop->board, BOARD_busy_since, (uint64_t)now);
}
