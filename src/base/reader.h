/* SPDX-License-Identifier: MIT
 * Layer base: a cursor over bytes that nobody vouches for. Whatever they say, nothing outside of them is
 * read: a reader that runs into its end fails, gives zeros from then on, and moves no more. So a loop over
 * it needs one look at has_failed, and ends. Integers are of this machine's byte order. */
#ifndef BASE_READER_H
#define BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool has_failed;
};

/* `start` may be NULL where size is 0. */
static inline struct reader reader_over(const void *start, size_t size)
{
	const uint8_t *at = start ? start : (const void *)"";
	return (struct reader){ at, at + size, false };
}

static inline size_t reader_left(const struct reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

static inline void reader_fail(struct reader *reader)
{
	reader->at = reader->end;
	reader->has_failed = true;
}

/* The next `size` bytes, which are left behind; NULL if there are not so many. */
static inline const uint8_t *reader_take(struct reader *reader, uint64_t size)
{
	const uint8_t *taken = reader->at;
	if (size > reader_left(reader)) {
		reader_fail(reader);
		return NULL;
	}
	reader->at += size;
	return taken;
}

/* A reader over the next `size` bytes; one that has failed if there are not so many. */
static inline struct reader reader_part(struct reader *reader, uint64_t size)
{
	const uint8_t *start = reader_take(reader, size);
	return start ? reader_over(start, (size_t)size) : *reader;
}

static inline uint64_t reader_unsigned(struct reader *reader, size_t size)
{
	uint64_t value = 0;
	const uint8_t *bytes = reader_take(reader, size);
	for (size_t i = 0; bytes && i < size; i++)
		memcpy((uint8_t *)&value + i, bytes + i, 1);
	return value;
}

static inline uint8_t reader_byte(struct reader *reader)
{
	return (uint8_t)reader_unsigned(reader, 1);
}

/* LEB128 (DWARF 5, section 7.6). Bits beyond the 64th are dropped. */
static inline uint64_t reader_leb(struct reader *reader, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;
	do {
		byte = reader_byte(reader);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && byte & 0x40)
		value |= ~(uint64_t)0 << shift;
	return value;
}

/* A string that ends within the bytes; "" if there is none. */
static inline const char *reader_string(struct reader *reader)
{
	const uint8_t *start = reader->at, *end = reader_left(reader) ? memchr(start, 0, reader_left(reader)) : NULL;
	if (!end) {
		reader_fail(reader);
		return "";
	}
	reader->at = end + 1;
	return (const char *)start;
}

#endif
