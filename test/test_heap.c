/* SPDX-License-Identifier: MIT
 * base/heap.h: the heap that timers lie in. */
#include "base/heap.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/random.h"
#include "death.h"
#include "resources.h"
#include "suite.h"

static struct counting counting;
static struct memory memory;
static struct heap heap;

static void begin(void)
{
	counting_init(&counting, false);
	memory = (struct memory){ counting.allocator.alloc, counting.allocator.free, &counting };
	heap_init(&heap, &memory);
}

static void end(void)
{
	heap_destroy(&heap);
	must(counting_is_balanced(&counting));
}

static void push(struct heap_node *node, int64_t key)
{
	node->key = key;
	must(heap_reserve(&heap, heap.count + 1) == 0);
	heap_push(&heap, node);
}

static struct heap_node *pop(void)
{
	struct heap_node *node = heap_min(&heap);
	if (node)
		heap_remove(&heap, node);
	return node;
}

START_TEST(a_new_heap_is_empty)
{
	struct heap_node node = { .key = 1 };
	begin();
	ck_assert_ptr_null(heap_min(&heap));
	ck_assert(!heap_contains(&node));
	ck_assert(heap_check(&heap));
	ck_assert_uint_eq(counting.blocks, 0);
	end();
}
END_TEST

/* semantics 84, scenario D10: what the order of timers rests on */
START_TEST(equal_keys_come_out_in_the_order_they_went_in)
{
	static struct heap_node nodes[1000];
	memset(nodes, 0, sizeof nodes);
	begin();
	for (int i = 0; i < 1000; i++)
		push(&nodes[i], i % 3);
	for (int key = 0, i; key < 3; key++)
		for (i = key; i < 1000; i += 3)
			must(pop() == &nodes[i]);
	ck_assert_ptr_null(heap_min(&heap));
	end();
}
END_TEST

START_TEST(a_node_pushed_again_goes_behind_its_equals)
{
	struct heap_node a = { 0 }, b = { 0 };
	begin();
	push(&a, 5);
	push(&b, 5);
	heap_remove(&heap, &a);
	ck_assert(!heap_contains(&a));
	push(&a, 5);
	ck_assert_ptr_eq(pop(), &b);
	ck_assert_ptr_eq(pop(), &a);
	end();
}
END_TEST

START_TEST(keys_of_any_64_bits_are_ordered)
{
	static const int64_t keys[] = { INT64_MAX, 0, INT64_MIN, -1, 1, INT64_MAX - 1, INT64_MIN + 1 };
	static const int64_t sorted[] = { INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX };
	struct heap_node nodes[7] = { { 0 } };
	begin();
	for (int i = 0; i < 7; i++)
		push(&nodes[i], keys[i]);
	for (int i = 0; i < 7; i++)
		ck_assert_int_eq(pop()->key, sorted[i]);
	end();
}
END_TEST

/* Each position is removed once from a heap of each size: up, down and not at all are all met. */
START_TEST(any_node_can_be_removed_and_the_order_holds)
{
	enum { SIZE = 40 };
	struct random random = { 77 };
	for (int size = 1; size <= SIZE; size++) {
		for (int victim = 0; victim < size; victim++) {
			struct heap_node nodes[SIZE] = { { 0 } };
			begin();
			for (int i = 0; i < size; i++)
				push(&nodes[i], (int64_t)random_below(&random, 20));
			heap_remove(&heap, &nodes[victim]);
			must(heap_check(&heap) && heap.count == (size_t)size - 1);
			must(!heap_contains(&nodes[victim]));
			for (int64_t last = -1; heap.count > 0;) {
				struct heap_node *node = pop();
				must(node != &nodes[victim] && node->key >= last);
				last = node->key;
			}
			end();
		}
	}
}
END_TEST

/* ---- against a sorted array --------------------------------------------------------------------- */

#define NODES 1500

static struct heap_node pool[NODES];
static struct heap_node *sorted[NODES]; /* by key, and among equals by arrival */
static size_t sorted_count;

static void model_push(struct heap_node *node)
{
	size_t place = sorted_count;
	while (place > 0 && sorted[place - 1]->key > node->key)
		place--;
	memmove(&sorted[place + 1], &sorted[place], (sorted_count - place) * sizeof *sorted);
	sorted[place] = node;
	sorted_count++;
}

static void model_remove(struct heap_node *node)
{
	size_t place = 0;
	while (sorted[place] != node)
		place++;
	sorted_count--;
	memmove(&sorted[place], &sorted[place + 1], (sorted_count - place) * sizeof *sorted);
}

START_TEST(random_pushes_pops_and_removals_agree_with_a_sorted_array)
{
	static const uint64_t key_ranges[] = { 1, 10, 1000, UINT64_MAX };
	uint64_t seed = 0x4ea9u + (uint64_t)_i;
	struct random random = { seed };
	int steps = suite_scaled_down(100000, 10000);
	memset(pool, 0, sizeof pool);
	sorted_count = 0;
	begin();
	for (int step = 0; step < steps; step++) {
		/* Grows and shrinks in waves, so that the capacity does too. */
		bool grows = (step / 5000) % 2 == 0;
		struct heap_node *node = &pool[random_below(&random, NODES)];
		uint64_t dice = random_below(&random, 10);
		if (dice < (grows ? 7u : 3u)) {
			if (!heap_contains(node)) {
				push(node, (int64_t)random_below(&random, key_ranges[_i]));
				model_push(node);
			}
		} else if (dice == 9) {
			node = pop();
			must_msg(node == (sorted_count ? sorted[0] : NULL), "seed %llu, step %d: pop",
			    (unsigned long long)seed, step);
			if (node)
				model_remove(node);
		} else if (heap_contains(node)) {
			heap_remove(&heap, node);
			model_remove(node);
		}
		must_msg(heap.count == sorted_count && heap_min(&heap) == (sorted_count ? sorted[0] : NULL),
		    "seed %llu, step %d: the least is another", (unsigned long long)seed, step);
		if (step % 97 == 0)
			must_msg(heap_check(&heap), "seed %llu, step %d", (unsigned long long)seed, step);
	}
	while (sorted_count > 0) {
		struct heap_node *node = pop();
		must(node == sorted[0]);
		model_remove(node);
	}
	end();
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------- */

START_TEST(the_four_children_of_a_node_lie_in_one_cache_line)
{
	static struct heap_node nodes[600];
	memset(nodes, 0, sizeof nodes);
	begin();
	for (int i = 0; i < 600; i++) {
		push(&nodes[i], i);
		must((uintptr_t)heap.slots % 64 == 0);
	}
	ck_assert_uint_eq(sizeof(struct heap_slot), 16);
	ck_assert_uint_eq((uintptr_t)&heap.slots[HEAP_ROOT + 1] % 64, 0);
	end();
}
END_TEST

START_TEST(capacity_follows_what_is_reserved_both_ways)
{
	static struct heap_node nodes[50];
	memset(nodes, 0, sizeof nodes);
	begin();
	ck_assert_int_eq(heap_reserve(&heap, 100000), 0);
	ck_assert_uint_ge(heap.capacity, 100000);
	size_t bytes = counting.bytes;
	for (int i = 0; i < 50; i++)
		push(&nodes[i], 50 - i);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(heap_reserve(&heap, 50), 0);
	ck_assert_uint_lt(counting.bytes, bytes / 100);
	ck_assert_uint_ge(heap.capacity, 50);
	ck_assert(heap_check(&heap));
	for (int i = 49; i >= 0; i--)
		must(pop() == &nodes[i]);
	end();
}
END_TEST

START_TEST(capacity_never_falls_below_what_is_in_the_heap)
{
	static struct heap_node nodes[2000];
	memset(nodes, 0, sizeof nodes);
	begin();
	for (int i = 0; i < 2000; i++)
		push(&nodes[i], i);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(heap_reserve(&heap, 1), 0);
	ck_assert_uint_ge(heap.capacity, 2000);
	ck_assert(heap_check(&heap));
	end();
}
END_TEST

START_TEST(reserving_one_at_a_time_costs_few_allocations)
{
	begin();
	for (size_t i = 1; i <= 100000; i++)
		must(heap_reserve(&heap, i) == 0);
	ck_assert_uint_le(counting.allocs, 20);
	end();
}
END_TEST

START_TEST(without_memory_the_heap_stays_as_it_was)
{
	struct heap_node node = { 0 };
	begin();
	push(&node, 1);
	size_t capacity = heap.capacity;
	counting.fail_at = counting.allocs + 1;
	ck_fails(heap_reserve(&heap, 100000), ENOMEM);
	ck_assert_uint_eq(heap.capacity, capacity);
	ck_assert_ptr_eq(heap_min(&heap), &node);
	ck_assert_int_eq(heap_reserve(&heap, 100000), 0);

	/* One that wanted to give back, and could not, is no failure. */
	capacity = heap.capacity;
	counting.fail_at = counting.allocs + 1;
	errno = EXDEV;
	ck_assert_int_eq(heap_reserve(&heap, 2), 0);
	ck_assert_int_eq(errno, EXDEV);
	ck_assert_uint_eq(heap.capacity, capacity);
	ck_assert_ptr_eq(heap_min(&heap), &node);
	end();
}
END_TEST

START_TEST(an_absurd_count_is_out_of_memory)
{
	static const size_t counts[] = { SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 16, SIZE_MAX / 16 - 8 };
	begin();
	ck_fails(heap_reserve(&heap, counts[_i]), ENOMEM);
	ck_assert_uint_eq(counting.blocks, 0);
	end();
}
END_TEST

/* ---- the check, and the rules ------------------------------------------------------------------- */

START_TEST(heap_check_finds_what_is_wrong)
{
	struct heap_node nodes[10] = { { 0 } };
	begin();
	for (int i = 0; i < 10; i++)
		push(&nodes[i], i);
	ck_assert(heap_check(&heap));
	nodes[7].index++;
	ck_assert(!heap_check(&heap));
	nodes[7].index--;
	nodes[7].key = 100;
	ck_assert(!heap_check(&heap));
	nodes[7].key = 7;
	nodes[8].key = heap.slots[nodes[8].index].key = -1;
	ck_assert(!heap_check(&heap));
	nodes[8].key = heap.slots[nodes[8].index].key = 8;
	ck_assert(heap_check(&heap));
	nodes[1].key = heap.slots[nodes[1].index].key = 0; /* equal now, and the later one below */
	ck_assert(heap_check(&heap));
	nodes[1].sequence = 0;
	nodes[0].sequence = 1;
	ck_assert(!heap_check(&heap));
	end();
}
END_TEST

static void push_twice(void *arg)
{
	struct heap_node node = { 0 };
	(void)arg;
	begin();
	must(heap_reserve(&heap, 2) == 0);
	heap_push(&heap, &node);
	heap_push(&heap, &node);
}

static void push_without_room(void *arg)
{
	struct heap_node node = { 0 };
	(void)arg;
	begin();
	heap_push(&heap, &node);
}

static void remove_a_stranger(void *arg)
{
	struct heap_node nodes[2] = { { 0 } };
	(void)arg;
	begin();
	push(&nodes[0], 1);
	nodes[1].index = nodes[0].index;
	heap_remove(&heap, &nodes[1]);
}

START_TEST(misuse_by_ourselves_ends_the_process)
{
	static const struct {
		void (*fn)(void *);
		const char *rule;
	} table[] = {
		{ push_twice, "a node is in one heap at most" },
		{ push_without_room, "heap_reserve comes before heap_push" },
		{ remove_a_stranger, "a node to be removed is where it says" },
	};
	struct death death = death_of(table[_i].fn, NULL);
	ck_assert_msg(died_of_rule(&death, table[_i].rule), "signal %d: %s", death.signal, death.text);
}
END_TEST

int main(void)
{
	return SUITE("heap",
	    TEST(a_new_heap_is_empty),
	    TEST(equal_keys_come_out_in_the_order_they_went_in),
	    TEST(a_node_pushed_again_goes_behind_its_equals),
	    TEST(keys_of_any_64_bits_are_ordered),
	    TEST(any_node_can_be_removed_and_the_order_holds),
	    LOOP(random_pushes_pops_and_removals_agree_with_a_sorted_array, 0, 4),
	    TEST(the_four_children_of_a_node_lie_in_one_cache_line),
	    TEST(capacity_follows_what_is_reserved_both_ways),
	    TEST(capacity_never_falls_below_what_is_in_the_heap),
	    TEST(reserving_one_at_a_time_costs_few_allocations),
	    TEST(without_memory_the_heap_stays_as_it_was),
	    LOOP(an_absurd_count_is_out_of_memory, 0, 4),
	    TEST(heap_check_finds_what_is_wrong),
	    LOOP(misuse_by_ourselves_ends_the_process, 0, 3));
}
