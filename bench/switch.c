/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: one context switch, resume or yield, of the bare coroutine.
 *
 * Every case switches there and back and counts both. Both sides carry a pointer each way and check
 * it, so the work is equal; only swapcontext has no value to carry and passes it in a variable. The
 * call through a pointer is there to give the scale: it switches nothing. Creation is outside the
 * clock. */
#include <stdlib.h>
#include <ucontext.h>

#include <bide/coro.h>

#include "common/bench.h"
#include "common/layouts.h"
#include "peers/fcontext.h"

typedef bool bounce_fn(bide_coro *coro, uint64_t pairs);

#define LAYOUT(n, pad) \
	BENCH_NOINLINE static void *echo_##n(void *value) \
	{ \
		BENCH_PAD(pad); \
		while ((value = bide_coro_yield(value))) { \
		} \
		return NULL; \
	} \
	BENCH_NOINLINE static bool bounce_##n(bide_coro *coro, uint64_t pairs) \
	{ \
		bool same = true; \
		void *out; \
		BENCH_PAD(pad); \
		for (uint64_t i = 1; i <= pairs; i++) { \
			bide_coro_resume(coro, (void *)(uintptr_t)i, &out); \
			same &= out == (void *)(uintptr_t)i; \
		} \
		return same; \
	}
BENCH_LAYOUTS(LAYOUT)

#define ECHO(n, pad) echo_##n,
#define BOUNCE(n, pad) bounce_##n,
static bide_fn *const echoes[] = { BENCH_LAYOUTS(ECHO) };
static bounce_fn *const bounces[] = { BENCH_LAYOUTS(BOUNCE) };

static double coro_switches(const bench_case *self, uint64_t count)
{
	unsigned layout = self->turn % BENCH_LAYOUT_COUNT;
	bide_coro *coro = bide_coro_new(echoes[layout], (void *)1, 0);
	if (!coro || bide_coro_resume(coro, NULL, NULL) != 1)
		return -1;

	int64_t start = bench_now(self->clock);
	bool same = bounces[layout](coro, (count + 1) / 2);
	double spent = (double)(bench_now(self->clock) - start);

	return bide_coro_close(coro) == 0 && same ? spent : -1;
}

static ucontext_t outside, inside;
static uint64_t ucontext_value;

static void ucontext_echo(void)
{
	for (;;)
		swapcontext(&inside, &outside);
}

static double ucontext_switches(const bench_case *self, uint64_t count)
{
	static char stack[64 * 1024];
	if (getcontext(&inside) != 0)
		return -1;
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof stack;
	makecontext(&inside, ucontext_echo, 0);

	bool same = true;
	int64_t start = bench_now(self->clock);
	for (uint64_t i = 0; i < count; i += 2) {
		ucontext_value = i;
		swapcontext(&outside, &inside);
		same &= ucontext_value == i;
	}
	double spent = (double)(bench_now(self->clock) - start);
	return same ? spent : -1;
}

BENCH_NOINLINE static void *same_value(void *value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

static double pointer_calls(const bench_case *self, uint64_t count)
{
	void *(*volatile pointer)(void *) = same_value;
	bool same = true;
	int64_t start = bench_now(self->clock);
	for (uint64_t i = 0; i < count; i++)
		same &= pointer((void *)(uintptr_t)i) == (void *)(uintptr_t)i;
	double spent = (double)(bench_now(self->clock) - start);
	return same ? spent : -1;
}

#ifdef HAVE_BOOST_CONTEXT
#define FCONTEXT "Boost.Context fcontext"
#else
#define FCONTEXT NULL
#endif

static bench_case cases[] = {
	{ .name = "coro resume or yield", .run = coro_switches, .vs = FCONTEXT },
#ifdef HAVE_BOOST_CONTEXT
	{ .name = FCONTEXT, .run = fcontext_switches },
#endif
	{ .name = "swapcontext", .run = ucontext_switches, .vs = "coro resume or yield" },
	{ .name = "call through a pointer (no switch)", .run = pointer_calls },
};

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "switch", "one context switch of the bare coroutine");
#ifndef HAVE_BOOST_CONTEXT
	bench_note("  Boost.Context was not found when this was built: no comparison with it");
#endif
	bench_group("a switch there or back, each counted", cases, sizeof cases / sizeof *cases);
	bench_bar("coro resume or yield", BENCH_RATIO_AT_MOST, 0.5);
	return bench_end();
}
