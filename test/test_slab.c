/* SPDX-License-Identifier: MIT
 * base/slab.h: records of one size. */
#include "base/slab.h"

#include <stdlib.h>

#include "resources.h"
#include "suite.h"

#define RECORDS 3000

static struct counting counting;
static struct memory memory;
static struct slab slab;
static char *records[RECORDS];

static void begin(size_t record_size)
{
	counting_init(&counting, false);
	memory = (struct memory){ counting.allocator.alloc, counting.allocator.free, &counting };
	slab_init(&slab, record_size, 0, &memory);
}

static void end(void)
{
	slab_destroy(&slab);
	must(counting_is_balanced(&counting));
}

static const size_t sizes[] = { 8, 64, 65, 200, 576, 5000 };

START_TEST(records_are_aligned_and_do_not_overlap)
{
	size_t size = sizes[_i];
	int count = size > 1000 ? 100 : RECORDS;
	begin(size);
	ck_assert_uint_eq(slab.record_size % 64, 0);
	ck_assert_uint_ge(slab.record_size, size);
	for (int i = 0; i < count; i++) {
		records[i] = slab_get(&slab);
		must(records[i] && (uintptr_t)records[i] % 64 == 0);
		memset(records[i], i % 251, size);
	}
	ck_assert_uint_eq(slab.live, (size_t)count);
	for (int i = 0; i < count; i++)
		for (size_t at = 0; at < size; at++)
			must(records[i][at] == (char)(i % 251));
	end();
}
END_TEST

START_TEST(a_new_record_is_zero_behind_its_first_word)
{
	static const char zeros[200];
	begin(200);
	for (int i = 0; i < 1000; i++) {
		char *record = slab_get(&slab);
		must(memcmp(record + sizeof(void *), zeros, sizeof zeros - sizeof(void *)) == 0);
		memset(record, 0xff, 200);
	}
	end();
}
END_TEST

START_TEST(a_record_put_back_stays_readable_and_is_the_next_one_out)
{
	begin(200);
	char *first = slab_get(&slab), *second = slab_get(&slab);
	memset(first, 'a', 200);
	memset(second, 'b', 200);
	slab_put(&slab, first);
	slab_put(&slab, second);
	for (int i = sizeof(void *); i < 200; i++)
		must(first[i] == 'a' && second[i] == 'b');
	ck_assert_uint_eq(slab.live, 0);
	ck_assert_ptr_eq(slab_get(&slab), second);
	ck_assert_ptr_eq(slab_get(&slab), first);
	for (int i = sizeof(void *); i < 200; i++)
		must(first[i] == 'a' && second[i] == 'b');
	end();
}
END_TEST

START_TEST(records_lie_densely)
{
	begin(576);
	for (int i = 0; i < 1000; i++)
		must(slab_get(&slab));
	ck_assert_uint_le(counting.bytes, 1000 * 576 * 5 / 4);
	ck_assert_uint_le(counting.allocs, 12);
	end();
}
END_TEST

static int visited;

static void visit(void *record, void *arg)
{
	ck_assert_ptr_eq(arg, &visited);
	visited++;
	((char *)record)[sizeof(void *)]++;
}

START_TEST(each_record_is_visited_once_live_or_free)
{
	begin(64);
	slab_each(&slab, visit, &visited);
	ck_assert_int_eq(visited, 0);
	for (int i = 0; i < RECORDS; i++)
		records[i] = slab_get(&slab);
	for (int i = 0; i < RECORDS; i += 2)
		slab_put(&slab, records[i]);
	visited = 0;
	slab_each(&slab, visit, &visited);
	ck_assert_int_ge(visited, RECORDS);
	for (int i = 0; i < RECORDS; i++)
		must(records[i][sizeof(void *)] == 1);
	end();
	visited = 0;
}
END_TEST

START_TEST(without_memory_get_fails_and_the_next_one_works)
{
	begin(576);
	counting.fail_at = 1;
	ck_fails_null(slab_get(&slab), ENOMEM);
	ck_assert_uint_eq(slab.live, 0);
	ck_assert_ptr_nonnull(slab_get(&slab));
	ck_assert_uint_eq(slab.live, 1);

	/* Also in the middle: what is out stays good. */
	counting.fail_at = counting.allocs + 1;
	int got = 1;
	while (slab_get(&slab))
		got++;
	ck_assert_int_eq(errno, ENOMEM);
	ck_assert_uint_eq(slab.live, (size_t)got);
	ck_assert_ptr_nonnull(slab_get(&slab));
	end();
}
END_TEST

START_TEST(records_put_back_cost_no_more_memory)
{
	begin(200);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < RECORDS; i++)
			records[i] = slab_get(&slab);
		for (int i = 0; i < RECORDS; i++)
			slab_put(&slab, records[(i * 7) % RECORDS]);
	}
	ck_assert_uint_le(counting.bytes, RECORDS * 256 * 5 / 4);
	end();
}
END_TEST

/* Whatever the address is: records that were got, not those between them, behind them, or of another slab. */
START_TEST(a_record_is_told_from_every_other_address)
{
	struct slab other;
	begin(200);
	slab_init(&other, 200, 0, &memory);
	for (int i = 0; i < RECORDS; i++)
		records[i] = slab_get(&slab);
	char *foreign = slab_get(&other), *last = records[RECORDS - 1];
	for (int i = 0; i < RECORDS; i++) {
		must(slab_chunk_of(&slab, records[i]));
		must(!slab_chunk_of(&slab, records[i] + 1) && !slab_chunk_of(&slab, records[i] + 64));
	}
	must(!slab_chunk_of(&slab, last + slab.record_size));
	must(!slab_chunk_of(&slab, foreign) && !slab_chunk_of(&slab, NULL) && !slab_chunk_of(&slab, (void *)-64));
	slab_put(&slab, last);
	must(slab_chunk_of(&slab, last)); /* it stays readable */
	slab_destroy(&other);
	end();
}
END_TEST

int main(void)
{
	return SUITE("slab",
	    TABLE(records_are_aligned_and_do_not_overlap, sizes),
	    TEST(a_new_record_is_zero_behind_its_first_word),
	    TEST(a_record_put_back_stays_readable_and_is_the_next_one_out),
	    TEST(records_lie_densely),
	    TEST(each_record_is_visited_once_live_or_free),
	    TEST(without_memory_get_fails_and_the_next_one_works),
	    TEST(records_put_back_cost_no_more_memory),
	    TEST(a_record_is_told_from_every_other_address));
}
