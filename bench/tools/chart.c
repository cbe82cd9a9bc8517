/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: charts. See chart.h. */
#include "chart.h"

#include <math.h>
#include <string.h>

#include "results.h"

/* In the SVG's own units: the page scales it. */
#define WIDTH 860
#define NAMES 330  /* where the bars begin */
#define BARS 430   /* how long the longest is */
#define LINE 24    /* the height of a row */
#define HEAD 8
#define LOG_FROM 30

struct scale {
	double least, greatest;
	bool is_log;
};

void chart_text(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '>')
			fputs("&gt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else if (*text == '"')
			fputs("&quot;", out);
		else
			fputc(*text, out);
	}
}

const char *chart_short_name(const char *name, const char *title)
{
	size_t length = strlen(title);
	bool repeats = strncmp(name, title, length) == 0 && strncmp(name + length, ": ", 2) == 0;
	return repeats ? name + length + 2 : name;
}

static struct scale scale_of(const struct chart *chart)
{
	struct scale scale = { INFINITY, 0, false };
	for (int i = 0; i < chart->count; i++) {
		double median = json_number(chart->rows[i], "median", 0);
		if (median > 0 && median < scale.least)
			scale.least = median;
		if (median > scale.greatest)
			scale.greatest = median;
	}
	scale.is_log = scale.greatest > LOG_FROM * scale.least;
	return scale;
}

/* How far from the bars' beginning `value` lies. A logarithmic scale begins at a third of the least. */
static double place(const struct scale *scale, double value)
{
	double share = scale->greatest > 0 ? value / scale->greatest : 0;
	if (scale->is_log)
		share = value > 0 ? log(value * 3 / scale->least) / log(scale->greatest * 3 / scale->least) : 0;
	return share <= 0 ? 0 : share > 1.06 ? 1.06 * BARS : share * BARS;
}

/* Returns where it ends, or the bar does. */
static double write_range(const struct scale *scale, const json *row, int y, double end, FILE *out)
{
	double rounds[ROUNDS_MAX], low = INFINITY, high = 0;
	int count = results_rounds(row, NULL, rounds);
	for (int i = 0; i < count; i++) {
		low = rounds[i] < low ? rounds[i] : low;
		high = rounds[i] > high ? rounds[i] : high;
	}
	if (count < 2)
		return end;
	fprintf(out, "<line class=\"range\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>", NAMES + place(scale, low),
		NAMES + place(scale, high), y + LINE / 2, y + LINE / 2);
	return place(scale, high) > end ? place(scale, high) : end;
}

static void write_row(const struct chart *chart, const struct scale *scale, int number, FILE *out)
{
	const json *row = chart->rows[number];
	const char *table = json_text(row, "table", "");
	const char *name = chart->names_tables ? table : chart_short_name(json_text(row, "case", ""), chart->title);
	double median = json_number(row, "median", 0), length = place(scale, median);
	int y = HEAD + number * LINE;
	char text[NUMBER_SIZE];
	fprintf(out, "<text class=\"name\" x=\"%d\" y=\"%d\">", NAMES - 8, y + 16);
	chart_text(name, out);
	fprintf(out, "</text><rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" rx=\"2\"/>",
		results_is_rival(name) ? "rival" : "bide", NAMES, y + 4, length < 1 ? 1 : length, LINE - 8);
	double end = write_range(scale, row, y, length, out);
	fprintf(out, "<text class=\"value\" x=\"%.1f\" y=\"%d\">%s</text>\n", NAMES + end + 8, y + 16,
		results_number(median, text));
}

void chart_write(const struct chart *chart, FILE *out)
{
	struct scale scale = scale_of(chart);
	int height = HEAD * 2 + chart->count * LINE;
	fprintf(out, "<figure><figcaption>");
	chart_text(chart->title, out);
	fprintf(out, " <span>%s%s%s</span></figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\">", chart->unit, strcmp(chart->clock, "cpu") == 0 ? " of CPU time" : strcmp(chart->clock, "wall") == 0 ? " of wall time" : "",
		scale.is_log ? ", logarithmic scale" : "", WIDTH, height);
	fprintf(out, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", NAMES, NAMES, HEAD, height - HEAD);
	for (int i = 0; i < chart->count; i++)
		write_row(chart, &scale, i, out);
	fputs("</svg></figure>\n", out);
}
