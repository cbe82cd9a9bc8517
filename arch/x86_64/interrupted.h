/* SPDX-License-Identifier: MIT
 * Layer arch, x86_64: what a signal interrupted, from the third argument of its handler. */
#ifndef ARCH_INTERRUPTED_H
#define ARCH_INTERRUPTED_H

#include <stdint.h>
#include <ucontext.h>

/* Bytes below the stack pointer that a function may use without moving it (psABI, section 3.2.2). */
#define INTERRUPTED_RED_ZONE 128

static inline uintptr_t interrupted_sp(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

static inline uintptr_t interrupted_pc(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

/* For a SIGSEGV with SI_KERNEL: true if the instruction itself faulted without an address to tell (a
 * general protection fault, vector 13); false if the kernel found no room for another signal's frame. */
static inline int interrupted_by_itself(const ucontext_t *context)
{
	return context->uc_mcontext.gregs[REG_TRAPNO] == 13;
}

#endif
