/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: a small generator of random numbers (splitmix64), so that every run and
 * every side of a comparison meets the same ones. */
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include <stdint.h>

typedef struct bench_random {
	uint64_t state; /* the seed, at first */
} bench_random;

static inline uint64_t bench_random_next(bench_random *random)
{
	uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* 0 <= result < limit, limit below 2^32 */
static inline uint64_t bench_random_below(bench_random *random, uint64_t limit)
{
	return (bench_random_next(random) >> 32) * limit >> 32;
}

#endif
