/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: measuring cases in turn. */
#include <string.h>

#include "internal.h"

static bool chosen[64]; /* of the group being measured */

static size_t index_of(const bench_case *cases, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(cases[i].name, name) == 0)
			return i;
	bench_fail("no case '%s' to compare with", name);
}

/* Those that --case names, and those that they are compared with. */
static void choose(const bench_case *cases, size_t count)
{
	if (count > sizeof chosen / sizeof *chosen)
		bench_fail("a group of %zu cases", count);
	for (size_t i = 0; i < count; i++)
		chosen[i] = bench_wants(cases[i].name);
	for (size_t i = 0; i < count; i++)
		if (chosen[i] && cases[i].vs)
			chosen[index_of(cases, count, cases[i].vs)] = true;
}

/* Rows stand in the order of the cases; a case may be compared with a later one. */
static void make_rows(bench_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (chosen[i])
			cases[i].row = bench_row_new(cases[i].name, "ns", cases[i].clock, NULL);
	for (size_t i = 0; i < count; i++)
		if (chosen[i] && cases[i].vs)
			cases[i].row->vs = cases[index_of(cases, count, cases[i].vs)].row;
}

static double run_once(bench_case *self, uint64_t count)
{
	double spent = self->run(self, count);
	self->turn++;
	if (spent < 0)
		bench_fail("%s: failed", self->name);
	return spent;
}

/* Also finds out how many operations make a sample. */
static void warm_up(bench_case *self)
{
	if (self->count) {
		run_once(self, self->count);
		return;
	}
	uint64_t count = 16;
	double spent = run_once(self, count);
	while (spent < (double)bench_options.sample_ns / 2 && count < UINT64_C(1) << 40) {
		double wanted = spent > 0 ? (double)bench_options.sample_ns / spent : 16;
		count = (uint64_t)((double)count * (wanted < 1.5 ? 1.5 : wanted > 16 ? 16 : wanted)) + 1;
		spent = run_once(self, count);
	}
	self->count = count;
}

static void run_round(bench_case *self)
{
	for (int i = 0; i < bench_options.samples; i++)
		bench_row_add(self->row, run_once(self, self->count) / (double)self->count);
	bench_row_end_round(self->row);
}

void bench_group(const char *title, bench_case *cases, size_t count)
{
	choose(cases, count);
	make_rows(cases, count);
	for (size_t i = 0; i < count; i++)
		if (chosen[i])
			warm_up(&cases[i]);
	for (int round = 0; bench_more_rounds(round, 1); round++)
		for (size_t i = 0; i < count; i++)
			if (chosen[i])
				run_round(&cases[i]);

	bool head = false;
	for (size_t i = 0; i < count; i++) {
		if (!chosen[i])
			continue;
		if (!head)
			bench_table_head(title);
		head = true;
		bench_row_print(cases[i].row);
	}
}
