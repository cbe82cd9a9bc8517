/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the samples of a case and what they come to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static bench_row rows[BENCH_MAX_ROWS];
static int row_count;
static bool discarding;

bench_row *bench_row_new(const char *name, const char *unit, bench_clock clock, bench_row *vs)
{
	if (row_count == BENCH_MAX_ROWS)
		bench_fail("more than %d rows", BENCH_MAX_ROWS);
	bench_row *row = &rows[row_count++];
	snprintf(row->name, sizeof row->name, "%s", name);
	row->unit = unit;
	row->clock = clock;
	row->vs = vs;
	return row;
}

bench_row *bench_row_find(const char *name)
{
	for (int i = 0; i < row_count; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

void bench_discard(bool on)
{
	discarding = on;
}

void bench_row_add(bench_row *row, double value)
{
	if (discarding)
		return;
	if (row->sample_count == row->sample_room) {
		row->sample_room = row->sample_room ? row->sample_room * 2 : 256;
		row->samples = realloc(row->samples, row->sample_room * sizeof *row->samples);
		if (!row->samples)
			bench_fail("out of memory");
	}
	row->samples[row->sample_count++] = value;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static double *sorted(const double *values, size_t count)
{
	double *copy = malloc((count ? count : 1) * sizeof *copy);
	if (!copy)
		bench_fail("out of memory");
	if (count > 0)
		memcpy(copy, values, count * sizeof *copy);
	qsort(copy, count, sizeof *copy, compare_doubles);
	return copy;
}

/* The value below which `share` of the sorted values lie, by nearest rank. */
static double rank(const double *values, size_t count, double share)
{
	size_t index = (size_t)(share * (double)count);
	return count == 0 ? 0 : values[index < count ? index : count - 1];
}

static double median_of(const double *values, size_t count)
{
	double *copy = sorted(values, count);
	double median = rank(copy, count, 0.5);
	free(copy);
	return median;
}

void bench_row_end_round(bench_row *row)
{
	if (discarding)
		return;
	if (row->rounds == BENCH_MAX_ROUNDS)
		bench_fail("more than %d rounds", BENCH_MAX_ROUNDS);
	row->round_median[row->rounds++] =
		median_of(row->samples + row->round_start, row->sample_count - row->round_start);
	row->round_start = row->sample_count;
}

bench_summary bench_row_summary(const bench_row *row)
{
	double *all = sorted(row->samples, row->sample_count);
	double *rounds = sorted(row->round_median, (size_t)row->rounds);
	bench_summary summary = {
		.median = rank(all, row->sample_count, 0.5),
		.min = rank(all, row->sample_count, 0),
		.p99 = rank(all, row->sample_count, 0.99),
	};
	double width = row->rounds > 0 ? rounds[row->rounds - 1] - rounds[0] : 0;
	summary.spread = summary.median != 0 ? width / summary.median : 0;
	free(all);
	free(rounds);
	return summary;
}

bench_ratio bench_row_ratio(const bench_row *row)
{
	double ratios[BENCH_MAX_ROUNDS] = { 0 };
	int count = row->rounds < row->vs->rounds ? row->rounds : row->vs->rounds;
	for (int i = 0; i < count; i++)
		if (row->vs->round_median[i] != 0)
			ratios[i] = row->round_median[i] / row->vs->round_median[i];
	double *ordered = sorted(ratios, (size_t)count);
	bench_ratio ratio = {
		.median = rank(ordered, (size_t)count, 0.5),
		.min = rank(ordered, (size_t)count, 0),
		.max = rank(ordered, (size_t)count, 1),
	};
	free(ordered);
	return ratio;
}
