/* SPDX-License-Identifier: MIT
 * arch/: the switch in each of its forms, and from each to each, without the library on top.
 * Scenarios A1, A3, A4, A8. The unwind entries inside a switch are in test_switch_unwind.c.
 * valgrind: skip (it is not told of these stacks) */
#include "context.h"

#include <fenv.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "backtrace.h"
#include "death.h"
#include "registers.h"
#include "suite.h"

#define STACK_SIZE 65536

/* ---- the forms of the switch ------------------------------------------------------------------- */

typedef void form_fn(struct context *from, const struct context *to);

static __attribute__((noinline)) void by_inline(struct context *from, const struct context *to)
{
	context_switch_inline(from, to);
}

/* What a function that switches often ends in: something is done after the switch too. */
static CONTEXT_RETURNS_BY_JUMP __attribute__((noinline)) void by_jump(struct context *from,
    const struct context *to)
{
	static volatile int switches;
	context_switch_inline(from, to);
	switches++;
}

/* For the way back alone: `from` is not resumed. */
static __attribute__((noinline)) void by_leaving(struct context *from, const struct context *to)
{
	(void)from;
	context_leave_inline(to);
}

static struct {
	const char *name;
	form_fn *run;
} const forms[] = { { "function", context_switch }, { "inline", by_inline }, { "by jump", by_jump } };

#define FORMS 3
#define PAIRS (FORMS * FORMS) /* a loop test over them: out by form _i / FORMS, back by _i % FORMS */

/* ---- a pair of contexts: the test's own, and one on a stack of its own ------------------------- */

static struct pair {
	struct context here, there;
	form_fn *out, *back;
	char *stack;
	const void *arg;
	volatile int result;
} pair;

static void pair_begin(int forms_index, void (*fn)(void *), const void *arg)
{
	if (!pair.stack)
		pair.stack = malloc(STACK_SIZE);
	pair.out = forms[forms_index / FORMS].run;
	pair.back = forms[forms_index % FORMS].run;
	pair.arg = arg;
	pair.result = 0;
	context_init(&pair.there, pair.stack + STACK_SIZE, fn, &pair);
}

static void go_there(void)
{
	pair.out(&pair.here, &pair.there);
}

static void go_back(void)
{
	pair.back(&pair.there, &pair.here);
}

/* ---- registers --------------------------------------------------------------------------------- */

static void fill(uint64_t *values, uint64_t seed)
{
	for (int i = 0; i < registers_count; i++)
		values[i] = seed + (uint64_t)i * 0x0101010101010101u;
}

static void check_same(const uint64_t *in, const uint64_t *out, const char *side)
{
	for (int i = 0; i < registers_count; i++)
		must_msg(in[i] == out[i], "%s: %s is %#jx, and was %#jx", side, registers_names[i],
		    (uintmax_t)out[i], (uintmax_t)in[i]);
}

static void hold_other_constants(void *arg)
{
	uint64_t in[REGISTERS_MAX], out[REGISTERS_MAX];
	(void)arg;
	fill(in, 0x2222222222222222u);
	for (;;) {
		registers_call((void (*)(void *, void *))pair.back, &pair.there, &pair.here, in, out);
		check_same(in, out, "the other side");
	}
}

START_TEST(every_preserved_register_survives) /* A1 */
{
	uint64_t in[REGISTERS_MAX], out[REGISTERS_MAX];
	pair_begin(_i, hold_other_constants, NULL);
	fill(in, 0x1111111111111111u);
	int rounds = suite_scaled_down(1000000, 1000);
	for (int round = 0; round < rounds; round++) {
		registers_call((void (*)(void *, void *))pair.out, &pair.here, &pair.there, in, out);
		check_same(in, out, "this side");
	}
}
END_TEST

/* More values than there are registers live across the block, so that the compiler puts one into
 * every register that the block does not name as overwritten. */
#define LIVE 40

#define FOR_LIVE(X)                                                                                \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)    \
	X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)      \
	X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39)

#define LOAD(n) __typeof__(*in) v##n = in[n];
#define STORE(n) out[n] = v##n;

typedef float vector __attribute__((vector_size(16)));

#define KEEP(name, type)                                                                           \
	static __attribute__((noinline)) void name(const type *in, type *out)                          \
	{                                                                                              \
		FOR_LIVE(LOAD)                                                                             \
		context_switch_inline(&pair.here, &pair.there);                                            \
		FOR_LIVE(STORE)                                                                            \
	}
KEEP(keep_integers, uint64_t)
KEEP(keep_doubles, double)
KEEP(keep_vectors, vector)

static void trash_all(void *arg)
{
	(void)arg;
	for (;;) {
		registers_trash();
		context_switch_inline(&pair.there, &pair.here);
	}
}

START_TEST(what_is_live_across_the_inline_form_survives)
{
	uint64_t integers[LIVE], integers_after[LIVE];
	double doubles[LIVE], doubles_after[LIVE];
	vector vectors[LIVE], vectors_after[LIVE];
	pair_begin(0, trash_all, NULL);
	for (int i = 0; i < LIVE; i++) {
		integers[i] = 0x0123456789abcdefu + (uint64_t)i;
		doubles[i] = 1.5 + i;
		vectors[i] = (vector){ (float)i, 1, 2, 3 };
	}
	for (int round = 0; round < 3; round++) {
		keep_integers(integers, integers_after);
		keep_doubles(doubles, doubles_after);
		keep_vectors(vectors, vectors_after);
		must(memcmp(integers, integers_after, sizeof integers) == 0);
		must(memcmp(doubles, doubles_after, sizeof doubles) == 0);
		must(memcmp(vectors, vectors_after, sizeof vectors) == 0);
	}
}
END_TEST

/* ---- floating-point control -------------------------------------------------------------------- */

static void compute_otherwise(void *arg)
{
	const struct float_mode *mode = pair.arg;
	(void)arg;
	must_msg(float_control() == float_modes[0].control, "a new context begins with %#jx",
	    (uintmax_t)float_control());
	for (;;) {
		float_set_control(mode->control);
		go_back();
		must_msg(float_control() == mode->control, "there: %#jx instead of %s",
		    (uintmax_t)float_control(), mode->name);
	}
}

START_TEST(each_context_has_its_own_floating_point_control) /* A3 */
{
	for (int here = 0; here < float_mode_count; here++)
		for (int there = 0; there < float_mode_count; there++) {
			uint64_t mine = float_modes[here].control;
			pair_begin(_i, compute_otherwise, &float_modes[there]);
			float_set_control(mine);
			bool is_kept = true;
			for (int round = 0; round < 3; round++) {
				go_there();
				is_kept &= float_control() == mine;
			}
			float_set_control(float_modes[0].control);
			must_msg(is_kept, "%s was lost to %s", float_modes[here].name, float_modes[there].name);
		}
}
END_TEST

START_TEST(a_context_that_leaves_takes_its_floating_point_control_with_it) /* A3 */
{
	for (int here = 0; here < float_mode_count; here++)
		for (int there = 0; there < float_mode_count; there++) {
			uint64_t mine = float_modes[here].control;
			pair_begin(_i * FORMS, compute_otherwise, &float_modes[there]);
			pair.back = by_leaving;
			float_set_control(mine);
			go_there();
			bool is_kept = float_control() == mine;
			float_set_control(float_modes[0].control);
			must_msg(is_kept, "%s was lost to %s", float_modes[here].name, float_modes[there].name);
		}
}
END_TEST

/* A call, so that the compiler does not move the division over a change of mode. */
static __attribute__((noinline)) double a_third(void)
{
	static volatile double one = 1, three = 3;
	double quotient = one / three;
	__asm__ volatile("" : : "m"(quotient) : "memory");
	return quotient;
}

static void round_down(void *arg)
{
	(void)arg;
	for (;;) {
		must(fegetround() == FE_TONEAREST || pair.result > 0);
		fesetround(FE_DOWNWARD);
		pair.result = 1;
		double third = a_third();
		go_back();
		must(fegetround() == FE_DOWNWARD);
		must(a_third() == third);
	}
}

START_TEST(arithmetic_is_rounded_as_each_context_asked)
{
	double nearest = a_third();
	pair_begin(_i, round_down, NULL);
	fesetround(FE_UPWARD);
	double upward = a_third();
	go_there();
	bool is_up = fegetround() == FE_UPWARD && a_third() == upward;
	go_there();
	is_up &= fegetround() == FE_UPWARD && a_third() == upward;
	fesetround(FE_TONEAREST);
	must(is_up);
	must(upward > nearest);
}
END_TEST

static void divide_by_zero(void *arg)
{
	volatile long double zero = 0, quotient = 1 / zero;
	(void)arg;
	(void)quotient;
	go_back();
}

static void trap_after_a_division_elsewhere(void *arg)
{
	volatile long double addend = 1, sum;
	const int way = *(int *)arg;
	pair_begin(way % PAIRS, divide_by_zero, NULL);
	if (way >= PAIRS)
		pair.back = by_leaving;
	if (feenableexcept(FE_DIVBYZERO) == -1)
		_exit(0); /* a processor without traps */
	go_there();
	sum = addend + 1;
	_exit(sum == 2 ? 0 : 1);
}

START_TEST(an_exception_of_one_context_does_not_trap_in_another)
{
	struct death death = death_of(trap_after_a_division_elsewhere, &(int){ _i });
	ck_assert_int_eq(death.signal, 0);
	ck_assert_int_eq(death.exit_status, 0);
}
END_TEST

static void set_and_return(void *arg)
{
	(void)arg;
	for (;;) {
		float_set_control(float_modes[1].control);
		context_switch_bare(&pair.there, &pair.here);
	}
}

START_TEST(the_bare_form_leaves_floating_point_control_alone)
{
	pair_begin(0, set_and_return, NULL);
	context_switch_bare(&pair.here, &pair.there);
	uint64_t control = float_control();
	float_set_control(float_modes[0].control);
	must(control == float_modes[1].control);
}
END_TEST

/* ---- alignment --------------------------------------------------------------------------------- */

static bool is_aligned(const void *pointer, uintptr_t alignment)
{
	/* The compiler knows how it has aligned the object, if the stack is right. */
	__asm__("" : "+r"(pointer));
	return (uintptr_t)pointer % alignment == 0;
}

static void use_aligned_locals(void *arg)
{
	for (;;) {
		_Alignas(16) char at16[16];
		_Alignas(32) char at32[32];
		_Alignas(64) char at64[64];
		char text[64];
		double half;
		at16[0] = at32[0] = at64[0] = 0;
		must(arg == &pair);
		must(is_aligned(at16, 16) && is_aligned(at32, 32) && is_aligned(at64, 64));
		half = snprintf(text, sizeof text, "%.2f %Lg", 0.5, 2.0L) / 2.0;
		must(half == 3 && strcmp(text, "0.50 2") == 0);
		pair.result++;
		go_back();
	}
}

START_TEST(the_stack_is_aligned_wherever_it_ends) /* A4 */
{
	static _Alignas(64) char memory[STACK_SIZE + 128];
	for (size_t offset = 0; offset < 64; offset++) {
		char *end = memory + STACK_SIZE + offset;
		memset(end, 0x7e, 64);
		pair_begin(_i, use_aligned_locals, NULL);
		context_init(&pair.there, end, use_aligned_locals, &pair);
		go_there();
		go_there();
		must(pair.result == 2);
		for (int i = 0; i < 64; i++)
			must_msg(end[i] == 0x7e, "byte %d above the stack is overwritten", i);
	}
}
END_TEST

/* ---- unwinding --------------------------------------------------------------------------------- */

static struct backtrace trace;

static __attribute__((noinline)) void call_deep(int depth)
{
	if (depth > 0) {
		call_deep(depth - 1);
		__asm__ volatile(""); /* not a tail call */
		return;
	}
	backtrace_take(&trace);
	go_back();
	backtrace_take(&trace);
	go_back();
}

static void begin_deep(void *arg)
{
	(void)arg;
	call_deep(5);
	__asm__ volatile("");
}

START_TEST(a_backtrace_ends_at_the_entry) /* A8: fresh, then resumed */
{
	pair_begin(_i, begin_deep, NULL);
	for (int round = 0; round < 2; round++) {
		trace.count = 0;
		go_there();
		must_msg(trace.has_ended, "the backtrace failed after %d frames", trace.count);
		must_msg(trace.count >= 6 && trace.count <= 12, "%d frames", trace.count);
		must(backtrace_is_in(&trace, trace.count - 1, context_entry));
		must(backtrace_is_in(&trace, trace.count - 2, (void (*)(void))begin_deep));
	}
}
END_TEST

/* ---- the entry --------------------------------------------------------------------------------- */

static void return_at_once(void *arg)
{
	(void)arg;
}

static void enter_what_returns(void *arg)
{
	pair_begin(*(int *)arg, return_at_once, NULL);
	go_there();
}

START_TEST(returning_from_the_first_function_traps)
{
	struct death death = death_of(enter_what_returns, &(int){ _i });
	must(death.signal == SIGILL || death.signal == SIGTRAP);
}
END_TEST

static const void *first_frame_pointer;

static __attribute__((noinline)) void note_frame_pointer(void *arg)
{
	(void)arg;
	first_frame_pointer = *(void *const *)__builtin_frame_address(0);
	go_back();
}

START_TEST(the_chain_of_frame_pointers_ends_at_the_first_function)
{
	pair_begin(0, note_frame_pointer, NULL);
	go_there();
	must(first_frame_pointer == NULL);
}
END_TEST

/* ---- many -------------------------------------------------------------------------------------- */

#define MANY 100

static struct {
	struct context contexts[MANY];
	char *stacks[MANY];
	int switches, current;
	unsigned random;
} many;

/* Goes on in a random context, by a random form. */
static void wander(void)
{
	int from = many.current;
	many.random = many.random * 1664525 + 1013904223;
	int to = (int)(many.random >> 8) % MANY;
	if (to == from)
		return;
	many.current = to;
	forms[(many.random >> 24) % FORMS].run(&many.contexts[from], &many.contexts[to]);
}

static int wander_deep(int depth, int id)
{
	volatile int copy = id;
	if (depth == 0)
		wander();
	else
		must(wander_deep(depth - 1, id) == id);
	must(many.current == id);
	return copy;
}

static void wander_for_ever(void *arg)
{
	int id = (int)(intptr_t)arg;
	for (int depth = 0;; depth = (depth + 1) % 7) {
		must(wander_deep(depth, id) == id);
		if (many.switches-- <= 0 && id != 0) {
			many.current = 0;
			context_switch(&many.contexts[id], &many.contexts[0]);
		}
	}
}

START_TEST(many_contexts_in_random_order_keep_their_frames)
{
	many.switches = suite_scaled_down(1000000, 10000);
	for (int i = 1; i < MANY; i++) {
		many.stacks[i] = malloc(STACK_SIZE / 4);
		context_init(&many.contexts[i], many.stacks[i] + STACK_SIZE / 4, wander_for_ever,
		    (void *)(intptr_t)i);
	}
	while (many.switches > 0)
		must(wander_deep(3, 0) == 0);
	for (int i = 1; i < MANY; i++)
		free(many.stacks[i]);
}
END_TEST

START_TEST(the_cycle_counter_grows)
{
	uint64_t before = context_cycles();
	for (volatile int i = 0; i < 100000; i++)
		;
	must(context_cycles() > before);
}
END_TEST

int main(void)
{
	return SUITE("context",
	    LOOP(every_preserved_register_survives, 0, PAIRS),
	    TEST(what_is_live_across_the_inline_form_survives),
	    LOOP(each_context_has_its_own_floating_point_control, 0, PAIRS),
	    LOOP(arithmetic_is_rounded_as_each_context_asked, 0, PAIRS),
	    LOOP(a_context_that_leaves_takes_its_floating_point_control_with_it, 0, FORMS),
	    LOOP(an_exception_of_one_context_does_not_trap_in_another, 0, 2 * PAIRS),
	    TEST(the_bare_form_leaves_floating_point_control_alone),
	    LOOP(the_stack_is_aligned_wherever_it_ends, 0, PAIRS),
	    LOOP(a_backtrace_ends_at_the_entry, 0, PAIRS),
	    LOOP(returning_from_the_first_function_traps, 0, PAIRS),
	    TEST(the_chain_of_frame_pointers_ends_at_the_first_function),
	    TEST(many_contexts_in_random_order_keep_their_frames),
	    TEST(the_cycle_counter_grows));
}
