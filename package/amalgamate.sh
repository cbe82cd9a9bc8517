#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the library as three files, bide.h, bide.c and bide_asm.S, to $O/amalgamation: to be put into another
# project, and compiled with one command. With LINES_OF_SOURCES=1 a compiler names the file and line of the sources that
# it complains of.
set -eu
into=$O/amalgamation
mkdir -p "$into"

ports=$(cd arch && echo */ | tr -d /)
assembled=$(sed -n 's/^[[:blank:]]*\.globl[[:blank:]]*//p' arch/*/context.S | sort -u)
objects=$(sed -n 's/^extern [^(;]*[ *]\([a-z_]*\)[ ;[].*/\1/p' src/*/*.h | sort -u)
repeated=$(grep -hoE '^(struct|union|enum) [a-z_0-9]+ \{' src/*/*.[ch] | cut -d' ' -f2 | sort | uniq -d)

head_of() { # WHAT IT IS
	printf '/* SPDX-License-Identifier: MIT\n * bide %s, %s. Made by `make amalgamation`: change the sources instead.\n *\n' \
		"$version" "$1"
	sed 's/^/ * /; s/ *$//' LICENSE
	printf ' */\n'
}

# shellcheck disable=SC2086 # lists of words, one a line, which become one line
amalgamate() { # WHAT FILES
	awk -v what="$1" -v files="$2" -v lines="${LINES_OF_SOURCES:-}" -v ports="$(echo $ports)" -v shared="$(echo $assembled $objects)" \
		-v repeated="$(echo $repeated)" -f package/amalgamate.awk
}

{
	head_of 'the interface'
	amalgamate header include/bide.h
} >"$into/bide.h"
{
	head_of 'the library. Compile it together with bide_asm.S: cc -O2 -c bide.c bide_asm.S -pthread'
	printf '#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif\n#include "bide.h"\n'
	amalgamate source "$(echo src/*/*.c)"
} >"$into/bide.c"
{
	head_of 'the context switch of every port'
	amalgamate assembly context.S
	printf '\n#if defined(__linux__) && defined(__ELF__)\n\t.section .note.GNU-stack,"",%%progbits\n#endif\n'
} >"$into/bide_asm.S"
echo "$into: bide.h, bide.c, bide_asm.S"
