/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: libuv, where the build found it (HAVE_UV). As bench_case.run; self->number is
 * how many jobs are under way at once. */
#ifndef BENCH_PEERS_UV_H
#define BENCH_PEERS_UV_H

#include "../common/bench.h"

/* uv_queue_work() of `count` jobs that do nothing. */
double uv_jobs(const bench_case *self, uint64_t count);
/* A thread wakes the loop with uv_async_send() `count` times, and waits for each to be seen. */
double uv_wakes(const bench_case *self, uint64_t count);
/* A thread puts `count` items into a queue under a mutex, and calls uv_async_send() for each. */
double uv_items(const bench_case *self, uint64_t count);

#endif
