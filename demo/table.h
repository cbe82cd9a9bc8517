/* SPDX-License-Identifier: MIT
 * Demo: the table, and how numbers are written for people. */
#ifndef DEMO_TABLE_H
#define DEMO_TABLE_H

enum table_unit { UNIT_COUNT, UNIT_BYTES, UNIT_SECONDS };

void table_head(const char *left, const char *right);
void table_title(const char *title);

/* A row, with how the left side compares with the right one: "6.5 x less", by the words for a lower
 * and a higher figure, such as "less" and "more". NULL words: no comparison. */
void table_row(const char *name, enum table_unit unit, double left, double right,
	       const char *lower, const char *higher);

/* "1,234,567", whatever the locale; good until the fourth call after this one. */
const char *count_text(double number);

#endif
