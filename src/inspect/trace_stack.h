/* SPDX-License-Identifier: MIT
 * Layer inspect: where a task stands when its slice ends, quickly. An unwinder takes some microseconds, too long
 * for each event of a trace. But a function's frame is as large each time it is left at the same address, so
 * what the unwinder has found once is noted by that address, and from then on the return addresses are
 * read where they must be. A frame whose size changes (a variable array) misleads only about its callers, and as
 * a rule to an address that nothing is known of, which is when the unwinder is asked again. */
#ifndef INSPECT_TRACE_STACK_H
#define INSPECT_TRACE_STACK_H

#include "inspect/trace_ring.h"
#include "sched/task.h"

#define TRACE_STEPS 512 /* addresses that are remembered */

/* All zero it knows nothing. */
struct trace_steps {
	struct {
		uintptr_t pc;    /* where a function was left; 0: unused */
		uint32_t words;  /* from the place of this address on the stack (the innermost: the stack pointer) to that
		                    of the caller's; 0: it has no caller */
	} all[TRACE_STEPS];
};

/* Of a task that is suspended on its own stack: the addresses of the calls that led to where it left, innermost
 * first, without that place itself. False if they are not known. */
bool trace_stack_walk(struct trace_steps *steps, const struct task *task, uint64_t frames[TRACE_FRAMES]);

#endif
