/* SPDX-License-Identifier: MIT
 * Layer stack: memory given back, and figures about what is held. */
#include "base/check.h"
#include "base/system.h"
#include "interrupted.h"
#include "stack/slabs.h"

void stack_trim(const struct stack_pool *pool, const struct stack *stack, const void *sp)
{
	bool is_ours = stack->low && stack->origin && stack->origin != STACK_ADOPTED;
	if (!is_ours || pool->options.paints || !stack_contains(stack, sp))
		return; /* what is painted would look used, and what runs elsewhere is not known */
	uintptr_t page_mask = pool->page_size - 1;
	uintptr_t low = (uintptr_t)stack->low + (pool->options.has_canaries ? STACK_CANARY_SIZE : 0);
	uintptr_t end = ((uintptr_t)sp - INTERRUPTED_RED_ZONE) & ~page_mask;
	low = (low + page_mask) & ~page_mask;
	if (low < end)
		system_madvise((void *)low, end - low, MADV_DONTNEED);
}

/* ---- the pool ---------------------------------------------------------------------------------- */

static void cool(struct stack_pool *pool, struct stack_slab *slab)
{
	size_t size = slab->class->size;
	uint64_t hot = 0;
	while (slab->warm != SLOT_NONE)
		hot |= UINT64_C(1) << slab_take_warm(pool, slab);
	for (unsigned slot = 0; slot < slab->count; slot++) {
		if (!(hot >> slot & 1))
			continue;
		system_madvise(slot_low(pool, slab, slot), size, MADV_DONTNEED);
		slab_put_cold(slab, slot);
	}
}

static bool is_spare(const struct stack_slab *slab)
{
	const struct stack_class *class = slab->class;
	return slab->free == slab->count && class->available >= slab->count;
}

void stack_pool_trim(struct stack_pool *pool)
{
	for (struct stack_class *class = pool->classes; class; class = class->next) {
		list_each(link, &class->slabs) {
			struct stack_slab *slab = container_of(link, struct stack_slab, all);
			if (!is_spare(slab) || !slab_unmap(pool, slab))
				cool(pool, slab);
		}
	}
}

bool stack_pool_contains(const struct stack_pool *pool, const void *address)
{
	for (const struct stack_class *class = pool->classes; class; class = class->next) {
		list_each(link, &class->slabs) {
			const struct stack_slab *slab = container_of(link, struct stack_slab, all);
			if ((uintptr_t)address - (uintptr_t)slab->start < slab->size)
				return true;
		}
	}
	return false;
}

/* ---- figures ----------------------------------------------------------------------------------- */

#define SAMPLES 64 /* stacks looked at for the estimate */

size_t resident_size(const struct stack_pool *pool, const char *low, size_t size)
{
	unsigned char vector[256];
	size_t chunk = sizeof vector << pool->page_shift, pages = 0;
	for (size_t done = 0; done < size; done += chunk) {
		size_t length = size - done < chunk ? size - done : chunk;
		if (mincore((void *)(uintptr_t)(low + done), length, vector) < 0)
			break;
		for (size_t i = 0; i < length >> pool->page_shift; i++)
			pages += vector[i] & 1;
	}
	return pages << pool->page_shift;
}

/* Some slots of every n-th slab, cold ones included, stand for all. */
static size_t estimate_resident(const struct stack_pool *pool, const struct stack_class *class, size_t slabs)
{
	size_t every = slabs / SAMPLES + 1, slots_each = SAMPLES * every / slabs;
	size_t index = 0, sampled = 0, resident = 0;
	list_each(link, &class->slabs) {
		const struct stack_slab *slab = container_of(link, struct stack_slab, all);
		if (index++ % every)
			continue;
		unsigned step = slots_each < slab->count ? slab->count / (unsigned)slots_each : 1;
		for (unsigned slot = 0; slot < slab->count; slot += step, sampled++)
			resident += resident_size(pool, slot_low(pool, slab, slot), class->size);
	}
	return sampled ? (size_t)((double)resident / (double)sampled * (double)class->total) : 0;
}

static void add_counts(const struct stack_class *class, struct stack_figures *figures)
{
	figures->in_use += class->in_use;
	figures->warm += class->warm;
	figures->cold += class->total - class->in_use - class->warm;
	figures->mapped += class->total * class->stride;
}

static void add_slabs(const struct stack_pool *pool, const struct stack_class *class,
    struct stack_figures *figures)
{
	size_t slabs = 0;
	list_each(link, &class->slabs) {
		const struct stack_slab *slab = container_of(link, struct stack_slab, all);
		slabs++;
		figures->mappings += 1 + 2 * (size_t)slab->mapping_guards;
		if (slab->is_unguarded)
			figures->unguarded += (size_t)(slab->count - slab->free);
	}
	if (slabs)
		figures->resident += estimate_resident(pool, class, slabs);
}

void stack_pool_count(const struct stack_pool *pool, struct stack_figures *figures)
{
	*figures = (struct stack_figures){ 0 };
	for (const struct stack_class *class = pool->classes; class; class = class->next)
		add_counts(class, figures);
}

void stack_pool_figures(const struct stack_pool *pool, struct stack_figures *figures)
{
	stack_pool_count(pool, figures);
	for (const struct stack_class *class = pool->classes; class; class = class->next)
		add_slabs(pool, class, figures);
}
