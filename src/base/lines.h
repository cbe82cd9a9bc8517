/* SPDX-License-Identifier: MIT
 * Layer base: which line of which file an instruction comes from, by the table that compilers leave with
 * -g: DWARF 2 to 5, .debug_line, not compressed. The table may hold anything; a search ends after one pass
 * over it. */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include "base/image.h"

struct line {
	const char *file; /* its name without directories, in the image */
	unsigned number;
};

/* The line of the instruction at `address`. Pieces of the table that begin outside [low, high), where the
 * code is, are of functions that the linker has dropped. False if no line is known. */
bool lines_find(const struct image *image, uint64_t address, uint64_t low, uint64_t high, struct line *line);

#endif
