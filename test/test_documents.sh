#!/bin/sh
# SPDX-License-Identifier: MIT
# The C in the project's texts and manual pages (test/tools/blocks.awk): each block compiles as a reader's own
# program would, without a warning, and programs print what the text says. The servers of the guide are driven
# by a client.
cd "$(dirname "$0")/.." || exit 1
. test/tools/examples.sh

bin=$tmp/blocks
library=$O/libbide.a
flags="-std=c11 -Wall -Wextra -Werror -pedantic -Iinclude ${SAN:+-fsanitize=$SAN} $CFLAGS"
texts="*.md docs/*.md docs/*/*.md bench/*.md docs/man/*.[37]"

extract() {
	mkdir "$bin" || return 1
	# shellcheck disable=SC2086 # a list of patterns
	awk -v into="$bin" -f test/tools/blocks.awk $texts >"$bin/list" && [ -s "$bin/list" ]
}

# What is only a part of a program has shown all it can when one compiler has seen it.
is_worth_it() { # KIND
	[ "$1" = program ] || [ -z "$RUNNER$SAN" ]
}

compile() { # KIND NAME
	if [ "$1" = program ]; then
		# shellcheck disable=SC2086 # a list of flags
		$CC $flags -o "$bin/$2" "$bin/$2.c" "$library" -pthread
	else
		# shellcheck disable=SC2086
		$CC $flags -D_GNU_SOURCE -Wno-unused -fsyntax-only "$bin/$2.c"
	fi
}

# Runs each `$ ./NAME WORD...` of NAME.run in a directory of its own and writes what the file should have been.
replay() { # NAME
	shown=1
	while IFS= read -r line; do
		case $line in
		'$ ./'*)
			echo "$line"
			# shellcheck disable=SC2086 # words
			set -- ${line#'$ ./'}
			run "$@" 2>&1 </dev/null || echo "exit status $?"
			shown=
			;;
		'$ '*) echo "$line"; shown=1 ;;
		*) [ -z "$shown" ] || echo "$line" ;;
		esac
	done <"$bin/$1.run"
}

prints_what_the_text_says() { # NAME
	replay "$1" >"$tmp/out" && diff "$bin/$1.run" "$tmp/out"
}

# ---- all

check blocks_are_taken_out extract || exit 1
while read -r kind name place; do
	is_worth_it "$kind" || continue
	check "$place compiles" compile "$kind" "$name" || continue
	[ ! -e "$bin/$name.run" ] || check "$place prints what the text says" prints_what_the_text_says "$name"
done <"$bin/list"

echo "test_documents: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
