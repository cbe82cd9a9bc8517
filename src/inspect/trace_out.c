/* SPDX-License-Identifier: MIT
 * Layer inspect: JSON written to a file. See trace_out.h. */
#include "inspect/trace_out.h"

#include <stdbool.h>
#include <string.h>

#include "base/fail.h"
#include "base/system.h"
#include "base/text.h"

int trace_out_open(struct trace_out *out, const char *path)
{
	int fd;
	do
		fd = system_open_file(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
	while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -1;
	out->err = 0;
	out->used = 0;
	output_begin(&out->to, fd, BIDE_NEVER);
	return 0;
}

static void flush(struct trace_out *out)
{
	if (!out->err && output_write(&out->to, out->buf, out->used) < 0)
		out->err = errno;
	out->used = 0;
}

int trace_out_close(struct trace_out *out)
{
	flush(out);
	if (system_close(out->to.fd) < 0 && errno != EINTR && !out->err)
		out->err = errno;
	return out->err ? fail_with(out->err) : 0;
}

static void add_bytes(struct trace_out *out, const char *bytes, size_t size)
{
	if (size > sizeof out->buf - out->used)
		flush(out);
	memcpy(out->buf + out->used, bytes, size);
	out->used += size;
}

static void add_byte(struct trace_out *out, char byte)
{
	add_bytes(out, &byte, 1);
}

void trace_out_add(struct trace_out *out, const char *text)
{
	add_bytes(out, text, strlen(text)); /* ours, and short */
}

void trace_out_number(struct trace_out *out, uint64_t number)
{
	char digits[24];
	struct text text;
	text_init(&text, digits, sizeof digits);
	text_add_decimal(&text, number);
	trace_out_add(out, digits);
}

void trace_out_signed(struct trace_out *out, int64_t number)
{
	if (number < 0)
		add_byte(out, '-');
	trace_out_number(out, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

static bool is_continuation(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* The bytes of the UTF-8 sequence at `at`, of which `left` are there; 0: it is none (RFC 3629, section 4). */
static size_t sequence_length(const unsigned char *at, size_t left)
{
	unsigned char first = at[0], low = 0x80, high = 0xbf;
	size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
	if (length == 0 || left < length)
		return 0;
	if (first == 0xe0)
		low = 0xa0; /* the first of a shorter sequence */
	else if (first == 0xed)
		high = 0x9f; /* surrogates */
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f; /* above U+10FFFF */
	if (at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if (!is_continuation(at[i]))
			return 0;
	return length;
}

static void add_escaped(struct trace_out *out, unsigned char byte)
{
	static const char hex[] = "0123456789abcdef";
	char escape[] = "\\u0000";
	escape[4] = hex[byte >> 4];
	escape[5] = hex[byte & 15];
	trace_out_add(out, escape);
}

/* One character or one wrong byte; how many bytes it was. */
static size_t add_character(struct trace_out *out, const unsigned char *at, size_t left)
{
	if (*at >= 0x80) {
		size_t length = sequence_length(at, left);
		if (length > 0)
			add_bytes(out, (const char *)at, length);
		else
			trace_out_add(out, "\\ufffd");
		return length > 0 ? length : 1;
	}
	if (*at < 0x20 || strchr("\"\\<>&\x7f", *at))
		add_escaped(out, *at);
	else
		add_byte(out, (char)*at);
	return 1;
}

void trace_out_string(struct trace_out *out, const char *text, size_t most)
{
	size_t size = strnlen(text, most);
	add_byte(out, '"');
	for (size_t i = 0; i < size;)
		i += add_character(out, (const unsigned char *)text + i, size - i);
	add_byte(out, '"');
}
