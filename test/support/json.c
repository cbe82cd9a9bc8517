/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No strspn() and the like: under a sanitizer each looks at the whole text. */

/* Each parser returns where its part ends, or NULL with the flaw noted. */
static const char *flaw;

static const char *wrong(const char *at)
{
	if (!flaw)
		flaw = at;
	return NULL;
}

static const char *blanks(const char *at)
{
	while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')
		at++;
	return at;
}

static const char *digits(const char *at)
{
	const char *end = at;
	while (*end >= '0' && *end <= '9')
		end++;
	return end > at ? end : wrong(at);
}

static const char *parse_number(const char *at)
{
	if (*at == '-')
		at++;
	if (*at == '0')
		at++;
	else if (!(at = digits(at)))
		return NULL;
	if (*at == '.' && !(at = digits(at + 1)))
		return NULL;
	if (*at != 'e' && *at != 'E')
		return at;
	at++;
	if (*at == '+' || *at == '-')
		at++;
	return digits(at);
}

static const char *parse_escape(const char *at)
{
	if (*at != 'u')
		return *at && strchr("\"\\/bfnrt", *at) ? at + 1 : wrong(at);
	for (int i = 1; i <= 4; i++)
		if (!isxdigit((unsigned char)at[i]))
			return wrong(at);
	return at + 5;
}

/* By the code point, not as the library does it. */
static const char *parse_utf8(const char *at)
{
	unsigned char first = (unsigned char)*at;
	int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
	static const unsigned least[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned point = first & (0x3fu >> more);
	if (first < 0xc0 || first > 0xf7)
		return wrong(at);
	for (int i = 1; i <= more; i++) {
		if (((unsigned char)at[i] & 0xc0) != 0x80)
			return wrong(at);
		point = point << 6 | ((unsigned char)at[i] & 0x3f);
	}
	if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return wrong(at);
	return at + more + 1;
}

static const char *parse_string(const char *at)
{
	if (*at != '"')
		return wrong(at);
	for (at++; at && *at != '"';) {
		if ((unsigned char)*at < 0x20)
			return wrong(at);
		if (*at == '\\')
			at = parse_escape(at + 1);
		else
			at = (unsigned char)*at < 0x80 ? at + 1 : parse_utf8(at);
	}
	return at ? at + 1 : NULL;
}

static const char *parse_value(const char *at);

static const char *parse_member(const char *at)
{
	if (!(at = parse_string(at)))
		return NULL;
	at = blanks(at);
	return *at == ':' ? parse_value(at + 1) : wrong(at);
}

static const char *parse_list(const char *at, char end, const char *(*parse_one)(const char *at))
{
	at = blanks(at + 1);
	if (*at == end)
		return at + 1;
	while ((at = parse_one(blanks(at)))) {
		at = blanks(at);
		if (*at == end)
			return at + 1;
		if (*at != ',')
			return wrong(at);
		at++;
	}
	return NULL;
}

static const char *parse_value(const char *at)
{
	static const char *const words[] = { "true", "false", "null" };
	at = blanks(at);
	if (*at == '{')
		return parse_list(at, '}', parse_member);
	if (*at == '[')
		return parse_list(at, ']', parse_value);
	if (*at == '"')
		return parse_string(at);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strncmp(at, words[i], strlen(words[i])) == 0)
			return at + strlen(words[i]);
	return parse_number(at);
}

const char *json_flaw(const char *text)
{
	flaw = NULL;
	const char *end = parse_value(text);
	if (end && *blanks(end))
		return blanks(end);
	return flaw;
}

static size_t length_of(const char *line)
{
	size_t length = 0;
	while (line[length] && line[length] != '\n')
		length++;
	return length;
}

static bool has(const char *line, size_t length, const char *what)
{
	return memmem(line, length, what, strlen(what)) != NULL;
}

const char *json_line(const char *text, const char *after, ...)
{
	const char *line = after ? strchr(after, '\n') : text;
	for (; line && *line; line = strchr(line, '\n')) {
		bool fits = true;
		va_list whats;
		line += *line == '\n';
		va_start(whats, after);
		for (const char *what; fits && (what = va_arg(whats, const char *));)
			fits = has(line, length_of(line), what);
		va_end(whats);
		if (fits && *line)
			return line;
	}
	return NULL;
}

double json_number(const char *line, const char *key)
{
	char quoted[40];
	snprintf(quoted, sizeof quoted, "\"%s\":", key);
	const char *at = memmem(line, length_of(line), quoted, strlen(quoted));
	return at ? strtod(at + strlen(quoted), NULL) : -1;
}

int json_count(const char *text, const char *first, const char *second)
{
	int count = 0;
	for (const char *line = NULL; (line = json_line(text, line, first, second, NULL));)
		count++;
	return count;
}

char *json_read(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t size = 0;
	char *text = NULL;
	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0)
		text = calloc(1, 1);
	fclose(file);
	return text;
}
