/* SPDX-License-Identifier: MIT
 * Layer base: a code address as its programmer knows it: "function (file.c:12)". From the program's own
 * tables of symbols and lines, and those of the shared objects it uses, whose files are mapped when the
 * first address in them is told, and stay so. What they lack is left out: without lines it is "function
 * (program+0x1234)", without symbols "program+0x1234", as base/modules.h has it.
 *
 * Where functions are inlined, the function is the outer one and the line that of the inner one. Names of C++
 * are told as the linker has them. */
#ifndef BASE_PLACE_H
#define BASE_PLACE_H

#include <stdint.h>

#include "base/modules.h"

#define PLACE_SIZE 160

/* Writes where the instruction at `address` is, by what modules_note() has noted. Returns `place`. Of the call that
 * returns to an address it is address - 1. The first time it takes as long as reading the tables. Async-signal-safe,
 * takes no lock, allocates nothing, keeps errno. */
const char *place_of(uintptr_t address, char place[PLACE_SIZE]);

/* For a report: the call that returns to `address`, after noting what is loaded. Not async-signal-safe. */
const char *place_of_call(const void *address, char place[PLACE_SIZE]);

#endif
