/* SPDX-License-Identifier: MIT
 * Demo: what a process uses, read from outside, so that no server is disturbed. */
#ifndef DEMO_MEASURE_H
#define DEMO_MEASURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct memory {
	double address_space, resident, page_tables; /* bytes; VmSize, VmRSS, VmPTE of proc(5) */
	unsigned threads;
};
bool measure_memory(pid_t pid, struct memory *memory);
bool measure_cpu(pid_t pid, double *seconds);       /* user and system */
bool measure_switches(pid_t pid, double *switches); /* voluntary or not, of the living threads */
bool measure_machine(double *seconds);              /* CPU time of all processes */
double measure_kernel_stacks(void);                 /* bytes, of the whole machine; 0: not told */

/* The number after `label` at a line's head of the file; with no label the first one. */
bool number_in_file(const char *path, const char *label, double *number);

static inline int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
