/* SPDX-License-Identifier: MIT
 * Layer stack: backtraces. See frames.h. An unwinder begins where it is called. To begin elsewhere it is called by a
 * function whose unwind rules name a suspended context as its caller (context_call_as()); and what comes
 * before, ours and the handler's, is passed over. */
#include "stack/frames.h"

#include <stdbool.h>
#include <unwind.h>

#include "interrupted.h"

struct walk {
	uintptr_t *pcs;
	int count, max;
	int skip;               /* frames still to pass over; or: */
	uintptr_t begin;        /* the frame that stands exactly here is the first; 0: it has been found */
	uintptr_t low, high;    /* where frames may be; 0, 0: anywhere */
};

static bool is_on_stack(const struct walk *walk, uintptr_t sp)
{
	return walk->high == 0 || (sp >= walk->low && sp <= walk->high);
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *arg)
{
	struct walk *walk = arg;
	int is_exact = 0;
	uintptr_t pc = _Unwind_GetIPInfo(context, &is_exact);
	if (walk->skip > 0) {
		walk->skip--;
		return _URC_NO_REASON;
	}
	if (walk->begin && is_exact && pc == walk->begin)
		walk->begin = 0;
	if (walk->begin)
		return _URC_NO_REASON;
	if (pc == 0 || walk->count == walk->max || !is_on_stack(walk, _Unwind_GetCFA(context)))
		return _URC_NORMAL_STOP;
	walk->pcs[walk->count++] = is_exact ? pc : pc - 1;
	return _URC_NO_REASON;
}

static void walk_from_here(void *arg)
{
	_Unwind_Backtrace(visit, arg);
	__asm__ volatile(""); /* no tail call: this frame is counted */
}

__attribute__((noinline)) int frames_here(uintptr_t *pcs, int max)
{
	struct walk walk = { .pcs = pcs, .max = max, .skip = 1 };
	_Unwind_Backtrace(visit, &walk);
	return walk.count;
}

int frames_interrupted(const ucontext_t *interrupted, uintptr_t *pcs, int max)
{
	struct walk walk = { .pcs = pcs, .max = max, .begin = interrupted_pc(interrupted) };
	walk_from_here(&walk);
	return walk.count;
}

int frames_suspended(const struct context *context, const struct stack *stack, uintptr_t *pcs, int max)
{
	struct walk walk = { .pcs = pcs, .max = max, .begin = (uintptr_t)context->resume };
	if (stack) {
		walk.low = (uintptr_t)stack->low;
		walk.high = (uintptr_t)stack->high;
	}
	context_call_as(context, walk_from_here, &walk);
	return walk.count;
}

void frames_prepare(void)
{
	uintptr_t pcs[2];
	frames_here(pcs, 2);
}
