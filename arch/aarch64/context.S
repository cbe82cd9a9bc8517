/* SPDX-License-Identifier: MIT
 * Layer arch, aarch64: the context switch as a function, and the entry trampoline.
 *
 * ABI: Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64), section 6.1.1 (x19-x28,
 * x29, sp), 6.1.2 (the low halves of v8-v15; FPCR), 6.4.5.1 (sp a multiple of 16).
 *
 *   void context_switch(struct context *from, const struct context *to)
 *                                       x0                        x1
 *
 * The stack of a context suspended here, from its saved sp upwards:
 *     0  x29, x30 (the return address of context_switch, signed with key A against the caller's sp)
 *    16  x19, x20
 *    32  x21, x22
 *    48  x23, x24
 *    64  x25, x26
 *    80  x27, x28
 *    96  d8, d9
 *   112  d10, d11
 *   128  d12, d13
 *   144  d14, d15
 *
 * Between the stacks it jumps. Back to its caller it must use ret: with branch target identification
 * a jump may only land on a landing pad, and a return address has none. paciasp, autiasp and bti are
 * written as the hints that they are: older processors, and assemblers, take them for nops.
 */
#include "frame.h"

#define FRAME_SIZE 160

	.text

	.globl	context_switch
	.hidden	context_switch
	.type	context_switch, %function
	.balign	32
context_switch:
	.cfi_startproc
	hint	#25			/* paciasp, which is a landing pad for calls, as bti c is */
	.cfi_negate_ra_state
	stp	x29, x30, [sp, #-FRAME_SIZE]!
	.cfi_adjust_cfa_offset FRAME_SIZE
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	stp	x19, x20, [sp, #16]
	.cfi_rel_offset x19, 16
	.cfi_rel_offset x20, 24
	stp	x21, x22, [sp, #32]
	.cfi_rel_offset x21, 32
	.cfi_rel_offset x22, 40
	stp	x23, x24, [sp, #48]
	.cfi_rel_offset x23, 48
	.cfi_rel_offset x24, 56
	stp	x25, x26, [sp, #64]
	.cfi_rel_offset x25, 64
	.cfi_rel_offset x26, 72
	stp	x27, x28, [sp, #80]
	.cfi_rel_offset x27, 80
	.cfi_rel_offset x28, 88
	stp	d8, d9, [sp, #96]
	.cfi_rel_offset d8, 96
	.cfi_rel_offset d9, 104
	stp	d10, d11, [sp, #112]
	.cfi_rel_offset d10, 112
	.cfi_rel_offset d11, 120
	stp	d12, d13, [sp, #128]
	.cfi_rel_offset d12, 128
	.cfi_rel_offset d13, 136
	stp	d14, d15, [sp, #144]
	.cfi_rel_offset d14, 144
	.cfi_rel_offset d15, 152
	mov	x9, sp
	adr	x10, .Lresume
	stp	x9, x29, [x0, #CONTEXT_SP]
	str	x10, [x0, #CONTEXT_RESUME]
	mrs	x11, fpcr
	str	w11, [x0, #CONTEXT_FLOAT_CONTROL]

	/* The control state is written only where it differs: writing is the dear part. */
	ldr	w12, [x1, #CONTEXT_FLOAT_CONTROL]
	cmp	w11, w12
	b.ne	.Lload_fpcr
.Lfpcr_done:

	ldr	x16, [x1, #CONTEXT_RESUME]
	ldp	x9, x29, [x1, #CONTEXT_SP]
	.cfi_remember_state
	CONTEXT_CFI_TARGET
	.cfi_negate_ra_state
	mov	sp, x9
	br	x16
	.cfi_restore_state

.Lload_fpcr:
	msr	fpcr, x12
	b	.Lfpcr_done

.Lresume:
	hint	#36			/* bti j */
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	ldp	x29, x30, [sp], #FRAME_SIZE
	.cfi_adjust_cfa_offset -FRAME_SIZE
	.cfi_restore x19
	.cfi_restore x20
	.cfi_restore x21
	.cfi_restore x22
	.cfi_restore x23
	.cfi_restore x24
	.cfi_restore x25
	.cfi_restore x26
	.cfi_restore x27
	.cfi_restore x28
	.cfi_restore x29
	.cfi_restore x30
	.cfi_restore d8
	.cfi_restore d9
	.cfi_restore d10
	.cfi_restore d11
	.cfi_restore d12
	.cfi_restore d13
	.cfi_restore d14
	.cfi_restore d15
	hint	#29			/* autiasp */
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size	context_switch, .-context_switch

/*
 *   void context_call_as(const struct context *caller, void (*fn)(void *), void *arg)
 *                                              x0                x1              x2
 *
 * During the call of fn the unwind rules say that the caller of this function is the suspended context:
 *     CFA (its sp)              the word at x19 + CONTEXT_SP    DW_OP_breg19 0, DW_OP_deref
 *     x30, the return address   saved at x19 + CONTEXT_RESUME   DW_OP_breg19 16; not signed
 *     x29                       saved at x19 + CONTEXT_FP       DW_OP_breg19 8
 * and, by "signal frame", that its address is where it goes on, not the one behind a call. Its other
 * registers are on its stack, where the rules for that place find them.
 */
	.globl	context_call_as
	.hidden	context_call_as
	.type	context_call_as, %function
	.balign	32
context_call_as:
	.cfi_startproc
	.cfi_signal_frame
	hint	#25			/* paciasp */
	.cfi_negate_ra_state
	stp	x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	str	x19, [sp, #16]
	.cfi_rel_offset x19, 16
	mov	x29, sp
	mov	x19, x0
	mov	x9, x1
	mov	x0, x2
	.cfi_remember_state
	.cfi_escape 0x0f, 3, 0x83, CONTEXT_SP, 0x06
	.cfi_escape 0x10, 30, 2, 0x83, CONTEXT_RESUME
	.cfi_escape 0x10, 29, 2, 0x83, CONTEXT_FP
	.cfi_same_value 19
	.cfi_negate_ra_state
	blr	x9
	.cfi_restore_state
	ldr	x19, [sp, #16]
	.cfi_restore x19
	ldp	x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	hint	#29			/* autiasp */
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size	context_call_as, .-context_call_as

/*
 *   context_entry: sp -> 0 function, 8 argument; sp is a multiple of 16, x29 is 0.
 * Reached by br x16 or x17, for which "bti c" is a landing pad too; "bti jc" allows any register.
 * The undefined x30 tells every unwinder that there is no caller. The nop is for unwinders that look
 * before an address that they take for a return address, as context_entry is for a moment in a
 * switch to it.
 */
	.globl	context_entry
	.hidden	context_entry
	.type	context_entry, %function
	.balign	32
	.cfi_startproc
	.cfi_def_cfa sp, 16
	.cfi_undefined x30
	.cfi_undefined x29
	nop
context_entry:
	hint	#38			/* bti jc */
	ldp	x9, x0, [sp]
	mov	x30, xzr
	blr	x9
	brk	#1
	.cfi_endproc
	.size	context_entry, .-context_entry

	.section .note.GNU-stack, "", %progbits

/* What this file supports, for the linker: branch target identification, and signed return
 * addresses. (ELF for the Arm 64-bit Architecture, "Program Property".) */
	.section .note.gnu.property, "a"
	.balign	8
	.long	4
	.long	16
	.long	5			/* NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.long	0xc0000000		/* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
	.long	4
	.long	3			/* BTI, PAC */
	.long	0
