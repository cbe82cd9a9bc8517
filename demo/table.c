/* SPDX-License-Identifier: MIT
 * Demo: the table, and how numbers are written for people. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "table.h"

enum { TEXT_SIZE = 48 };

static void write_count(char text[TEXT_SIZE], double number)
{
	char digits[TEXT_SIZE];
	int length = snprintf(digits, sizeof(digits), "%.0f", number);
	char *out = text;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
}

const char *count_text(double number)
{
	static char texts[4][TEXT_SIZE];
	static unsigned next;
	char *text = texts[next++ % 4];

	write_count(text, number);
	return text;
}

/* The number in the first unit that leaves less than `step` of it. */
static void write_scaled(char text[TEXT_SIZE], double number, double step,
			 const char *const *units, int count)
{
	int unit = 0;

	if (number <= 0) {
		snprintf(text, TEXT_SIZE, "0");
		return;
	}
	for (; number >= step && unit < count - 1; unit++)
		number /= step;
	snprintf(text, TEXT_SIZE, "%.*f %s", number < 9.95 ? 2 : number < 99.95 ? 1 : 0, number,
		 units[unit]);
}

static void write_value(char text[TEXT_SIZE], enum table_unit unit, double number)
{
	static const char *const sizes[] = { "KiB", "MiB", "GiB" };
	static const char *const times[] = { "us", "ms", "s" };

	switch (unit) {
	case UNIT_COUNT:
		write_count(text, number);
		break;
	case UNIT_BYTES:
		write_scaled(text, number / 1024, 1024, sizes, 3);
		break;
	case UNIT_SECONDS:
		write_scaled(text, number * 1e6, 1000, times, 3);
		break;
	}
}

/* "6.5 x less": how `left` compares with `right`. */
static void write_ratio(char text[TEXT_SIZE], double left, double right,
			const char *lower, const char *higher)
{
	bool less = left < right;
	double low = less ? left : right, high = less ? right : left;
	const char *word = less ? lower : higher;

	if (!lower || low <= 0) {
		*text = '\0';
	} else if (high / low < 1.05) {
		snprintf(text, TEXT_SIZE, "the same");
	} else if (high / low < 99.95) {
		snprintf(text, TEXT_SIZE, "%.1f x %s", high / low, word);
	} else {
		write_count(text, high / low);
		snprintf(text + strlen(text), TEXT_SIZE - strlen(text), " x %s", word);
	}
}

static void write_row(const char *name, const char *left, const char *right, const char *ratio)
{
	printf("  %-34s%12s%14s%s%s\n", name, left, right, *ratio ? "   " : "", ratio);
}

void table_head(const char *left, const char *right)
{
	char title[TEXT_SIZE];

	snprintf(title, sizeof(title), "with %s", left);
	write_row("", left, right, title);
}

void table_title(const char *title)
{
	printf("\n  %s\n", title);
}

void table_row(const char *name, enum table_unit unit, double left, double right,
	       const char *lower, const char *higher)
{
	char texts[3][TEXT_SIZE];

	write_value(texts[0], unit, left);
	write_value(texts[1], unit, right);
	write_ratio(texts[2], left, right, lower, higher);
	write_row(name, texts[0], texts[1], texts[2]);
}
