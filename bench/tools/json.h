/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: JSON read into a tree, for files that our own programs have written, but which
 * may have been cut off or edited. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <stddef.h>

typedef enum json_kind {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
} json_kind;

typedef struct json json;
struct json {
	json_kind kind;
	double number;     /* of JSON_BOOL 0 or 1 */
	char *text;        /* of a string; with escapes resolved, \u beyond ASCII as '?' */
	char *name;        /* of a member of an object, else NULL */
	json *first, *next; /* children of arrays and objects, in order; the next sibling */
};

/* The tree of `text`, to be freed with json_free(); NULL if it is no JSON, with *where the offset at which that
 * was seen. */
json *json_parse(const char *text, size_t *where);
void json_free(json *value);

/* The member of that name; NULL if there is none, or `object` is NULL or no object. */
const json *json_member(const json *object, const char *name);
/* Likewise, of a kind, or what is to be taken instead. */
const char *json_text(const json *object, const char *name, const char *otherwise);
double json_number(const json *object, const char *name, double otherwise);

#define json_each(child, parent) \
	for (const json *child = (parent) ? (parent)->first : NULL; child; child = child->next)

#endif
