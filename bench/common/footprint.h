/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: what a process holds of the machine, as the kernel counts it. */
#ifndef BENCH_FOOTPRINT_H
#define BENCH_FOOTPRINT_H

typedef struct bench_footprint {
	double resident;    /* bytes: pages of its own, exactly (smaps_rollup) */
	double page_tables; /* bytes (VmPTE) */
	double mappings;    /* lines of /proc/self/maps */
	double kernel;      /* bytes of kernel stacks and slabs, of the whole machine: what else runs is in it */
} bench_footprint;

bench_footprint bench_footprint_now(void);

/* What `after` has more than `before`, for each of `count`. */
bench_footprint bench_footprint_each(const bench_footprint *before, const bench_footprint *after, double count);

#endif
