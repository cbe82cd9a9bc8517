/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: compare OLD.json NEW.json: what has become slower or faster, and whether that may
 * be chance.
 *
 * What is compared with something in its own run is judged by that ratio, round by round: then another
 * machine, or a busy one, changes little; what bide costs is above the line then, whichever of the two the row is
 * of. The rest is judged by itself, and what others cost by themselves not at all. A row has changed if its median
 * differs by more than the threshold and the rank-sum test of the rounds finds p < 0.01; since a hundred rows
 * are tested, one of them is to be expected to do so by chance.
 *
 * Exits 0 if nothing became slower, 1 if something did, 2 if a file cannot be read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranksum.h"
#include "results.h"

#define CHANCE 0.01

static double threshold = 0.03;
static bool tells_all;

struct comparison {
	const char *bench, *name, *unit, *vs;
	double before, after, p;
};

static void print(const struct comparison *change, const char *verdict)
{
	char before[NUMBER_SIZE], after[NUMBER_SIZE];
	printf("  %-7s %-9s %-48s %10s -> %10s %-6s %+7.1f %%  p %.4f\n", verdict, change->bench, change->name,
	       results_number(change->before, before), results_number(change->after, after),
	       change->vs ? "x" : change->unit, (change->after / change->before - 1) * 100, change->p);
}

/* 1 if it is slower. */
static int judge(const struct comparison *change)
{
	double ratio = change->after / change->before;
	bool is_sure = change->p < CHANCE;
	bool is_slower = is_sure && ratio > 1 + threshold, is_faster = is_sure && ratio < 1 / (1 + threshold);
	if (is_slower || is_faster || tells_all)
		print(change, is_slower ? "SLOWER" : is_faster ? "faster" : "same");
	return is_slower;
}

/* "Threads, so many times what bide costs" is turned round, so that more is always worse. */
static void turn_round(double *values, int count)
{
	for (int i = 0; i < count; i++)
		values[i] = values[i] > 0 ? 1 / values[i] : 0;
}

/* False if it says nothing of bide: a rival's own cost. */
static bool compare_row(const char *bench, const json *old_program, const json *old, const json *new_program,
			const json *new, struct comparison *change)
{
	double before[ROUNDS_MAX], after[ROUNDS_MAX];
	const char *name = json_text(new, "case", "");
	const json *old_rival = results_rival(old_program, old), *new_rival = results_rival(new_program, new);
	if (!old_rival || !new_rival)
		old_rival = new_rival = NULL;
	if (results_is_rival(name) && (!new_rival || results_is_rival(json_text(new, "vs", ""))))
		return false;
	int old_count = results_rounds(old, old_rival, before), new_count = results_rounds(new, new_rival, after);
	if (results_is_rival(name)) {
		turn_round(before, old_count);
		turn_round(after, new_count);
	}
	*change = (struct comparison){ bench, name, json_text(new, "unit", ""), new_rival ? json_text(new, "vs", "") : NULL,
		results_median(before, old_count), results_median(after, new_count),
		ranksum(before, old_count, after, new_count) };
	return change->before > 0 && change->after > 0;
}

static const json *program_of(const json *results, const char *bench)
{
	json_each(program, json_member(results, "programs"))
		if (strcmp(json_text(program, "bench", ""), bench) == 0)
			return program;
	return NULL;
}

static void warn_of_differences(const json *old, const json *new)
{
	static const char *const names[] = { "model", "kernel", "compiler", "flags" };
	const json *a = json_member(json_member(old, "programs")->first, "machine");
	const json *b = json_member(json_member(new, "programs")->first, "machine");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(json_text(a, names[i], ""), json_text(b, names[i], "")) != 0)
			printf("  note: %s differs: %s, %s\n", names[i], json_text(a, names[i], "?"),
			       json_text(b, names[i], "?"));
}

static int compare(const json *old, const json *new)
{
	int compared = 0, slower = 0, missing = 0;
	warn_of_differences(old, new);
	json_each(program, json_member(new, "programs")) {
		const char *bench = json_text(program, "bench", "?");
		const json *old_program = program_of(old, bench);
		json_each(row, json_member(program, "rows")) {
			struct comparison change;
			const json *before = results_find(old, bench, row);
			missing += !before;
			if (!before || !compare_row(bench, old_program, before, program, row, &change))
				continue;
			compared++;
			slower += judge(&change);
		}
	}
	printf("compared %d rows, by ratio where they have one: %d slower by more than %.0f %% (p < %.2f)", compared,
	       slower, threshold * 100, CHANCE);
	printf(missing ? "; %d are new\n" : "\n", missing);
	return slower > 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: compare [--all] [--threshold PERCENT] OLD.json NEW.json\n");
	return 2;
}

int main(int argc, char **argv)
{
	int i = 1;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--all") == 0)
			tells_all = true;
		else if (strcmp(argv[i], "--threshold") == 0 && i + 1 < argc && atof(argv[i + 1]) > 0)
			threshold = atof(argv[++i]) / 100;
		else
			return usage();
	}
	if (argc - i != 2)
		return usage();
	json *old = results_read(argv[i]), *new = results_read(argv[i + 1]);
	int status = compare(old, new);
	json_free(old);
	json_free(new);
	return status;
}
