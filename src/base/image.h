/* SPDX-License-Identifier: MIT
 * Layer base: an ELF file in memory, as far as a report needs it: the functions it names, and where its
 * table of lines is. The file may hold anything: nothing outside of it is read, and what makes no sense is
 * not found. Nothing is allocated, nothing is written. */
#ifndef BASE_IMAGE_H
#define BASE_IMAGE_H

#include "base/reader.h"

/* A part of the file; size 0: there is none, or it is compressed. */
struct bytes {
	const uint8_t *start;
	size_t size;
};

struct image {
	struct bytes file;
	struct bytes symbols;      /* .symtab; where the program was stripped, .dynsym */
	struct bytes symbol_names;
	struct bytes lines;        /* .debug_line, and the two tables of strings that it points into */
	struct bytes line_strings; /* .debug_line_str */
	struct bytes strings;      /* .debug_str */
};

/* False if it is no ELF file of this machine's kind. The image is good as long as `file` is. */
bool image_read(struct image *image, const void *file, size_t size);

/* The name of the function at `address`, as the linker knows addresses; NULL if there is none. */
const char *image_function(const struct image *image, uint64_t address);

/* A sum over the program headers and the notes they point to, the build's id among them: equal for a file
 * and for what was loaded from it. For a file; and, piece by piece from IDENTITY_BEGIN, for what is loaded. */
#define IDENTITY_BEGIN 14695981039346656037u
uint64_t image_identity(const struct image *image);
uint64_t identity_add(uint64_t identity, const void *bytes, size_t size);

/* The string at an offset of a table; "" if there is none. */
const char *bytes_string(const struct bytes *table, uint64_t offset);

#endif
