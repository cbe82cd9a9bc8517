#!/bin/sh
# SPDX-License-Identifier: MIT
# Every header compiles alone and twice in one file: the public ones in each language of their users,
# strictly; the internal ones as the library is compiled. Scenario J7.
bad=0

alone() { # HEADER COMPILER...
	header=$1
	shift
	printf '#include "%s"\n#include "%s"\n' "$header" "$header" | "$@" -fsyntax-only - || {
		printf '%s does not compile alone: %s\n' "$header" "$*"
		bad=1
	}
}

strict='-Wall -Wextra -pedantic -Werror -Iinclude'
for header in include/*.h include/bide/*.h; do
	header=${header#include/}
	for std in c11 c17; do alone "$header" $CC $strict -x c -std=$std; done
	alone "$header" $CXX $strict -x c++ -std=c++17
	case $header in
	bide/*) grep -q "^#include <$header>" include/bide.h || {
		echo "include/bide.h does not include <$header>"
		bad=1
	} ;;
	esac
done

# A port's inline part is a piece of arch/context.h, and is not read otherwise.
for header in src/*/*.h arch/*.h arch/"$ARCH"/*.h bench/common/*.h test/support/*.h; do
	case $header in *'*'* | arch/*/*_inline.h) continue ;; esac
	alone "$header" $CC $FLAGS -Werror -I. -Ibench/common -Itest/support -x c
done
exit $bad
