/* SPDX-License-Identifier: MIT
 * Layer base: the heap behind the user's allocator hooks. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>

struct memory {
	void *(*alloc)(size_t size, void *ctx);
	void (*free)(void *memory, size_t size, void *ctx);
	void *ctx;
};

/* The C library's heap. */
extern const struct memory memory_default;

/* NULL with errno ENOMEM. The memory of memory_alloc is all zero; memory_alloc_raw does not touch it, so
 * that pages nobody needs stay out of memory. */
void *memory_alloc(const struct memory *memory, size_t size);
void *memory_alloc_raw(const struct memory *memory, size_t size);
void memory_free(const struct memory *memory, void *block, size_t size);

/* A copy of a block in a larger or smaller one; the old one is freed. On failure it stays. */
void *memory_resize(const struct memory *memory, void *block, size_t old_size, size_t new_size);

#endif
