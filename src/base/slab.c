/* SPDX-License-Identifier: MIT
 * Layer base: records of one size from large chunks. */
#include "base/slab.h"

#include <stdint.h>
#include <string.h>

#define RECORD_ALIGN 64
/* The first chunk is for small programs. Later ones are larger where there are annexes: between records and
 * annexes a page is touched for both. */
#define CHUNK_SIZE ((size_t)64 * 1024 - 64)
#define CHUNK_SIZE_LATER ((size_t)1024 * 1024 - 64)

static size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

void slab_init(struct slab *slab, size_t record_size, size_t annex_size, const struct memory *memory)
{
	*slab = (struct slab){
		.memory = memory,
		.record_size = round_up(record_size, RECORD_ALIGN),
		.annex_size = round_up(annex_size, RECORD_ALIGN),
	};
}

void slab_destroy(struct slab *slab)
{
	while (slab->chunks) {
		struct slab_chunk *chunk = slab->chunks;
		slab->chunks = chunk->next;
		memory_free(slab->memory, chunk, chunk->size);
	}
}

static int grow(struct slab *slab)
{
	size_t size = slab->chunks && slab->annex_size ? CHUNK_SIZE_LATER : CHUNK_SIZE;
	struct slab_chunk *chunk = memory_alloc_raw(slab->memory, size);
	if (!chunk)
		return -1;
	uintptr_t first = round_up((uintptr_t)(chunk + 1), RECORD_ALIGN);
	chunk->records = (char *)first;
	chunk->size = size;
	chunk->room = (size - (first - (uintptr_t)chunk)) / (slab->record_size + slab->annex_size);
	chunk->count = 0;
	chunk->next = NULL;
	*(slab->newest ? &slab->newest->next : &slab->chunks) = chunk;
	slab->newest = chunk;
	return 0;
}

/* Records are taken from a new chunk one by one: what nobody needs yet is not touched. */
void *slab_get_new(struct slab *slab)
{
	struct slab_chunk *chunk = slab->newest;
	if ((!chunk || chunk->count == chunk->room) && grow(slab) < 0)
		return NULL;
	chunk = slab->newest;
	slab->live++;
	return memset(chunk->records + chunk->count++ * slab->record_size, 0, slab->record_size);
}

void *slab_annex_of_new(const struct slab *slab, const void *record)
{
	return slab_annex_of(slab, slab->newest, record);
}

void *slab_annex_of(const struct slab *slab, const struct slab_chunk *chunk, const void *record)
{
	size_t index = (size_t)((const char *)record - chunk->records) / slab->record_size;
	return chunk->records + chunk->room * slab->record_size + index * slab->annex_size;
}

const struct slab_chunk *slab_chunk_of(const struct slab *slab, const void *record)
{
	const struct slab_chunk *chunk = slab->chunks;
	for (; chunk; chunk = chunk->next) {
		uintptr_t offset = (uintptr_t)record - (uintptr_t)chunk->records;
		if (offset < chunk->count * slab->record_size)
			return offset % slab->record_size == 0 ? chunk : NULL;
	}
	return NULL;
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
