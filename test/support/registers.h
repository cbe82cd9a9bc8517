/* SPDX-License-Identifier: MIT
 * The processor's registers, as the tests of the switch need them. Each port has its own
 * test/support/<name>/registers.S and float_control.c. */
#ifndef SUPPORT_REGISTERS_H
#define SUPPORT_REGISTERS_H

#include <stdint.h>

#define REGISTERS_MAX 24

/* Registers that a call preserves: general ones, and of the vector ones what is preserved of them. */
extern const int registers_count;
extern const char *const registers_names[];

/* Calls fn(a, b) with those registers loaded from in[]; out[] receives what they hold after it. */
void registers_call(void (*fn)(void *, void *), void *a, void *b, const uint64_t *in, uint64_t *out);

/* Overwrites all the others. */
void registers_trash(void);

/* The floating-point control state of the running context: all control bits, no status. */
uint64_t float_control(void);
void float_set_control(uint64_t control);

struct float_mode {
	const char *name;
	uint64_t control;
};
/* [0] is what a new context begins with. */
extern const struct float_mode float_modes[];
extern const int float_mode_count;

#endif
