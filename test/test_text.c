/* SPDX-License-Identifier: MIT
 * Text put together without stdio: base/text.h. */
#include "base/text.h"
#include "suite.h"

static const struct {
	uint64_t ns;
	int places;
	const char *text;
} seconds[] = {
	{ 0, 3, "0.000" },
	{ 999999, 3, "0.000" }, /* down */
	{ 1000000, 3, "0.001" },
	{ 1999999999, 3, "1.999" },
	{ 1999999999, 9, "1.999999999" },
	{ 1050000000, 1, "1.0" },
	{ 60000000001, 9, "60.000000001" },
	{ UINT64_MAX, 6, "18446744073.709551" },
};

START_TEST(nanoseconds_are_told_as_seconds)
{
	char room[32];
	struct text text;
	text_init(&text, room, sizeof room);
	suite_use_decimal_comma();
	text_add_seconds(&text, seconds[_i].ns, seconds[_i].places);
	suite_use_c_locale();
	ck_assert_str_eq(room, seconds[_i].text);
}
END_TEST

START_TEST(what_does_not_fit_is_cut)
{
	char room[5];
	struct text text;
	text_init(&text, room, sizeof room);
	text_add_seconds(&text, 1234567890, 9);
	ck_assert_str_eq(room, "1.23");
	text_add(&text, "more");
	text_add_decimal(&text, 7);
	ck_assert_str_eq(room, "1.23");
}
END_TEST

START_TEST(a_name_cannot_end_its_line)
{
	char room[32];
	struct text text;
	text_init(&text, room, sizeof room);
	text_add_name(&text, "");
	ck_assert_str_eq(room, "");
	text_add_name(&text, "a\n\"\x7f" "b");
	ck_assert_str_eq(room, " \"a???b\"");
}
END_TEST

int main(void)
{
	return SUITE("text", TABLE(nanoseconds_are_told_as_seconds, seconds), TEST(what_does_not_fit_is_cut),
	    TEST(a_name_cannot_end_its_line));
}
