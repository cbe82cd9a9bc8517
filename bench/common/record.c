/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: a run kept whole, samples and all, in a file for bench/tools. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Of latencies there are hundreds of thousands: of more than so many, every so-manieth is kept. */
#define SAMPLES_KEPT 1000

static const bench_row *printed[BENCH_MAX_ROWS];
static int printed_count;

void bench_record_row(const bench_row *row)
{
	if (printed_count < BENCH_MAX_ROWS)
		printed[printed_count++] = row;
}

/* No digits that were not measured, and nothing that is no number, which JSON does not know. */
static void put_numbers(FILE *out, const char *name, const double *values, size_t count, size_t step)
{
	fprintf(out, ",\"%s\":[", name);
	for (size_t i = 0; i < count; i += step)
		fprintf(out, "%s%.6g", i ? "," : "", values[i]);
	fputc(']', out);
}

static void put_row(FILE *out, const bench_row *row)
{
	bench_summary sum = bench_row_summary(row);
	size_t step = (row->sample_count + SAMPLES_KEPT - 1) / SAMPLES_KEPT;
	fprintf(out, "{\"table\":\"%s\",\"case\":\"%s\",\"unit\":\"%s\",\"clock\":\"%s\",\"median\":%.6g,\"min\":%.6g,"
		"\"p99\":%.6g,\"taken\":%zu", row->table, row->name, row->unit, bench_clock_names[row->clock],
		sum.median, sum.min, sum.p99, row->sample_count);
	if (row->vs) {
		bench_ratio ratio = bench_row_ratio(row);
		fprintf(out, ",\"vs\":\"%s\",\"ratio\":%.6g,\"ratio_min\":%.6g,\"ratio_max\":%.6g", row->vs->name,
			ratio.median, ratio.min, ratio.max);
	}
	put_numbers(out, "rounds", row->round_median, (size_t)row->rounds, 1);
	put_numbers(out, "samples", row->samples, row->sample_count, step ? step : 1);
	fputc('}', out);
}

static void put_all(FILE *out)
{
	fprintf(out, "{\"bench\":\"%s\",\"about\":\"%s\",\"quick\":%s,\"rounds\":%d,\"cpus\":[%d,%d],\n", bench_name,
		bench_about, bench_options.quick ? "true" : "false", bench_options.rounds, bench_options.cpu[0],
		bench_options.cpu[1]);
	bench_record_machine(out);
	fputs(",\n\"rows\":[", out);
	for (int i = 0; i < printed_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_row(out, printed[i]);
	}
	fputs("\n],\n\"bars\":[", out);
	bench_record_bars(out);
	fputs("\n]}\n", out);
}

void bench_record(const char *directory)
{
	char path[512];
	snprintf(path, sizeof path, "%s/%s.json", directory, bench_name);
	FILE *out = fopen(path, "we");
	if (!out)
		bench_fail("%s: %s", path, strerror(errno));
	put_all(out);
	if (ferror(out) | fclose(out))
		bench_fail("%s: %s", path, strerror(errno));
}
