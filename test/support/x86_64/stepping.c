/* SPDX-License-Identifier: MIT
 * See stepping.h: by the processor's trap flag, natively. */
#include "stepping.h"

#include <signal.h>
#include <string.h>
#include <ucontext.h>

#define TRAP_FLAG 0x100

static struct {
	const struct code *pieces;
	int count;
	void (*at)(const char *pc);
	volatile bool is_done;
	volatile int steps;
} stepping;

static void stepped(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	const char *pc = (const char *)interrupted->uc_mcontext.gregs[REG_RIP];
	(void)signal;
	(void)info;
	stepping.steps++;
	if (stepping.is_done)
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	for (int i = 0; i < stepping.count; i++)
		if (pc >= stepping.pieces[i].first && pc < stepping.pieces[i].end)
			stepping.at(pc);
}

/* Below the red zone, which the pushes would overwrite. */
static void begin_stepping(void)
{
	__asm__ volatile(
	    "lea -128(%%rsp), %%rsp\n\t"
	    "pushfq\n\t"
	    "orq %0, (%%rsp)\n\t"
	    "popfq\n\t"
	    "lea 128(%%rsp), %%rsp"
	    : : "i"(TRAP_FLAG) : "cc", "memory");
}

__attribute__((noinline)) bool step_through(const struct code *pieces, int count, void (*run)(void),
    void (*at)(const char *pc))
{
	struct sigaction action, before;
	memset(&action, 0, sizeof action);
	action.sa_sigaction = stepped;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGTRAP, &action, &before);
	stepping.pieces = pieces;
	stepping.count = count;
	stepping.at = at;
	stepping.is_done = false;
	stepping.steps = 0;
	begin_stepping();
	run();
	stepping.is_done = true;
	__asm__ volatile("nop; nop");
	sigaction(SIGTRAP, &before, NULL);
	return stepping.steps > 0;
}
