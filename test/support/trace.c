/* SPDX-License-Identifier: MIT */
#include "trace.h"

#include <stdarg.h>

#include "suite.h"

static char text[8192];
static size_t length;

void note(const char *format, ...)
{
	va_list args;
	if (length > 0)
		text[length++] = ' ';
	size_t room = sizeof text - length;
	va_start(args, format);
	size_t written = (size_t)vsnprintf(text + length, room, format, args);
	va_end(args);
	must(written + 1 < room);
	length += written;
}

void note_arg(void *arg)
{
	note("%s", (const char *)arg);
}

void note_arg_at(void *arg)
{
	note("%s@%lld", (const char *)arg, (long long)(bide_now() / BIDE_SEC));
}

void expect_notes(const char *expected)
{
	must_msg(strcmp(text, expected) == 0, "\"%s\", expected \"%s\"", text, expected);
}

const char *notes(void)
{
	return text;
}

void forget_notes(void)
{
	length = 0;
	text[0] = '\0';
}
