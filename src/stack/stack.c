/* SPDX-License-Identifier: MIT
 * Layer stack: the pool. See stack.h for the picture. */
#include "stack/stack.h"

#include <errno.h>

#include "base/check.h"
#include "base/fail.h"
#include "base/system.h"
#include "stack/slabs.h"


void stack_pool_init(struct stack_pool *pool, const struct memory *memory, const struct stack_hooks *hooks)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	*pool = (struct stack_pool){
		.memory = memory,
		.page_size = page_size,
		.guard_size = stack_guard_size(),
		.page_shift = (unsigned)__builtin_ctzl(page_size),
		.options = STACK_OPTIONS_DEFAULT,
	};
	if (hooks)
		pool->hooks = *hooks;
}

static void class_destroy(struct stack_pool *pool, struct stack_class *class, bool keeps_mappings)
{
	struct link *link;
	while ((link = list_head(&class->slabs))) {
		struct stack_slab *slab = container_of(link, struct stack_slab, all);
		if (!keeps_mappings && slab_unmap(pool, slab))
			continue;
		link_remove(link); /* the mapping is lost, if only because the kernel does not take it back */
		memory_free(pool->memory, slab, sizeof *slab);
	}
	memory_free(pool->memory, class, sizeof *class);
}

static void destroy(struct stack_pool *pool, bool keeps_mappings)
{
	while (pool->classes) {
		struct stack_class *class = pool->classes;
		pool->classes = class->next;
		class_destroy(pool, class, keeps_mappings);
	}
}

void stack_pool_destroy(struct stack_pool *pool)
{
	destroy(pool, false);
}

void stack_pool_abandon(struct stack_pool *pool)
{
	destroy(pool, true);
}

/* ---- reserving --------------------------------------------------------------------------------- */

static struct stack_class *new_class(struct stack_pool *pool, size_t size)
{
	struct stack_class *class = memory_alloc(pool->memory, sizeof *class);
	if (!class)
		return NULL;
	class->size = size;
	class->stride = size + pool->guard_size;
	size_t pages = class->stride >> pool->page_shift;
	class->slot_of_page = (((uint64_t)1 << 32) + pages - 1) / pages;
	list_init(&class->slabs);
	list_init(&class->may_be_warm);
	list_init(&class->may_be_cold);
	class->next = pool->classes;
	pool->classes = class;
	return class;
}

static struct stack_class *find_class(struct stack_pool *pool, size_t size)
{
	struct stack_class *class = pool->classes;
	while (class && class->size != size)
		class = class->next;
	return likely(class != NULL) ? class : new_class(pool, size);
}

static int alloc_by_hook(struct stack_pool *pool, size_t size, struct stack *stack)
{
	char *low = pool->hooks.alloc(size, pool->hooks.ctx);
	if (!low)
		return fail_with(ENOMEM);
	*stack = (struct stack){ .low = low, .high = low + size };
	return 0;
}

static int reserve_in(struct stack_class *class, struct stack *stack)
{
	class->available--;
	stack->low = stack->high = NULL;
	stack->origin = class;
	return 0;
}

/* Another size than the time before, or no stack left. */
static __attribute__((noinline)) int reserve_slowly(struct stack_pool *pool, size_t size, struct stack *stack)
{
	if (!stack_size_is_valid(size))
		return fail_with(EINVAL);
	size_t rounded = stack_size_rounded(size, pool->page_size);
	if (pool->hooks.alloc)
		return alloc_by_hook(pool, rounded, stack);
	struct stack_class *class = find_class(pool, rounded);
	if (!class)
		return -1;
	pool->asked = size;
	pool->given = class;
	if (class->available == 0 && slab_make(pool, class) < 0)
		return -1;
	return reserve_in(class, stack);
}

int stack_reserve(struct stack_pool *pool, size_t size, struct stack *stack)
{
	struct stack_class *class = pool->given;
	if (likely(size == pool->asked) && likely(class != NULL) && likely(class->available > 0))
		return reserve_in(class, stack);
	return reserve_slowly(pool, size, stack);
}

int stack_adopt(struct stack *stack, void *memory, size_t size)
{
	uintptr_t end;
	if (!stack_size_is_valid(size) || __builtin_add_overflow((uintptr_t)memory, size, &end))
		return fail_with(EINVAL);
	*stack = (struct stack){ .low = memory, .high = (char *)end, .origin = STACK_ADOPTED };
	return 0;
}

/* ---- taking ------------------------------------------------------------------------------------ */

/* Into use: a stack of which nothing is known. Painting of one that was painted before it was put back
 * warm would find nothing to do. */
static void begin_use(const struct stack_pool *pool, struct stack *stack, bool is_ours, bool is_painted)
{
	annotate_stack_begins(stack->low, stack->high, is_ours, ANNOTATE_ID(stack));
	if (unlikely(pool->options.paints) && !is_painted)
		stack_paint(stack);
	else if (unlikely(pool->options.has_canaries))
		stack_canary_set(stack);
}

void stack_get(struct stack_pool *pool, struct stack *stack)
{
	if (unlikely(stack->low != NULL)) {
		begin_use(pool, stack, false, false);
		return;
	}
	struct stack_class *class = stack->origin;
	struct stack_slab *slab = slab_find_warm(class);
	bool is_warm = slab != NULL;
	unsigned slot;
	if (likely(is_warm)) {
		slot = slab_take_warm(pool, slab);
	} else {
		slab = slab_find_cold(class);
		CHECK(slab, "a reserved stack is there to be taken");
		slot = slab_take_cold(slab);
	}
	slab->free--;
	class->in_use++;
	stack->origin = slab;
	stack->low = slot_low(pool, slab, slot);
	stack->high = stack->low + class->size;
	begin_use(pool, stack, true, is_warm);
}

/* ---- giving back ------------------------------------------------------------------------------- */

/* Nothing of the slab is in use. It goes if enough free stacks remain without it, so that a pool that
 * breathes does not map and unmap at each breath; cold ones cost address space and page tables only. */
static void unmap_if_spare(struct stack_pool *pool, struct stack_slab *slab)
{
	const struct stack_class *class = slab->class;
	size_t kept = pool->options.spare_size / class->stride;
	if (kept < (size_t)pool->options.spare_slabs * slab->count)
		kept = (size_t)pool->options.spare_slabs * slab->count;
	if (class->available >= kept + slab->count)
		slab_unmap(pool, slab);
}

/* ---- how many are kept warm ---- */

#define SAMPLE_EVERY 251 /* a prime, so that it does not beat with how tasks come and go */

/* Most stacks are hardly used, and one that is kept saves a system call and a page fault or more: what
 * counts against the limit is what they hold, not how large they are. Some are looked at: the first,
 * the second, the fourth and so on, then each 251st. */
static void sample_depth(struct stack_pool *pool, struct stack_class *class, const char *low)
{
	if (likely(class->until_sample-- > 0))
		return;
	class->sample_gap = 2 * class->sample_gap < SAMPLE_EVERY ? 2 * class->sample_gap + 1 : SAMPLE_EVERY;
	class->until_sample = class->sample_gap;
	size_t depth = resident_size(pool, low, class->size);
	depth = depth < pool->page_size ? pool->page_size : depth;
	class->depth = class->depth ? (3 * class->depth + depth) / 4 : depth;
}

static bool may_stay_warm(struct stack_pool *pool, struct stack_class *class, const char *low)
{
	if (likely(pool->warm_size + class->size <= pool->options.warm_limit))
		return true;
	sample_depth(pool, class, low);
	size_t held = class->depth;
	for (const struct stack_class *any = pool->classes; any; any = any->next)
		held += any->warm * (any->depth ? any->depth : any->size);
	return held <= pool->options.warm_limit;
}

static void put_in_slab(struct stack_pool *pool, struct stack_slab *slab, const struct stack *stack)
{
	struct stack_class *class = slab->class;
	unsigned slot = slot_of(pool, slab, stack->low);
	class->in_use--;
	class->available++;
	slab->free++;
	if (likely(may_stay_warm(pool, class, stack->low))) {
		slab_put_warm(pool, slab, slot);
	} else {
		/* Where the kernel does not take the pages back, the stack is as warm as it was. */
		if (system_madvise(stack->low, class->size, MADV_DONTNEED) == 0)
			slab_put_cold(slab, slot);
		else
			slab_put_warm(pool, slab, slot);
		if (slab->free == slab->count)
			unmap_if_spare(pool, slab);
	}
}

/* One that was only reserved, or is not the pool's. */
static __attribute__((noinline)) void put_other(struct stack_pool *pool, struct stack *stack)
{
	if (!stack->low) {
		if (stack->origin)
			((struct stack_class *)stack->origin)->available++;
		return;
	}
	annotate_stack_ends(stack->low, stack->high, false, ANNOTATE_ID(stack));
	if (!stack->origin)
		pool->hooks.free(stack->low, (size_t)(stack->high - stack->low), pool->hooks.ctx);
}

void stack_put(struct stack_pool *pool, struct stack *stack)
{
	if (unlikely(!stack->low || !stack->origin || stack->origin == STACK_ADOPTED)) {
		put_other(pool, stack);
	} else {
		if (unlikely(pool->options.paints))
			stack_repaint(stack);
		annotate_stack_ends(stack->low, stack->high, true, ANNOTATE_ID(stack));
		put_in_slab(pool, stack->origin, stack);
	}
	stack->low = stack->high = NULL;
	stack->origin = NULL;
}
