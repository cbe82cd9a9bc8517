/* SPDX-License-Identifier: MIT */
#include "backtrace.h"

#include <stdint.h>
#include <unwind.h>

struct walk {
	struct backtrace *trace;
	int skip;
};

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *arg)
{
	struct walk *walk = arg;
	struct backtrace *trace = walk->trace;
	if (walk->skip-- > 0 || _Unwind_GetIP(context) == 0)
		return _URC_NO_REASON; /* libgcc reports the end of the stack as one more frame, at 0 */
	if (trace->count == BACKTRACE_MAX)
		return _URC_NORMAL_STOP;
	trace->function[trace->count++] = (const void *)(uintptr_t)_Unwind_GetRegionStart(context);
	return _URC_NO_REASON;
}

__attribute__((noinline)) void backtrace_take(struct backtrace *trace)
{
	struct walk walk = { trace, 1 };
	trace->count = 0;
	trace->has_ended = _Unwind_Backtrace(note_frame, &walk) == _URC_END_OF_STACK;
}

const void *backtrace_function_of(const void *pc)
{
	return _Unwind_FindEnclosingFunction((char *)(uintptr_t)pc + 1);
}

bool backtrace_is_in(const struct backtrace *trace, int frame, void (*function)(void))
{
	return frame >= 0 && frame < trace->count &&
	    trace->function[frame] == backtrace_function_of((const void *)(uintptr_t)function);
}
