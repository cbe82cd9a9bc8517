/* SPDX-License-Identifier: MIT
 * Layer sched: the board, where a loop keeps its figures so that other threads can read them. It is a part of the
 * loop's inbox, whose memory is never given back, and is read by the loop's handle.
 *
 * Its loop alone writes; anybody reads at any time. Some figures are counted on the board itself. Others are kept
 * where they are needed, and are copied here at looks and before sleeps: a yield writes nothing here. Every figure
 * is whole, since it is one atomic word; two of them may be of two moments. But who finds the loop asleep sees all
 * as it was when it fell asleep: busy_since is written last then, and read first. A store releases and a load acquires,
 * so that a reader who has seen a figure of the inbox's next owner also sees that the generation has changed.
 * Rejected: a sequence number, which would make all of one moment, but whose reader could wait for ever on
 * a thread that was stopped as it wrote. */
#ifndef SCHED_BOARD_H
#define SCHED_BOARD_H

#include <stdatomic.h>
#include <stdint.h>

#include <bide/inspect.h>

/* Counted here. Those that bide_stats has have their names there. */
#define BOARD_COUNTED(X)                                                                           \
	X(busy_since)                                                                                  \
	X(looks)                                                                                       \
	X(sleeps)                                                                                      \
	X(polls)                                                                                       \
	X(events)                                                                                      \
	X(posts)                                                                                       \
	X(timers_fired)                                                                                \
	X(jobs)                                                                                        \
	X(slow_slices)
/* Copied to here. */
#define BOARD_COPIED(X)                                                                            \
	X(tasks_alive)                                                                                 \
	X(tasks_ended)                                                                                 \
	X(turns)                                                                                       \
	X(switches)                                                                                    \
	X(parks)                                                                                       \
	X(timers_armed)                                                                                \
	X(timers_pending)                                                                              \
	X(descriptor_waits)                                                                            \
	X(jobs_pending)                                                                                \
	X(stacks_in_use)                                                                               \
	X(stacks_warm)                                                                                 \
	X(stacks_cold)                                                                                 \
	X(stack_bytes)

enum board_figure {
#define X(name) BOARD_##name,
	BOARD_COUNTED(X)
	BOARD_COPIED(X)
#undef X
	BOARD_wakes, /* with parks: how many tasks are suspended */
	BOARD_begun, /* tasks that have run, or were canceled before */
	BOARD_FIGURES
};

enum board_lag {
	BOARD_TIMER_LAG,
	BOARD_LOOK_GAP,
	BOARD_HISTOGRAMS
};

struct board_histogram {
	atomic_uint_least64_t sum_ns;
	atomic_uint_least64_t counts[BIDE_HISTOGRAM_COUNTS];
};

struct board {
	atomic_uint_least64_t figures[BOARD_FIGURES];
	struct board_histogram histograms[BOARD_HISTOGRAMS];
};

/* ---- for the owner ---- */

/* All is 0. */
void board_clear(struct board *board);
void board_copy(struct board *to, struct board *from);

static inline void board_store(atomic_uint_least64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

/* There is one writer. */
static inline void board_raise(atomic_uint_least64_t *word, uint64_t value)
{
	board_store(word, atomic_load_explicit(word, memory_order_relaxed) + value);
}

static inline void board_set(struct board *board, enum board_figure which, uint64_t value)
{
	board_store(&board->figures[which], value);
}

static inline void board_add(struct board *board, enum board_figure which, uint64_t value)
{
	board_raise(&board->figures[which], value);
}

/* Which count of a histogram a duration belongs to. */
static inline unsigned histogram_index(bide_time duration)
{
	if (duration <= BIDE_USEC)
		return 0;
	unsigned index = 64 - (unsigned)__builtin_clzll(((uint64_t)duration - 1) / BIDE_USEC);
	return index < BIDE_HISTOGRAM_COUNTS ? index : BIDE_HISTOGRAM_COUNTS - 1;
}

static inline void board_note(struct board *board, enum board_lag which, bide_time duration)
{
	struct board_histogram *histogram = &board->histograms[which];
	board_raise(&histogram->counts[histogram_index(duration)], 1);
	board_raise(&histogram->sum_ns, duration > 0 ? (uint64_t)duration : 0);
}

/* ---- for any thread, and signal handlers ---- */

/* Fills in what the board has, and leaves the rest of *out alone. */
void board_read(struct board *board, bide_stats *out);

#endif
