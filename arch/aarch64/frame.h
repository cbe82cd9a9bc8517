/* SPDX-License-Identifier: MIT
 * Layer arch, aarch64: the shape of struct context, for C and for assembly. */
#ifndef ARCH_FRAME_H
#define ARCH_FRAME_H

#define CONTEXT_SP 0             /* sp */
#define CONTEXT_FP 8             /* x29 */
#define CONTEXT_RESUME 16        /* pc */
#define CONTEXT_FLOAT_CONTROL 24 /* [0] FPCR (its upper half is zero), [1] unused */
#define CONTEXT_SIZE 32

/* A new context computes as a new process does: round to nearest, no traps. */
#define CONTEXT_FLOAT_CONTROL_0 0
#define CONTEXT_FLOAT_CONTROL_1 0

/* The first call of a function through the procedure linkage table saves the vector registers: here
 * only those that carry arguments. */
#define CONTEXT_BINDING_SAVES_VECTORS 0

/* How wide the guard below a stack is. -fstack-clash-protection takes it for granted here that one of
 * 64 KiB is there, and touches nothing on the way down in a smaller frame (gcc, --param
 * stack-clash-protection-guard-size); the guards of threads have that width too. */
#define CONTEXT_GUARD_SIZE 65536

/* Unwind rules for the two instructions of a switch that stand between the stacks: x29 is the
 * target's already, so the backtrace is the target's too, as if it had called this place.
 *     CFA (the caller's sp)    x9
 *     x30, the return address  x16, which is not signed
 *     x19-x29, d8-d15 (72-79)  as they are: the target does not rely on them, or knows better
 * (DWARF for the Arm 64-bit Architecture, section 4.1) */
#define CONTEXT_CFI_TARGET                                                                         \
	.cfi_def_cfa 9, 0;                                                                             \
	.cfi_register 30, 16;                                                                          \
	.cfi_same_value 19; .cfi_same_value 20; .cfi_same_value 21; .cfi_same_value 22;                \
	.cfi_same_value 23; .cfi_same_value 24; .cfi_same_value 25; .cfi_same_value 26;                \
	.cfi_same_value 27; .cfi_same_value 28; .cfi_same_value 29; .cfi_same_value 72;                \
	.cfi_same_value 73; .cfi_same_value 74; .cfi_same_value 75; .cfi_same_value 76;                \
	.cfi_same_value 77; .cfi_same_value 78; .cfi_same_value 79

#endif
