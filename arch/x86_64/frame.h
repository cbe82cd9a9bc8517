/* SPDX-License-Identifier: MIT
 * Layer arch, x86_64: the shape of struct context, for C and for assembly. */
#ifndef ARCH_FRAME_H
#define ARCH_FRAME_H

#define CONTEXT_SP 0             /* rsp */
#define CONTEXT_FP 8             /* rbp */
#define CONTEXT_RESUME 16        /* rip */
#define CONTEXT_FLOAT_CONTROL 24 /* [0] MXCSR, [1] x87 control word (low 16 bits) */
#define CONTEXT_SIZE 32

/* A new context computes as a new process does: round to nearest, all exceptions masked
 * (System V psABI for AMD64, section 3.4.1, "Initial Stack and Register State"). */
#define CONTEXT_FLOAT_CONTROL_0 0x1f80
#define CONTEXT_FLOAT_CONTROL_1 0x037f

/* The first call of a function through the procedure linkage table saves the vector registers. */
#define CONTEXT_BINDING_SAVES_VECTORS 1

/* How wide the guard below a stack is. -fstack-clash-protection touches each page of 4 KiB on the way
 * down, so one would do for code compiled with it; the rest is for code that is not. */
#define CONTEXT_GUARD_SIZE 16384

/* Unwind rules for the two instructions of a switch that stand between the stacks: rbp is the
 * target's already, so the backtrace is the target's too, as if it had called this place.
 *     CFA (the caller's rsp)   the word at rsi + CONTEXT_SP      DW_OP_breg4 0, DW_OP_deref
 *     rip                      saved at rsi + CONTEXT_RESUME     DW_OP_breg4 16
 *     rbx 3, rbp 6, r12-r15    as they are: the target does not rely on them, or knows better
 * (DWARF 5, section 6.4.2; register numbers: psABI, figure 3.36) */
#define CONTEXT_CFI_TARGET                                                                         \
	.cfi_escape 0x0f, 3, 0x74, CONTEXT_SP, 0x06;                                                   \
	.cfi_escape 0x10, 16, 2, 0x74, CONTEXT_RESUME;                                                 \
	.cfi_same_value 3; .cfi_same_value 6; .cfi_same_value 12; .cfi_same_value 13;                  \
	.cfi_same_value 14; .cfi_same_value 15

#endif
