/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: reading a run. See results.h. */
#include "results.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void give_up(const char *path, const char *why)
{
	fprintf(stderr, "%s: %s\n", path, why);
	exit(2);
}

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "re");
	size_t size = 0, room = 1 << 16;
	char *text = malloc(room + 1);
	if (!file || !text)
		give_up(path, strerror(errno));
	for (size_t got; (got = fread(text + size, 1, room - size, file)) > 0;) {
		size += got;
		if (size == room && !(text = realloc(text, (room *= 2) + 1)))
			give_up(path, "out of memory");
	}
	if (ferror(file))
		give_up(path, strerror(errno));
	fclose(file);
	text[size] = 0;
	return text;
}

json *results_read(const char *path)
{
	char *text = read_all(path), why[64];
	size_t where;
	json *results = json_parse(text, &where);
	snprintf(why, sizeof why, "is not JSON, at byte %zu", where);
	if (!results)
		give_up(path, why);
	if (!json_member(results, "programs"))
		give_up(path, "has no \"programs\": it is no file that make bench has written");
	free(text);
	return results;
}

static bool is_same(const json *a, const json *b, const char *name)
{
	return strcmp(json_text(a, name, ""), json_text(b, name, "")) == 0;
}

const json *results_find(const json *results, const char *bench, const json *row)
{
	json_each(program, json_member(results, "programs")) {
		if (strcmp(json_text(program, "bench", ""), bench) != 0)
			continue;
		json_each(other, json_member(program, "rows"))
			if (is_same(other, row, "table") && is_same(other, row, "case") && is_same(other, row, "unit"))
				return other;
	}
	return NULL;
}

bool results_is_rival(const char *name)
{
	static const char *const rivals[] = { "Boost", "swapcontext", "thread", "epoll", "libev", "libuv", "Go,", "Go:", "Go ",
		"goroutine", "asyncio", "nginx", "futex", "pipe", "sched_yield", "condition variable", "call through",
		"clock_nanosleep", "queue" };
	for (size_t i = 0; i < sizeof rivals / sizeof *rivals; i++)
		if (strstr(name, rivals[i]))
			return strncmp(name, "bide", 4) != 0 && !strstr(name, ": bide");
	return strcmp(name, "Go") == 0;
}

const json *results_rival(const json *program, const json *row)
{
	const char *vs = json_text(row, "vs", NULL);
	json_each(other, json_member(program, "rows"))
		if (vs && is_same(other, row, "table") && strcmp(json_text(other, "case", ""), vs) == 0)
			return other;
	return NULL;
}

int results_rounds(const json *row, const json *rival, double rounds[ROUNDS_MAX])
{
	const json *other = json_member(rival, "rounds") ? json_member(rival, "rounds")->first : NULL;
	int count = 0;
	json_each(round, json_member(row, "rounds")) {
		if (count == ROUNDS_MAX || (rival && !other))
			break;
		if (!rival || other->number != 0)
			rounds[count++] = rival ? round->number / other->number : round->number;
		other = other ? other->next : NULL;
	}
	return count;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

double results_median(const double *values, int count)
{
	double sorted[ROUNDS_MAX];
	if (count == 0)
		return 0;
	memcpy(sorted, values, (size_t)count * sizeof *values);
	qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
	return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

const char *results_number(double value, char text[NUMBER_SIZE])
{
	double size = value < 0 ? -value : value;
	snprintf(text, NUMBER_SIZE, "%.*f", size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3, value);
	return text;
}
