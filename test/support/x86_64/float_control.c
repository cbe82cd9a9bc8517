/* SPDX-License-Identifier: MIT
 * See registers.h: MXCSR without its status bits, and above it the x87 control word. */
#include "registers.h"

#define MXCSR_STATUS 0x3fu

const struct float_mode float_modes[] = {
	{ "default", 0x037f00001f80 },
	{ "both round upward", 0x0b7f00005f80 },
	{ "only MXCSR: flush to zero, denormals are zero", 0x037f00009fc0 },
	{ "only MXCSR: invalid operation not masked", 0x037f00001f00 },
	{ "only MXCSR: round to zero", 0x037f00007f80 },
	{ "only x87: single precision", 0x007f00001f80 },
	{ "only x87: round downward", 0x077f00001f80 },
	{ "only x87: division by zero not masked", 0x037b00001f80 },
};
const int float_mode_count = sizeof float_modes / sizeof *float_modes;

uint64_t float_control(void)
{
	uint32_t mxcsr;
	uint16_t x87;
	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	__asm__ volatile("fnstcw %0" : "=m"(x87));
	return (uint64_t)x87 << 32 | (mxcsr & ~MXCSR_STATUS);
}

void float_set_control(uint64_t control)
{
	uint32_t mxcsr = (uint32_t)control;
	uint16_t x87 = (uint16_t)(control >> 32);
	__asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
	__asm__ volatile("fldcw %0" : : "m"(x87));
}
