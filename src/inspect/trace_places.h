/* SPDX-License-Identifier: MIT
 * Layer inspect: code addresses in a trace that is written, each looked up once as a rule. */
#ifndef INSPECT_TRACE_PLACES_H
#define INSPECT_TRACE_PLACES_H

#include <stdint.h>

#include "base/place.h"

#define TRACE_PLACES 256

/* All zero it is empty. */
struct trace_places {
	struct {
		uintptr_t address;
		char text[PLACE_SIZE];
	} all[TRACE_PLACES];
};

/* Good until the next call; as base/place.h has it. */
const char *trace_place(struct trace_places *places, uintptr_t address);

/* Of a waiting task's frames, innermost first, the one that called the library. In a program that is optimised
 * across files it may be one of the library's, since its code is not in one piece then. 0: it is not among them. */
uintptr_t trace_places_caller(struct trace_places *places, const uint64_t *frames, int count);

#endif
