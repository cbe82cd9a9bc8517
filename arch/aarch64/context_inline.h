/* SPDX-License-Identifier: MIT
 * Layer arch, aarch64: the context switch as a block of inline assembly.
 *
 * Every register but sp and x29 is named as clobbered, so the compiler keeps only what is live
 * across the switch. x18 too: on Linux it is an ordinary scratch register. Nothing is pushed: the
 * compiler's own unwind tables stay right up to the two instructions between the stacks, which have
 * their own (frame.h). */
#ifndef ARCH_CONTEXT_INLINE_H
#define ARCH_CONTEXT_INLINE_H

#define CONTEXT_STRING_(...) #__VA_ARGS__
#define CONTEXT_STRING(...) CONTEXT_STRING_(__VA_ARGS__)

/* Unwind rules can only be given where the compiler gives them in assembly too. In a function that
 * signs its return address, that of the target is still not signed (the context holds it plain). */
#ifdef __ARM_FEATURE_PAC_DEFAULT
#define CONTEXT_CFI_UNSIGNED ".cfi_negate_ra_state\n\t"
#else
#define CONTEXT_CFI_UNSIGNED
#endif
#ifdef __GCC_HAVE_DWARF2_CFI_ASM
#define CONTEXT_CFI_ENTER                                                                          \
	".cfi_remember_state\n\t" CONTEXT_STRING(CONTEXT_CFI_TARGET) "\n\t" CONTEXT_CFI_UNSIGNED
#define CONTEXT_CFI_LEAVE ".cfi_restore_state\n\t"
#else
#define CONTEXT_CFI_ENTER
#define CONTEXT_CFI_LEAVE
#endif

/* The scalable registers share v0-v31; the predicates exist only with them. */
#ifdef __ARM_FEATURE_SVE
#define CONTEXT_CLOBBERS_SVE                                                                       \
	, "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13",      \
	"p14", "p15"
#else
#define CONTEXT_CLOBBERS_SVE
#endif

/* The switch without the floating-point control state: both sides compute in the same one. */
static inline __attribute__((always_inline)) void context_switch_bare(struct context *from,
    const struct context *to)
{
	register struct context *x0 __asm__("x0") = from;
	register const struct context *x1 __asm__("x1") = to;
	__asm__ volatile(
	    "mov x9, sp\n\t"
	    "adr x10, 1f\n\t"
	    "stp x9, x29, [x0, %[sp]]\n\t"
	    "str x10, [x0, %[resume]]\n\t"
	    "ldr x16, [x1, %[resume]]\n\t"
	    "ldp x9, x29, [x1, %[sp]]\n\t"
	    CONTEXT_CFI_ENTER
	    "mov sp, x9\n\t"
	    "br x16\n\t"
	    CONTEXT_CFI_LEAVE
	    "nop\n" /* for unwinders that look before the resume address */
	    "1:\t"
	    "hint #36" /* bti j */
	    : "+r"(x0), "+r"(x1)
	    : [sp] "i"(CONTEXT_SP), [resume] "i"(CONTEXT_RESUME)
	    : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
	      "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28",
	      "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12",
	      "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
	      "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory" CONTEXT_CLOBBERS_SVE);
}

/* Writing the control state is the dear part, so it is done only where it differs. */
static inline __attribute__((always_inline)) void context_load_fpcr(uint64_t present, const struct context *to)
{
	if (__builtin_expect((uint32_t)present != to->float_control[0], 0))
		__asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)to->float_control[0]) : "memory");
}

static inline __attribute__((always_inline)) void context_switch_inline(struct context *from,
    const struct context *to)
{
	uint64_t fpcr;
	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	from->float_control[0] = (uint32_t)fpcr;
	context_load_fpcr(fpcr, to);
	context_switch_bare(from, to);
}

/* For a context that is never resumed: goes on at *to and keeps nothing. x30 is named so that the function
 * around it signs its return address, as the unwind rules take it to. */
static inline __attribute__((always_inline)) _Noreturn void context_leave_inline(const struct context *to)
{
	register const struct context *x1 __asm__("x1") = to;
	uint64_t fpcr;
	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	context_load_fpcr(fpcr, to);
	__asm__ volatile(
	    "ldr x16, [x1, %[resume]]\n\t"
	    "ldp x9, x29, [x1, %[sp]]\n\t"
	    CONTEXT_CFI_ENTER
	    "mov sp, x9\n\t"
	    "br x16\n\t"
	    CONTEXT_CFI_LEAVE
	    : : "r"(x1), [sp] "i"(CONTEXT_SP), [resume] "i"(CONTEXT_RESUME)
	    : "x9", "x16", "x30", "memory");
	__builtin_unreachable();
}

/* For functions that always switch. Here they return as others do: a return address is no landing
 * pad, so with branch target identification nothing but ret may go there. */
#define CONTEXT_RETURNS_BY_JUMP

/* A counter that only grows; for estimates, not for time. */
static inline uint64_t context_cycles(void)
{
	uint64_t count;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
	return count;
}

#endif
