/* SPDX-License-Identifier: MIT
 * Layer stack: stacks and the pool they come from.
 *
 * Stacks of one size are cut from slabs of address space, up to 64 from each:
 *
 *     slab  | guard | stack ..... | guard | stack ..... | guard | stack ..... |
 *                     low     high
 *
 * Every guard is in place before a stack of its slab is handed out, and a slab is made when a stack
 * is reserved. So a reservation is where things fail, and taking a reserved stack is not.
 *
 * A stack not in use is warm (its pages may be resident; the next one out) or cold (they are given
 * back). What is kept warm is bounded in bytes, and slabs none of whose stacks is in use are unmapped
 * while others have enough. docs/notes/stack.md has the reasons and the figures. */
#ifndef STACK_STACK_H
#define STACK_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/hostile.h"
#include "base/memory.h"
#include "stack/annotate.h"
#include "stack/guard.h"

struct stack_class;

struct stack {
	char *low;    /* NULL: reserved, or none */
	char *high;   /* exclusive */
	void *origin; /* in use: its slab; reserved: its class; STACK_ADOPTED; NULL: the hooks */
	ANNOTATE_FIELD
};

/* In origin: the caller's memory. */
#define STACK_ADOPTED ((void *)1)

struct stack_hooks {
	void *(*alloc)(size_t size, void *ctx);
	void (*free)(void *memory, size_t size, void *ctx);
	void *ctx;
};

/* Why a reservation failed, or gave a stack without a guard; until somebody has told the user. */
enum stack_trouble {
	STACK_TROUBLE_NONE,
	STACK_TROUBLE_SPACE,    /* mmap() failed */
	STACK_TROUBLE_MAPPINGS, /* no mapping left for a guard */
};

struct stack_options {
	size_t warm_limit;        /* bytes that warm stacks may hold */
	size_t spare_size;        /* address space that is kept for later, each class, */
	unsigned spare_slabs;     /* and at least so many slabs */
	unsigned slab_stacks;     /* are cut from a slab, at most; 1 .. 64 */
	bool paints;              /* to tell later how deep a stack was used (paint.c) */
	bool has_canaries;        /* only a word at the end of each */
	bool may_be_unguarded;    /* rather than fail when no guard can be had */
};

#define STACK_OPTIONS_DEFAULT                                                                      \
	{                                                                                              \
		.warm_limit = STACK_WARM_DEFAULT,                                                          \
		.spare_size = STACK_SPARE_DEFAULT,                                                         \
		.spare_slabs = STACK_SPARE_SLABS_DEFAULT,                                                  \
		.slab_stacks = STACK_SLAB_DEFAULT,                                                         \
	}

struct stack_pool {
	const struct memory *memory;
	struct stack_hooks hooks; /* alloc NULL: slabs */
	struct stack_class *classes;
	size_t asked;             /* the latest size asked for, */
	struct stack_class *given; /* and the class of it */
	size_t page_size, guard_size;
	unsigned page_shift;
	size_t warm_size;         /* bytes that they would hold if each was used to its end */
	unsigned colour;          /* of the next stack handed out */
	enum stack_trouble trouble;
	struct stack_options options; /* as stack_pool_init sets them; to be changed before the first use */
};

/* What stack_reserve accepts, besides stack_size_min(). */
#define STACK_SIZE_MIN ((size_t)8 * 1024)
#define STACK_SIZE_MAX ((size_t)1 << 36)

/* With a guard of 16 KiB that is 64 KiB of address space; more where the compiler's frames are larger. The
 * library cannot see how the user's code is compiled, and takes its own build for a sign. */
#if defined(ANNOTATE_ASAN) || defined(ANNOTATE_TSAN)
#define STACK_SIZE_DEFAULT ((size_t)240 * 1024)
#elif !defined(__OPTIMIZE__)
#define STACK_SIZE_DEFAULT ((size_t)112 * 1024)
#else
#define STACK_SIZE_DEFAULT ((size_t)48 * 1024)
#endif

void stack_pool_init(struct stack_pool *pool, const struct memory *memory, const struct stack_hooks *hooks);
void stack_pool_destroy(struct stack_pool *pool); /* every stack must be back */
/* The same, but the stacks stay mapped for ever: somebody else still uses what lies on one. */
void stack_pool_abandon(struct stack_pool *pool);

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
static inline char *stack_top(struct stack_pool *pool, const struct stack *stack);

/* ---- sizes (size.c) ---- */

/* What the kernel pushes for a signal. */
size_t stack_signal_frame(void);
/* The least size accepted on this machine. */
size_t stack_size_min(void);
bool stack_size_is_valid(size_t size);
/* What is handed out for a size that is valid: whole pages, in steps of an eighth of the next power of
 * two, so that a program that asks for many different sizes still makes few classes. */
size_t stack_size_rounded(size_t size, size_t page_size);

/* ---- memory (trim.c) ---- */

/* Gives back the pages of a parked stack below `sp`, its saved stack pointer. Nothing at or above it,
 * nor in the red zone below it, is touched; nor is memory that is not the pool's. */
void stack_trim(const struct stack_pool *pool, const struct stack *stack, const void *sp);
/* Makes every stack that is not in use cold, and unmaps the slabs that are free altogether. */
void stack_pool_trim(struct stack_pool *pool);

/* Is it in the address space of the pool's slabs? Reads only, for a signal handler. */
bool stack_pool_contains(const struct stack_pool *pool, const void *address);

/* Figures for the user; resident is an estimate from some of the stacks. */
struct stack_figures {
	size_t in_use, warm, cold, unguarded; /* stacks */
	size_t mapped, resident;              /* bytes */
	size_t mappings;                      /* at most */
};
void stack_pool_figures(const struct stack_pool *pool, struct stack_figures *figures);
/* Those of them that need no walk over the slabs: in_use, warm, cold and mapped. The others are 0. */
void stack_pool_count(const struct stack_pool *pool, struct stack_figures *figures);

/* ---- depth (paint.c) ---- */

void stack_paint(const struct stack *stack);
/* How many bytes, counted from its high end, were used since it was painted. */
size_t stack_used(const struct stack *stack);
/* Paints over what was used. */
void stack_repaint(const struct stack *stack);

/* A few words at the low end that healthy code never touches. */
void stack_canary_set(const struct stack *stack);
bool stack_canary_is_whole(const struct stack *stack);
#define STACK_CANARY_SIZE 16

static inline size_t stack_size(const struct stack *stack)
{
	return (size_t)(stack->high - stack->low);
}

#define STACK_COLOUR_STEP 192 /* three cache lines: what the top frames of a parked task touch */
#define STACK_COLOUR_ROOM (32 * STACK_COLOUR_STEP) /* of a small stack, colours take no more than a 32nd */

static inline char *stack_top(struct stack_pool *pool, const struct stack *stack)
{
	size_t size = stack_size(stack);
	unsigned mask = likely(size >= 8 * STACK_COLOUR_ROOM) ? 7 : size >= 4 * STACK_COLOUR_ROOM ? 3 : 1;
	return stack->high - (pool->colour++ & mask) * STACK_COLOUR_STEP;
}

static inline bool stack_contains(const struct stack *stack, const void *address)
{
	return (uintptr_t)address - (uintptr_t)stack->low < (uintptr_t)stack->high - (uintptr_t)stack->low;
}

#endif
