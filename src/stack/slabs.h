/* SPDX-License-Identifier: MIT
 * Layer stack: the inside of the pool. */
#ifndef STACK_SLABS_H
#define STACK_SLABS_H

#include "base/check.h"
#include "base/list.h"
#include "stack/stack.h"

#define SLAB_STACKS 64               /* no more are ever cut from a slab */
#define SLAB_SIZE ((size_t)4 << 20)  /* of address space, at most; a larger stack has a slab to itself */
#define SLOT_NONE 0xff

/* A slot is in use, or in one of the two chains. One byte a slot, and no word in the stacks
 * themselves: a million of them are dear, and a cold one stays cold. */
struct stack_slab {
	struct link all;         /* in class.slabs; first, for leak checkers that know only beginnings */
	struct stack_class *class;
	struct link may_be_warm; /* in class.may_be_warm, if it has a warm slot, or had one lately */
	struct link may_be_cold;
	char *start;
	size_t size;
	long mapping_guards;     /* guards that cost mappings */
	bool is_unguarded;
	uint8_t count;
	uint8_t free;            /* slots in the chains */
	uint8_t warm, cold;      /* the first slot of each chain */
	uint8_t next[SLAB_STACKS];
};

/* Stacks of one size. */
struct stack_class {
	struct stack_class *next;
	size_t size;
	size_t stride;           /* with the guard */
	uint64_t slot_of_page;   /* 2^32 / pages a stride, rounded up: division by multiplication */
	struct list slabs;
	struct list may_be_warm, may_be_cold;
	size_t total;
	size_t available;        /* neither in use nor promised */
	size_t warm;
	size_t in_use;
	size_t depth;            /* bytes that a stack holds when it is put back, estimated; 0: not yet */
	unsigned until_sample;   /* stacks put back until the next one is looked at, */
	unsigned sample_gap;     /* and between that and the one after */
};

static inline char *slot_low(const struct stack_pool *pool, const struct stack_slab *slab, unsigned slot)
{
	return slab->start + slot * slab->class->stride + pool->guard_size;
}

static inline unsigned slot_of(const struct stack_pool *pool, const struct stack_slab *slab, const char *low)
{
	size_t page = (size_t)(low - slab->start) >> pool->page_shift;
	return (unsigned)(page * slab->class->slot_of_page >> 32);
}

/* So many bytes of a stack, or of anything mapped, are resident. */
size_t resident_size(const struct stack_pool *pool, const char *low, size_t size);

/* Makes a slab of cold stacks, each with its guard. 0, or -1 with ENOMEM. */
int slab_make(struct stack_pool *pool, struct stack_class *class);

/* A slab in which no stack is in use: out of the pool and unmapped. False if the kernel refused, which
 * it may when the slab lies in the middle of a mapping and none is left for the second half. */
bool slab_unmap(struct stack_pool *pool, struct stack_slab *slab);

/* The slab to take a warm, or a cold, stack from: that in which the latest was put back. NULL if there
 * is none. */
static inline struct stack_slab *slab_find_warm(struct stack_class *class);
struct stack_slab *slab_find_cold(struct stack_class *class);
/* Takes the first slot out of the chain, which must not be empty. */
static inline unsigned slab_take_warm(struct stack_pool *pool, struct stack_slab *slab);
unsigned slab_take_cold(struct stack_slab *slab);
static inline void slab_put_warm(struct stack_pool *pool, struct stack_slab *slab, unsigned slot);
void slab_put_cold(struct stack_slab *slab, unsigned slot);

/* The slab goes to the head: what was put back last is the next one out. */
void slab_to_head(struct list *list, struct link *link);

struct stack_slab *slab_find_warm_slowly(struct stack_class *class);

static inline struct stack_slab *slab_find_warm(struct stack_class *class)
{
	struct link *link = class->may_be_warm.head.next;
	struct stack_slab *slab = container_of(link, struct stack_slab, may_be_warm);
	if (likely(link != &class->may_be_warm.head) && likely(slab->warm != SLOT_NONE))
		return slab;
	return slab_find_warm_slowly(class);
}

static inline unsigned slab_take_warm(struct stack_pool *pool, struct stack_slab *slab)
{
	unsigned slot = slab->warm;
	slab->warm = slab->next[slot];
	slab->class->warm--;
	pool->warm_size -= slab->class->size;
	return slot;
}

static inline void slab_put_warm(struct stack_pool *pool, struct stack_slab *slab, unsigned slot)
{
	struct stack_class *class = slab->class;
	slab->next[slot] = slab->warm;
	slab->warm = (uint8_t)slot;
	if (unlikely(class->may_be_warm.head.next != &slab->may_be_warm))
		slab_to_head(&class->may_be_warm, &slab->may_be_warm);
	class->warm++;
	pool->warm_size += class->size;
}

#endif
