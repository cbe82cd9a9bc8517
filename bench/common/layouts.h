/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the same loop at several places. Below 10 ns a result depends on where
 * a loop lies and which branch-predictor entries it shares, so such a loop is compiled eight times,
 * and each sample runs the next copy: the median is then one over placements. */
#ifndef BENCH_LAYOUTS_H
#define BENCH_LAYOUTS_H

/* each(n, pad): copy number n, moved by `pad` instructions. */
#define BENCH_LAYOUTS(each) \
	each(0, 0) each(1, 5) each(2, 16) each(3, 21) each(4, 32) each(5, 37) each(6, 48) each(7, 59)

#define BENCH_LAYOUT_COUNT 8

#endif
