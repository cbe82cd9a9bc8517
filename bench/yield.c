/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: bide_yield(), from one task to the next.
 *
 * A yield here always means that the next one runs: between two tasks, among a thousand; with the
 * same body for all, and with 64 different bodies (common/bodies.h). Beside it, per hand-over too:
 * Boost.Context, a jump there and back, so two switches and no scheduler; Boost.Fiber; two threads on one CPU by
 * sched_yield() and by a condition variable. Creation is outside the clock. */
#include "common/bench.h"
#include "common/bodies.h"
#include "common/pingpong.h"
#include "common/ring.h"
#include "peers/fcontext.h"
#include "peers/fiber.h"

#define TWO "2 tasks, one body"
#define MANY "1000 tasks, one body"
#define BELOW "1000 tasks, 64 bodies, below a helper"

struct kind {
	unsigned tasks;
	bide_fn *const *bodies;
	unsigned bodies_count;
};

static bide_fn *const plain[] = { ring_plain_body };

static const struct kind two_plain = { 2, plain, 1 };
static const struct kind two_below = { 2, bodies_below, BODY_KINDS };
static const struct kind many_plain = { 1000, plain, 1 };
static const struct kind many_direct = { 1000, bodies_direct, BODY_KINDS };
static const struct kind many_below = { 1000, bodies_below, BODY_KINDS };
static const struct kind many_deep = { 1000, bodies_deep, BODY_KINDS };

static double yields(const bench_case *self, uint64_t count)
{
	const struct kind *kind = self->arg;
	return ring_measure(self, kind->tasks, kind->bodies, kind->bodies_count, count);
}

static double thread_hops(const bench_case *self, uint64_t count)
{
	return pingpong_measure(self, (pingpong_kind)self->number, false, count);
}

#ifdef HAVE_BOOST_CONTEXT
#define BOUNCE "Boost.Context, there and back"

static double bounces(const bench_case *self, uint64_t count)
{
	return fcontext_switches(self, count * 2);
}
#else
#define BOUNCE NULL
#endif

static bench_case cases[] = {
	{ .name = TWO, .run = yields, .arg = &two_plain, .vs = BOUNCE },
	{ .name = "2 tasks, different bodies, below a helper", .run = yields, .arg = &two_below },
	{ .name = MANY, .run = yields, .arg = &many_plain },
	{ .name = "1000 tasks, 64 bodies", .run = yields, .arg = &many_direct },
	{ .name = BELOW, .run = yields, .arg = &many_below, .vs = BOUNCE },
	{ .name = "1000 tasks, 64 bodies, 1 to 4 helpers deep", .run = yields, .arg = &many_deep },
#ifdef HAVE_BOOST_CONTEXT
	{ .name = BOUNCE, .run = bounces },
#endif
#ifdef HAVE_BOOST_FIBER
	{ .name = "Boost.Fiber, 2 fibers, one body", .run = fiber_yields, .number = 2, .vs = TWO },
	{ .name = "Boost.Fiber, 1000 fibers, one body", .run = fiber_yields, .number = 1000, .vs = MANY },
#endif
	{ .name = "2 threads, sched_yield", .run = thread_hops, .number = PINGPONG_SCHED_YIELD, .vs = TWO },
	{ .name = "2 threads, condvar", .run = thread_hops, .number = PINGPONG_CONDVAR, .vs = TWO },
};

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "yield", "bide_yield(), from one task to the next");
	bench_group("one yield, or one hand-over of two threads pinned to one CPU", cases,
		    sizeof cases / sizeof *cases);
	bench_bar(TWO, BENCH_MEDIAN_AT_MOST, 5);
	bench_bar(TWO, BENCH_RATIO_AT_MOST, 5.0 / 11);
	bench_bar(BELOW, BENCH_MEDIAN_AT_MOST, 20);
	bench_bar(BELOW, BENCH_RATIO_AT_MOST, 20.0 / 11);
	bench_bar("2 threads, sched_yield", BENCH_RATIO_AT_LEAST, 300);
	bench_bar("2 threads, condvar", BENCH_RATIO_AT_LEAST, 500);
	return bench_end();
}
