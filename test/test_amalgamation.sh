#!/bin/sh
# SPDX-License-Identifier: MIT
# The library as one file, from $O/amalgamation: it compiles as a user would do it, without a warning, has no
# names but ours, and does what the tests of the examples ask for.
set -u
cd "$(dirname "$0")/.." || exit 1
. test/tools/holds.sh

[ -z "$SAN$HOSTILE" ] || { echo 'amalgamation: only in a plain build' && exit 0; }
top=$PWD
from=$PWD/$O/amalgamation
case $O in /*) from=$O/amalgamation ;; esac
strict='-O2 -Wall -Wextra -Werror'

version=$(sed -n 's/^.define BIDE_VERSION_[A-Z]* *//p' include/bide.h | paste -sd.)

# shellcheck disable=SC2086 # lists of words, from here on
compiles() { (cd "$dir" && $CC $strict -c "$from/bide.c" "$from/bide_asm.S" -pthread) || names_the_sources; }

# What is wrong, once more, with the file and line that it comes from.
names_the_sources() {
	LINES_OF_SOURCES=1 O=$dir version=$version sh package/amalgamate.sh &&
		$CC $strict -fsyntax-only "$dir/amalgamation/bide.c"
	return 1
}

# ---- sources that it cannot make one file of

# source_is LINE...: src/x/y.c, with a header before them.
source_is() {
	mkdir -p "$dir/made/src/x"
	echo 'int before;' >"$dir/made/src/x/y.h"
	printf '%s\n' '#include "x/y.h"' '' "$@" >"$dir/made/src/x/y.c"
}

amalgamates() { (cd "$dir/made" && awk -v what=source -v files=src/x/y.c -v lines=1 -f "$top/package/amalgamate.awk"); }

is_refused() { # MESSAGE LINE...
	message=$1
	shift
	source_is "$@"
	! amalgamates >"$dir/made/bide.c" 2>"$dir/made/said" && grep -qF "amalgamate: src/x/y.c:$message" "$dir/made/said"
}

is_told_by_the_compiler() {
	source_is 'static int fine;' '#error wrong'
	amalgamates >"$dir/made/bide.c" && ! $CC -fsyntax-only "$dir/made/bide.c" 2>"$dir/made/said" &&
		grep -q '^src/x/y.c:4:.*wrong' "$dir/made/said"
}

# ---- what it has made

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

runs() { [ "$(${RUNNER:-} "$dir/consumer")" = "$version" ]; }

holds 'several names in one declaration are refused by file and line' is_refused '4: more than one name' '' 'static int a, b;'
holds 'a name in a line of its own is refused' is_refused '3: no name' 'static int' 'f(void)'
holds 'a mistake is told by file and line of the sources' is_told_by_the_compiler
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
