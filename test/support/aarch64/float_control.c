/* SPDX-License-Identifier: MIT
 * See registers.h: FPCR. */
#include "registers.h"

const struct float_mode float_modes[] = {
	{ "default", 0 },
	{ "round upward", 1u << 22 },
	{ "flush to zero", 1u << 24 },
	{ "default NaN", 1u << 25 },
	{ "round to zero, flush half precision to zero", 3u << 22 | 1u << 19 },
};
const int float_mode_count = sizeof float_modes / sizeof *float_modes;

uint64_t float_control(void)
{
	uint64_t fpcr;
	__asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
	return fpcr;
}

void float_set_control(uint64_t control)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(control));
}
