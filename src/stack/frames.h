/* SPDX-License-Identifier: MIT
 * Layer stack: backtraces, of the running flow of control and of suspended ones, by the compiler's unwind
 * tables. A stack that is looked at is only read, and only where frames are.
 *
 * What is written is one address a frame, innermost first, that lies in the instruction that calls (or goes
 * on): as place_of() wants it. At most `max`; the functions return how many there are.
 *
 * With glibc 2.35 or later tables are found without a lock, so that a signal handler may call these, once
 * frames_prepare() has been called outside of one. */
#ifndef STACK_FRAMES_H
#define STACK_FRAMES_H

#include <stdint.h>
#include <ucontext.h>

#include "context.h"
#include "stack/stack.h"

/* Lets the unwinder do, and the linker bind, what they do once. */
void frames_prepare(void);

/* Of the caller. */
int frames_here(uintptr_t *pcs, int max);

/* In a signal handler: of what the signal has interrupted, whose third argument `interrupted` is. */
int frames_interrupted(const ucontext_t *interrupted, uintptr_t *pcs, int max);

/* Of a context that is suspended on this stack (NULL: on an unknown one), and stays so meanwhile. */
int frames_suspended(const struct context *context, const struct stack *stack, uintptr_t *pcs, int max);

#endif
