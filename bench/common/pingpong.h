/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: two threads that hand a turn to each other by the means threads have. */
#ifndef BENCH_PINGPONG_H
#define BENCH_PINGPONG_H

#include "bench.h"

typedef enum pingpong_kind {
	PINGPONG_SCHED_YIELD, /* a shared word, and sched_yield() until it is one's turn */
	PINGPONG_SPIN,        /* a shared word, and nothing else: two CPUs only */
	PINGPONG_FUTEX,       /* a shared word, FUTEX_WAIT and FUTEX_WAKE: the least for a sleeping thread */
	PINGPONG_CONDVAR,     /* a mutex and a condition variable */
	PINGPONG_PIPE         /* a byte through a pipe */
} pingpong_kind;

/* The nanoseconds of `hops` hand-overs. Both threads are pinned: to one CPU, or to one each. Making
 * the second thread is outside the clock. -1: something failed. */
double pingpong_measure(const bench_case *self, pingpong_kind kind, bool two_cpus, uint64_t hops);

#endif
