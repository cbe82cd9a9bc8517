/* SPDX-License-Identifier: MIT
 * Layer arch, x86_64: the context switch as a function, and the entry trampoline.
 *
 * ABI: System V psABI for AMD64, section 3.2.1 (registers preserved across calls: rbx, rbp, r12-r15;
 * the control bits of MXCSR and the x87 control word) and 3.2.2 (stack alignment).
 *
 *   void context_switch(struct context *from, const struct context *to)
 *                                       rdi                       rsi
 *
 * The stack of a context suspended here, from its saved rsp upwards:
 *    0  r15
 *    8  r14
 *   16  r13
 *   24  r12
 *   32  rbx
 *   40  rbp        (in struct context too, where the inline form needs it)
 *   48  return address of context_switch
 *
 * It leaves by jumps only. A ret would be predicted by the return stack, whose top belongs to the
 * stack that was left: always wrong. (docs/notes/switch.md)
 */
#include "frame.h"

	.text

	.globl	context_switch
	.hidden	context_switch
	.type	context_switch, @function
	.balign	32
context_switch:
	.cfi_startproc
	endbr64
	stmxcsr	CONTEXT_FLOAT_CONTROL(%rdi)
	fnstcw	CONTEXT_FLOAT_CONTROL+4(%rdi)
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r15, 0
	leaq	.Lresume(%rip), %rax
	movq	%rsp, CONTEXT_SP(%rdi)
	movq	%rbp, CONTEXT_FP(%rdi)
	movq	%rax, CONTEXT_RESUME(%rdi)

	/* MXCSR is loaded always: to read back what stmxcsr has just stored would cost more. */
	movzwl	CONTEXT_FLOAT_CONTROL+4(%rdi), %eax
	cmpw	CONTEXT_FLOAT_CONTROL+4(%rsi), %ax
	jne	.Lload_x87
.Lx87_done:
	ldmxcsr	CONTEXT_FLOAT_CONTROL(%rsi)

	movq	CONTEXT_FP(%rsi), %rbp
	.cfi_remember_state
	CONTEXT_CFI_TARGET
	movq	CONTEXT_SP(%rsi), %rsp
	jmp	*CONTEXT_RESUME(%rsi)
	.cfi_restore_state

.Lload_x87:
	fnclex				/* or the target, where it does not mask them, gets our exceptions */
	fldcw	CONTEXT_FLOAT_CONTROL+4(%rsi)
	jmp	.Lx87_done

.Lresume:
	endbr64
	popq	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r15
	popq	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r14
	popq	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r13
	popq	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	jmp	__x86_return_thunk
	.cfi_endproc
	.size	context_switch, .-context_switch

/*
 * The return of functions marked CONTEXT_RETURNS_BY_JUMP; the compiler chooses the name. rcx is free
 * at a return. A return address has no landing pad; notrack says that this is meant. Weak: in a program that
 * is linked with these objects themselves, and has such a function too, either will do.
 */
	.weak	__x86_return_thunk
	.hidden	__x86_return_thunk
	.type	__x86_return_thunk, @function
	.balign	32
__x86_return_thunk:
	.cfi_startproc
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rcx
	notrack jmp *%rcx
	.cfi_endproc
	.size	__x86_return_thunk, .-__x86_return_thunk

/*
 *   void context_call_as(const struct context *caller, void (*fn)(void *), void *arg)
 *                                              rdi               rsi             rdx
 *
 * During the call of fn the unwind rules say that the caller of this function is the suspended context:
 *     CFA (its rsp)   the word at rbx + CONTEXT_SP      DW_OP_breg3 0, DW_OP_deref
 *     rip             saved at rbx + CONTEXT_RESUME     DW_OP_breg3 16
 *     rbp             saved at rbx + CONTEXT_FP         DW_OP_breg3 8
 * and, by "signal frame", that its rip is where it goes on, not the address behind a call. Its other
 * registers are on its stack, where the rules for that place find them.
 */
	.globl	context_call_as
	.hidden	context_call_as
	.type	context_call_as, @function
	.balign	32
context_call_as:
	.cfi_startproc
	.cfi_signal_frame
	endbr64
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	movq	%rdi, %rbx
	movq	%rdx, %rdi
	.cfi_remember_state
	.cfi_escape 0x0f, 3, 0x73, CONTEXT_SP, 0x06
	.cfi_escape 0x10, 16, 2, 0x73, CONTEXT_RESUME
	.cfi_escape 0x10, 6, 2, 0x73, CONTEXT_FP
	.cfi_same_value 3
	call	*%rsi
	.cfi_restore_state
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc
	.size	context_call_as, .-context_call_as

/*
 *   context_entry: rsp -> 0 function, 8 argument; rsp is a multiple of 16, rbp is 0.
 * The call leaves rsp + 8 a multiple of 16 at the function's entry. The undefined rip tells every
 * unwinder that there is no caller. The nop is for unwinders that look one byte before an address
 * that they take for a return address, as context_entry is for a moment in a switch to it.
 */
	.globl	context_entry
	.hidden	context_entry
	.type	context_entry, @function
	.balign	32
	.cfi_startproc
	.cfi_def_cfa %rsp, 16
	.cfi_undefined %rip
	.cfi_undefined %rbp
	nop
context_entry:
	endbr64
	movq	8(%rsp), %rdi
	call	*(%rsp)
	ud2
	.cfi_endproc
	.size	context_entry, .-context_entry

	.section .note.GNU-stack, "", @progbits

/* What this file supports, for the linker: indirect branch tracking. Not shadow stacks, since the
 * switch does not switch them: the bit 2 stays clear, and so it does in every program linked with
 * this object. (Linux ABI extensions to the gABI, "Program Property".) */
	.section .note.gnu.property, "a"
	.balign	8
	.long	4
	.long	16
	.long	5			/* NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.long	0xc0000002		/* GNU_PROPERTY_X86_FEATURE_1_AND */
	.long	4
	.long	1			/* IBT */
	.long	0
