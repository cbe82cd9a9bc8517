/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: a chart of rows of one unit, as SVG. */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include <stdbool.h>
#include <stdio.h>

#include "json.h"

#define CHART_ROWS_MAX 40

struct chart {
	const char *title, *unit, *clock;
	bool names_tables; /* rows of one name from several tables */
	const json *rows[CHART_ROWS_MAX];
	int count;
};

/* A bar for each row, as long as its median, with the range of its rounds' medians; on a logarithmic scale, which
 * says so, if the longest is more than 30 times the shortest. Takes its colours from the page's CSS. */
void chart_write(const struct chart *chart, FILE *out);

/* `text` where it may hold characters that mean something to HTML. */
void chart_text(const char *text, FILE *out);

/* "100 x 64 B: bide" below the title "100 x 64 B" needs only "bide". */
const char *chart_short_name(const char *name, const char *title);

#endif
