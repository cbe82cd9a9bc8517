/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: Boost.Fiber, where the build found it (HAVE_BOOST_FIBER). Each is a bench_case.run. */
#ifndef BENCH_PEERS_FIBER_H
#define BENCH_PEERS_FIBER_H

#include "../common/bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `count` yields among self->number fibers, all with one body; making them is outside the clock. */
double fiber_yields(const bench_case *self, uint64_t count);

/* `count` times: make a fiber that returns at once, and join it; on pooled stacks, as it is fastest. */
double fiber_lives(const bench_case *self, uint64_t count);

/* `count` hops of a word between two fibers, there and back, through unbuffered channels. */
double fiber_hops(const bench_case *self, uint64_t count);

#ifdef __cplusplus
}
#endif

#endif
