/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the two clocks, and pinning to a CPU. */
#include <sched.h>
#include <time.h>

#include "bench.h"

int64_t bench_now(bench_clock clock)
{
	struct timespec now;
	clock_gettime(clock == BENCH_CPU ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Failure is not fatal: a container may forbid it, and then the numbers are merely noisier. */
void bench_pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof set, &set);
}
