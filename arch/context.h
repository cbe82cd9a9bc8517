/* SPDX-License-Identifier: MIT
 * Layer arch: what a port must provide, and nothing else. docs/porting.md walks through it.
 *
 *   arch/<name>/frame.h           the offsets of struct context, shared between C and assembly,
 *                                 and the initial floating-point control state
 *   arch/<name>/context.S         context_switch(), context_call_as() and context_entry()
 *   arch/<name>/context_inline.h  context_switch_inline(), the same switch as a block of inline
 *                                 assembly; context_switch_bare(), that without floating-point
 *                                 control; context_leave_inline(), for the last switch of a context;
 *                                 CONTEXT_RETURNS_BY_JUMP; context_cycles()
 *   arch/<name>/interrupted.h     what a signal interrupted, for the report of a stack overflow
 *   arch/<name>/flags.mk          compiler flags the port needs
 *
 * A context is what a suspended flow of control left behind: stack pointer, frame pointer, the
 * address to go on at, and the floating-point control state. All other registers that a call
 * preserves lie on its stack, where the form of the switch that suspended it put them: the resume
 * address leads to the code that knows. So a context suspended by one form may be resumed by the
 * other. The fields are in the record, not on the stack, so that switching to a task touches its
 * stack only when the task itself does. */
#ifndef ARCH_CONTEXT_H
#define ARCH_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "frame.h"

struct context {
	void *sp;
	void *fp;
	void *resume;
	uint32_t float_control[2]; /* as frame.h says */
};

_Static_assert(offsetof(struct context, sp) == CONTEXT_SP, "frame.h");
_Static_assert(offsetof(struct context, fp) == CONTEXT_FP, "frame.h");
_Static_assert(offsetof(struct context, resume) == CONTEXT_RESUME, "frame.h");
_Static_assert(offsetof(struct context, float_control) == CONTEXT_FLOAT_CONTROL, "frame.h");
_Static_assert(sizeof(struct context) == CONTEXT_SIZE, "frame.h");

/* Suspends the caller into *from and goes on at *to. Returns when something switches to *from.
 * The reference form: an ordinary function, for sanitizer builds and tests.
 *
 * context_switch_inline() does the same, and costs less in a function that suspends anyway, but the
 * compiler must be able to keep its promises around it. Not in a function that has both an object of
 * variable size and one aligned to more than the stack is: clang addresses that frame through a
 * register which it does not save for such a block. And not where a sanitizer instruments. */
void context_switch(struct context *from, const struct context *to);

/* Calls fn(arg) so that an unwinder, from within it, takes *caller for what called this function: its backtrace is
 * that of the suspended context, which is only read. */
void context_call_as(const struct context *caller, void (*fn)(void *), void *arg);

/* Where a new context begins: calls the function at sp[0] with the argument at sp[1]. It is the last
 * frame of every backtrace. The function must not return. */
void context_entry(void);

/* Makes a context that will run fn(arg) on the stack that ends (exclusive) at `high`. */
static inline void context_init(struct context *context, void *high, void (*fn)(void *), void *arg)
{
	void **sp = (void **)((uintptr_t)high & ~(uintptr_t)15) - 2;
	sp[0] = (void *)(uintptr_t)fn;
	sp[1] = arg;
	context->sp = sp;
	context->fp = NULL;
	context->resume = (void *)(uintptr_t)context_entry;
	context->float_control[0] = CONTEXT_FLOAT_CONTROL_0;
	context->float_control[1] = CONTEXT_FLOAT_CONTROL_1;
}

#include "context_inline.h"

#endif
