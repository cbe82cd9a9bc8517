/* SPDX-License-Identifier: MIT
 * See registers.h.
 *   void registers_call(void (*fn)(void *, void *), void *a, void *b, const uint64_t *in, uint64_t *out)
 *                       x0                          x1       x2       x3                  x4        */
	.text
	.globl	registers_call
	.hidden	registers_call
	.type	registers_call, %function
registers_call:
	.cfi_startproc
	hint	#25			/* paciasp */
	.cfi_negate_ra_state
	stp	x29, x30, [sp, #-176]!
	.cfi_adjust_cfa_offset 176
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	str	x4, [sp, #160]
	.irp n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28
	.cfi_rel_offset x\n, 16 + 8 * (\n - 19)
	.endr
	.irp n, 8, 9, 10, 11, 12, 13, 14, 15
	.cfi_rel_offset d\n, 96 + 8 * (\n - 8)
	.endr
	mov	x9, x0
	mov	x0, x1
	mov	x1, x2
	ldp	x19, x20, [x3]
	ldp	x21, x22, [x3, #16]
	ldp	x23, x24, [x3, #32]
	ldp	x25, x26, [x3, #48]
	ldp	x27, x28, [x3, #64]
	ldr	x29, [x3, #80]
	ldr	d8, [x3, #88]
	ldr	d9, [x3, #96]
	ldr	d10, [x3, #104]
	ldr	d11, [x3, #112]
	ldr	d12, [x3, #120]
	ldr	d13, [x3, #128]
	ldr	d14, [x3, #136]
	ldr	d15, [x3, #144]
	blr	x9
	ldr	x4, [sp, #160]
	stp	x19, x20, [x4]
	stp	x21, x22, [x4, #16]
	stp	x23, x24, [x4, #32]
	stp	x25, x26, [x4, #48]
	stp	x27, x28, [x4, #64]
	str	x29, [x4, #80]
	str	d8, [x4, #88]
	str	d9, [x4, #96]
	str	d10, [x4, #104]
	str	d11, [x4, #112]
	str	d12, [x4, #120]
	str	d13, [x4, #128]
	str	d14, [x4, #136]
	str	d15, [x4, #144]
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	ldp	x29, x30, [sp], #176
	.cfi_def_cfa_offset 0
	hint	#29			/* autiasp */
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size	registers_call, .-registers_call

	.globl	registers_trash
	.hidden	registers_trash
	.type	registers_trash, %function
registers_trash:
	.cfi_startproc
	hint	#34			/* bti c */
	mov	x0, #0x5a5a
	.irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18
	mov	x\n, x0
	.endr
	/* Of v8-v15 a call preserves the lower halves. */
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	dup	v\n\().2d, x0
	.endr
	.irp n, 8, 9, 10, 11, 12, 13, 14, 15
	mov	v\n\().d[1], x0
	.endr
	ret
	.cfi_endproc
	.size	registers_trash, .-registers_trash

	.section .rodata
	.globl	registers_count
	.hidden	registers_count
	.balign	8
registers_count:
	.word	19

	.section .data.rel.ro, "aw"
	.globl	registers_names
	.hidden	registers_names
	.balign	8
registers_names:
	.quad	.Lx19, .Lx20, .Lx21, .Lx22, .Lx23, .Lx24, .Lx25, .Lx26, .Lx27, .Lx28, .Lx29
	.quad	.Ld8, .Ld9, .Ld10, .Ld11, .Ld12, .Ld13, .Ld14, .Ld15
	.section .rodata
	.irp reg, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28, x29, d8, d9, d10, d11, d12, d13, d14, d15
.L\reg:
	.asciz	"\reg"
	.endr

	.section .note.GNU-stack, "", %progbits
