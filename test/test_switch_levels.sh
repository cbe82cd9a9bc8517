#!/bin/sh
# SPDX-License-Identifier: MIT
# test_context and test_switch_unwind again, as each compiler that is here compiles them at each level of
# optimisation and with the flags that change frames and registers. Scenario A14. The rest of the library
# is the one that is built already.
# valgrind: skip
set -u
cd "$(dirname "$0")/.." || exit 1

[ -z "${SAN:-}" ] || {
	echo 'note: the levels are tried without sanitizers'
	echo 'switch_levels: 1 passed, 0 failed'
	exit 0
}

. test/tools/holds.sh

host=$(uname -m)
compilers=$CC
vector='-march=native'
if [ "$ARCH" = "$host" ]; then
	for compiler in gcc clang; do
		if command -v "$compiler" >/dev/null && [ "$compiler" != "$CC" ]; then
			compilers="$compilers $compiler"
		fi
	done
	case $CC in cc) compilers=${compilers#cc } ;; esac
else
	export PKG_CONFIG_LIBDIR="/usr/lib/$ARCH-linux-gnu/pkgconfig"
fi
[ "$ARCH" != aarch64 ] || vector='-march=armv8.2-a+sve'
libcheck=$(pkg-config --cflags --libs check)
port=$(sed -n 's/^ARCH_CFLAGS := //p' "arch/$ARCH/flags.mk")
support="test/support/*.c test/support/$ARCH/*"

# shellcheck disable=SC2086 # lists of words
passes() { # PROGRAM COMPILER FLAGS
	$2 $3 $port -Wall -Wextra -Werror -D_GNU_SOURCE -Iinclude -Isrc -Iarch -Iarch/$ARCH -Itest/support \
		test/$1.c $support arch/$ARCH/context.S $O/src/*/*.o -o "$dir/program" -pthread $libcheck &&
		CK_VERBOSITY=silent ${RUNNER:-} "$dir/program"
}

export BIDE_TEST_SCALE=$((${BIDE_TEST_SCALE:-1} * 50))
for compiler in $compilers; do
	for flags in -O0 -O1 -O3 -Os '-O2 -flto' '-O2 -fstack-protector-all' '-O2 -fno-omit-frame-pointer' \
		"-O3 -fomit-frame-pointer $vector"; do
		for program in test_context test_switch_unwind; do
			holds "$program passes with $compiler $flags" passes $program "$compiler" "$flags"
		done
	done
done

conclude switch_levels
