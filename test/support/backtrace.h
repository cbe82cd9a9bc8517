/* SPDX-License-Identifier: MIT
 * A backtrace by the compiler's unwinder, as exceptions and profilers see it. */
#ifndef SUPPORT_BACKTRACE_H
#define SUPPORT_BACKTRACE_H

#include <stdbool.h>

#define BACKTRACE_MAX 64

struct backtrace {
	int count;                       /* frames, the caller of backtrace_take() first */
	bool has_ended;                  /* by the end of the stack, and nothing else */
	const void *function[BACKTRACE_MAX]; /* where the unwind entry of each begins, NULL: there is none */
};

void backtrace_take(struct backtrace *trace);

/* Where the unwind entry of the code at `pc` begins: what backtrace.function holds for it. */
const void *backtrace_function_of(const void *pc);

/* The frame belongs to the function that begins at `function`. */
bool backtrace_is_in(const struct backtrace *trace, int frame, void (*function)(void));

#endif
