/* SPDX-License-Identifier: MIT
 * Layer base: records of one size from large chunks. */
#include "base/slab.h"

#include <stdint.h>

#define RECORD_ALIGN 64
#define CHUNK_SIZE (64 * 1024 - 64)

struct slab_chunk {
	struct slab_chunk *next;
	char *records; /* aligned */
	size_t count;
};

void slab_init(struct slab *slab, size_t record_size, const struct memory *memory)
{
	size_t rounded = (record_size + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
	*slab = (struct slab){ .memory = memory, .record_size = rounded };
}

void slab_destroy(struct slab *slab)
{
	while (slab->chunks) {
		struct slab_chunk *chunk = slab->chunks;
		slab->chunks = chunk->next;
		memory_free(slab->memory, chunk, CHUNK_SIZE);
	}
}

static void push_free(struct slab *slab, void *record)
{
	*(void **)record = slab->free;
	slab->free = record;
}

static int grow(struct slab *slab)
{
	struct slab_chunk *chunk = memory_alloc(slab->memory, CHUNK_SIZE);
	if (!chunk)
		return -1;
	uintptr_t first = ((uintptr_t)(chunk + 1) + RECORD_ALIGN - 1) & ~(uintptr_t)(RECORD_ALIGN - 1);
	chunk->records = (char *)first;
	chunk->count = (CHUNK_SIZE - (first - (uintptr_t)chunk)) / slab->record_size;
	chunk->next = slab->chunks;
	slab->chunks = chunk;
	for (size_t i = chunk->count; i-- > 0;)
		push_free(slab, chunk->records + i * slab->record_size);
	return 0;
}

void *slab_get(struct slab *slab)
{
	if (!slab->free && grow(slab) < 0)
		return NULL;
	void *record = slab->free;
	slab->free = *(void **)record;
	slab->live++;
	return record;
}

void slab_put(struct slab *slab, void *record)
{
	push_free(slab, record);
	slab->live--;
}

void slab_each(const struct slab *slab, void (*visit)(void *record, void *arg), void *arg)
{
	for (const struct slab_chunk *chunk = slab->chunks; chunk; chunk = chunk->next)
		for (size_t i = 0; i < chunk->count; i++)
			visit(chunk->records + i * slab->record_size, arg);
}

bool slab_walk(const struct slab *slab, struct slab_cursor *cursor, size_t count,
    void (*visit)(void *record, void *arg), void *arg)
{
	if (!cursor->chunk)
		cursor->chunk = slab->chunks;
	while (cursor->chunk && count > 0) {
		struct slab_chunk *chunk = cursor->chunk;
		for (; cursor->index < chunk->count && count > 0; count--)
			visit(chunk->records + cursor->index++ * slab->record_size, arg);
		if (cursor->index == chunk->count)
			*cursor = (struct slab_cursor){ chunk->next, 0 };
	}
	return cursor->chunk != NULL;
}
