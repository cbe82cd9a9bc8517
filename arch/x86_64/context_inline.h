/* SPDX-License-Identifier: MIT
 * Layer arch, x86_64: the context switch as a block of inline assembly.
 *
 * Every register but rsp and rbp is named as clobbered, so the compiler keeps only what is live
 * across the switch, and in the way it likes best. Nothing is pushed: the block may stand in a leaf
 * function that uses the red zone, and the compiler's own unwind tables stay right up to the two
 * instructions between the stacks, which have their own (frame.h). */
#ifndef ARCH_CONTEXT_INLINE_H
#define ARCH_CONTEXT_INLINE_H

#define CONTEXT_STRING_(...) #__VA_ARGS__
#define CONTEXT_STRING(...) CONTEXT_STRING_(__VA_ARGS__)

/* Unwind rules can only be given where the compiler gives them in assembly too. */
#ifdef __GCC_HAVE_DWARF2_CFI_ASM
#define CONTEXT_CFI_ENTER ".cfi_remember_state\n\t" CONTEXT_STRING(CONTEXT_CFI_TARGET) "\n\t"
#define CONTEXT_CFI_LEAVE ".cfi_restore_state\n\t"
#else
#define CONTEXT_CFI_ENTER
#define CONTEXT_CFI_LEAVE
#endif

/* Registers that cannot be named where the processor is not known to have them. */
#ifdef __AVX512F__
#define CONTEXT_CLOBBERS_AVX512                                                                    \
	, "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",    \
	"xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5",      \
	"k6", "k7"
#else
#define CONTEXT_CLOBBERS_AVX512
#endif
#ifdef __APX_F__
#define CONTEXT_CLOBBERS_APX                                                                       \
	, "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28",   \
	"r29", "r30", "r31"
#else
#define CONTEXT_CLOBBERS_APX
#endif

/* The switch without the floating-point control state: both sides compute in the same one. */
static inline __attribute__((always_inline)) void context_switch_bare(struct context *from,
    const struct context *to)
{
	__asm__ volatile(
	    "leaq 1f(%%rip), %%rax\n\t"
	    "movq %%rsp, %c[sp](%[from])\n\t"
	    "movq %%rbp, %c[fp](%[from])\n\t"
	    "movq %%rax, %c[resume](%[from])\n\t"
	    "movq %c[fp](%[to]), %%rbp\n\t"
	    CONTEXT_CFI_ENTER
	    "movq %c[sp](%[to]), %%rsp\n\t"
	    "jmp *%c[resume](%[to])\n\t"
	    CONTEXT_CFI_LEAVE
	    "nop\n" /* for unwinders that look one byte before the resume address */
	    "1:\t"
	    "endbr64"
	    : [from] "+D"(from), [to] "+S"(to)
	    : [sp] "i"(CONTEXT_SP), [fp] "i"(CONTEXT_FP), [resume] "i"(CONTEXT_RESUME)
	    : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	      "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
	      "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)",
	      "st(5)", "st(6)", "st(7)", "cc", "memory" CONTEXT_CLOBBERS_AVX512 CONTEXT_CLOBBERS_APX);
}

/* Pending exceptions go first: the target may not mask them. */
static inline __attribute__((always_inline)) void context_load_x87(const struct context *to)
{
	__asm__ volatile(
	    "fnclex\n\t"
	    "fldcw %0"
	    : : "m"(to->float_control[1]) : "memory");
}

/* For a context that is never resumed: goes on at *to and keeps nothing, which saves stmxcsr. */
static inline __attribute__((always_inline)) _Noreturn void context_leave_inline(const struct context *to)
{
	uint16_t x87_control;
	__asm__ volatile("fnstcw %0" : "=m"(x87_control));
	if (__builtin_expect(x87_control != (uint16_t)to->float_control[1], 0))
		context_load_x87(to);
	__asm__ volatile("ldmxcsr %0" : : "m"(to->float_control[0]) : "memory");
	__asm__ volatile(
	    "movq %c[fp](%[to]), %%rbp\n\t"
	    CONTEXT_CFI_ENTER
	    "movq %c[sp](%[to]), %%rsp\n\t"
	    "jmp *%c[resume](%[to])\n\t"
	    CONTEXT_CFI_LEAVE
	    : : [to] "S"(to), [sp] "i"(CONTEXT_SP), [fp] "i"(CONTEXT_FP), [resume] "i"(CONTEXT_RESUME)
	    : "memory");
	__builtin_unreachable();
}

/* The control state is stored first, because stmxcsr holds up what follows it, and MXCSR is loaded
 * without a look at what was stored: reading that back costs three times as much as the load. The
 * x87 word is different on both counts. (docs/notes/switch.md has the figures.) */
static inline __attribute__((always_inline)) void context_switch_inline(struct context *from,
    const struct context *to)
{
	__asm__ volatile(
	    "stmxcsr %0\n\t"
	    "fnstcw %1"
	    : "=m"(from->float_control[0]), "+m"(from->float_control[1]));
	if (__builtin_expect((uint16_t)from->float_control[1] != (uint16_t)to->float_control[1], 0))
		context_load_x87(to);
	__asm__ volatile("ldmxcsr %0" : : "m"(to->float_control[0]) : "memory");
	context_switch_bare(from, to);
}

/* For functions that always switch: they return by a jump. A ret would be predicted by the return
 * stack, whose top belongs to the stack that was left: always wrong, as costly as two switches.
 * Compilers without the attribute (clang before 15) make it slower, not wrong. A function that often
 * returns without having switched must not have it: then it is the callers' returns that go wrong. It is
 * kept out of line, or its caller would do the wrong return in its place. */
#if __has_attribute(function_return)
#define CONTEXT_RETURNS_BY_JUMP __attribute__((noinline, function_return("thunk-extern")))
#else
#define CONTEXT_RETURNS_BY_JUMP
#endif

/* A counter that only grows, about as fast as the processor; for estimates, not for time. */
static inline uint64_t context_cycles(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

#endif
