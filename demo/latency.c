/* SPDX-License-Identifier: MIT
 * Demo: how long replies took. */
#include <stdlib.h>

#include "latency.h"

static uint32_t *latencies; /* ns; what is longer than 4 s counts as that */
static size_t count, space;
static bool sorted;

void latency_clear(void)
{
	count = 0;
}

static bool grow(void)
{
	size_t larger = space ? 2 * space : 65536;
	uint32_t *moved = realloc(latencies, larger * sizeof(*latencies));

	if (!moved)
		return false;
	latencies = moved;
	space = larger;
	return true;
}

bool latency_add(int64_t ns)
{
	if (count == space && !grow())
		return false;
	latencies[count++] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
	sorted = false;
	return true;
}

size_t latency_count(void)
{
	return count;
}

static int compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

double latency_percentile(double part)
{
	if (count == 0)
		return 0;
	if (!sorted)
		qsort(latencies, count, sizeof(*latencies), compare);
	sorted = true;
	return latencies[(size_t)(part * (double)(count - 1))] * 1e-9;
}
