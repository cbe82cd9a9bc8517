/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: 64 different bodies, made by a macro. Constants and padding differ, so
 * that the compiler folds none together and the return addresses do not lie on a grid. */
#include "bodies.h"

#include <bide/task.h>

#include "ring.h"

/* n is an octal number of two digits; the sums only keep the calls from being tail calls. */
#define BODY(n) \
	BENCH_NOINLINE static unsigned helper_##n(unsigned sum) \
	{ \
		BENCH_PAD(n * 7 % 19); \
		bide_yield(); \
		return sum * 3 + n; \
	} \
	BENCH_NOINLINE static unsigned second_##n(unsigned sum) \
	{ \
		BENCH_PAD(n * 5 % 17); \
		return helper_##n(sum) ^ n; \
	} \
	BENCH_NOINLINE static unsigned third_##n(unsigned sum) \
	{ \
		BENCH_PAD(n * 3 % 13); \
		return second_##n(sum + 1) + n; \
	} \
	BENCH_NOINLINE static unsigned fourth_##n(unsigned sum) \
	{ \
		BENCH_PAD(n * 11 % 23); \
		return third_##n(sum + 2) - n; \
	} \
	static void *direct_##n(void *arg) \
	{ \
		unsigned sum = n; \
		while (!ring_stopped) { \
			bide_yield(); \
			sum = sum * 3 + n; \
		} \
		return (char *)arg + sum; \
	} \
	static void *below_##n(void *arg) \
	{ \
		unsigned sum = n; \
		while (!ring_stopped) \
			sum = helper_##n(sum); \
		return (char *)arg + sum; \
	} \
	static void *deep_##n(void *arg) \
	{ \
		unsigned sum = n; \
		while (!ring_stopped) \
			sum = n % 4 == 0   ? helper_##n(sum) \
			      : n % 4 == 1 ? second_##n(sum) \
			      : n % 4 == 2 ? third_##n(sum) \
					   : fourth_##n(sum); \
		return (char *)arg + sum; \
	}

#define EIGHT(each, n) \
	each(n##0) each(n##1) each(n##2) each(n##3) each(n##4) each(n##5) each(n##6) each(n##7)
#define ALL(each) \
	EIGHT(each, 00) EIGHT(each, 01) EIGHT(each, 02) EIGHT(each, 03) \
	EIGHT(each, 04) EIGHT(each, 05) EIGHT(each, 06) EIGHT(each, 07)

ALL(BODY)

#define DIRECT(n) direct_##n,
#define BELOW(n) below_##n,
#define DEEP(n) deep_##n,

bide_fn *const bodies_direct[BODY_KINDS] = { ALL(DIRECT) };
bide_fn *const bodies_below[BODY_KINDS] = { ALL(BELOW) };
bide_fn *const bodies_deep[BODY_KINDS] = { ALL(DEEP) };
