/* SPDX-License-Identifier: MIT
 * See landing_pads.h: branch target identification, asked for with mprotect() rather than by the linker,
 * which would want a start-up code and a C library that have landing pads too. */
#include "landing_pads.h"

#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef PROT_BTI
#define PROT_BTI 0x10
#endif
#ifndef HWCAP2_BTI
#define HWCAP2_BTI (1u << 17)
#endif

/* The first object listed is the program. */
static int protect_program(struct dl_phdr_info *info, size_t size, void *protection)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t low = info->dlpi_addr + header->p_vaddr, high = low + header->p_memsz;
		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		low -= low % page;
		if (mprotect((void *)low, high - low, *(int *)protection) != 0)
			return -1;
	}
	return 1;
}

/* The start-up code's part of the end of a program has no landing pads. */
static void relax(void)
{
	dl_iterate_phdr(protect_program, &(int){ PROT_READ | PROT_EXEC });
}

bool landing_pads_enforce(void)
{
	return (getauxval(AT_HWCAP2) & HWCAP2_BTI) && atexit(relax) == 0 &&
	    dl_iterate_phdr(protect_program, &(int){ PROT_READ | PROT_EXEC | PROT_BTI }) == 1;
}

void landing_pads_miss(void *unused)
{
	(void)unused;
	__asm__ volatile(
	    "adr x9, 1f\n\t"
	    "br x9\n"
	    "1:\tnop"
	    : : : "x9");
}
