/* SPDX-License-Identifier: MIT
 * Demo: telling what goes on, to a person or to a log. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "progress.h"

static bool line_shown; /* on a terminal: a line without a newline */

static void show(const char *format, va_list args)
{
	if (isatty(STDERR_FILENO)) {
		fputs("\r\033[K  ", stderr);
		vfprintf(stderr, format, args);
		line_shown = true;
	} else {
		fputs("  ", stderr);
		vfprintf(stderr, format, args);
		fputc('\n', stderr);
	}
}

void progress_step(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	show(format, args);
	va_end(args);
}

void progress_within(const char *format, ...)
{
	va_list args;

	if (!isatty(STDERR_FILENO))
		return;
	va_start(args, format);
	show(format, args);
	va_end(args);
}

void progress_end(void)
{
	if (line_shown)
		fputs("\r\033[K", stderr);
	line_shown = false;
}
