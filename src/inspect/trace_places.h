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

/* Of a waiting task's frames, innermost first, the one that called the library: the caller of the outermost
 * function of ours, as long as no more than two others lie between one of them and the next. If none is
 * found it is the outermost frame; 0 if there is no frame. */
uintptr_t trace_places_caller(struct trace_places *places, const uint64_t *frames, int count);

#endif
