/* SPDX-License-Identifier: MIT
 * Layer stack: slabs: mapped, guarded, unmapped; and the chains of their free stacks. */
#include "stack/slabs.h"

#include <errno.h>

#include "base/check.h"
#include "base/fail.h"
#include "base/system.h"

/* ---- chains ------------------------------------------------------------------------------------ */

void slab_to_head(struct list *list, struct link *link)
{
	if (link_is_linked(link))
		link_remove(link);
	link_insert_before(link, list->head.next);
}

unsigned slab_take_cold(struct stack_slab *slab)
{
	unsigned slot = slab->cold;
	slab->cold = slab->next[slot];
	return slot;
}

void slab_put_cold(struct stack_slab *slab, unsigned slot)
{
	slab->next[slot] = slab->cold;
	slab->cold = (uint8_t)slot;
	if (slab->class->may_be_cold.head.next != &slab->may_be_cold)
		slab_to_head(&slab->class->may_be_cold, &slab->may_be_cold);
}

/* Slabs that have run out meanwhile leave the list here: most get a stack back before they are looked at
 * again. */
struct stack_slab *slab_find_warm_slowly(struct stack_class *class)
{
	struct link *link;
	while ((link = list_head(&class->may_be_warm))) {
		struct stack_slab *slab = container_of(link, struct stack_slab, may_be_warm);
		if (likely(slab->warm != SLOT_NONE))
			return slab;
		link_remove(link);
	}
	return NULL;
}

struct stack_slab *slab_find_cold(struct stack_class *class)
{
	struct link *link;
	while ((link = list_head(&class->may_be_cold))) {
		struct stack_slab *slab = container_of(link, struct stack_slab, may_be_cold);
		if (likely(slab->cold != SLOT_NONE))
			return slab;
		link_remove(link);
	}
	return NULL;
}

/* ---- their life -------------------------------------------------------------------------------- */

/* Address space only: pages come when they are touched. Huge pages would make a 4 KiB stack cost
 * 2 MiB; a kernel that has none refuses the advice. */
static char *map_slab(size_t size)
{
	char *start = system_mmap(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
	if (start == MAP_FAILED)
		return NULL;
	system_madvise(start, size, MADV_NOHUGEPAGE);
	return start;
}

static int guard_slab(struct stack_pool *pool, struct stack_slab *slab)
{
	long guards = stack_guards_install(slab->start, slab->class->stride, slab->count, pool->guard_size);
	if (guards >= 0) {
		slab->mapping_guards = guards;
		return 0;
	}
	pool->trouble = STACK_TROUBLE_MAPPINGS;
	slab->is_unguarded = pool->options.may_be_unguarded;
	return slab->is_unguarded ? 0 : -1;
}

static void enlist(struct stack_slab *slab)
{
	struct stack_class *class = slab->class;
	slab->warm = slab->cold = SLOT_NONE;
	for (unsigned slot = slab->count; slot-- > 0;)
		slab_put_cold(slab, slot);
	slab->free = slab->count;
	class->available += slab->count;
	class->total += slab->count;
	list_push_tail(&class->slabs, &slab->all);
}

int slab_make(struct stack_pool *pool, struct stack_class *class)
{
	size_t count = SLAB_SIZE / class->stride;
	struct stack_slab *slab = memory_alloc(pool->memory, sizeof *slab);
	if (!slab)
		return -1;
	count = count < 1 ? 1 : count > pool->options.slab_stacks ? pool->options.slab_stacks : count;
	slab->class = class;
	slab->count = (uint8_t)count;
	slab->size = count * class->stride;
	slab->start = map_slab(slab->size);
	if (!slab->start) {
		pool->trouble = STACK_TROUBLE_SPACE;
		goto free_slab;
	}
	if (guard_slab(pool, slab) < 0)
		goto unmap;
	enlist(slab);
	return 0;

unmap:
	system_munmap(slab->start, slab->size);
free_slab:
	memory_free(pool->memory, slab, sizeof *slab);
	return fail_with(ENOMEM);
}

bool slab_unmap(struct stack_pool *pool, struct stack_slab *slab)
{
	struct stack_class *class = slab->class;
	CHECK(slab->free == slab->count, "a slab that is unmapped has no stack in use");
	annotate_unmapped(slab->start, slab->size);
	if (system_munmap(slab->start, slab->size) < 0)
		return false;
	stack_guards_gone(slab->mapping_guards);
	while (slab->warm != SLOT_NONE)
		slab_take_warm(pool, slab);
	if (link_is_linked(&slab->may_be_warm))
		link_remove(&slab->may_be_warm);
	if (link_is_linked(&slab->may_be_cold))
		link_remove(&slab->may_be_cold);
	link_remove(&slab->all);
	class->available -= slab->count;
	class->total -= slab->count;
	memory_free(pool->memory, slab, sizeof *slab);
	return true;
}
