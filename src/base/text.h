/* SPDX-License-Identifier: MIT
 * Layer base: text put together without stdio: async-signal-safe, small on the stack, and the same in every
 * locale. What does not fit is cut. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
	char *at;
	char *end; /* of the room, less one for the final 0 */
};

static inline void text_init(struct text *text, char *room, size_t size)
{
	text->at = room;
	text->end = room + size - 1;
	*room = '\0';
}

static inline void text_add(struct text *text, const char *more)
{
	while (*more && text->at < text->end)
		*text->at++ = *more++;
	*text->at = '\0';
}

/* How much more fits. */
static inline size_t text_left(const struct text *text)
{
	return (size_t)(text->end - text->at);
}

static inline void text_add_number(struct text *text, uint64_t number, unsigned base)
{
	char digits[20];
	int count = 0;
	do
		digits[count++] = "0123456789abcdef"[number % base];
	while (number /= base);
	while (count > 0 && text->at < text->end)
		*text->at++ = digits[--count];
	*text->at = '\0';
}

static inline void text_add_decimal(struct text *text, uint64_t number)
{
	text_add_number(text, number, 10);
}

static inline void text_add_address(struct text *text, uintptr_t address)
{
	text_add(text, "0x");
	text_add_number(text, address, 16);
}

/* Nanoseconds as seconds, "12.345678", rounded down to so many places, 1 to 9. */
static inline void text_add_seconds(struct text *text, uint64_t ns, int places)
{
	char digits[12] = ".";
	uint64_t rest = ns % 1000000000;
	for (int i = 1; i <= places; i++, rest = rest * 10 % 1000000000)
		digits[i] = (char)('0' + rest / 100000000);
	text_add_decimal(text, ns / 1000000000);
	text_add(text, digits);
}

/* A name that the program gave, in quotes behind a space; nothing if it is empty. It may come from outside: what would
 * end the line or the quotes, or speak to a terminal, is a '?'. */
static inline void text_add_name(struct text *text, const char *name)
{
	if (!*name)
		return;
	text_add(text, " \"");
	for (; *name && text->at < text->end; name++)
		*text->at++ = (unsigned char)*name < ' ' || *name == 0x7f || *name == '"' ? '?' : *name;
	*text->at = '\0';
	text_add(text, "\"");
}

#endif
