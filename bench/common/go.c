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

bool go_build(const char *source)
{
	char command[200];
	if (script_missing_go()) {
		bench_note("  no go tool here: nothing to compare with Go");
		return false;
	}
	if (!mkdtemp(directory))
		return false;
	atexit(remove_program);
	script_write(directory, "peer.go", source);
	snprintf(command, sizeof command, "cd '%s' && GO111MODULE=off go build -o peer peer.go", directory);
	return script_works(command);
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
