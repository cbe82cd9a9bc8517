/* SPDX-License-Identifier: MIT
 * Layer base: text to a descriptor or a stream. See writer.h. */
#include "base/writer.h"

#include <string.h>

#include "base/fail.h"
#include "base/system.h"

#define PATIENCE_MS 1000 /* with a descriptor that does not block and is full */

static void begin(struct writer *writer)
{
	writer->has_failed = false;
	writer->err = 0;
	text_init(&writer->text, writer->room, sizeof writer->room);
}

void writer_to_file(struct writer *writer, FILE *file)
{
	writer->file = file;
	writer->fd = -1;
	begin(writer);
}

void writer_to_fd(struct writer *writer, int fd)
{
	writer->file = NULL;
	writer->fd = fd;
	begin(writer);
}

int writer_write_all(int fd, const char *from, size_t size)
{
	while (size > 0) {
		ssize_t count = system_write(fd, from, size);
		struct pollfd full = { .fd = fd, .events = POLLOUT };
		if (count < 0 && errno == EAGAIN && system_poll(&full, 1, PATIENCE_MS) > 0)
			continue;
		if (count < 0 && errno != EINTR)
			return -1;
		from += count > 0 ? count : 0;
		size -= count > 0 ? (size_t)count : 0;
	}
	return 0;
}

static void drain(struct writer *writer)
{
	size_t size = (size_t)(writer->text.at - writer->room);
	bool is_written = writer->has_failed || size == 0 ||
	    (writer->file ? fputs(writer->room, writer->file) != EOF :
	    writer_write_all(writer->fd, writer->room, size) == 0);
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
