/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the report, as a table, as JSON lines, and as bars met or missed. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* A bar is a sentence about a row: "the median is at most 5 ns". */
struct bar {
	const char *name;
	bench_bar_kind kind;
	double limit;
};

#define MAX_BARS 32

static struct bar bars[MAX_BARS];
static int bar_count;

const char *const bench_clock_names[] = {
	[BENCH_CPU] = "cpu",
	[BENCH_WALL] = "wall",
	[BENCH_NO_CLOCK] = "none",
};

static const char *table_title = "";

void bench_table_head(const char *title)
{
	table_title = title;
	if (bench_options.json)
		return;
	printf("\n%s\n  %-46s %-5s %-5s %9s %9s %9s %7s  %s\n", title, "case", "unit", "clock", "median",
	       "min", "p99", "spread", "ratio [min .. max]");
}

/* A row called "TITLE: NAME" needs only NAME below that title. */
static const char *short_name(const bench_row *row)
{
	size_t length = strlen(table_title);
	bool repeats = strncmp(row->name, table_title, length) == 0 &&
		       strncmp(row->name + length, ": ", 2) == 0;
	return repeats ? row->name + length + 2 : row->name;
}

/* About four digits, never as a power of ten. */
static int decimals(double value)
{
	return value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
}

static void print_number(double value)
{
	printf(" %9.*f", decimals(value), value);
}

static void print_text(const bench_row *row)
{
	bench_summary sum = bench_row_summary(row);
	printf("  %-46s %-5s %-5s", short_name(row), row->unit, bench_clock_names[row->clock]);
	print_number(sum.median);
	print_number(sum.min);
	print_number(sum.p99);
	printf(" %6.1f%%", sum.spread * 100);
	if (row->vs) {
		bench_ratio ratio = bench_row_ratio(row);
		int digits = decimals(ratio.median);
		printf("  %.*f [%.*f .. %.*f] x %s", digits, ratio.median, digits, ratio.min, digits,
		       ratio.max, short_name(row->vs));
	}
	putchar('\n');
}

/* Names are ours and hold nothing that JSON would have to escape. */
static void print_json(const bench_row *row)
{
	bench_summary sum = bench_row_summary(row);
	printf("{\"bench\":\"%s\",\"case\":\"%s\",\"unit\":\"%s\",\"clock\":\"%s\","
	       "\"median\":%.6g,\"min\":%.6g,\"p99\":%.6g",
	       bench_name, row->name, row->unit, bench_clock_names[row->clock], sum.median, sum.min, sum.p99);
	if (row->vs) {
		bench_ratio ratio = bench_row_ratio(row);
		printf(",\"vs\":\"%s\",\"ratio\":%.6g,\"ratio_min\":%.6g,\"ratio_max\":%.6g", row->vs->name,
		       ratio.median, ratio.min, ratio.max);
	}
	printf("}\n");
}

void bench_row_print(bench_row *row)
{
	snprintf(row->table, sizeof row->table, "%s", table_title);
	bench_record_row(row);
	if (bench_options.json)
		print_json(row);
	else
		print_text(row);
	fflush(stdout);
}

void bench_bar(const char *name, bench_bar_kind kind, double limit)
{
	if (bar_count == MAX_BARS)
		bench_fail("more than %d bars", MAX_BARS);
	bars[bar_count++] = (struct bar){ name, kind, limit };
}

/* How a bar was kept. */
struct verdict {
	const bench_row *row;
	double value;
	bool is_of_ratio, is_met;
};

/* False if what it is about was not measured. */
static bool judge(const struct bar *bar, struct verdict *verdict)
{
	const bench_row *row = bench_row_find(bar->name);
	bool of_ratio = bar->kind != BENCH_MEDIAN_AT_MOST;
	if (!row || row->rounds == 0 || (of_ratio && (!row->vs || row->vs->rounds == 0)))
		return false;
	double value = of_ratio ? bench_row_ratio(row).median : bench_row_summary(row).median;
	bool is_met = bar->kind == BENCH_RATIO_AT_LEAST ? value >= bar->limit : value <= bar->limit;
	*verdict = (struct verdict){ row, value, of_ratio, is_met };
	return true;
}

static void print_bar(const struct bar *bar, const struct verdict *verdict)
{
	const bench_row *row = verdict->row;
	double distance = (verdict->value / bar->limit - 1) * 100;

	printf("  %-6s  %s: %.*f %s%s, bar %s %.*f: %.3g %% %s\n", verdict->is_met ? "met" : "MISSED", row->name,
	       decimals(verdict->value), verdict->value, verdict->is_of_ratio ? "x " : row->unit,
	       verdict->is_of_ratio ? row->vs->name : "", bar->kind == BENCH_RATIO_AT_LEAST ? "at least" : "at most",
	       decimals(bar->limit), bar->limit, distance < 0 ? -distance : distance,
	       verdict->is_met ? "to spare" : "off");
}

void bench_print_bars(void)
{
	struct verdict verdict;
	bool any = false;
	for (int i = 0; i < bar_count; i++) {
		if (!judge(&bars[i], &verdict))
			continue;
		if (!any)
			printf("\nbars, this run (ratios judge; nanoseconds are for orientation)\n");
		any = true;
		print_bar(&bars[i], &verdict);
	}
}

void bench_record_bars(FILE *out)
{
	struct verdict verdict;
	const char *comma = "";
	for (int i = 0; i < bar_count; i++) {
		if (!judge(&bars[i], &verdict))
			continue;
		fprintf(out, "%s\n{\"case\":\"%s\",\"unit\":\"%s\",\"vs\":\"%s\",\"at_least\":%s,\"limit\":%.6g,\"value\":%.6g,"
			"\"met\":%s}", comma, verdict.row->name, verdict.is_of_ratio ? "" : verdict.row->unit,
			verdict.is_of_ratio ? verdict.row->vs->name : "",
			bars[i].kind == BENCH_RATIO_AT_LEAST ? "true" : "false", bars[i].limit, verdict.value,
			verdict.is_met ? "true" : "false");
		comma = ",";
	}
}
