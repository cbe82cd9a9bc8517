/* SPDX-License-Identifier: MIT
 * base/list.h: the intrusive list. */
#include "base/list.h"
#include "base/random.h"
#include "suite.h"

#define ITEMS 8

static struct link items[ITEMS];

/* The items of the list from head to tail, as digits; checks the links both ways. */
static const char *order(const struct list *list)
{
	static char text[ITEMS + 1];
	size_t length = 0;
	list_each(link, list) {
		must(length < ITEMS);
		must(link->next->prev == link && link->prev->next == link);
		text[length++] = (char)('0' + (link - items));
	}
	text[length] = '\0';
	return text;
}

static void fill(struct list *list, int count)
{
	memset(items, 0, sizeof items);
	for (int i = 0; i < count; i++)
		list_push_tail(list, &items[i]);
}

START_TEST(a_list_that_is_all_zero_is_empty)
{
	struct list list = { { NULL, NULL } };
	ck_assert(list_is_empty(&list));
	ck_assert_ptr_null(list_head(&list));
	ck_assert_ptr_null(list_pop_head(&list));
	ck_assert_str_eq(order(&list), "");
}
END_TEST

START_TEST(a_list_that_is_all_zero_can_be_pushed_to)
{
	struct list list = { { NULL, NULL } };
	fill(&list, 3);
	ck_assert_str_eq(order(&list), "012");
}
END_TEST

START_TEST(links_come_out_in_the_order_they_went_in)
{
	struct list list;
	list_init(&list);
	ck_assert(list_is_empty(&list));
	fill(&list, ITEMS);
	for (int i = 0; i < ITEMS; i++) {
		ck_assert_ptr_eq(list_head(&list), &items[i]);
		ck_assert_ptr_eq(list_pop_head(&list), &items[i]);
		ck_assert(!link_is_linked(&items[i]));
	}
	ck_assert(list_is_empty(&list));
	ck_assert_ptr_null(list_pop_head(&list));
}
END_TEST

START_TEST(a_link_is_removed_without_its_list)
{
	static const char *const left[] = { "1234567", "0234567", "0134567", "0124567", "0123567",
		"0123467", "0123457", "0123456" };
	struct list list = { { NULL, NULL } };
	fill(&list, ITEMS);
	ck_assert(link_is_linked(&items[_i]));
	link_remove(&items[_i]);
	ck_assert(!link_is_linked(&items[_i]));
	ck_assert_str_eq(order(&list), left[_i]);
}
END_TEST

START_TEST(a_list_can_be_used_again_after_its_last_link_went)
{
	struct list list = { { NULL, NULL } };
	fill(&list, 1);
	link_remove(&items[0]);
	ck_assert(list_is_empty(&list));
	fill(&list, 2);
	ck_assert_str_eq(order(&list), "01");
}
END_TEST

START_TEST(the_current_link_may_be_removed_while_walking)
{
	struct list list = { { NULL, NULL } };
	int seen = 0;
	fill(&list, ITEMS);
	list_each(link, &list) {
		seen++;
		if ((_i >> (link - items)) & 1)
			link_remove(link);
	}
	ck_assert_int_eq(seen, ITEMS);
	for (int i = 0; i < ITEMS; i++)
		must(link_is_linked(&items[i]) == !((_i >> i) & 1));
	must((int)strlen(order(&list)) == ITEMS - __builtin_popcount((unsigned)_i));
}
END_TEST

START_TEST(a_link_is_inserted_before_any_other)
{
	struct list list = { { NULL, NULL } };
	fill(&list, 3);
	link_insert_before(&items[3], &items[0]);
	link_insert_before(&items[4], &items[1]);
	ck_assert_str_eq(order(&list), "30412");
}
END_TEST

/* Against an array that is shifted by hand. */
START_TEST(random_pushes_and_removals_agree_with_an_array)
{
	struct random random = { 0x11570000u + (unsigned)_i };
	struct list list = { { NULL, NULL } };
	char model[ITEMS + 1] = "";
	memset(items, 0, sizeof items);
	for (int step = 0; step < 2000; step++) {
		int n = (int)random_below(&random, ITEMS);
		char *place = strchr(model, '0' + n);
		if (place) {
			link_remove(&items[n]);
			memmove(place, place + 1, strlen(place));
		} else {
			list_push_tail(&list, &items[n]);
			model[strlen(model) + 1] = '\0';
			model[strlen(model)] = (char)('0' + n);
		}
		must_msg(strcmp(order(&list), model) == 0, "seed %d, step %d: %s, expected %s", _i, step,
		    order(&list), model);
		must(list_is_empty(&list) == !model[0]);
	}
}
END_TEST

int main(void)
{
	return SUITE("list",
	    TEST(a_list_that_is_all_zero_is_empty),
	    TEST(a_list_that_is_all_zero_can_be_pushed_to),
	    TEST(links_come_out_in_the_order_they_went_in),
	    LOOP(a_link_is_removed_without_its_list, 0, ITEMS),
	    TEST(a_list_can_be_used_again_after_its_last_link_went),
	    LOOP(the_current_link_may_be_removed_while_walking, 0, 1 << ITEMS),
	    TEST(a_link_is_inserted_before_any_other),
	    LOOP(random_pushes_and_removals_agree_with_an_array, 0, 4));
}
