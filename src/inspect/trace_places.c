/* SPDX-License-Identifier: MIT
 * Layer inspect: code addresses in a trace that is written. See trace_places.h. */
#include "inspect/trace_places.h"

#include <stdbool.h>
#include <string.h>

#include <bide/sync.h>

#include "await/record.h"

const char *trace_place(struct trace_places *places, uintptr_t address)
{
	size_t i = (size_t)((address * 0x9e3779b97f4a7c15u) >> 32) % TRACE_PLACES;
	if (places->all[i].address != address || !address) {
		place_of(address, places->all[i].text);
		places->all[i].address = address;
	}
	return places->all[i].text;
}

/* Functions of the first and of the last file that the library is linked of, and of some between. As a rule its
 * code lies in one piece, whether it is shared or part of the program. */
static void (*const landmarks[])(void) = {
	context_entry,
	(void (*)(void))life_main,
	(void (*)(void))loop_run,
	(void (*)(void))bide_sem_acquire,
	(void (*)(void))bide_sem_release,
};

static bool is_between_landmarks(uintptr_t address)
{
	uintptr_t low = UINTPTR_MAX, high = 0;
	for (size_t i = 0; i < sizeof landmarks / sizeof *landmarks; i++) {
		uintptr_t mark = (uintptr_t)landmarks[i];
		low = mark < low ? mark : low;
		high = mark > high ? mark : high;
	}
	return address >= low && address < high;
}

static bool is_ours(struct trace_places *places, uintptr_t address)
{
	return is_between_landmarks(address) || strncmp(trace_place(places, address), "bide_", 5) == 0;
}

uintptr_t trace_places_caller(struct trace_places *places, const uint64_t *frames, int count)
{
	int i = 0;
	while (i < count && frames[i] && is_ours(places, (uintptr_t)frames[i]))
		i++;
	return i < count ? (uintptr_t)frames[i] : 0;
}
