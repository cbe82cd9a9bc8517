/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: a program's start and end, its options and its messages. */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct bench_options bench_options;
const char *bench_name, *bench_about;

static struct own_option {
	const char *name;
	long *value;
	const char *about;
} own_options[4];
static int own_option_count;

#define QUICK_NS 4.2e9
static int64_t begun;

static _Noreturn void print_help(const char *about)
{
	printf("%s: %s\n\n"
	       "usage: %s [--quick] [--json] [--case SUBSTRING]...\n"
	       "  --quick           at most 5 seconds: fewer rounds, shorter samples\n"
	       "  --json            one JSON object a line: bench, case, unit, median, min, p99, and\n"
	       "                    vs, ratio, ratio_min, ratio_max where a case is compared\n"
	       "  --record DIR      keep everything, samples and all, in DIR/%s.json\n"
	       "  --case SUBSTRING  only cases whose name contains it, and those compared with\n",
	       bench_name, about, bench_name, bench_name);
	for (int i = 0; i < own_option_count; i++)
		printf("  --%s NUMBER%*s%s\n", own_options[i].name, (int)(9 - strlen(own_options[i].name)), "",
		       own_options[i].about);
	printf("\nExits 0 whatever the numbers, 1 if something did not work, 2 if it cannot measure.\n");
	exit(0);
}

void bench_option(const char *name, long *value, const char *about)
{
	if (own_option_count == (int)(sizeof own_options / sizeof *own_options))
		bench_fail("too many options");
	own_options[own_option_count++] = (struct own_option){ name, value, about };
}

static bool read_own_option(const char *argument, const char *number)
{
	char *end;
	for (int i = 0; i < own_option_count; i++) {
		if (strncmp(argument, "--", 2) != 0 || strcmp(argument + 2, own_options[i].name) != 0 || !number)
			continue;
		*own_options[i].value = strtol(number, &end, 10);
		return *number && !*end && *own_options[i].value > 0;
	}
	return false;
}

static void read_arguments(int argc, char **argv, const char *about)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0) {
			bench_options.quick = true;
		} else if (strcmp(argv[i], "--json") == 0) {
			bench_options.json = true;
		} else if (strcmp(argv[i], "--help") == 0) {
			print_help(about);
		} else if (strcmp(argv[i], "--record") == 0 && i + 1 < argc) {
			bench_options.record = argv[++i];
		} else if (strcmp(argv[i], "--case") == 0 && i + 1 < argc) {
			bench_options.filter = argv[++i];
		} else if (read_own_option(argv[i], argv[i + 1])) {
			i++;
		} else {
			fprintf(stderr, "%s: what is '%s'? See --help.\n", bench_name, argv[i]);
			exit(2);
		}
	}
}

static void refuse_unoptimised(void)
{
#ifndef __OPTIMIZE__
	fprintf(stderr, "%s: compiled without optimisation: its numbers would mean nothing. "
			"Build with -O2.\n", bench_name);
	exit(2);
#endif
}

static void find_cpus(void)
{
	cpu_set_t allowed;
	CPU_ZERO(&allowed);
	if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
		CPU_SET(0, &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		if (bench_options.cpus < 2)
			bench_options.cpu[bench_options.cpus] = cpu;
		bench_options.cpus++;
	}
	if (bench_options.cpus == 1)
		bench_options.cpu[1] = bench_options.cpu[0];
}

void bench_begin(int argc, char **argv, const char *name, const char *about)
{
	bench_name = name;
	bench_about = about;
	begun = bench_now(BENCH_WALL);
	read_arguments(argc, argv, about);
	refuse_unoptimised();
	bench_options.rounds = bench_options.quick ? 5 : 7;
	bench_options.samples = bench_options.quick ? 10 : 20;
	bench_options.sample_ns = bench_options.quick ? 1000 * 1000 : 3 * 1000 * 1000;
	find_cpus();
	bench_pin(bench_options.cpu[0]);
	if (bench_options.json)
		return;
	printf("%s: %s\n", name, about);
	bench_print_machine();
}

int bench_end(void)
{
	if (!bench_options.json)
		bench_print_bars();
	if (bench_options.record)
		bench_record(bench_options.record);
	return fflush(stdout) == 0 ? 0 : 1;
}

bool bench_wants(const char *case_name)
{
	return !bench_options.filter || strstr(case_name, bench_options.filter);
}

bool bench_more_rounds(int round, double share)
{
	if (round >= bench_options.rounds)
		return false;
	double elapsed = (double)(bench_now(BENCH_WALL) - begun);
	if (!bench_options.quick || round < 2 || elapsed < share * QUICK_NS)
		return true;
	bench_note("  the machine is busy: %d rounds only", round);
	return false;
}

void bench_note(const char *format, ...)
{
	FILE *out = bench_options.json ? stderr : stdout;
	va_list args;
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	fputc('\n', out);
}

void bench_fail(const char *format, ...)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", bench_name);
	va_list args;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}
