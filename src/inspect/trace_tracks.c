/* SPDX-License-Identifier: MIT
 * Layer inspect: the tracks of a trace, in a table with open addressing. See trace_tracks.h. */
#include "inspect/trace_tracks.h"

#include "base/memory.h"

#define LEAST_CAPACITY 64

/* Where it is, or where it would be put; the table is not full. */
static struct track *place_of_track(const struct tracks *tracks, uint32_t run, uint64_t task)
{
	uint64_t hash = (task ^ (uint64_t)run << 40) * 0x9e3779b97f4a7c15u;
	for (size_t i = (size_t)(hash >> 32);; i++) {
		struct track *track = &tracks->all[i & (tracks->capacity - 1)];
		if (!track->number || (track->run == run && track->task == task))
			return track;
	}
}

struct track *tracks_find(const struct tracks *tracks, uint32_t run, uint64_t task)
{
	struct track *track = tracks->capacity ? place_of_track(tracks, run, task) : NULL;
	return track && track->number ? track : NULL;
}

static int grow(struct tracks *tracks)
{
	struct tracks larger = { .capacity = tracks->capacity ? 2 * tracks->capacity : LEAST_CAPACITY };
	larger.all = memory_alloc(&memory_default, larger.capacity * sizeof *larger.all);
	if (!larger.all)
		return -1;
	for (size_t i = 0; i < tracks->capacity; i++)
		if (tracks->all[i].number)
			*place_of_track(&larger, tracks->all[i].run, tracks->all[i].task) = tracks->all[i];
	larger.count = tracks->count;
	tracks_destroy(tracks);
	*tracks = larger;
	return 0;
}

struct track *tracks_get(struct tracks *tracks, uint32_t run, uint64_t task)
{
	struct track *track = tracks_find(tracks, run, task);
	if (track)
		return track;
	if (2 * tracks->count >= tracks->capacity && grow(tracks) < 0)
		return NULL;
	track = place_of_track(tracks, run, task);
	*track = (struct track){ .task = task, .run = run, .number = (uint32_t)++tracks->count };
	return track;
}

void tracks_destroy(struct tracks *tracks)
{
	memory_free(&memory_default, tracks->all, tracks->capacity * sizeof *tracks->all);
	*tracks = (struct tracks){ .capacity = 0 };
}
