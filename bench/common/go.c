/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: a Go program beside one of ours. */
#include "go.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "scripts.h"

static char directory[] = "/tmp/bide-bench-XXXXXX";

static void remove_program(void)
{
	char command[100];
	snprintf(command, sizeof command, "rm -rf '%s'", directory);
	if (system(command) != 0)
		bench_note("  could not remove %s", directory);
}

static bool compile(const char *source)
{
	char command[200];
	if (!mkdtemp(directory))
		return false;
	atexit(remove_program);
	script_write(directory, "peer.go", source);
	snprintf(command, sizeof command, "cd '%s' && GO111MODULE=off go build -o peer peer.go", directory);
	return script_works(command);
}

bool go_build(const char *source)
{
	const char *why = script_missing_go();
	if (!why && !compile(source))
		why = "go does not compile it";
	if (why)
		bench_note("  %s: nothing to compare with Go", why);
	return !why;
}

double go_run(const char *arguments)
{
	char command[200];
	double told = -1;
	snprintf(command, sizeof command, "'%s/peer' %s", directory, arguments);
	FILE *child = popen(command, "re");
	if (!child)
		return -1;
	bool has_told = fscanf(child, "%lf", &told) == 1;
	return pclose(child) == 0 && has_told ? told : -1;
}
