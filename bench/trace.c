/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: what a trace costs: a yield in a loop that is traced, beside one that is not.
 *
 * A traced yield notes three events (run, ready, where it left), and goes by the loop's context, which is a second
 * switch. What is beside it is the same yield without a trace. Writing the file is outside the clock. */
#include <bide/trace.h>

#include "common/bench.h"
#include "common/bodies.h"
#include "common/ring.h"

#define EVENTS 3
#define PLAIN "a yield, not traced"
#define TRACED "a yield, traced: 3 events and a switch more"

static bide_fn *const plain[] = { ring_plain_body };

static double plain_yields(const bench_case *self, uint64_t count)
{
	return ring_measure(self, (unsigned)self->number, plain, 1, count);
}

static double traced_yields(const bench_case *self, uint64_t count)
{
	if (bide_trace_start("/dev/null") < 0)
		return -1;
	double spent = plain_yields(self, count);
	return bide_trace_stop() == 0 ? spent : -1;
}

static double events(const bench_case *self, uint64_t count)
{
	return traced_yields(self, count / EVENTS);
}

static bench_case cases[] = {
	{ .name = PLAIN, .run = plain_yields, .number = 2 },
	{ .name = TRACED, .run = traced_yields, .number = 2, .vs = PLAIN },
	{ .name = "an event, its third", .run = events, .number = 2 },
	{ .name = "an event, its third, 1000 tasks", .run = events, .number = 1000 },
};

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "trace", "what a trace costs while it is taken");
	bench_group("one yield, and one event", cases, sizeof cases / sizeof *cases);
	bench_bar("an event, its third", BENCH_MEDIAN_AT_MOST, 50);
	bench_bar("an event, its third, 1000 tasks", BENCH_MEDIAN_AT_MOST, 50);
	return bench_end();
}
