/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: a Go program beside one of ours. Only for programs that compare with one of them. */
#ifndef BENCH_GO_H
#define BENCH_GO_H

#include <stdbool.h>

/* For a source that imports os and syscall: spent(), the CPU time of its process in nanoseconds. */
#define GO_SPENT                                                                                   \
	"func spent() int64 {\n"                                                                       \
	"	var usage syscall.Rusage\n"                                                                 \
	"	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil { os.Exit(1) }\n"                  \
	"	return usage.Utime.Nano() + usage.Stime.Nano()\n"                                           \
	"}\n"

/* Compiles it, to be removed when this process ends. False, with a note, where there is no go tool, or it cannot. */
bool go_build(const char *source);

/* Runs it with these arguments, of a shell. The number that it prints; -1 if it fails. */
double go_run(const char *arguments);

#endif
