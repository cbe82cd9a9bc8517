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
static void line_of(const char *path, char *line, int size, const char *otherwise)
{
	FILE *file = fopen(path, "re");
	if (!file || !fgets(line, size, file))
		snprintf(line, (size_t)size, "%s", otherwise);
	if (file)
		fclose(file);
	line[strcspn(line, "\n")] = 0;
}

static void cpu_model(char *model, size_t size)
{
	char line[160];
	FILE *file = fopen("/proc/cpuinfo", "re");
	snprintf(model, size, "unknown");
	while (file && fgets(line, sizeof line, file)) {
		char *colon = strchr(line, ':');
		if (!colon || strncmp(line, "model name", 10) != 0)
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(model, size, "%s", colon + 2);
		break;
	}
	if (file)
		fclose(file);
}

static struct machine {
	char model[128], clock[64], governor[64], load[64];
	struct utsname system;
} machine;

/* As it is now: the load changes. */
static void look_at_machine(void)
{
	uname(&machine.system);
	cpu_model(machine.model, sizeof machine.model);
	line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource", machine.clock,
		sizeof machine.clock, "unknown");
	line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", machine.governor, sizeof machine.governor,
		"not told");
	line_of("/proc/loadavg", machine.load, sizeof machine.load, "unknown");
	machine.load[strcspn(machine.load, " ")] = 0;
}

void bench_print_machine(void)
{
	look_at_machine();
	printf("  machine  %s, %s, %d CPUs\n", machine.model, machine.system.machine, bench_options.cpus);
	printf("  kernel   %s %s\n", machine.system.sysname, machine.system.release);
	printf("  build    %s; flags %s\n", COMPILER, BENCH_CFLAGS);
	if (SANITIZED)
		printf("           WITH A SANITIZER: the numbers say nothing about the library\n");
	printf("  clock    %s; governor %s; load %s\n", machine.clock, machine.governor, machine.load);
	printf("  run      %d rounds in turn; pinned to CPU %d%s\n", bench_options.rounds,
	       bench_options.cpu[0], sched_getcpu() == bench_options.cpu[0] ? "" : " (IN VAIN)");
}

void bench_record_machine(FILE *out)
{
	look_at_machine();
	fprintf(out, "\"machine\":{\"model\":\"%s\",\"processor\":\"%s\",\"cpus\":%d,\"kernel\":\"%s %s\",\"compiler\":\"%s\","
		"\"flags\":\"%s%s\",\"clock\":\"%s\",\"governor\":\"%s\",\"load_after\":\"%s\"}", machine.model,
		machine.system.machine, bench_options.cpus, machine.system.sysname, machine.system.release, COMPILER,
		BENCH_CFLAGS, SANITIZED ? " WITH A SANITIZER" : "", machine.clock, machine.governor, machine.load);
}
