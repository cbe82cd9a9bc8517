/* SPDX-License-Identifier: MIT
 * The system calls of a process, all of them, counted from outside by ptrace, which emulators and valgrind do not
 * have. Those of the C library's names alone: counted_calls.h. */
#ifndef SUPPORT_TRACED_H
#define SUPPORT_TRACED_H

#include <stdbool.h>

#define TRACED_NUMBERS 512

struct traced {
	long calls;              /* between the marks */
	long of[TRACED_NUMBERS]; /* SYS_...: of them */
	int marks;
};

/* Runs fn in a child process, where it calls traced_mark() twice, and counts what lies between. Fails the test if
 * the child does not end well. False, and says so: there is no ptrace here. */
bool traced_run(void (*fn)(void), struct traced *traced);
void traced_mark(void);

#endif
