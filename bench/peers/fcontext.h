/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: Boost.Context's fcontext, where the build found it (HAVE_BOOST_CONTEXT). */
#ifndef BENCH_PEERS_FCONTEXT_H
#define BENCH_PEERS_FCONTEXT_H

#include "../common/bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As a bench_case.run: `count` switches, there and back, between the caller and a context that
 * does nothing but jump back. A value travels both ways and is checked, as in the coro cases. */
double fcontext_switches(const bench_case *self, uint64_t count);

#ifdef __cplusplus
}
#endif

#endif
