/* SPDX-License-Identifier: MIT
 * Layer base: text to a descriptor or a stream, through a small buffer: no allocation, little stack; and, to a
 * descriptor, async-signal-safe. */
#ifndef BASE_WRITER_H
#define BASE_WRITER_H

#include <stdbool.h>
#include <stdio.h>

#include "base/output.h"
#include "base/text.h"

struct writer {
	FILE *file;      /* NULL: to output */
	struct output output;
	bool has_failed; /* then nothing more is written; errno is that of the failure, until flushed */
	int err;
	struct text text;
	char room[512];
};

void writer_to_file(struct writer *writer, FILE *file);
/* In `patience` in all, as output_begin() has it. */
void writer_to_fd(struct writer *writer, int fd, bide_time patience);

void writer_add(struct writer *writer, const char *text);
void writer_add_decimal(struct writer *writer, uint64_t number);
/* Nanoseconds, as "12.345678", rounded down to so many places. */
void writer_add_seconds(struct writer *writer, int64_t ns, int places);

/* 0, or -1 with the errno of the first failure. */
int writer_flush(struct writer *writer);

#endif
