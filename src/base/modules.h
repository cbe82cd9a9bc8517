/* SPDX-License-Identifier: MIT
 * Layer base: code addresses as "program+0x1234", which addr2line and a debugger take, although the
 * kernel puts the program elsewhere each time. */
#ifndef BASE_MODULES_H
#define BASE_MODULES_H

#include <stddef.h>
#include <stdint.h>

#define MODULE_PLACE_SIZE 64

/* Notes what is loaded now, besides what was noted before. Not async-signal-safe. */
void modules_note(void);

/* Writes where `address` is, by what was noted; the plain address if nothing fits. Returns `place`.
 * Async-signal-safe. */
const char *modules_place(uintptr_t address, char place[MODULE_PLACE_SIZE]);

#endif
