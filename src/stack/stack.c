/* SPDX-License-Identifier: MIT
 * Layer stack: the pool. See stack.h for the picture. */
#include "stack/stack.h"

#include <errno.h>
#include <stdint.h>

#include "base/check.h"
#include "base/system.h"
#include "stack/annotate.h"

#define SLAB_SIZE ((size_t)4 << 20) /* of address space; a larger stack gets a slab to itself */
#define WARM_SIZE ((size_t)16 << 20) /* at most so many bytes of stacks are kept warm, each class */
#define COLOURS 8
#define COLOUR_STEP 192 /* three cache lines: what the top frames of a parked task touch */

struct stack_slot {
	struct stack_slot *next; /* in warm or cold */
	char *low;
	unsigned valgrind_id;
};

struct stack_slab {
	struct stack_slab *next;
	char *start;
	size_t size;
	size_t count;
	struct stack_slot slots[];
};

/* Stacks of one size. warm and cold together are what is not handed out. */
struct stack_class {
	struct stack_class *next;
	size_t size;
	size_t free;     /* length of warm + cold */
	size_t reserved; /* promised; never more than free */
	size_t warm_count;
	struct stack_slot *warm;
	struct stack_slot *cold;
	struct stack_slab *slabs;
};

static size_t round_up(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

/* Whole pages, in steps of an eighth of the next power of two: a program that asks for many
 * different sizes still makes few classes. */
static size_t class_size_for(size_t size, size_t page_size)
{
	size_t step = page_size;
	while (step * 16 < size)
		step *= 2;
	return round_up(size, step);
}

static size_t guard_size_for(size_t page_size)
{
	return round_up(STACK_GUARD_SIZE, page_size);
}

void stack_pool_init(struct stack_pool *pool, const struct memory *memory, const struct stack_hooks *hooks)
{
	*pool = (struct stack_pool){ .memory = memory, .page_size = (size_t)sysconf(_SC_PAGESIZE) };
	if (hooks)
		pool->hooks = *hooks;
}

static size_t slab_bytes(size_t count)
{
	return sizeof(struct stack_slab) + count * sizeof(struct stack_slot);
}

static void slab_destroy_one(struct stack_pool *pool, struct stack_slab *slab)
{
	for (size_t i = 0; i < slab->count; i++)
		annotate_stack_deregister(slab->slots[i].valgrind_id);
	munmap(slab->start, slab->size);
	memory_free(pool->memory, slab, slab_bytes(slab->count));
}

void stack_pool_destroy(struct stack_pool *pool)
{
	while (pool->classes) {
		struct stack_class *class = pool->classes;
		pool->classes = class->next;
		while (class->slabs) {
			struct stack_slab *slab = class->slabs;
			class->slabs = slab->next;
			slab_destroy_one(pool, slab);
		}
		memory_free(pool->memory, class, sizeof *class);
	}
}

static struct stack_class *find_class(struct stack_pool *pool, size_t size)
{
	struct stack_class *class = pool->classes;
	while (class && class->size != size)
		class = class->next;
	if (class)
		return class;
	class = memory_alloc(pool->memory, sizeof *class);
	if (!class)
		return NULL;
	class->size = size;
	class->next = pool->classes;
	pool->classes = class;
	return class;
}

/* Address space only: pages come when they are touched. Huge pages would make a 4 KiB stack cost
 * 2 MiB. */
static char *map_slab(size_t size)
{
	char *start = system_mmap(size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
	if (start == MAP_FAILED) {
		errno = ENOMEM;
		return NULL;
	}
	madvise(start, size, MADV_NOHUGEPAGE);
	return start;
}

static int install_guards(char *start, size_t stride, size_t count, size_t guard_size)
{
	for (size_t i = 0; i < count; i++)
		if (stack_guard_install(start + i * stride, guard_size) < 0)
			return -1;
	return 0;
}

static int grow(struct stack_pool *pool, struct stack_class *class)
{
	size_t guard_size = guard_size_for(pool->page_size);
	size_t stride = class->size + guard_size;
	size_t count = stride > SLAB_SIZE ? 1 : SLAB_SIZE / stride;
	struct stack_slab *slab = memory_alloc(pool->memory, slab_bytes(count));
	if (!slab)
		return -1;
	slab->count = count;
	slab->size = count * stride;
	slab->start = map_slab(slab->size);
	if (!slab->start)
		goto free_slab;
	if (install_guards(slab->start, stride, count, guard_size) < 0)
		goto unmap;
	for (size_t i = count; i-- > 0;) {
		struct stack_slot *slot = &slab->slots[i];
		slot->low = slab->start + i * stride + guard_size;
		slot->valgrind_id = annotate_stack_register(slot->low, slot->low + class->size);
		slot->next = class->cold;
		class->cold = slot;
	}
	class->free += count;
	slab->next = class->slabs;
	class->slabs = slab;
	return 0;

unmap:
	munmap(slab->start, slab->size);
free_slab:
	memory_free(pool->memory, slab, slab_bytes(count));
	errno = ENOMEM;
	return -1;
}

static int alloc_by_hook(struct stack_pool *pool, size_t size, struct stack *stack)
{
	char *low = pool->hooks.alloc(size, pool->hooks.ctx);
	if (!low) {
		errno = ENOMEM;
		return -1;
	}
	*stack = (struct stack){ .low = low, .high = low + size };
	return 0;
}

int stack_reserve(struct stack_pool *pool, size_t size, struct stack *stack)
{
	if (size < STACK_SIZE_MIN || size > STACK_SIZE_MAX) {
		errno = EINVAL;
		return -1;
	}
	size = class_size_for(size, pool->page_size);
	if (pool->hooks.alloc)
		return alloc_by_hook(pool, size, stack);
	struct stack_class *class = find_class(pool, size);
	if (!class || (class->free == class->reserved && grow(pool, class) < 0))
		return -1;
	class->reserved++;
	*stack = (struct stack){ .class = class };
	return 0;
}

int stack_adopt(struct stack *stack, void *memory, size_t size)
{
	if (size < STACK_SIZE_MIN || size > STACK_SIZE_MAX) {
		errno = EINVAL;
		return -1;
	}
	*stack = (struct stack){ .low = memory, .high = (char *)memory + size, .adopted = true };
	return 0;
}

void stack_get(struct stack_pool *pool, struct stack *stack)
{
	struct stack_class *class = stack->class;
	(void)pool;
	if (!class) {
		annotate_stack_reuse(stack->low, stack->high);
		return;
	}
	struct stack_slot *slot = class->warm;
	if (slot) {
		class->warm = slot->next;
		class->warm_count--;
	} else {
		slot = class->cold;
		CHECK(slot, "a reserved stack is there to be taken");
		class->cold = slot->next;
	}
	class->free--;
	class->reserved--;
	stack->slot = slot;
	stack->low = slot->low;
	stack->high = slot->low + class->size;
	annotate_stack_reuse(stack->low, stack->high);
}

static void put_in_class(struct stack_class *class, struct stack_slot *slot)
{
	class->free++;
	if ((class->warm_count + 1) * class->size <= WARM_SIZE) {
		class->warm_count++;
		slot->next = class->warm;
		class->warm = slot;
		return;
	}
	madvise(slot->low, class->size, MADV_DONTNEED);
	slot->next = class->cold;
	class->cold = slot;
}

void stack_put(struct stack_pool *pool, struct stack *stack)
{
	if (stack->slot)
		put_in_class(stack->class, stack->slot);
	else if (stack->class)
		stack->class->reserved--;
	else if (stack->low && !stack->adopted)
		pool->hooks.free(stack->low, (size_t)(stack->high - stack->low), pool->hooks.ctx);
	*stack = (struct stack){ 0 };
}

char *stack_top(struct stack_pool *pool, const struct stack *stack)
{
	return stack->high - (pool->colour++ % COLOURS) * COLOUR_STEP;
}
