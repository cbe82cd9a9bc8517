/* SPDX-License-Identifier: MIT
 * Layer inspect: code addresses in a trace that is written. See trace_places.h. */
#include "inspect/trace_places.h"

#include <stdbool.h>
#include <string.h>

const char *trace_place(struct trace_places *places, uintptr_t address)
{
	size_t i = (size_t)((address * 0x9e3779b97f4a7c15u) >> 32) % TRACE_PLACES;
	if (places->all[i].address != address || !address) {
		place_of(address, places->all[i].text);
		places->all[i].address = address;
	}
	return places->all[i].text;
}

static bool is_public(struct trace_places *places, uintptr_t address)
{
	return strncmp(trace_place(places, address), "bide_", 5) == 0;
}

#define GAP 2

uintptr_t trace_places_caller(struct trace_places *places, const uint64_t *frames, int count)
{
	int found = -1, last = -1;
	for (int i = 0; i < count && frames[i] && (found < 0 || i - found <= GAP + 1); i++) {
		last = i;
		if (is_public(places, (uintptr_t)frames[i]))
			found = i;
	}
	if (found >= 0 && found + 1 < count && frames[found + 1])
		last = found + 1;
	return last < 0 ? 0 : (uintptr_t)frames[last];
}
