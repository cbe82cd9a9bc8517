/* SPDX-License-Identifier: MIT
 * Layer arch, aarch64: what a signal interrupted, from the third argument of its handler. */
#ifndef ARCH_INTERRUPTED_H
#define ARCH_INTERRUPTED_H

#include <stdint.h>
#include <ucontext.h>

/* Bytes below the stack pointer that a function may use without moving it: none (AAPCS64, 6.4.5.1). */
#define INTERRUPTED_RED_ZONE 0

static inline uintptr_t interrupted_sp(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.sp;
}

static inline uintptr_t interrupted_pc(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.pc;
}

/* For a SIGSEGV with SI_KERNEL: true if the instruction itself faulted without an address to tell,
 * which it always has here; false if the kernel found no room for another signal's frame. */
static inline int interrupted_by_itself(const ucontext_t *context)
{
	(void)context;
	return 0;
}

#endif
