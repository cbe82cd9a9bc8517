#!/bin/sh
# SPDX-License-Identifier: MIT
# The library as one file, from $O/amalgamation: it compiles as a user would do it, without a warning, has no
# names but ours, and does what the tests of the examples ask for.
set -u
cd "$(dirname "$0")/.." || exit 1
. test/tools/holds.sh

[ -z "$SAN$HOSTILE" ] || { echo 'amalgamation: only in a plain build' && exit 0; }
from=$PWD/$O/amalgamation
case $O in /*) from=$O/amalgamation ;; esac
strict='-O2 -Wall -Wextra -Werror'

# shellcheck disable=SC2086 # lists of words, from here on
compiles() { (cd "$dir" && $CC $strict -c "$from/bide.c" "$from/bide_asm.S" -pthread); }

# What the compiler calls the return of a marked function (arch/x86_64/context.S) is the one name that it is
# not for us to choose.
only_ours() {
	! "$NM" -g --defined-only "$dir/bide.o" "$dir/bide_asm.o" |
		awk 'NF == 3 && $3 !~ /^bide_/ && $3 != "__x86_return_thunk" { print; found = 1 } END { exit !found }'
}

# Those of the library that is made of many files.
public() { "$NM" -g --defined-only "$@" | awk 'NF == 3 && $3 !~ /^bide_internal_/ { print $3 }' | sort; }
same_calls() {
	public "$dir/bide.o" >"$dir/of_one"
	public "$O/libbide.a" | diff - "$dir/of_one"
}

links() { $CC $strict "$@" -I"$from" "$dir/bide.o" "$dir/bide_asm.o" -pthread; }

links_examples() {
	mkdir "$dir/examples"
	for source in docs/examples/*.c; do
		example=$(basename "$source" .c)
		case $example in
		httpd) continue ;; # needs a library
		esac
		links -o "$dir/examples/$example" "$source" || return
	done
}

version=$(sed -n 's/^.define BIDE_VERSION_[A-Z]* *//p' include/bide.h | paste -sd.)
runs() { [ "$(${RUNNER:-} "$dir/consumer")" = "$version" ]; }

holds 'it compiles without a warning' compiles
[ -f "$dir/bide_asm.o" ] || { conclude amalgamation; exit 1; }
holds 'it has no names but ours' only_ours
holds 'it has the calls of libbide.a' same_calls
holds 'a strict C11 program is linked with it' links -std=c11 -pedantic -o "$dir/consumer" test/consumer/consumer.c
holds 'that runs' runs
if [ -z "$RUNNER" ]; then
	holds 'the examples are linked with it' links_examples
	holds 'they do what their tests ask for' env O="$dir" sh test/test_examples.sh
fi
conclude amalgamation
