/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: Boost.Fiber, with its scheduler as it comes: one thread, first come first served. */
#ifdef HAVE_BOOST_FIBER

#include <memory>
#include <vector>

#include <boost/fiber/all.hpp>

#include "fiber.h"

namespace fibers = boost::fibers;

namespace {

const std::size_t stack_size = 64 * 1024;

struct ring {
	uint64_t left;
	unsigned started;
};

void go_round(ring *shared, unsigned members)
{
	shared->started++;
	while (shared->started < members)
		boost::this_fiber::yield();
	while (shared->left > 0) {
		shared->left--;
		boost::this_fiber::yield();
	}
}

} // namespace

double fiber_yields(const bench_case *self, uint64_t count)
{
	unsigned members = static_cast<unsigned>(self->number);
	uint64_t least = 200ull * members; /* so that the last round, which nobody counts, is little of it */
	uint64_t yields = count < least ? least : count;
	ring shared = { yields, 0 };
	std::vector<fibers::fiber> all;
	for (unsigned i = 0; i < members; i++)
		all.emplace_back(std::allocator_arg, fibers::fixedsize_stack(stack_size), go_round, &shared, members);
	while (shared.started < members)
		boost::this_fiber::yield();
	int64_t start = bench_now(self->clock);
	all[0].join(); /* which returns when nothing is left to count down */
	double spent = static_cast<double>(bench_now(self->clock) - start);
	for (unsigned i = 1; i < members; i++)
		all[i].join();
	return shared.left == 0 ? spent * static_cast<double>(count) / static_cast<double>(yields) : -1;
}

double fiber_lives(const bench_case *self, uint64_t count)
{
	fibers::pooled_fixedsize_stack stacks(stack_size);
	uint64_t lived = 0;
	int64_t start = bench_now(self->clock);
	for (uint64_t i = 0; i < count; i++)
		fibers::fiber(std::allocator_arg, stacks, [&lived] { lived++; }).join();
	double spent = static_cast<double>(bench_now(self->clock) - start);
	return lived == count ? spent : -1;
}

double fiber_hops(const bench_case *self, uint64_t count)
{
	fibers::unbuffered_channel<uint64_t> there, back;
	uint64_t pairs = (count + 1) / 2, word = 0;
	bool same = true;
	fibers::fiber echo([&] {
		uint64_t got;
		while (there.pop(got) == fibers::channel_op_status::success)
			back.push(got);
	});
	int64_t start = bench_now(self->clock);
	for (uint64_t i = 1; i <= pairs; i++) {
		there.push(i);
		back.pop(word);
		same &= word == i;
	}
	double spent = static_cast<double>(bench_now(self->clock) - start);
	there.close();
	echo.join();
	return same ? spent : -1;
}

#endif
