/* SPDX-License-Identifier: MIT
 * See stepping.h: by breakpoints, one instruction and one run after the other, which works under
 * emulation too. */
#include "stepping.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define BREAKPOINT 0xd4200000u /* brk #0 */

static struct {
	uint32_t *place, instruction;
	void (*at)(const char *pc);
} stepping;

static void put(uint32_t *place, uint32_t instruction)
{
	*(volatile uint32_t *)place = instruction;
	__builtin___clear_cache((char *)place, (char *)(place + 1));
}

static void stopped(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	(void)signal;
	(void)info;
	if (interrupted->uc_mcontext.pc != (uintptr_t)stepping.place)
		_exit(99);
	put(stepping.place, stepping.instruction);
	stepping.at((const char *)stepping.place);
}

static bool make_writable(const struct code *piece)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t low = (uintptr_t)piece->first / page * page;
	return mprotect((void *)low, (uintptr_t)piece->end - low, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
}

__attribute__((noinline)) bool step_through(const struct code *pieces, int count, void (*run)(void),
    void (*at)(const char *pc))
{
	struct sigaction action, before;
	memset(&action, 0, sizeof action);
	action.sa_sigaction = stopped;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGTRAP, &action, &before);
	stepping.at = at;
	for (int i = 0; i < count; i++) {
		if (!make_writable(&pieces[i]))
			return false;
		for (const char *pc = pieces[i].first; pc < pieces[i].end; pc += sizeof(uint32_t)) {
			stepping.place = (uint32_t *)(uintptr_t)pc;
			stepping.instruction = *stepping.place;
			put(stepping.place, BREAKPOINT);
			run();
			put(stepping.place, stepping.instruction);
		}
	}
	sigaction(SIGTRAP, &before, NULL);
	return true;
}
