/* SPDX-License-Identifier: MIT
 * Layer base: code addresses as "program+0x1234", which addr2line and a debugger take, although the
 * kernel puts the program elsewhere each time; and the files that they are from. */
#ifndef BASE_MODULES_H
#define BASE_MODULES_H

#include <stddef.h>
#include <stdint.h>

#define MODULES_MAX 128
#define MODULE_PLACE_SIZE 64
#define MODULE_NAME_SIZE 32

/* A piece of code that the program was loaded with, or has loaded. It never changes, and is never forgotten. */
struct module {
	uintptr_t start, end;
	uintptr_t bias;       /* addresses in its file are less by this */
	const char *path;     /* of the file it was loaded from; NULL: there was no room to note it */
	uint64_t identity;    /* of what was loaded (base/image.h): another file may have its path by now */
	char name[MODULE_NAME_SIZE];
};

/* Notes what is loaded now, besides what was noted before. Not async-signal-safe. */
void modules_note(void);

/* The index, below MODULES_MAX, of the one that an address is in, by what was noted; -1 if it is in none.
 * Async-signal-safe, as are the next two. */
int modules_find(uintptr_t address);
const struct module *modules_at(int index);

/* Writes where `address` is; the plain address if nothing fits. Returns `place`. */
const char *modules_place(uintptr_t address, char place[MODULE_PLACE_SIZE]);

#endif
