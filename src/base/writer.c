/* SPDX-License-Identifier: MIT
 * Layer base: text to a descriptor or a stream. See writer.h. */
#include "base/writer.h"

#include <errno.h>

#include "base/fail.h"

static void begin(struct writer *writer)
{
	writer->has_failed = false;
	writer->err = 0;
	text_init(&writer->text, writer->room, sizeof writer->room);
}

void writer_to_file(struct writer *writer, FILE *file)
{
	writer->file = file;
	begin(writer);
}

void writer_to_fd(struct writer *writer, int fd, bide_time patience)
{
	writer->file = NULL;
	output_begin(&writer->output, fd, patience);
	begin(writer);
}

static void drain(struct writer *writer)
{
	size_t size = (size_t)(writer->text.at - writer->room);
	bool is_written = writer->has_failed || size == 0 ||
	    (writer->file ? fputs(writer->room, writer->file) != EOF :
	    output_write(&writer->output, writer->room, size) == 0);
	if (!is_written) {
		writer->has_failed = true;
		writer->err = errno;
	}
	text_init(&writer->text, writer->room, sizeof writer->room);
}

void writer_add(struct writer *writer, const char *text)
{
	for (; *text; text++) {
		if (writer->text.at == writer->text.end)
			drain(writer);
		*writer->text.at++ = *text;
		*writer->text.at = '\0';
	}
}

void writer_add_decimal(struct writer *writer, uint64_t number)
{
	char digits[24];
	struct text text;
	text_init(&text, digits, sizeof digits);
	text_add_decimal(&text, number);
	writer_add(writer, digits);
}

void writer_add_seconds(struct writer *writer, int64_t ns, int places)
{
	char number[32];
	struct text text;
	text_init(&text, number, sizeof number);
	text_add(&text, ns < 0 ? "-" : "");
	text_add_seconds(&text, ns < 0 ? -(uint64_t)ns : (uint64_t)ns, places);
	writer_add(writer, number);
}

int writer_flush(struct writer *writer)
{
	drain(writer);
	return writer->has_failed ? fail_with(writer->err) : 0;
}
