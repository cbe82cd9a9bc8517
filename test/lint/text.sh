#!/bin/sh
# SPDX-License-Identifier: MIT
# What a compiler does not see: licence heads, the size of files, processor conditionals, and paths of
# somebody's machine.
bad=0

complain() { # TITLE LINES
	[ -n "$2" ] || return 0
	printf '%s:\n%s\n' "$1" "$2"
	bad=1
}

each() { # DIRECTORY...: our text files there
	find "$@" -type f \( -name '*.[chS]' -o -name '*.cpp' -o -name '*.sh' -o -name '*.mk' -o -name '*.map' \) 2>/dev/null
}

code=$(each include src arch test bench demo docs package)
library=$(each src arch)

# shellcheck disable=SC2086 # lists of file names, from here on
complain 'no SPDX line at the head' "$(
	for file in Makefile .ci/run $code; do
		head -n 2 "$file" | grep -q 'SPDX-License-Identifier: MIT' || echo "  $file"
	done)"

longer() { wc -l $library | awk -v least="$1" -v most="$2" '$2 != "total" && $1 > least && $1 <= most { print "  " $2 ": " $1 }'; }
complain 'longer than 600 lines, perhaps two ideas' "$(longer 600 1000000)"
long=$(longer 400 600)
[ -z "$long" ] || printf 'note: longer than 400 lines:\n%s\n' "$long"

# A port is a directory: arch/NAME, and test/support/NAME for what only the tests need.
processor='__(x86_64|amd64|i386|aarch64|arm|riscv|powerpc|powerpc64|s390x|loongarch|mips)(__|\b)'
complain 'processor conditional outside arch/' "$(
	printf '%s\n' $code | grep -Ev '^(arch|test/support/[^/]*)/' | xargs grep -nE "^[[:space:]]*#.*\b$processor")"

# printf(3) and strtod(3) follow the program's locale: a comma in a report would break who reads it.
# shellcheck disable=SC2016 # no variable
complain 'floating point as text; text_add_seconds() is the same in every locale' "$(
	grep -nE '"[^"]*%[-+#0-9.*]*L?[aefgAEFG]|\b(strto(f|d|ld)|atof|setlocale)\(' $library)"

complain 'blank at the end of a line' "$(grep -n '[[:blank:]]$' $code)"
complain "a path of somebody's machine" "$(
	grep -nE '(^|[^[:alnum:]_.])/(work|home|root)/' *.md -r docs)"
exit $bad
