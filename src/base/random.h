/* SPDX-License-Identifier: MIT
 * Layer base: a small seeded generator (SplitMix64), for orders that must be repeatable. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* 0 .. bound - 1; the bias is below bound / 2^64. */
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
	return (uint64_t)((unsigned __int128)random_next(random) * bound >> 64);
}

#endif
