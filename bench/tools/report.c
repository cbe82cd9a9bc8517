/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: report RESULTS.json REPORT.md REPORT.html: what a run of all programs came to, for
 * people: the machine, what was promised and whether it was kept, a chart and a table for each cost. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"
#include "results.h"

/* ---- both forms --------------------------------------------------------------------------------- */

/* The two forms differ in how they write these. */
struct form {
	FILE *out;
	void (*heading)(FILE *out, int level, const char *text);
	void (*fact)(FILE *out, const char *name, const char *value);
	void (*table_begin)(FILE *out, const char *const *heads, int count);
	void (*cell)(FILE *out, const char *text, int column, int columns);
	void (*table_end)(FILE *out);
	void (*chart)(const struct chart *chart, FILE *out);
};

static void table_row(const struct form *form, const char *const *cells, int count)
{
	for (int i = 0; i < count; i++)
		form->cell(form->out, cells[i], i, count);
}

static void write_machine(const struct form *form, const json *results)
{
	const json *first = json_member(results, "programs")->first, *machine = json_member(first, "machine");
	static const char *const facts[] = { "model", "processor", "kernel", "compiler", "flags", "clock", "governor" };
	char cpus[96];
	form->heading(form->out, 2, "The machine");
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		form->fact(form->out, facts[i], json_text(machine, facts[i], "?"));
	const json *pinned = json_member(first, "cpus");
	snprintf(cpus, sizeof cpus, "%.0f; programs pinned to CPU %.0f, load of echo and http to CPU %.0f",
		 json_number(machine, "cpus", 0), pinned && pinned->first ? pinned->first->number : 0,
		 pinned && pinned->first && pinned->first->next ? pinned->first->next->number : 0);
	form->fact(form->out, "CPUs", cpus);
	json_each(version, json_member(results, "versions"))
		form->fact(form->out, version->name, version->kind == JSON_STRING ? version->text : "?");
}

static void write_bar(const struct form *form, const json *bar)
{
	char value[NUMBER_SIZE], limit[NUMBER_SIZE], measured[160], promised[64];
	const char *unit = json_text(bar, "unit", ""), *vs = json_text(bar, "vs", "");
	snprintf(measured, sizeof measured, "%s %s%s", results_number(json_number(bar, "value", 0), value),
		 *vs ? "x " : unit, vs);
	snprintf(promised, sizeof promised, "%s %s", json_number(bar, "at_least", 0) ? "at least" : "at most",
		 results_number(json_number(bar, "limit", 0), limit));
	const char *const cells[] = { json_text(bar, "case", ""), measured, promised,
		json_number(bar, "met", 0) ? "met" : "MISSED" };
	table_row(form, cells, 4);
}

static void write_bars(const struct form *form, const json *results)
{
	static const char *const heads[] = { "case", "measured", "promised", "" };
	form->heading(form->out, 2, "What was promised");
	form->table_begin(form->out, heads, 4);
	json_each(program, json_member(results, "programs"))
		json_each(bar, json_member(program, "bars"))
			write_bar(form, bar);
	form->table_end(form->out);
}

static void write_row(const struct form *form, const json *row, const char *title)
{
	char median[NUMBER_SIZE], min[NUMBER_SIZE], p99[NUMBER_SIZE], ratio[NUMBER_SIZE], low[NUMBER_SIZE],
		high[NUMBER_SIZE], compared[256] = "";
	if (json_member(row, "ratio"))
		snprintf(compared, sizeof compared, "%s [%s .. %s] x %s", results_number(json_number(row, "ratio", 0), ratio),
			 results_number(json_number(row, "ratio_min", 0), low),
			 results_number(json_number(row, "ratio_max", 0), high),
			 chart_short_name(json_text(row, "vs", ""), title));
	const char *const cells[] = { chart_short_name(json_text(row, "case", ""), title), json_text(row, "unit", ""),
		json_text(row, "clock", ""), results_number(json_number(row, "median", 0), median),
		results_number(json_number(row, "min", 0), min), results_number(json_number(row, "p99", 0), p99), compared };
	table_row(form, cells, 7);
}

static int is_of(const json *row, const char *table, const json *like)
{
	return strcmp(json_text(row, "table", ""), table) == 0 &&
	       (!like || (strcmp(json_text(row, "unit", ""), json_text(like, "unit", "")) == 0 &&
			  strcmp(json_text(row, "clock", ""), json_text(like, "clock", "")) == 0));
}

/* A chart for each unit and clock of the table: `like` is the first row of one. */
static void write_chart(const struct form *form, const json *program, const char *table, const json *like)
{
	struct chart chart = { .title = table, .unit = json_text(like, "unit", ""),
		.clock = json_text(like, "clock", "") };
	json_each(row, json_member(program, "rows")) {
		if (!is_of(row, table, like) || chart.count == CHART_ROWS_MAX)
			continue;
		if (chart.count == 0 && row != like)
			return; /* this unit has had its chart */
		chart.rows[chart.count++] = row;
	}
	if (chart.count > 1)
		form->chart(&chart, form->out);
}

static void write_table(const struct form *form, const json *program, const char *table)
{
	static const char *const heads[] = { "case", "unit", "clock", "median", "least", "p99", "ratio [of the rounds]" };
	form->heading(form->out, 3, table);
	if (form->chart)
		json_each(row, json_member(program, "rows"))
			if (is_of(row, table, NULL))
				write_chart(form, program, table, row);
	form->table_begin(form->out, heads, 7);
	json_each(row, json_member(program, "rows"))
		if (is_of(row, table, NULL))
			write_row(form, row, table);
	form->table_end(form->out);
}

/* What several tables measured of several things, memory above all, beside each other: a chart for each row of the
 * first table that has one of its name in two others. */
static void write_across(const struct form *form, const json *program)
{
	const json *rows = json_member(program, "rows");
	const char *first = json_text(rows ? rows->first : NULL, "table", "");
	json_each(row, rows) {
		const char *name = chart_short_name(json_text(row, "case", ""), first);
		struct chart chart = { .title = name, .unit = json_text(row, "unit", ""), .clock = json_text(row, "clock", ""),
			.names_tables = true };
		if (strcmp(json_text(row, "table", ""), first) != 0 || strcmp(chart.clock, "none") != 0)
			continue;
		json_each(other, rows) {
			const char *its = chart_short_name(json_text(other, "case", ""), json_text(other, "table", ""));
			if (strcmp(its, name) == 0 && chart.count < CHART_ROWS_MAX)
				chart.rows[chart.count++] = other;
		}
		if (chart.count > 2)
			form->chart(&chart, form->out);
	}
}

static void write_program(const struct form *form, const json *program)
{
	char title[160], rounds[96];
	const char *table = NULL;
	snprintf(title, sizeof title, "%s: %s", json_text(program, "bench", "?"), json_text(program, "about", ""));
	form->heading(form->out, 2, title);
	snprintf(rounds, sizeof rounds, "%.0f in turn%s; load of the machine afterwards %s", json_number(program, "rounds", 0),
		 json_number(program, "quick", 0) ? ", QUICK: too few and too short to judge by" : "",
		 json_text(json_member(program, "machine"), "load_after", "?"));
	form->fact(form->out, "rounds", rounds);
	if (form->chart)
		write_across(form, program);
	json_each(row, json_member(program, "rows")) {
		const char *its = json_text(row, "table", "");
		if (table && strcmp(its, table) == 0)
			continue;
		table = its;
		write_table(form, program, table);
	}
}

static void write_all(const struct form *form, const json *results)
{
	form->heading(form->out, 1, "bide, measured");
	write_machine(form, results);
	write_bars(form, results);
	json_each(program, json_member(results, "programs"))
		write_program(form, program);
}

/* ---- markdown ----------------------------------------------------------------------------------- */

static void md_heading(FILE *out, int level, const char *text)
{
	fprintf(out, "\n%.*s %s\n\n", level, "####", text);
}

static void md_fact(FILE *out, const char *name, const char *value)
{
	fprintf(out, "- %s: %s\n", name, value);
}

static void md_table_begin(FILE *out, const char *const *heads, int count)
{
	fputs("\n|", out);
	for (int i = 0; i < count; i++)
		fprintf(out, " %s |", heads[i]);
	fputs("\n|", out);
	for (int i = 0; i < count; i++)
		fputs(" --- |", out);
	fputs("\n", out);
}

static void md_cell(FILE *out, const char *text, int column, int columns)
{
	fprintf(out, "%s %s |%s", column ? "" : "|", text, column + 1 == columns ? "\n" : "");
}

static void md_table_end(FILE *out)
{
	(void)out;
}

/* ---- a page for browsers ------------------------------------------------------------------------ */

static const char page_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>bide, measured</title>\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>\n"
	":root{--ground:#fff;--ink:#1b1f24;--dim:#5b6470;--line:#d8dee4;--bide:#1f6feb;--rival:#9aa4af;--bad:#b42318;"
	"--good:#1a7f37}\n"
	"@media(prefers-color-scheme:dark){:root{--ground:#0f1318;--ink:#e6e9ed;--dim:#9aa4af;--line:#2c333b;"
	"--bide:#4c93ff;--rival:#6b7580;--bad:#ff7b72;--good:#56d364}}\n"
	"body{margin:0 auto;max-width:64rem;padding:1rem 1.25rem 4rem;background:var(--ground);color:var(--ink);"
	"font:15px/1.5 system-ui,sans-serif}\n"
	"h2{margin-top:3rem;border-bottom:1px solid var(--line);padding-bottom:.3rem}h3{margin-top:2rem}\n"
	".fact{color:var(--dim)}.fact b{color:var(--ink);font-weight:600}\n"
	"figure{margin:1rem 0}figcaption{font-weight:600}figcaption span{color:var(--dim);font-weight:400}\n"
	"svg{width:100%;height:auto}svg text{font:13px system-ui,sans-serif;fill:var(--ink)}.name{text-anchor:end}\n"
	"svg .value{fill:var(--dim)}.bide{fill:var(--bide)}.rival{fill:var(--rival)}.axis{stroke:var(--line)}\n"
	".range{stroke:var(--ink);stroke-width:2;opacity:.55}\n"
	".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:13px}td,th{padding:.2rem .6rem;"
	"border-bottom:1px solid var(--line);text-align:left;white-space:nowrap}td{font-variant-numeric:tabular-nums}\n"
	".met{color:var(--good)}.missed{color:var(--bad);font-weight:600}\n</style></head><body>\n";

static void html_heading(FILE *out, int level, const char *text)
{
	fprintf(out, "<h%d>", level);
	chart_text(text, out);
	fprintf(out, "</h%d>\n", level);
}

static void html_fact(FILE *out, const char *name, const char *value)
{
	fputs("<div class=\"fact\"><b>", out);
	chart_text(name, out);
	fputs("</b> ", out);
	chart_text(value, out);
	fputs("</div>\n", out);
}

static void html_table_begin(FILE *out, const char *const *heads, int count)
{
	fputs("<div class=\"scroll\"><table><tr>", out);
	for (int i = 0; i < count; i++)
		fprintf(out, "<th>%s</th>", heads[i]);
	fputs("</tr>\n", out);
}

static void html_cell(FILE *out, const char *text, int column, int columns)
{
	const char *kind = strcmp(text, "met") == 0 ? " class=\"met\"" : strcmp(text, "MISSED") == 0 ? " class=\"missed\"" : "";
	fprintf(out, "%s<td%s>", column ? "" : "<tr>", kind);
	chart_text(text, out);
	fprintf(out, "</td>%s", column + 1 == columns ? "</tr>\n" : "");
}

static void html_table_end(FILE *out)
{
	fputs("</table></div>\n", out);
}

/* ------------------------------------------------------------------------------------------------- */

static FILE *create(const char *path)
{
	FILE *out = fopen(path, "we");
	if (!out) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	return out;
}

static int finish(FILE *out, const char *path)
{
	if (!(ferror(out) | fclose(out)))
		return 0;
	fprintf(stderr, "%s: could not be written\n", path);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: report RESULTS.json REPORT.md REPORT.html\n");
		return 2;
	}
	json *results = results_read(argv[1]);
	struct form md = { create(argv[2]), md_heading, md_fact, md_table_begin, md_cell, md_table_end, NULL };
	struct form html = { create(argv[3]), html_heading, html_fact, html_table_begin, html_cell, html_table_end,
		chart_write };
	write_all(&md, results);
	fputs(page_head, html.out);
	write_all(&html, results);
	fputs("</body></html>\n", html.out);
	json_free(results);
	return finish(md.out, argv[2]) | finish(html.out, argv[3]);
}
