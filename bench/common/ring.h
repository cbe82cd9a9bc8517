/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: tasks in a ring, of which each does nothing but yield. */
#ifndef BENCH_RING_H
#define BENCH_RING_H

#include <bide/api.h>

#include "bench.h"

/* Bodies return when it is true. */
extern bool ring_stopped;

/* while (!ring_stopped) bide_yield(); */
void *ring_plain_body(void *arg);

/* The nanoseconds of `yields` yields among `tasks` tasks, main among them: the others run
 * bodies[0 .. kinds - 1], dealt out at random but always alike. Starting the loop and spawning are
 * outside the clock, and every task has run once before it starts. -1: something failed. */
double ring_measure(const bench_case *self, unsigned tasks, bide_fn *const *bodies, unsigned kinds,
		    uint64_t yields);

#endif
