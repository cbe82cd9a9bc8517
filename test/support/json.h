/* SPDX-License-Identifier: MIT
 * A strict parser of JSON (RFC 8259) that only says whether a text is JSON, in UTF-8; and a look into one with a
 * line for each object, as traces have it. */
#ifndef SUPPORT_JSON_H
#define SUPPORT_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* NULL, or where it is not JSON. */
const char *json_flaw(const char *text);

/* The next line behind `after` (NULL: from the beginning) that has all of the texts up to NULL; NULL: there is
 * none. */
const char *json_line(const char *text, const char *after, ...) __attribute__((sentinel));

/* The number behind "key": in the line at `line`; -1 if there is none. */
double json_number(const char *line, const char *key);

/* How many lines have both texts. */
int json_count(const char *text, const char *first, const char *second);

/* The whole file, NUL-terminated; the caller's. */
char *json_read(const char *path);

#endif
