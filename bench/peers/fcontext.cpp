/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the bare switch of Boost.Context, without its C++ classes: the fastest
 * form that library has. */
#ifdef HAVE_BOOST_CONTEXT

#include <boost/context/detail/fcontext.hpp>

#include "../common/layouts.h"
#include "fcontext.h"

using namespace boost::context::detail;

namespace {

alignas(64) char stack[64 * 1024];

typedef bool layout(uint64_t pairs);

#define LAYOUT(n, pad) \
	BENCH_NOINLINE void echo_##n(transfer_t from) \
	{ \
		BENCH_PAD(pad); \
		for (;;) \
			from = jump_fcontext(from.fctx, from.data); \
	} \
	BENCH_NOINLINE bool bounce_##n(uint64_t pairs) \
	{ \
		transfer_t other = { make_fcontext(stack + sizeof stack, sizeof stack, echo_##n), nullptr }; \
		bool same = true; \
		BENCH_PAD(pad); \
		for (uint64_t i = 1; i <= pairs; i++) { \
			other = jump_fcontext(other.fctx, reinterpret_cast<void *>(i)); \
			same &= other.data == reinterpret_cast<void *>(i); \
		} \
		return same; \
	}
BENCH_LAYOUTS(LAYOUT)

#define NAME(n, pad) bounce_##n,
layout *const layouts[] = { BENCH_LAYOUTS(NAME) };

} // namespace

double fcontext_switches(const bench_case *self, uint64_t count)
{
	layout *bounce = layouts[self->turn % BENCH_LAYOUT_COUNT];
	uint64_t pairs = (count + 1) / 2;
	int64_t start = bench_now(self->clock);
	bool same = bounce(pairs);
	double spent = static_cast<double>(bench_now(self->clock) - start);
	return same ? spent : -1;
}

#endif
