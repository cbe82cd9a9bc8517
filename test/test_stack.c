/* SPDX-License-Identifier: MIT
 * stack/stack.h: reservations, guards, reuse, memory given back. */
#include "stack/stack.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/random.h"
#include "death.h"
#include "resources.h"
#include "suite.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static struct counting counting;
static struct memory memory;
static struct stack_pool pool;
static size_t page;

/* The pool at its usual work, in the hostile build too. */
static const struct stack_options as_always = {
	.warm_limit = (size_t)16 << 20, .spare_size = (size_t)256 << 20, .spare_slabs = 2, .slab_stacks = 64
};

static void begin(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	counting_init(&counting, true);
	memory = (struct memory){ counting.allocator.alloc, counting.allocator.free, &counting };
	stack_pool_init(&pool, &memory, NULL);
	pool.options = as_always;
}

static void begin_with_hooks(void)
{
	begin();
	stack_pool_init(&pool, &memory, &(struct stack_hooks){ counting.allocator.stack_alloc,
	    counting.allocator.stack_free, &counting });
	pool.options = as_always;
}

static void end(void)
{
	stack_pool_destroy(&pool);
	must(counting_is_balanced(&counting));
}

static struct stack take(size_t size)
{
	struct stack stack;
	must(stack_reserve(&pool, size, &stack) == 0);
	stack_get(&pool, &stack);
	return stack;
}

static void paint(const struct stack *stack, int with)
{
	memset(stack->low, with, (size_t)(stack->high - stack->low));
}

static bool is_painted(const struct stack *stack, int with)
{
	for (const char *at = stack->low; at < stack->high; at++)
		if (*at != (char)with)
			return false;
	return true;
}

/* From here on the system gives nothing more. */
static void deny_everything(void)
{
	must(bide_fault("mmap:ENOMEM,malloc:ENOMEM,mprotect:ENOMEM,madvise:ENOMEM") == 0);
}

/* ---- sizes: scenario B9 -------------------------------------------------------------------------- */

static const size_t bad_sizes[] = { 0, 1, 4095, 4096, 4097, STACK_SIZE_MIN - 1, STACK_SIZE_MAX + 1,
	SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 2 + 1, (size_t)-4096, (size_t)-65536 };

START_TEST(a_size_too_small_or_absurd_is_refused_with_no_effect)
{
	struct stack stack;
	begin();
	ck_fails(stack_reserve(&pool, bad_sizes[_i], &stack), EINVAL);
	ck_fails(stack_adopt(&stack, &stack, bad_sizes[_i]), EINVAL);
	ck_assert_uint_eq(counting.allocs, 0);
	end();
	begin_with_hooks();
	ck_fails(stack_reserve(&pool, bad_sizes[_i], &stack), EINVAL);
	ck_assert_uint_eq(counting.stack_allocs, 0);
	end();
}
END_TEST

static const size_t good_sizes[] = { STACK_SIZE_MIN, STACK_SIZE_MIN + 1, 20000, 48 * KIB, 64 * KIB,
	64 * KIB + 1, 100000, 256 * KIB, 1000000, 4 * MIB - 16 * KIB, 4 * MIB, 5 * MIB, 64 * MIB + 1 };

START_TEST(a_stack_is_as_large_as_asked_for_and_little_larger)
{
	begin();
	struct stack stack = take(good_sizes[_i]);
	size_t size = (size_t)(stack.high - stack.low);
	ck_assert_uint_ge(size, good_sizes[_i]);
	ck_assert_uint_le(size, good_sizes[_i] + good_sizes[_i] / 8 + page);
	ck_assert_uint_eq((uintptr_t)stack.low % page, 0);
	ck_assert_uint_eq(size % page, 0);
	stack.low[0] = stack.high[-1] = 'x';
	if (size < MIB) {
		paint(&stack, 'y');
		ck_assert(is_painted(&stack, 'y'));
	}
	stack_put(&pool, &stack);
	ck_assert_ptr_null(stack.low);
	end();
}
END_TEST

START_TEST(a_thousand_sizes_make_few_classes)
{
	begin();
	for (size_t size = 64 * KIB; size < 1064 * KIB; size += KIB) {
		struct stack stack = take(size);
		stack_put(&pool, &stack);
	}
	ck_assert_uint_le(counting.blocks, 2 * 40); /* a class and a slab each */
	end();
}
END_TEST

/* A size that only address space limits is an error of memory, not of the argument. */
START_TEST(the_largest_size_is_given_or_out_of_memory)
{
	struct stack stack;
	begin();
	if (stack_reserve(&pool, STACK_SIZE_MAX, &stack) == 0) {
		stack_get(&pool, &stack);
		ck_assert_uint_ge((size_t)(stack.high - stack.low), STACK_SIZE_MAX);
		stack.high[-1] = 1;
		stack_put(&pool, &stack);
	} else {
		ck_assert_int_eq(errno, ENOMEM);
	}
	end();
}
END_TEST

/* ---- reservations ------------------------------------------------------------------------------- */

#define MANY 300 /* several slabs of the default size */

START_TEST(a_reserved_stack_can_be_taken_whatever_the_system_says)
{
	static struct stack stacks[MANY];
	begin();
	for (int i = 0; i < MANY; i++)
		must(stack_reserve(&pool, STACK_SIZE_DEFAULT, &stacks[i]) == 0);
	deny_everything();
	for (int i = 0; i < MANY; i++) {
		must(!stacks[i].low);
		stack_get(&pool, &stacks[i]);
		paint(&stacks[i], i % 251);
	}
	for (int i = 0; i < MANY; i++)
		must(is_painted(&stacks[i], i % 251)); /* no two of them overlap */
	for (int i = 0; i < MANY; i++)
		stack_put(&pool, &stacks[i]);
	end();
}
END_TEST

START_TEST(a_reservation_given_back_untaken_is_free_for_the_next)
{
	static struct stack stacks[MANY];
	begin();
	for (int i = 0; i < MANY; i++)
		must(stack_reserve(&pool, STACK_SIZE_DEFAULT, &stacks[i]) == 0);
	for (int i = 0; i < MANY; i++)
		stack_put(&pool, &stacks[i]);
	deny_everything();
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++)
			must(stack_reserve(&pool, STACK_SIZE_DEFAULT, &stacks[i]) == 0);
		for (int i = 0; i < MANY; i++)
			stack_put(&pool, &stacks[i]);
	}
	end();
}
END_TEST

/* The pool must not promise a stack twice: what is out, or promised, is never more than there is. */
START_TEST(random_reservations_takings_and_returns_keep_the_count)
{
	enum { NONE, RESERVED, TAKEN };
	static struct stack stacks[MANY];
	static int states[MANY];
	uint64_t seed = 0x57ac + (uint64_t)_i;
	struct random random = { seed };
	int steps = suite_scaled_down(20000, 2000);
	memset(states, 0, sizeof states);
	begin();
	for (int i = 0; i < MANY; i++) /* the most there will ever be */
		must(stack_reserve(&pool, STACK_SIZE_MIN, &stacks[i]) == 0);
	for (int i = 0; i < MANY; i++)
		stack_put(&pool, &stacks[i]);
	deny_everything();
	for (int step = 0; step < steps; step++) {
		int i = (int)random_below(&random, MANY);
		if (states[i] == NONE) {
			must_msg(stack_reserve(&pool, STACK_SIZE_MIN, &stacks[i]) == 0, "seed %llu, step %d",
			    (unsigned long long)seed, step);
			states[i] = RESERVED;
		} else if (states[i] == RESERVED && random_below(&random, 2)) {
			stack_get(&pool, &stacks[i]);
			memcpy(stacks[i].low, &i, sizeof i);
			states[i] = TAKEN;
		} else {
			if (states[i] == TAKEN)
				must_msg(memcmp(stacks[i].low, &i, sizeof i) == 0, "seed %llu, step %d",
				    (unsigned long long)seed, step);
			stack_put(&pool, &stacks[i]);
			states[i] = NONE;
		}
	}
	for (int i = 0; i < MANY; i++)
		if (states[i] != NONE)
			stack_put(&pool, &stacks[i]);
	end();
}
END_TEST

START_TEST(the_stack_put_back_last_is_the_next_one_out)
{
	begin();
	struct stack a = take(STACK_SIZE_DEFAULT), b = take(STACK_SIZE_DEFAULT);
	char *low_a = a.low, *low_b = b.low;
	stack_put(&pool, &a);
	stack_put(&pool, &b);
	a = take(STACK_SIZE_DEFAULT);
	b = take(STACK_SIZE_DEFAULT);
	ck_assert_ptr_eq(a.low, low_b);
	ck_assert_ptr_eq(b.low, low_a);
	stack_put(&pool, &a);
	stack_put(&pool, &b);
	end();
}
END_TEST

START_TEST(stacks_of_different_sizes_do_not_mix)
{
	begin();
	struct stack small = take(STACK_SIZE_MIN);
	stack_put(&pool, &small);
	struct stack large = take(256 * KIB);
	ck_assert_uint_ge((size_t)(large.high - large.low), 256 * KIB);
	stack_put(&pool, &large);
	small = take(STACK_SIZE_MIN);
	ck_assert_uint_eq((size_t)(small.high - small.low), STACK_SIZE_MIN);
	stack_put(&pool, &small);
	end();
}
END_TEST

START_TEST(the_pool_gives_all_its_mappings_back)
{
	static struct stack stacks[MANY];
	begin();
	end(); /* what the first time costs */
	int before = count_mappings();
	begin();
	ck_assert_int_eq(bide_fault(_i ? "madvise:EINVAL" : ""), 0);
	for (int i = 0; i < MANY; i++)
		stacks[i] = take(STACK_SIZE_DEFAULT);
	for (int i = 0; i < MANY; i++)
		stack_put(&pool, &stacks[i]);
	end();
	if (suite_is_native()) /* a sanitizer has mappings of its own */
		ck_assert_int_le(count_mappings(), before + 2);
}
END_TEST

/* ---- guards: scenarios B1, B10 ------------------------------------------------------------------- */

struct touch {
	struct stack stack;
	long offset; /* from low */
	bool writes;
};

static void touch(void *arg)
{
	struct touch *touch = arg;
	volatile char *at = touch->stack.low + touch->offset;
	if (touch->writes)
		*at = 1;
	else
		(void)*at;
}

static const long offsets[] = { -1, -8, -4096, -(long)STACK_GUARD_SIZE };

/* Both kinds of guard: the kernel's own, and mprotect where advice is refused. */
static void check_guard(struct stack *stacks, int count)
{
	struct touch inside = { stacks[0], 0, true };
	struct death death = death_of(touch, &inside);
	ck_assert_int_eq(death.signal, 0);
	for (int i = 0; i < count; i++) {
		for (size_t j = 0; j < sizeof offsets / sizeof *offsets; j++) {
			struct touch below = { stacks[i], offsets[j], j % 2 == 0 };
			death = death_of(touch, &below);
			ck_assert_msg(died_of_access(&death), "stack %d, offset %ld: signal %d, exit status %d", i,
			    offsets[j], death.signal, death.exit_status);
		}
	}
}

START_TEST(an_access_below_a_stack_ends_the_process)
{
	struct stack stacks[3];
	begin();
	ck_assert_int_eq(bide_fault(_i ? "madvise:EINVAL" : ""), 0);
	for (int i = 0; i < 3; i++)
		stacks[i] = take(STACK_SIZE_DEFAULT);
	check_guard(stacks, 3);
	for (int i = 0; i < 3; i++)
		stack_put(&pool, &stacks[i]);
	end();
}
END_TEST

START_TEST(a_guard_lies_between_a_stack_and_the_one_below)
{
	static struct stack stacks[20];
	begin();
	for (int i = 0; i < 20; i++)
		stacks[i] = take(STACK_SIZE_DEFAULT);
	for (int i = 0; i < 20; i++)
		for (int j = 0; j < 20; j++)
			must(stacks[j].high <= stacks[i].low - STACK_GUARD_SIZE || stacks[j].low >= stacks[i].low);
	for (int i = 0; i < 20; i++)
		stack_put(&pool, &stacks[i]);
	end();
}
END_TEST

START_TEST(a_guard_survives_that_its_stack_was_used_and_went_cold)
{
	begin();
	struct stack stacks[2] = { take(20 * MIB), take(20 * MIB) }; /* too large to be kept warm */
	char *low = stacks[1].low;
	paint(&stacks[1], 1);
	stack_put(&pool, &stacks[1]);
	stacks[1] = take(20 * MIB);
	ck_assert_ptr_eq(stacks[1].low, low);
	check_guard(&stacks[1], 1);
	stack_put(&pool, &stacks[0]);
	stack_put(&pool, &stacks[1]);
	end();
}
END_TEST

START_TEST(the_kind_of_guard_is_told_by_its_effect)
{
	begin();
	ck_assert_int_eq(stack_guard_kind(), stack_guard_kind());
	char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(pages, MAP_FAILED);
	pages[0] = pages[page] = pages[2 * page] = 1;
	int before = count_mappings();
	ck_assert_int_eq(stack_guard_install(pages + page, page), 0);
	int more = count_mappings() - before;
	if (suite_is_native())
		ck_assert_int_eq(more, stack_guard_kind() == STACK_GUARD_ADVICE ? 0 : 2);
	struct touch middle = { { .low = pages }, (long)page, false };
	struct death death = death_of(touch, &middle);
	ck_assert(died_of_access(&death));
	ck_assert_int_eq(pages[page - 1] + pages[2 * page], 1);
	munmap(pages, 3 * page);
	end();
}
END_TEST

START_TEST(guards_by_advice_cost_no_mappings)
{
	static struct stack stacks[200];
	begin();
	int before = count_mappings();
	for (int i = 0; i < 200; i++)
		stacks[i] = take(STACK_SIZE_DEFAULT);
	int more = count_mappings() - before;
	if (suite_is_native()) /* whole slabs are made at once */
		ck_assert_int_le(more, stack_guard_kind() == STACK_GUARD_ADVICE ? 6 : 2 * 300);
	for (int i = 0; i < 200; i++)
		stack_put(&pool, &stacks[i]);
	end();
}
END_TEST

START_TEST(a_guard_that_cannot_be_installed_is_an_error_with_errno)
{
	begin();
	char *memory_of_ours = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_int_eq(bide_fault("madvise:EINVAL,mprotect:ENOMEM"), 0);
	ck_fails(stack_guard_install(memory_of_ours, page), ENOMEM);
	memory_of_ours[0] = 1;
	munmap(memory_of_ours, page);
	end();
}
END_TEST

/* ---- neighbours ---------------------------------------------------------------------------------- */

START_TEST(a_stack_filled_to_the_brim_leaves_its_neighbours_alone)
{
	static struct stack stacks[20];
	begin();
	for (int i = 0; i < 20; i++) {
		stacks[i] = take(STACK_SIZE_DEFAULT);
		paint(&stacks[i], i);
	}
	for (int i = 0; i < 20; i += 2) {
		stack_put(&pool, &stacks[i]);
		stacks[i] = take(STACK_SIZE_DEFAULT);
		paint(&stacks[i], 100);
	}
	for (int i = 0; i < 20; i++)
		must(is_painted(&stacks[i], i % 2 ? i : 100));
	for (int i = 0; i < 20; i++)
		stack_put(&pool, &stacks[i]);
	end();
}
END_TEST

/* ---- memory given back --------------------------------------------------------------------------- */

static size_t resident_pages(const char *low, size_t size)
{
	static unsigned char vector[4096];
	size_t count = 0;
	must(size / page <= sizeof vector);
	if (mincore((void *)(uintptr_t)low, size, vector) < 0)
		return 0;
	for (size_t i = 0; i < size / page; i++)
		count += vector[i] & 1;
	return count;
}

START_TEST(stacks_beyond_those_kept_warm_give_their_pages_back)
{
	enum { COUNT = 40 };
	static struct stack stacks[COUNT];
	char *lows[COUNT];
	size_t resident = 0;
	begin();
	for (int i = 0; i < COUNT; i++) {
		stacks[i] = take(MIB);
		paint(&stacks[i], 1);
		lows[i] = stacks[i].low;
		resident += resident_pages(lows[i], MIB);
	}
	if (suite_is_native())
		ck_assert_uint_eq(resident, COUNT * MIB / page);
	for (int i = 0; i < COUNT; i++)
		stack_put(&pool, &stacks[i]);
	resident = 0;
	for (int i = 0; i < COUNT; i++)
		resident += resident_pages(lows[i], MIB);
	if (suite_is_native()) {
		ck_assert_uint_le(resident, 16 * MIB / page);
		ck_assert_uint_ge(resident, 8 * MIB / page); /* and some are kept */
	}
	end();
}
END_TEST

/* scenario B14 */
START_TEST(stacks_that_nobody_touches_cost_no_pages)
{
	static struct stack stacks[MANY];
	size_t resident = 0;
	begin();
	for (int i = 0; i < MANY; i++) {
		stacks[i] = take(256 * KIB);
		resident += resident_pages(stacks[i].low, 256 * KIB);
	}
	if (suite_is_native())
		ck_assert_uint_eq(resident, 0);
	for (int i = 0; i < MANY; i++)
		stack_put(&pool, &stacks[i]);
	end();
}
END_TEST

/* ---- where to start ------------------------------------------------------------------------------ */

START_TEST(tops_are_spread_over_cache_sets_and_stay_near_the_end)
{
	begin();
	struct stack stack = take(STACK_SIZE_DEFAULT);
	char *seen[64];
	int different = 0;
	for (int i = 0; i < 64; i++) {
		seen[i] = stack_top(&pool, &stack);
		must(seen[i] <= stack.high && seen[i] >= stack.high - 2048);
		bool is_new = true;
		for (int j = 0; j < i; j++)
			is_new &= seen[j] != seen[i];
		different += is_new;
	}
	ck_assert_int_ge(different, 4);
	stack_put(&pool, &stack);
	end();
}
END_TEST

/* ---- the caller's memory ------------------------------------------------------------------------- */

/* semantics 37 */
START_TEST(adopted_memory_is_used_as_it_is_and_never_freed)
{
	struct stack stack;
	begin();
	char *mine = malloc(STACK_SIZE_MIN + 7);
	memset(mine, 'm', STACK_SIZE_MIN + 7);
	ck_assert_int_eq(stack_adopt(&stack, mine + 3, STACK_SIZE_MIN + 1), 0);
	ck_assert_ptr_eq(stack.low, mine + 3);
	ck_assert_ptr_eq(stack.high, mine + 3 + STACK_SIZE_MIN + 1);
	stack_get(&pool, &stack);
	ck_assert_ptr_eq(stack.low, mine + 3);
	stack_put(&pool, &stack);
	ck_assert_ptr_null(stack.low);
	for (size_t i = 0; i < STACK_SIZE_MIN + 7; i++)
		must(mine[i] == 'm');
	free(mine);
	end();
}
END_TEST

/* ---- hooks --------------------------------------------------------------------------------------- */

START_TEST(with_hooks_each_stack_is_asked_for_and_given_back_once)
{
	static struct stack stacks[50];
	begin_with_hooks();
	for (int i = 0; i < 50; i++) {
		must(stack_reserve(&pool, good_sizes[i % 5], &stacks[i]) == 0);
		must((size_t)(stacks[i].high - stacks[i].low) % page == 0);
	}
	ck_assert_uint_eq(counting.stacks, 50);
	for (int i = 0; i < 50; i += 2) {
		stack_get(&pool, &stacks[i]);
		must((uintptr_t)stacks[i].low % page == 0);
		paint(&stacks[i], i);
	}
	for (int i = 0; i < 50; i++)
		stack_put(&pool, &stacks[i]);
	ck_assert_uint_eq(counting.stacks, 0);
	ck_assert_uint_eq(counting.blocks, 0);
	end();
}
END_TEST

START_TEST(a_stack_hook_that_has_nothing_means_enomem)
{
	struct stack stack;
	begin_with_hooks();
	counting.stack_fail_at = 2;
	ck_assert_int_eq(stack_reserve(&pool, STACK_SIZE_DEFAULT, &stack), 0);
	stack_put(&pool, &stack);
	ck_fails(stack_reserve(&pool, STACK_SIZE_DEFAULT, &stack), ENOMEM);
	ck_assert_int_eq(stack_reserve(&pool, STACK_SIZE_DEFAULT, &stack), 0);
	stack_put(&pool, &stack);
	end();
}
END_TEST

/* ---- failures on the way: semantics 35 ------------------------------------------------------------ */

static const char *const failures[] = {
	"malloc:ENOMEM@1", /* the class */
	"malloc:ENOMEM@2", /* the slab's record */
	"mmap:ENOMEM@1",
	"mmap:EAGAIN@1",
	"madvise:EINVAL,mprotect:ENOMEM@1",
	"madvise:EINVAL,mprotect:ENOMEM@2",
	"madvise:EINVAL,mprotect:ENOMEM@60", /* near the end of the slab */
	"madvise:EINVAL,mprotect:EACCES@3",
};

START_TEST(a_reservation_that_fails_leaves_nothing_and_the_next_one_works)
{
	struct stack stack;
	begin();
	end();
	begin();
	int mappings = count_mappings();
	ck_assert_int_eq(bide_fault(failures[_i]), 0);
	ck_fails(stack_reserve(&pool, 48 * KIB, &stack), ENOMEM);
	bide_fault(NULL);
	if (suite_is_native())
		ck_assert_int_le(count_mappings(), mappings + 1);
	ck_assert_uint_le(counting.blocks, 1); /* an empty class may stay */
	stack = take(48 * KIB);
	paint(&stack, 1);
	stack_put(&pool, &stack);
	end();
}
END_TEST

START_TEST(a_slab_that_cannot_be_made_leaves_the_stacks_of_others_usable)
{
	static struct stack stacks[1000];
	int count = 0;
	begin();
	stacks[count++] = take(STACK_SIZE_DEFAULT);
	deny_everything();
	while (count < 1000 && stack_reserve(&pool, STACK_SIZE_DEFAULT, &stacks[count]) == 0)
		count++;
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_int_gt(count, 1);
	ck_assert_int_lt(count, 1000);
	for (int i = 1; i < count; i++) {
		stack_get(&pool, &stacks[i]);
		stacks[i].low[0] = 1;
	}
	stack_put(&pool, &stacks[0]);
	ck_assert_int_eq(stack_reserve(&pool, STACK_SIZE_DEFAULT, &stacks[0]), 0);
	bide_fault(NULL);
	struct stack one_more = take(STACK_SIZE_DEFAULT);
	stack_put(&pool, &one_more);
	for (int i = 0; i < count; i++)
		stack_put(&pool, &stacks[i]);
	end();
}
END_TEST

int main(void)
{
	return SUITE("stack",
	    TABLE(a_size_too_small_or_absurd_is_refused_with_no_effect, bad_sizes),
	    TABLE(a_stack_is_as_large_as_asked_for_and_little_larger, good_sizes),
	    TEST(a_thousand_sizes_make_few_classes),
	    TEST(the_largest_size_is_given_or_out_of_memory),
	    TEST(a_reserved_stack_can_be_taken_whatever_the_system_says),
	    TEST(a_reservation_given_back_untaken_is_free_for_the_next),
	    LOOP(random_reservations_takings_and_returns_keep_the_count, 0, 3),
	    TEST(the_stack_put_back_last_is_the_next_one_out),
	    TEST(stacks_of_different_sizes_do_not_mix),
	    LOOP(the_pool_gives_all_its_mappings_back, 0, 2),
	    LOOP(an_access_below_a_stack_ends_the_process, 0, 2),
	    TEST(a_guard_lies_between_a_stack_and_the_one_below),
	    TEST(a_guard_survives_that_its_stack_was_used_and_went_cold),
	    TEST(the_kind_of_guard_is_told_by_its_effect),
	    TEST(guards_by_advice_cost_no_mappings),
	    TEST(a_guard_that_cannot_be_installed_is_an_error_with_errno),
	    TEST(a_stack_filled_to_the_brim_leaves_its_neighbours_alone),
	    TEST(stacks_beyond_those_kept_warm_give_their_pages_back),
	    TEST(stacks_that_nobody_touches_cost_no_pages),
	    TEST(tops_are_spread_over_cache_sets_and_stay_near_the_end),
	    TEST(adopted_memory_is_used_as_it_is_and_never_freed),
	    TEST(with_hooks_each_stack_is_asked_for_and_given_back_once),
	    TEST(a_stack_hook_that_has_nothing_means_enomem),
	    TABLE(a_reservation_that_fails_leaves_nothing_and_the_next_one_works, failures),
	    TEST(a_slab_that_cannot_be_made_leaves_the_stacks_of_others_usable));
}
