/* SPDX-License-Identifier: MIT
 * Layer base: records of one size from large chunks, so that they lie densely. A freed record stays
 * readable until the slab is destroyed: a stale pointer can be told from a good one by what the
 * record says of itself.
 *
 * A record may have an annex, for what most records do not need. The annexes of a chunk lie together
 * behind its records, so that one that is never touched costs no memory. */
#ifndef BASE_SLAB_H
#define BASE_SLAB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/check.h"
#include "base/memory.h"

struct slab_chunk {
	struct slab_chunk *next;
	char *records; /* aligned */
	size_t count;  /* got at least once */
	size_t room;
	size_t size;
};

struct slab {
	const struct memory *memory;
	size_t record_size; /* a multiple of 64; records are aligned to 64 */
	size_t annex_size;  /* likewise */
	struct slab_chunk *chunks; /* the oldest first */
	struct slab_chunk *newest;
	void *free; /* linked through each record's first word */
	size_t live;
};

/* annex_size 0: records alone. */
void slab_init(struct slab *slab, size_t record_size, size_t annex_size, const struct memory *memory);
void slab_destroy(struct slab *slab);

/* A record whose first word is undefined and whose rest is as slab_put left it (all zero when new);
 * NULL with ENOMEM. */
static inline void *slab_get(struct slab *slab);
/* Where the annex of a new record is, of one that slab_get() gave for the first time and last. What is
 * in it is undefined. */
void *slab_annex_of_new(const struct slab *slab, const void *record);
/* Of any record of this chunk. */
void *slab_annex_of(const struct slab *slab, const struct slab_chunk *chunk, const void *record);
/* The chunk in which it was got at least once; NULL: it is none of the slab's. Takes any address. */
const struct slab_chunk *slab_chunk_of(const struct slab *slab, const void *record);
static inline void slab_put(struct slab *slab, void *record);

/* A place in a walk over all records that goes a part at a time; all zero, it is at the beginning. */
struct slab_cursor {
	struct slab_chunk *chunk;
	size_t index;
};

/* Visits the next `count` records. False when it has come to the end: the cursor is at the beginning
 * then. Records made meanwhile may be missed. */
bool slab_walk(const struct slab *slab, struct slab_cursor *cursor, size_t count,
    void (*visit)(void *record, void *arg), void *arg);

/* Calls visit for every record that was ever got, live or free; visit must tell them apart. In the order in which
 * they were first got. */
void slab_each(const struct slab *slab, void (*visit)(void *record, void *arg), void *arg);

/* One that no free list has held yet. */
void *slab_get_new(struct slab *slab);

static inline void *slab_get(struct slab *slab)
{
	void *record = slab->free;
	if (unlikely(!record))
		return slab_get_new(slab);
	slab->free = *(void **)record;
	slab->live++;
	return record;
}

static inline void slab_put(struct slab *slab, void *record)
{
	*(void **)record = slab->free;
	slab->free = record;
	slab->live--;
}

#endif
