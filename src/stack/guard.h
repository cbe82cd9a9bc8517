/* SPDX-License-Identifier: MIT
 * Layer stack: guards, the pages below a stack that end the process when they are touched.
 *
 * MADV_GUARD_INSTALL (Linux 6.13) marks pages without splitting the mapping: a million guarded stacks
 * are one mapping. Elsewhere mprotect, at two mappings a guard, of which the kernel gives a process
 * vm.max_map_count in all. The guards of every pool in the process together leave some of them to the
 * rest of the program, however many that has already, so that a malloc() next door does not fail because
 * of us. */
#ifndef STACK_GUARD_H
#define STACK_GUARD_H

#include <stddef.h>

#include "frame.h"

/* Wide enough that a frame of ordinary size cannot step over it, nor a larger one of code compiled with
 * -fstack-clash-protection; rounded up to pages. */
#define STACK_GUARD_SIZE ((size_t)CONTEXT_GUARD_SIZE)

size_t stack_guard_size(void);

enum stack_guard {
	STACK_GUARD_ADVICE,  /* MADV_GUARD_INSTALL: no mapping of its own */
	STACK_GUARD_PROTECT, /* mprotect: two mappings a stack */
};

/* Which guard this kernel has: found out once, by effect, for the process. */
enum stack_guard stack_guard_kind(void);

/* Makes [start, start + size) fault on access. 0 or -1 with errno. */
int stack_guard_install(char *start, size_t size);

/* `count` guards of `size` bytes, one at each `stride` bytes from start. Returns how many of them cost
 * mappings, or -1 with errno, and none that does is left in place. */
long stack_guards_install(char *start, size_t stride, size_t count, size_t size);
/* So many that cost mappings are unmapped. */
void stack_guards_gone(long count);

/* vm.max_map_count as it is now, and how many mappings guards take, in this process. */
long stack_mapping_limit(void);
long stack_guard_mappings(void);

#endif
