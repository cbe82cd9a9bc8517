/* SPDX-License-Identifier: MIT
 * Layer base: the heap behind the user's allocator hooks. */
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hostile.h"

static void *default_alloc(size_t size, void *ctx)
{
	(void)ctx;
	return malloc(size);
}

static void default_free(void *block, size_t size, void *ctx)
{
	(void)size;
	(void)ctx;
	free(block);
}

const struct memory memory_default = { default_alloc, default_free, NULL };

void *memory_alloc_raw(const struct memory *memory, size_t size)
{
	if (fault_hits(FAULT_MALLOC))
		return NULL;
	void *block = memory->alloc(size, memory->ctx);
	if (!block)
		errno = ENOMEM;
	else
		poison(block, size);
	return block;
}

void *memory_alloc(const struct memory *memory, size_t size)
{
	void *block = memory_alloc_raw(memory, size);
	return block ? memset(block, 0, size) : NULL;
}

void memory_free(const struct memory *memory, void *block, size_t size)
{
	if (!block)
		return;
	int saved = errno; /* whatever the hook does */
	poison(block, size);
	memory->free(block, size, memory->ctx);
	errno = saved;
}

void *memory_resize(const struct memory *memory, void *block, size_t old_size, size_t new_size)
{
	void *fresh = memory_alloc(memory, new_size);
	if (!fresh)
		return NULL;
	if (block)
		memcpy(fresh, block, old_size < new_size ? old_size : new_size);
	memory_free(memory, block, old_size);
	return fresh;
}
