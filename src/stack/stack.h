/* SPDX-License-Identifier: MIT
 * Layer stack: stacks and the pool they come from.
 *
 * Stacks of one size are cut from slabs of address space:
 *
 *     slab  | guard | stack ..... | guard | stack ..... | guard | stack ..... |
 *                     low     high
 *
 * Every guard is in place before a stack of its slab is handed out, and a slab is made when a stack
 * is reserved. So a reservation is where things fail, and taking a reserved stack is not.
 * A stack not in use is warm (its pages may be resident; the next one out) or cold (they are given
 * back). */
#ifndef STACK_STACK_H
#define STACK_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"

struct stack_slot;
struct stack_class;

struct stack {
	char *low;                 /* NULL: reserved, or none */
	char *high;                /* exclusive */
	struct stack_class *class; /* NULL: not of the slabs */
	struct stack_slot *slot;
	bool adopted;              /* the caller's memory */
};

struct stack_hooks {
	void *(*alloc)(size_t size, void *ctx);
	void (*free)(void *memory, size_t size, void *ctx);
	void *ctx;
};

struct stack_pool {
	const struct memory *memory;
	struct stack_hooks hooks; /* alloc NULL: slabs */
	struct stack_class *classes;
	size_t page_size;
	unsigned colour;          /* of the next stack handed out */
};

/* What stack_reserve accepts. */
#define STACK_SIZE_MIN ((size_t)16 * 1024)
#define STACK_SIZE_MAX ((size_t)1 << 36)
#define STACK_SIZE_DEFAULT ((size_t)48 * 1024)
#define STACK_GUARD_SIZE ((size_t)16 * 1024)

enum stack_guard {
	STACK_GUARD_ADVICE,  /* MADV_GUARD_INSTALL: no mapping of its own */
	STACK_GUARD_PROTECT, /* mprotect: two mappings a stack */
};

void stack_pool_init(struct stack_pool *pool, const struct memory *memory, const struct stack_hooks *hooks);
void stack_pool_destroy(struct stack_pool *pool); /* every stack must be back */

/* Sets a stack of at least `size` bytes aside. 0, or -1 with EINVAL (size) or ENOMEM. */
int stack_reserve(struct stack_pool *pool, size_t size, struct stack *stack);
/* Makes a stack of the caller's memory. 0, or -1 with EINVAL. */
int stack_adopt(struct stack *stack, void *memory, size_t size);

/* Takes the stack that was reserved. Does not fail. */
void stack_get(struct stack_pool *pool, struct stack *stack);
/* Gives back a stack, taken or only reserved. Must not be called on that stack. */
void stack_put(struct stack_pool *pool, struct stack *stack);

/* Where to start on it: a little below its end, by an amount that differs from stack to stack, so
 * that the tops of many stacks do not fall into the same few sets of the first-level cache. */
char *stack_top(struct stack_pool *pool, const struct stack *stack);

/* Which guard this kernel has: found out once, by effect, for the process. */
enum stack_guard stack_guard_kind(void);
/* Makes [start, start + size) fault on access. 0 or -1 with errno. */
int stack_guard_install(char *start, size_t size);

#endif
