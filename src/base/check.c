/* SPDX-License-Identifier: MIT
 * Layer base: what happens when an invariant is broken. */
#include "base/check.h"

#include <stdlib.h>

#include "base/output.h"
#include "base/text.h"

void check_failed(const char *file, int line, const char *rule)
{
	char room[512];
	struct text text;
	text_init(&text, room, sizeof room);
	text_add(&text, "bide: internal error: ");
	text_add(&text, rule);
	text_add(&text, " (");
	text_add(&text, file);
	text_add(&text, ":");
	text_add_decimal(&text, (uint64_t)line);
	text_add(&text, ")\n");
	output_to_stderr(room, (size_t)(text.at - room));
	abort();
}
