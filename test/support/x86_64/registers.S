/* SPDX-License-Identifier: MIT
 * See registers.h.
 *   void registers_call(void (*fn)(void *, void *), void *a, void *b, const uint64_t *in, uint64_t *out)
 *                       rdi                         rsi      rdx      rcx                 r8        */
	.text
	.globl	registers_call
	.hidden	registers_call
	.type	registers_call, @function
registers_call:
	.cfi_startproc
	endbr64
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
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
	pushq	%r8
	.cfi_adjust_cfa_offset 8
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	(%rcx), %rbx
	movq	8(%rcx), %rbp
	movq	16(%rcx), %r12
	movq	24(%rcx), %r13
	movq	32(%rcx), %r14
	movq	40(%rcx), %r15
	call	*%rax
	popq	%r8
	.cfi_adjust_cfa_offset -8
	movq	%rbx, (%r8)
	movq	%rbp, 8(%r8)
	movq	%r12, 16(%r8)
	movq	%r13, 24(%r8)
	movq	%r14, 32(%r8)
	movq	%r15, 40(%r8)
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
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	ret
	.cfi_endproc
	.size	registers_call, .-registers_call

	.globl	registers_trash
	.hidden	registers_trash
	.type	registers_trash, @function
registers_trash:
	.cfi_startproc
	endbr64
	movabsq	$0x5a5a5a5a5a5a5a5a, %rax
	.irp reg, rcx, rdx, rsi, rdi, r8, r9, r10, r11
	movq	%rax, %\reg
	.endr
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movq	%rax, %xmm\n
	punpcklqdq %xmm\n, %xmm\n
	.endr
#ifdef __AVX512F__
	.irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vpbroadcastq %rax, %zmm\n
	.endr
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7
	kmovw	%eax, %k\n
	.endr
#endif
	ret
	.cfi_endproc
	.size	registers_trash, .-registers_trash

	.section .rodata
	.globl	registers_count
	.hidden	registers_count
	.balign	8
registers_count:
	.long	6

	.section .data.rel.ro, "aw"
	.globl	registers_names
	.hidden	registers_names
	.balign	8
registers_names:
	.quad	.Lrbx, .Lrbp, .Lr12, .Lr13, .Lr14, .Lr15
	.section .rodata
	.irp reg, rbx, rbp, r12, r13, r14, r15
.L\reg:
	.asciz	"\reg"
	.endr

	.section .note.GNU-stack, "", @progbits
