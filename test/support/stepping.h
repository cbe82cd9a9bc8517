/* SPDX-License-Identifier: MIT
 * Looks at a piece of code before each of its instructions. */
#ifndef SUPPORT_STEPPING_H
#define SUPPORT_STEPPING_H

#include <stdbool.h>

struct code {
	const char *first, *end;
};

/* Calls run(), which must take the same way each time, and before each instruction that lies in one of
 * the pieces calls at(pc) in a signal handler on the interrupted stack. run() may be called often.
 * False if it could not be done. It is one frame between its caller and run(). */
bool step_through(const struct code *pieces, int count, void (*run)(void), void (*at)(const char *pc));

#endif
