/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: JSON (RFC 8259) read into a tree. See json.h. */
#include "json.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64

struct reader {
	const char *at;
	int depth;
};

static void *allocate(size_t size)
{
	void *memory = calloc(1, size);
	if (!memory) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return memory;
}

static void skip_space(struct reader *reader)
{
	reader->at += strspn(reader->at, " \t\r\n");
}

static bool take(struct reader *reader, char wanted)
{
	skip_space(reader);
	if (*reader->at != wanted)
		return false;
	reader->at++;
	return true;
}

/* ---- strings ------------------------------------------------------------------------------------ */

static int hex_value(char digit)
{
	return isdigit((unsigned char)digit) ? digit - '0' : tolower((unsigned char)digit) - 'a' + 10;
}

/* The four digits of \uXXXX; -1 if they are not there. */
static int code_unit(struct reader *reader)
{
	int value = 0;
	for (int i = 0; i < 4; i++, reader->at++) {
		if (!isxdigit((unsigned char)*reader->at))
			return -1;
		value = value * 16 + hex_value(*reader->at);
	}
	return value;
}

/* The character of an escape, whose backslash has been taken; -1 if there is no such one. */
static int escaped(struct reader *reader)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char letter = *reader->at;
	const char *found = letter ? strchr(letters, letter) : NULL;
	if (letter)
		reader->at++;
	if (found)
		return meant[found - letters];
	int unit = letter == 'u' ? code_unit(reader) : -1;
	return unit < 0x80 ? unit : '?';
}

static char *read_string(struct reader *reader)
{
	if (!take(reader, '"'))
		return NULL;
	char *text = allocate(strlen(reader->at) + 1 < 4096 ? strlen(reader->at) + 1 : 4096);
	size_t length = 0;
	while (*reader->at != '"') {
		int next = (unsigned char)*reader->at < 0x20 ? -1 : (unsigned char)*reader->at++;
		if (next == '\\')
			next = escaped(reader);
		if (next < 0 || length + 1 == 4096) {
			free(text);
			return NULL;
		}
		text[length++] = (char)next;
	}
	reader->at++;
	return text;
}

/* ---- values ------------------------------------------------------------------------------------- */

static json *read_value(struct reader *reader);

static json *new_value(json_kind kind)
{
	json *value = allocate(sizeof *value);
	value->kind = kind;
	return value;
}

static json *read_member(struct reader *reader, bool is_named)
{
	char *name = NULL;
	if (is_named && (!(name = read_string(reader)) || !take(reader, ':'))) {
		free(name);
		return NULL;
	}
	json *value = read_value(reader);
	if (value)
		value->name = name;
	else
		free(name);
	return value;
}

static json *read_members(struct reader *reader, json_kind kind, char close)
{
	json *parent = new_value(kind), **end = &parent->first;
	if (take(reader, close))
		return parent;
	do {
		json *child = read_member(reader, kind == JSON_OBJECT);
		if (!child)
			goto broken;
		*end = child;
		end = &child->next;
	} while (take(reader, ','));
	if (take(reader, close))
		return parent;
broken:
	json_free(parent);
	return NULL;
}

static json *read_number(struct reader *reader)
{
	char *end;
	bool looks_like_one = *reader->at == '-' || isdigit((unsigned char)*reader->at);
	double number = looks_like_one ? strtod(reader->at, &end) : 0;
	if (!looks_like_one || end == reader->at)
		return NULL;
	json *value = new_value(JSON_NUMBER);
	value->number = number;
	reader->at = end;
	return value;
}

static json *read_word(struct reader *reader)
{
	static const struct {
		const char *word;
		json_kind kind;
		double number;
	} words[] = { { "null", JSON_NULL, 0 }, { "true", JSON_BOOL, 1 }, { "false", JSON_BOOL, 0 } };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t length = strlen(words[i].word);
		if (strncmp(reader->at, words[i].word, length) != 0)
			continue;
		reader->at += length;
		json *value = new_value(words[i].kind);
		value->number = words[i].number;
		return value;
	}
	return read_number(reader);
}

static json *read_text(struct reader *reader)
{
	char *text = read_string(reader);
	json *value = text ? new_value(JSON_STRING) : NULL;
	if (value)
		value->text = text;
	return value;
}

static json *read_value(struct reader *reader)
{
	json *value = NULL;
	skip_space(reader);
	if (reader->depth++ == DEPTH_MAX)
		return NULL;
	if (*reader->at == '"')
		value = read_text(reader);
	else if (take(reader, '{'))
		value = read_members(reader, JSON_OBJECT, '}');
	else if (take(reader, '['))
		value = read_members(reader, JSON_ARRAY, ']');
	else
		value = read_word(reader);
	reader->depth--;
	return value;
}

json *json_parse(const char *text, size_t *where)
{
	struct reader reader = { .at = text };
	json *value = read_value(&reader);
	skip_space(&reader);
	*where = (size_t)(reader.at - text);
	if (value && !*reader.at)
		return value;
	json_free(value);
	return NULL;
}

void json_free(json *value)
{
	while (value) {
		json *next = value->next;
		json_free(value->first);
		free(value->name);
		free(value->text);
		free(value);
		value = next;
	}
}

/* ---- looking ------------------------------------------------------------------------------------ */

const json *json_member(const json *object, const char *name)
{
	if (!object || object->kind != JSON_OBJECT)
		return NULL;
	json_each(child, object)
		if (strcmp(child->name, name) == 0)
			return child;
	return NULL;
}

const char *json_text(const json *object, const char *name, const char *otherwise)
{
	const json *member = json_member(object, name);
	return member && member->kind == JSON_STRING ? member->text : otherwise;
}

double json_number(const json *object, const char *name, double otherwise)
{
	const json *member = json_member(object, name);
	return member && (member->kind == JSON_NUMBER || member->kind == JSON_BOOL) ? member->number : otherwise;
}
