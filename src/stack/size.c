/* SPDX-License-Identifier: MIT
 * Layer stack: which sizes there are. */
#include <sys/auxv.h>
#include <unistd.h>

#include <bide/task.h>

#include "context.h"
#include "stack/stack.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* The deepest path of the library itself that a task without a body of its own can be on (bide_join(),
 * a spawn that maps a slab), and the symbol look-up of lazy binding without the registers it saves.
 * test/test_stack_size.c measures both. */
#define NEED_OWN 1024
#define NEED_LOOKUP 1024

#define FRAME_UNTOLD 5120 /* MINSIGSTKSZ of the port that has the largest */

/* All registers, vector registers with them: it grows with the processor, so the kernel tells. */
size_t stack_signal_frame(void)
{
	long told = (long)getauxval(AT_MINSIGSTKSZ);
#ifdef _SC_MINSIGSTKSZ
	if (told <= 0)
		told = sysconf(_SC_MINSIGSTKSZ); /* an older kernel; the C library asks the processor */
#endif
	return told > 0 ? (size_t)told : FRAME_UNTOLD;
}

/* A signal may strike in the middle of a first call through the procedure linkage table, which saves
 * the vector registers as well on some processors. */
size_t stack_size_min(void)
{
	static size_t known; /* two threads that come first compute the same */
	size_t least = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (least)
		return least;
	size_t frame = stack_signal_frame();
	least = frame + NEED_OWN + (CONTEXT_BINDING_SAVES_VECTORS ? frame : NEED_LOOKUP);
	if (least < STACK_SIZE_MIN)
		least = STACK_SIZE_MIN;
	__atomic_store_n(&known, least, __ATOMIC_RELAXED);
	return least;
}

bool stack_size_is_valid(size_t size)
{
	return size >= stack_size_min() && size <= STACK_SIZE_MAX;
}

_Static_assert(STACK_SIZE_MIN == BIDE_STACK_MIN, "bide/task.h");

size_t stack_size_rounded(size_t size, size_t page_size)
{
	size_t step = page_size;
	while (step * 16 < size)
		step *= 2;
	return (size + step - 1) / step * step;
}
