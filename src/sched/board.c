/* SPDX-License-Identifier: MIT
 * Layer sched: the board. See board.h. */
#include "sched/board.h"

static uint64_t load(atomic_uint_least64_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

void board_clear(struct board *board)
{
	static struct board zero;
	board_copy(board, &zero);
}

void board_copy(struct board *to, struct board *from)
{
	for (int i = 0; i < BOARD_FIGURES; i++)
		board_store(&to->figures[i], load(&from->figures[i]));
	for (int which = 0; which < BOARD_HISTOGRAMS; which++) {
		board_store(&to->histograms[which].sum_ns, load(&from->histograms[which].sum_ns));
		for (int i = 0; i < BIDE_HISTOGRAM_COUNTS; i++)
			board_store(&to->histograms[which].counts[i], load(&from->histograms[which].counts[i]));
	}
}

static void read_histogram(struct board_histogram *histogram, bide_histogram *out)
{
	out->total = 0;
	out->sum_ns = load(&histogram->sum_ns);
	for (int i = 0; i < BIDE_HISTOGRAM_COUNTS; i++) {
		out->counts[i] = load(&histogram->counts[i]);
		out->total += out->counts[i];
	}
}

/* A difference of two figures of different moments is not negative. */
static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

/* Derived from what is counted, so that no change of a state need be. */
static void derive_tasks(struct board *board, bide_stats *out)
{
	out->tasks_spawned = out->tasks_alive + out->tasks_ended;
	out->tasks_created = less(out->tasks_spawned, load(&board->figures[BOARD_begun]));
	out->tasks_suspended = less(out->parks, load(&board->figures[BOARD_wakes]));
	out->tasks_ready = less(out->tasks_alive, out->tasks_created + out->tasks_suspended);
}

void board_read(struct board *board, bide_stats *out)
{
#define X(name) out->name = (__typeof__(out->name))load(&board->figures[BOARD_##name]);
	BOARD_COUNTED(X)
	BOARD_COPIED(X)
#undef X
	derive_tasks(board, out);
	read_histogram(&board->histograms[BOARD_TIMER_LAG], &out->timer_lag);
	read_histogram(&board->histograms[BOARD_LOOK_GAP], &out->look_gap);
}
