/* SPDX-License-Identifier: MIT
 * A signal may come between any two instructions of a switch, and a profiler's handler unwinds from
 * there. The backtrace then must be that of the one side or of the other, whole: out of the switch into
 * the function that switched, and on to the end of that stack, not beyond it and not short of it.
 * valgrind: skip (it has neither a trap flag nor breakpoints) */
#include "context.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "backtrace.h"
#include "registers.h"
#include "stepping.h"
#include "suite.h"

#define STACK_SIZE 262144
#define CODE_MAX 512 /* bytes, of any piece */

typedef void form_fn(struct context *from, const struct context *to);

/* The inline form between two labels, in a function of its own. */
extern const char inline_first[] __attribute__((visibility("hidden")));
extern const char inline_end[] __attribute__((visibility("hidden")));

static __attribute__((noinline)) void by_inline(struct context *from, const struct context *to)
{
	__asm__ volatile(".globl inline_first\n\t.hidden inline_first\ninline_first:");
	context_switch_inline(from, to);
	__asm__ volatile(".globl inline_end\n\t.hidden inline_end\ninline_end:");
}

/* In functions through which the unwinder cannot go on but with the right frame pointer. */
#define WITH_FRAME_POINTER                                                                         \
	volatile int length = 100;                                                                     \
	char *memory = __builtin_alloca((size_t)length);                                               \
	__asm__ volatile("" : : "r"(memory) : "memory")

/* The same in a function that needs a frame pointer. */
extern const char framed_first[] __attribute__((visibility("hidden")));
extern const char framed_end[] __attribute__((visibility("hidden")));

static __attribute__((noinline)) void by_inline_framed(struct context *from,
    const struct context *to)
{
	WITH_FRAME_POINTER;
	__asm__ volatile(".globl framed_first\n\t.hidden framed_first\nframed_first:");
	context_switch_inline(from, to);
	__asm__ volatile(".globl framed_end\n\t.hidden framed_end\nframed_end:");
}

static CONTEXT_RETURNS_BY_JUMP __attribute__((noinline)) void by_jump(struct context *from,
    const struct context *to)
{
	context_switch_inline(from, to);
}

/* The last switch of a context. */
extern const char leave_first[] __attribute__((visibility("hidden")));

static __attribute__((noinline)) void by_leaving(struct context *from, const struct context *to)
{
	(void)from;
	__asm__ volatile(".globl leave_first\n\t.hidden leave_first\nleave_first:");
	context_leave_inline(to);
}

static form_fn *const forms[] = { context_switch, by_inline, by_inline_framed, by_jump, by_leaving };
#define FORMS 5
#define FORMS_THAT_RETURN 4

/* ---- the two sides ----------------------------------------------------------------------------- */

static struct context here, there;
static form_fn *out, *back;
static char stack[STACK_SIZE];

static __attribute__((noinline)) void there_leaf(void)
{
	WITH_FRAME_POINTER;
	back(&there, &here);
	__asm__ volatile("");
}

static __attribute__((noinline)) void there_begin(void *arg)
{
	(void)arg;
	for (;;)
		there_leaf();
}

static __attribute__((noinline)) void here_leaf(void)
{
	WITH_FRAME_POINTER;
	out(&here, &there);
	__asm__ volatile("");
}

/* Into a new context, into a suspended one, and with different floating-point control: all ways
 * through the switch. */
static __attribute__((noinline)) void here_run(void)
{
	for (int round = 0; round < 3; round++) {
		if (round == 0 || back == by_leaving)
			context_init(&there, stack + STACK_SIZE, there_begin, &there);
		float_set_control(float_modes[round == 2].control);
		here_leaf();
	}
	float_set_control(float_modes[0].control);
}

/* ---- the handler ------------------------------------------------------------------------------- */

#define SEEN_MAX 4096

static struct {
	const void *here_leaf, *here_run, *there_leaf, *there_begin, *context_entry;
	const void *forms[FORMS];
	const char *seen[SEEN_MAX];
	int seen_count, complaints, here_outside;
} look;

static void complain(const struct backtrace *trace, const char *pc, const char *what)
{
	if (look.complaints++ > 3)
		return;
	fprintf(stderr, "at %p (context_switch%+td, context_entry%+td, inline%+td, framed%+td): %s: %d frames\n",
	    (const void *)pc, pc - (const char *)(uintptr_t)context_switch,
	    pc - (const char *)(uintptr_t)context_entry, pc - inline_first, pc - framed_first, what, trace->count);
	for (int i = 0; i < trace->count; i++)
		fprintf(stderr, "  %d %p\n", i, trace->function[i]);
}

static int find(const struct backtrace *trace, const void *function)
{
	for (int i = 0; i < trace->count; i++)
		if (trace->function[i] == function)
			return i;
	return -1;
}

static bool is_form(const void *function)
{
	for (int form = 0; form < FORMS; form++)
		if (function == look.forms[form])
			return true;
	return false;
}

/* Frames of the switch itself: one; between the stacks two, as if the one side had called the other.
 * What they return to is one of our two leaves, or the entry. */
static bool is_switch_whole(const struct backtrace *trace)
{
	int frame = 0, count = 0;
	while (frame < trace->count && !is_form(trace->function[frame]) &&
	    trace->function[frame] != look.here_leaf && trace->function[frame] != look.there_leaf &&
	    trace->function[frame] != look.context_entry)
		frame++; /* the handler and its signal */
	for (; frame < trace->count && is_form(trace->function[frame]); frame++)
		count++;
	const void *next = frame < trace->count ? trace->function[frame] : NULL;
	return count <= 2 && next && (next == look.here_leaf || next == look.there_leaf || next == look.context_entry);
}

static void unwind_from(const char *pc)
{
	static struct backtrace trace;
	if (look.seen_count < SEEN_MAX)
		look.seen[look.seen_count++] = pc;
	backtrace_take(&trace);
	int here_frame = find(&trace, look.here_leaf);
	int there_frame = find(&trace, look.there_leaf);
	int entry_frame = find(&trace, look.context_entry);
	int outermost = trace.count - 1;
	if (!trace.has_ended)
		complain(&trace, pc, "the backtrace failed");
	else if ((here_frame >= 0) + (entry_frame >= 0) != 1)
		complain(&trace, pc, "not one side and only one");
	else if (here_frame >= 0 && trace.function[here_frame + 1] != look.here_run)
		complain(&trace, pc, "no caller here");
	else if (here_frame >= 0 && outermost - here_frame != look.here_outside)
		complain(&trace, pc, "not to the end of the stack here");
	else if (entry_frame >= 0 && entry_frame != outermost)
		complain(&trace, pc, "beyond the entry");
	else if (there_frame >= 0 &&
	    (entry_frame != there_frame + 2 || trace.function[there_frame + 1] != look.there_begin))
		complain(&trace, pc, "not to the end of the stack there");
	else if (!is_switch_whole(&trace))
		complain(&trace, pc, "frames that do not exist");
}

static int count_distinct(const struct code *piece)
{
	int count = 0;
	for (const char *pc = piece->first; pc < piece->end; pc++)
		for (int i = 0; i < look.seen_count; i++)
			if (look.seen[i] == pc) {
				count++;
				break;
			}
	return count;
}

/* From `first` to the end of the function in which `last` is. */
static struct code code_to_end(const char *first, const char *last)
{
	struct code code = { first, last };
	const void *function = backtrace_function_of(last);
	while (code.end - last < CODE_MAX && backtrace_function_of(code.end) == function)
		code.end++;
	return code;
}

/* How far the thread's own stack goes on outside here_leaf(). */
static __attribute__((noinline)) void measure(struct context *from, const struct context *to)
{
	static struct backtrace trace;
	(void)from;
	(void)to;
	backtrace_take(&trace);
	look.here_outside = trace.count - 1 - find(&trace, look.here_leaf);
}

START_TEST(a_signal_anywhere_in_a_switch_finds_a_whole_stack) /* A8 */
{
	memset(&look, 0, sizeof look);
	look.here_leaf = backtrace_function_of((const void *)(uintptr_t)here_leaf);
	look.here_run = backtrace_function_of((const void *)(uintptr_t)here_run);
	look.there_leaf = backtrace_function_of((const void *)(uintptr_t)there_leaf);
	look.there_begin = backtrace_function_of((const void *)(uintptr_t)there_begin);
	look.context_entry = backtrace_function_of((const void *)(uintptr_t)context_entry);
	for (int form = 0; form < FORMS; form++)
		look.forms[form] = backtrace_function_of((const void *)(uintptr_t)forms[form]);
	out = measure;
	here_run();
	look.here_outside++; /* step_through() is between */

	/* context_entry() is the last function of context.S. */
	const struct code pieces[] = {
		code_to_end((const char *)(uintptr_t)context_switch, (const char *)(uintptr_t)context_entry),
		{ inline_first, inline_end }, { framed_first, framed_end }, code_to_end(leave_first, leave_first)
	};
	form_fn *const form_of_piece[] = { context_switch, by_inline, by_inline_framed, by_leaving };
	out = forms[_i / FORMS];
	back = forms[_i % FORMS];
	must(step_through(pieces, 4, here_run, unwind_from));
	must_msg(look.complaints == 0, "%d backtraces are wrong: see above", look.complaints);
	for (int i = 0; i < 4; i++)
		if (out == form_of_piece[i] || back == form_of_piece[i])
			must_msg(count_distinct(&pieces[i]) >= 7, "piece %d was not stepped through", i);
}
END_TEST

int main(void)
{
	return SUITE("switch_unwind", LOOP(a_signal_anywhere_in_a_switch_finds_a_whole_stack, 0, FORMS_THAT_RETURN * FORMS));
}
