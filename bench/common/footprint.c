/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: what a process holds of the machine. */
#include "footprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The figure behind `name` in a file of "name: figure kB" lines, in bytes; -1 if it is not there. */
static double field(const char *path, const char *name)
{
	char line[256];
	double value = -1;
	FILE *file = fopen(path, "re");
	while (file && value < 0 && fgets(line, sizeof line, file))
		if (strncmp(line, name, strlen(name)) == 0)
			value = atof(line + strlen(name)) * 1024;
	if (file)
		fclose(file);
	return value;
}

static double lines_of(const char *path)
{
	static char block[65536]; /* not on the small stack of a task */
	double lines = 0;
	size_t length;
	FILE *file = fopen(path, "re");
	while (file && (length = fread(block, 1, sizeof block, file)) > 0)
		for (size_t i = 0; i < length; i++)
			lines += block[i] == '\n';
	if (file)
		fclose(file);
	return lines;
}

bench_footprint bench_footprint_now(void)
{
	bench_footprint now;
	now.resident = field("/proc/self/smaps_rollup", "Rss:");
	if (now.resident < 0)
		now.resident = field("/proc/self/status", "VmRSS:");
	now.page_tables = field("/proc/self/status", "VmPTE:");
	now.mappings = lines_of("/proc/self/maps");
	now.kernel = field("/proc/meminfo", "KernelStack:") + field("/proc/meminfo", "Slab:");
	return now;
}

bench_footprint bench_footprint_each(const bench_footprint *before, const bench_footprint *after, double count)
{
	return (bench_footprint){
		.resident = (after->resident - before->resident) / count,
		.page_tables = (after->page_tables - before->page_tables) / count,
		.mappings = (after->mappings - before->mappings) / count,
		.kernel = (after->kernel - before->kernel) / count,
	};
}
