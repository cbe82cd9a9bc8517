/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: do two groups of figures differ, or is it chance? */
#ifndef REPORT_RANKSUM_H
#define REPORT_RANKSUM_H

/* The probability that figures of one and the same source are, by chance, apart at least as far as these
 * two groups: the exact two-sided rank-sum test (Mann and Whitney 1947), which assumes nothing of how the
 * figures are spread. 1 if a group is empty. */
double ranksum(const double *a, int a_count, const double *b, int b_count);

#endif
