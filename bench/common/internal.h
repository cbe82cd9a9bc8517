/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: what the files of the harness share with each other. */
#ifndef BENCH_INTERNAL_H
#define BENCH_INTERNAL_H

#include "bench.h"

#define BENCH_MAX_ROUNDS 64

struct bench_row {
	char name[80];
	const char *unit;
	bench_clock clock;
	const bench_row *vs;

	double *samples; /* of all rounds, in the order they came */
	size_t sample_count;
	size_t sample_room;
	size_t round_start; /* where the current round's samples begin */

	double round_median[BENCH_MAX_ROUNDS];
	int rounds;
};

typedef struct bench_summary {
	double median, min, p99;
	double spread; /* of the rounds' medians: (greatest - least) / median */
} bench_summary;

typedef struct bench_ratio {
	double median, min, max;
} bench_ratio;

bench_row *bench_row_find(const char *name); /* NULL: there is none */
bench_summary bench_row_summary(const bench_row *row);
bench_ratio bench_row_ratio(const bench_row *row); /* only where row->vs */

extern const char *bench_name; /* the program's */

void bench_print_machine(void);
void bench_print_bars(void);

#endif
