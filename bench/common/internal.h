/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: what the files of the harness share with each other. */
#ifndef BENCH_INTERNAL_H
#define BENCH_INTERNAL_H

#include <stdio.h>

#include "bench.h"

#define BENCH_MAX_ROUNDS 64
#define BENCH_MAX_ROWS 256

struct bench_row {
	char name[80];
	char table[80]; /* the title it was printed below */
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

extern const char *bench_name, *bench_about; /* the program's */
extern const char *const bench_clock_names[];

void bench_print_machine(void);
void bench_print_bars(void);

/* For the file that --record asks for: a row in the order of printing; all of it, at the end. */
void bench_record_row(const bench_row *row);
void bench_record(const char *directory);
void bench_record_machine(FILE *out); /* "machine":{...} */
void bench_record_bars(FILE *out);    /* {...},{...} */

#endif
