/* SPDX-License-Identifier: MIT
 * Demo: what the two servers and the client say to each other, and how bytes become lines.
 *
 *     client              server
 *     (connects)          "welcome\n", or "full <reason>\n" and the end
 *     "<text>\n"          "echo <text>\n" to the sender
 *     "/all <text>\n"     "chat <text>\n" to every member, the sender too
 *
 * A line of one task or thread is never mixed with that of another. */
#ifndef DEMO_PROTOCOL_H
#define DEMO_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define ADDRESS "127.0.0.1"
#define WELCOME "welcome\n"
#define FULL "full "
#define ECHO "echo "
#define CHAT "chat "
#define TO_ALL "/all "

enum {
	PREFIX_SIZE = 5,                         /* of each of the last four */
	REQUEST_SIZE = 64,                       /* what our client sends, its newline counted */
	LINE_SIZE_MAX = 256,                     /* of any line; a longer one ends the connection */
	ANSWER_SIZE_MAX = PREFIX_SIZE + LINE_SIZE_MAX
};

static inline bool has_prefix(const char *line, size_t size, const char *prefix)
{
	return size >= PREFIX_SIZE && memcmp(line, prefix, PREFIX_SIZE) == 0;
}

/* Writes prefix and line to `answer` and returns their size. */
static inline size_t make_answer(char answer[ANSWER_SIZE_MAX], const char *prefix,
				 const char *line, size_t size)
{
	memcpy(answer, prefix, PREFIX_SIZE);
	memcpy(answer + PREFIX_SIZE, line, size);
	return PREFIX_SIZE + size;
}

/* Bytes that have arrived and are not used up: text[start..end). Valid when start and end are 0. */
struct lines {
	size_t start, end;
	char text[LINE_SIZE_MAX];
};

/* The next whole line with its newline, good until lines_space(); NULL if more bytes are needed. */
static inline char *lines_next(struct lines *in, size_t *size)
{
	char *line = in->text + in->start;
	char *newline = memchr(line, '\n', in->end - in->start);

	if (!newline)
		return NULL;
	*size = (size_t)(newline + 1 - line);
	in->start += *size;
	return line;
}

/* Where the next bytes go, and how many, for the caller to add to `end`. NULL when all the space is
 * taken by a line that is not whole yet: it is too long. */
static inline char *lines_space(struct lines *in, size_t *space)
{
	in->end -= in->start;
	memmove(in->text, in->text + in->start, in->end);
	in->start = 0;
	*space = LINE_SIZE_MAX - in->end;
	return *space > 0 ? in->text + in->end : NULL;
}

#endif
