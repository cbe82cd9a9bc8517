/* SPDX-License-Identifier: MIT */
#include "prometheus.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "suite.h"

/* ---- words --------------------------------------------------------------------------------------- */

static bool may_be_in_name(char letter, bool is_first, bool is_label)
{
	return isalpha((unsigned char)letter) || letter == '_' || (letter == ':' && !is_label) ||
	    (!is_first && isdigit((unsigned char)letter));
}

static const char *read_name(const char *at, char *name, size_t size, bool is_label)
{
	size_t length = 0;
	while (may_be_in_name(at[length], length == 0, is_label))
		length++;
	must_msg(length > 0 && length < size, "no name at: %.60s", at);
	memcpy(name, at, length);
	name[length] = '\0';
	return at + length;
}

static const char *read_char(const char *at, char expected)
{
	must_msg(*at == expected, "no '%c' at: %.60s", expected, at);
	return at + 1;
}

static const char *read_quoted(const char *at, char *value, size_t size)
{
	size_t length = 0;
	for (at = read_char(at, '"'); *at != '"'; at++) {
		must_msg(*at && *at != '\n' && length + 1 < size, "an open quote at: %.60s", at);
		char letter = *at;
		if (letter == '\\') {
			letter = *++at;
			must_msg(letter == '\\' || letter == '"' || letter == 'n', "a wrong escape at: %.60s", at);
			letter = letter == 'n' ? '\n' : letter;
		}
		value[length++] = letter;
	}
	value[length] = '\0';
	return at + 1;
}

/* As Go's ParseFloat, which scrapers use, but neither hexadecimal nor with underscores. */
static double read_number(const char *text)
{
	char *end;
	if (strcmp(text, "+Inf") == 0)
		return HUGE_VAL;
	must_msg(*text && text[strspn(text, "+-.0123456789eE")] == '\0', "not a number: %s", text);
	double value = strtod(text, &end);
	must_msg(*end == '\0', "not a number: %s", text);
	return value;
}

/* ---- families ------------------------------------------------------------------------------------ */

static int find_family(const struct page *page, const char *name)
{
	for (int i = 0; i < page->family_count; i++)
		if (strcmp(page->families[i].name, name) == 0)
			return i;
	return -1;
}

static bool ends_in(const char *name, const char *ending)
{
	size_t length = strlen(name), size = strlen(ending);
	return length > size && strcmp(name + length - size, ending) == 0;
}

static void begin_family(struct page *page, const char *name, const char *help)
{
	must_msg(find_family(page, name) < 0, "%s is there twice", name);
	must_msg(*help && !strchr(help, '\\'), "%s has no help, or an escape in it", name);
	must(page->family_count < (int)(sizeof page->families / sizeof *page->families));
	snprintf(page->families[page->family_count].name, sizeof page->families->name, "%s", name);
	page->families[page->family_count++].type[0] = '\0';
}

static void set_type(struct page *page, const char *name, const char *type)
{
	struct family *family = &page->families[page->family_count - 1];
	must_msg(page->family_count > 0 && strcmp(family->name, name) == 0 && !family->type[0],
	    "the type of %s does not follow its help", name);
	must_msg(strcmp(type, "counter") == 0 || strcmp(type, "gauge") == 0 || strcmp(type, "histogram") == 0,
	    "%s is no type", type);
	must_msg((strcmp(type, "counter") == 0) == ends_in(name, "_total"), "%s is a %s", name, type);
	snprintf(family->type, sizeof family->type, "%s", type);
}

static void read_comment(struct page *page, const char *line)
{
	char name[64];
	must_msg(strncmp(line, "# HELP ", 7) == 0 || strncmp(line, "# TYPE ", 7) == 0, "neither HELP nor TYPE: %s", line);
	const char *rest = read_char(read_name(line + 7, name, sizeof name, false), ' ');
	if (line[2] == 'H')
		begin_family(page, name, rest);
	else
		set_type(page, name, rest);
}

/* ---- samples ------------------------------------------------------------------------------------- */

static bool is_same(const struct sample *a, const struct sample *b)
{
	return strcmp(a->name, b->name) == 0 && a->label_count == b->label_count &&
	    memcmp(a->labels, b->labels, sizeof a->labels) == 0;
}

static void check_family(const struct page *page, struct sample *sample)
{
	const struct family *family = &page->families[page->family_count - 1];
	must_msg(page->family_count > 0 && family->type[0], "%s has no type before it", sample->name);
	size_t length = strlen(family->name);
	must_msg(strncmp(sample->name, family->name, length) == 0, "%s among those of %s", sample->name, family->name);
	const char *rest = sample->name + length;
	if (strcmp(family->type, "histogram") == 0)
		must_msg(strcmp(rest, "_bucket") == 0 || strcmp(rest, "_sum") == 0 || strcmp(rest, "_count") == 0,
		    "%s in a histogram", sample->name);
	else
		must_msg(!*rest, "%s among those of %s", sample->name, family->name);
	sample->family = page->family_count - 1;
}

static void read_sample(struct page *page, const char *line)
{
	must(page->sample_count < (int)(sizeof page->samples / sizeof *page->samples));
	struct sample *sample = &page->samples[page->sample_count];
	memset(sample, 0, sizeof *sample);
	const char *at = read_name(line, sample->name, sizeof sample->name, false);
	if (*at == '{') {
		do {
			must(sample->label_count < SAMPLE_LABELS);
			char(*label)[32] = sample->labels[sample->label_count++];
			at = read_char(read_name(at + 1, label[0], sizeof label[0], true), '=');
			at = read_quoted(at, label[1], sizeof label[1]);
		} while (*at == ',');
		at = read_char(at, '}');
	}
	sample->value = read_number(read_char(at, ' '));
	check_family(page, sample);
	for (int i = 0; i < page->sample_count; i++)
		must_msg(!is_same(sample, &page->samples[i]), "twice: %s", line);
	page->sample_count++;
}

/* ---- histograms ---------------------------------------------------------------------------------- */

static const struct sample *check_buckets(const struct sample *sample, const struct sample *end)
{
	double bound = -1, count = 0;
	const char *loop = sample->labels[0][1];
	for (; sample < end && ends_in(sample->name, "_bucket"); sample++) {
		must(sample->label_count == 2 && strcmp(sample->labels[1][0], "le") == 0);
		must_msg(strcmp(sample->labels[0][1], loop) == 0, "buckets of two loops mixed");
		double le = read_number(sample->labels[1][1]);
		must_msg(le > bound && sample->value >= count, "%s is not cumulative", sample->name);
		bound = le;
		count = sample->value;
	}
	must_msg(isinf(bound), "a histogram does not end at +Inf");
	must(sample + 1 < end && ends_in(sample[0].name, "_sum") && ends_in(sample[1].name, "_count"));
	must_msg(sample[1].value == count, "%s is not the last bucket", sample[1].name);
	return sample + 2;
}

static void check_histograms(const struct page *page)
{
	const struct sample *sample = page->samples, *end = sample + page->sample_count;
	while (sample < end)
		if (strcmp(page->families[sample->family].type, "histogram") == 0)
			sample = check_buckets(sample, end);
		else
			sample++;
}

/* ---- the page ------------------------------------------------------------------------------------ */

void page_read(struct page *page, const char *text)
{
	char line[512];
	page->family_count = page->sample_count = 0;
	while (*text) {
		size_t length = strcspn(text, "\n");
		must_msg(text[length] == '\n', "the last line does not end");
		must_msg(length > 0 && length < sizeof line, "a line is empty, or too long");
		snprintf(line, sizeof line, "%.*s", (int)length, text);
		if (line[0] == '#')
			read_comment(page, line);
		else
			read_sample(page, line);
		text += length + 1;
	}
	check_histograms(page);
}

static bool is_of(const struct sample *sample, int number, const char *variant)
{
	char text[16];
	snprintf(text, sizeof text, "%d", number);
	return strcmp(sample->labels[0][0], "loop") == 0 && strcmp(sample->labels[0][1], text) == 0 &&
	    (!variant || strcmp(sample->labels[1][1], variant) == 0);
}

double page_value(const struct page *page, const char *name, int number, const char *variant)
{
	for (int i = 0; i < page->sample_count; i++)
		if (strcmp(page->samples[i].name, name) == 0 && is_of(&page->samples[i], number, variant))
			return page->samples[i].value;
	ck_abort_msg("no %s of loop %d %s", name, number, variant ? variant : "");
}

bool page_has_loop(const struct page *page, int number)
{
	for (int i = 0; i < page->sample_count; i++)
		if (is_of(&page->samples[i], number, NULL))
			return true;
	return false;
}
