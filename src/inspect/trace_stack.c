/* SPDX-License-Identifier: MIT
 * Layer inspect: where a task stands. See trace_stack.h. */
#include "inspect/trace_stack.h"

#include "sched/loop.h"
#include "stack/frames.h"

#define WINDOW 512                               /* words in which a return address is looked for */
#define ADDRESS_MASK (((uintptr_t)1 << 48) - 1)  /* above it a signed one has its signature */

/* Words of other functions' frames: not what a sanitizer expects to be read. */
static __attribute__((noinline, no_sanitize("address"))) uintptr_t address_at(const uintptr_t *word)
{
	return *word & ADDRESS_MASK;
}

static size_t index_of(uintptr_t pc)
{
	return (size_t)((pc * 0x9e3779b97f4a7c15u) >> 40) % TRACE_STEPS;
}

static void learn_step(struct trace_steps *steps, uintptr_t pc, size_t words)
{
	steps->all[index_of(pc)].pc = pc;
	steps->all[index_of(pc)].words = (uint32_t)words;
}

/* How many words behind `from` the return address stands; 0: nowhere, or it is not sure. */
static size_t find_address(const uintptr_t *from, const uintptr_t *high, uintptr_t address)
{
	size_t found = 0;
	for (size_t i = 1; i < WINDOW && from + i < high; i++) {
		if (address_at(from + i) != address)
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

/* pcs[0] is where the task left; the others lie in the calls. One word before the stack pointer the walk begins, so
 * that a step has a word at least. */
static void learn(struct trace_steps *steps, const struct task *task, const uintptr_t *pcs, int count)
{
	const uintptr_t *slot = (const uintptr_t *)task->strand.context.sp - 1;
	const uintptr_t *high = (const uintptr_t *)task->stack.high;
	for (int i = 0; i + 1 < count; i++) {
		size_t words = find_address(slot, high, pcs[i + 1] + 1);
		if (!words)
			return;
		learn_step(steps, i == 0 ? pcs[0] : pcs[i] + 1, words);
		slot += words;
	}
	if (count <= TRACE_FRAMES)
		learn_step(steps, count == 1 ? pcs[0] : pcs[count - 1] + 1, 0);
}

static bool walk_known(const struct trace_steps *steps, const struct task *task, uint64_t frames[TRACE_FRAMES])
{
	const uintptr_t *slot = (const uintptr_t *)task->strand.context.sp - 1;
	const uintptr_t *high = (const uintptr_t *)task->stack.high;
	uintptr_t pc = (uintptr_t)task->strand.context.resume;
	for (int i = 0; i < TRACE_FRAMES; i++) {
		size_t at = index_of(pc);
		if (steps->all[at].pc != pc)
			return false;
		if (steps->all[at].words == 0)
			return true;
		slot += steps->all[at].words;
		if (slot >= high)
			return false;
		pc = address_at(slot);
		frames[i] = pc - 1;
	}
	return true;
}

static __attribute__((noinline)) bool walk_slowly(struct trace_steps *steps, const struct task *task,
    uint64_t frames[TRACE_FRAMES])
{
	uintptr_t pcs[TRACE_FRAMES + 1];
	int count = frames_suspended(&task->strand.context, &task->stack, pcs, TRACE_FRAMES + 1);
	for (int i = 0; i < TRACE_FRAMES; i++)
		frames[i] = i + 1 < count ? pcs[i + 1] : 0;
	if (count > 0)
		learn(steps, task, pcs, count);
	return count > 1;
}

bool trace_stack_walk(struct trace_steps *steps, const struct task *task, uint64_t frames[TRACE_FRAMES])
{
	if (task == task->loop->running || !stack_contains(&task->stack, task->strand.context.sp))
		return false;
	for (int i = 0; i < TRACE_FRAMES; i++)
		frames[i] = 0;
	return walk_known(steps, task, frames) || walk_slowly(steps, task, frames);
}
