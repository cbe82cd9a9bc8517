/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: on what, and how built, the numbers were taken. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "internal.h"

#ifndef BENCH_CFLAGS
#define BENCH_CFLAGS "unknown"
#endif

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* The first line of a small file, or `otherwise`. */
static const char *line_of(const char *path, char *line, int size, const char *otherwise)
{
	FILE *file = fopen(path, "re");
	char *got = file ? fgets(line, size, file) : NULL;
	if (file)
		fclose(file);
	if (!got)
		return otherwise;
	line[strcspn(line, "\n")] = 0;
	return line;
}

static const char *cpu_model(char *line, int size, const char *otherwise)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	if (!file)
		return otherwise;
	const char *model = otherwise;
	while (model == otherwise && fgets(line, size, file)) {
		char *colon = strchr(line, ':');
		if (colon && strncmp(line, "model name", 10) == 0)
			model = colon + 2;
	}
	fclose(file);
	line[strcspn(line, "\n")] = 0;
	return model;
}

void bench_print_machine(void)
{
	char model[128], source[64], governor[64], load[64];
	struct utsname system;
	uname(&system);
	line_of("/proc/loadavg", load, sizeof load, "unknown");
	load[strcspn(load, " ")] = 0;

	printf("  machine  %s, %s, %d CPUs\n", cpu_model(model, sizeof model, "unknown"), system.machine,
	       bench_options.cpus);
	printf("  kernel   %s %s\n", system.sysname, system.release);
	printf("  build    %s; flags %s\n", COMPILER, BENCH_CFLAGS);
	if (SANITIZED)
		printf("           WITH A SANITIZER: the numbers say nothing about the library\n");
	printf("  clock    %s; governor %s; load %s\n",
	       line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
		       sizeof source, "unknown"),
	       line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor,
		       sizeof governor, "not told"),
	       load);
	printf("  run      %d rounds in turn; pinned to CPU %d%s\n", bench_options.rounds,
	       bench_options.cpu[0], sched_getcpu() == bench_options.cpu[0] ? "" : " (IN VAIN)");
}
