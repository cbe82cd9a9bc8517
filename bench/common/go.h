/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: a Go program beside one of ours. Only for programs that compare with one of them. */
#ifndef BENCH_GO_H
#define BENCH_GO_H

#include <stdbool.h>

/* Compiles it, to be removed when this process ends. False where there is no go tool, which is noted, or it cannot. */
bool go_build(const char *source);

/* Runs it with these arguments, of a shell. The number that it prints; -1 if it fails. */
double go_run(const char *arguments);

#endif
