/* SPDX-License-Identifier: MIT
 * sched/ready.h: the ready queue and the turn, without a loop. */
#include "sched/ready.h"

#include "resources.h"
#include "suite.h"

#define ENTRIES 12

static struct counting counting;
static struct memory memory;
static struct ready_queue queue;
static struct entry entries[ENTRIES];

static void a_callback(struct entry *entry)
{
	(void)entry;
}

static void begin(bool is_random, uint64_t seed)
{
	counting_init(&counting, false);
	memory = (struct memory){ counting.allocator.alloc, counting.allocator.free, &counting };
	memset(entries, 0, sizeof entries);
	ready_init(&queue, &memory, is_random, seed);
}

static void end(void)
{
	ready_destroy(&queue);
	must(counting_is_balanced(&counting));
}

static void push(int from, int to)
{
	for (int i = from; i < to; i++)
		ready_push(&queue, &entries[i]);
}

/* Pops all, as letters. */
static const char *drain(void)
{
	static char text[ENTRIES + 1];
	size_t length = 0;
	for (struct entry *entry; (entry = ready_pop(&queue));) {
		must(length < ENTRIES && !link_is_linked(&entry->link));
		text[length++] = (char)('a' + (entry - entries));
	}
	text[length] = '\0';
	return text;
}

static char pop_one(void)
{
	struct entry *entry = ready_pop(&queue);
	return entry ? (char)('a' + (entry - entries)) : '-';
}

START_TEST(an_empty_queue_pops_nothing_and_begins_no_turn)
{
	begin(_i, 1);
	ck_assert(ready_is_empty(&queue));
	ck_assert_ptr_null(ready_pop(&queue));
	ck_assert_uint_eq(queue.turn, 0);
	end();
}
END_TEST

/* semantics 1 */
START_TEST(entries_come_out_in_the_order_they_went_in)
{
	begin(false, 0);
	push(0, ENTRIES);
	ck_assert(!ready_is_empty(&queue));
	ck_assert_str_eq(drain(), "abcdefghijkl");
	ck_assert(ready_is_empty(&queue));
	end();
}
END_TEST

/* semantics 3 */
START_TEST(a_turn_is_what_was_ready_at_its_start)
{
	begin(false, 0);
	push(0, 3);
	ck_assert_int_eq(pop_one(), 'a');
	ck_assert_uint_eq(queue.turn, 1);
	push(3, 5); /* while the turn runs */
	ck_assert_int_eq(pop_one(), 'b');
	ck_assert_int_eq(pop_one(), 'c');
	ck_assert_uint_eq(queue.turn, 1);
	ck_assert_int_eq(pop_one(), 'd');
	ck_assert_uint_eq(queue.turn, 2);
	ck_assert_int_eq(pop_one(), 'e');
	ck_assert_uint_eq(queue.turn, 2);
	ck_assert_int_eq(pop_one(), '-');
	end();
}
END_TEST

/* A turn ends with the entry that stands before the one taken out. */
static const struct {
	int removed;
	const char *rest;
	unsigned turns; /* begun when all are out, with two more pushed while the first one ran */
} removals[] = { { 1, "acdefg", 2 }, { 2, "abdefg", 2 }, { 4, "abcdfg", 2 }, { 5, "abcdeg", 2 }, { 6, "abcdef", 2 } };

START_TEST(an_entry_may_be_taken_out_before_its_turn)
{
	char text[ENTRIES] = "";
	begin(false, 0);
	push(0, 5);
	text[0] = pop_one();
	push(5, 7);
	ready_remove(&queue, &entries[removals[_i].removed]);
	ck_assert(!link_is_linked(&entries[removals[_i].removed].link));
	strcat(text, drain());
	ck_assert_str_eq(text, removals[_i].rest);
	ck_assert_uint_eq(queue.turn, removals[_i].turns);
	end();
}
END_TEST

START_TEST(the_last_one_of_a_turn_may_be_taken_out)
{
	begin(false, 0);
	push(0, 2);
	ck_assert_int_eq(pop_one(), 'a');
	ready_remove(&queue, &entries[1]);
	ck_assert(ready_is_empty(&queue));
	push(2, 4);
	ck_assert_int_eq(pop_one(), 'c');
	ck_assert_uint_eq(queue.turn, 2);
	push(4, 5);
	ck_assert_int_eq(pop_one(), 'd');
	ck_assert_uint_eq(queue.turn, 2);
	ck_assert_int_eq(pop_one(), 'e');
	ck_assert_uint_eq(queue.turn, 3);
	end();
}
END_TEST

/* The whole rest of a turn goes, while others wait behind it: those are the next turn. */
START_TEST(the_rest_of_a_turn_may_be_taken_out)
{
	begin(false, 0);
	push(0, 3);
	ck_assert_int_eq(pop_one(), 'a');
	push(3, 5);
	ready_remove(&queue, &entries[2]);
	ready_remove(&queue, &entries[1]);
	ck_assert_int_eq(pop_one(), 'd');
	ck_assert_uint_eq(queue.turn, 2);
	push(5, 6);
	ck_assert_int_eq(pop_one(), 'e');
	ck_assert_uint_eq(queue.turn, 2);
	ck_assert_int_eq(pop_one(), 'f');
	ck_assert_uint_eq(queue.turn, 3);
	end();
}
END_TEST

/* ---- the random order: semantics 193 -------------------------------------------------------------- */

START_TEST(a_random_turn_runs_each_entry_once)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		begin(true, seed);
		push(0, ENTRIES);
		const char *order = drain();
		must_msg(strlen(order) == ENTRIES, "seed %llu: %s", (unsigned long long)seed, order);
		for (char c = 'a'; c < 'a' + ENTRIES; c++)
			must_msg(strchr(order, c), "seed %llu: %s", (unsigned long long)seed, order);
		end();
	}
}
END_TEST

START_TEST(the_same_seed_gives_the_same_order_and_another_seed_another)
{
	char orders[3][ENTRIES + 1];
	for (int i = 0; i < 3; i++) {
		begin(true, i == 2 ? 99 : 7);
		push(0, ENTRIES);
		strcpy(orders[i], drain());
		end();
	}
	ck_assert_str_eq(orders[0], orders[1]);
	ck_assert_str_ne(orders[0], orders[2]);
}
END_TEST

START_TEST(each_place_is_reached_by_each_entry)
{
	int counts[4][4] = { { 0 } };
	enum { ROUNDS = 4000 };
	begin(true, 12345);
	for (int round = 0; round < ROUNDS; round++) {
		push(0, 4);
		const char *order = drain();
		for (int place = 0; place < 4; place++)
			counts[order[place] - 'a'][place]++;
	}
	for (int entry = 0; entry < 4; entry++)
		for (int place = 0; place < 4; place++)
			must_msg(counts[entry][place] > ROUNDS / 5 && counts[entry][place] < ROUNDS * 3 / 10,
			    "%d of %d", counts[entry][place], ROUNDS);
	end();
}
END_TEST

START_TEST(callbacks_keep_their_places)
{
	bool differs = false;
	for (uint64_t seed = 0; seed < 50; seed++) {
		begin(true, seed);
		for (int i = 0; i < ENTRIES; i += 3)
			entries[i].run = a_callback;
		push(0, ENTRIES);
		const char *order = drain();
		for (int i = 0; i < ENTRIES; i += 3)
			must_msg(order[i] == 'a' + i, "seed %llu: %s", (unsigned long long)seed, order);
		differs |= strcmp(order, "abcdefghijkl") != 0;
		end();
	}
	ck_assert(differs);
}
END_TEST

START_TEST(a_random_turn_holds_only_what_was_ready_at_its_start)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		char text[ENTRIES + 1] = "";
		begin(true, seed);
		push(0, 6);
		text[0] = pop_one();
		push(6, ENTRIES);
		strcat(text, drain());
		for (int i = 0; i < ENTRIES; i++)
			must_msg((text[i] < 'g') == (i < 6), "seed %llu: %s", (unsigned long long)seed, text);
		must(queue.turn == 2);
		end();
	}
}
END_TEST

START_TEST(without_memory_a_random_turn_keeps_its_order)
{
	begin(true, 3);
	counting.fail_at = 1;
	push(0, ENTRIES);
	ck_assert_str_eq(drain(), "abcdefghijkl");
	push(0, ENTRIES);
	ck_assert_str_ne(drain(), "abcdefghijkl");
	end();
}
END_TEST

int main(void)
{
	return SUITE("ready",
	    LOOP(an_empty_queue_pops_nothing_and_begins_no_turn, 0, 2),
	    TEST(entries_come_out_in_the_order_they_went_in),
	    TEST(a_turn_is_what_was_ready_at_its_start),
	    TABLE(an_entry_may_be_taken_out_before_its_turn, removals),
	    TEST(the_last_one_of_a_turn_may_be_taken_out),
	    TEST(the_rest_of_a_turn_may_be_taken_out),
	    TEST(a_random_turn_runs_each_entry_once),
	    TEST(the_same_seed_gives_the_same_order_and_another_seed_another),
	    TEST(each_place_is_reached_by_each_entry),
	    TEST(callbacks_keep_their_places),
	    TEST(a_random_turn_holds_only_what_was_ready_at_its_start),
	    TEST(without_memory_a_random_turn_keeps_its_order));
}
