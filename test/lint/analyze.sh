#!/bin/sh
# SPDX-License-Identifier: MIT
# Static analysis, by the tools that are installed. .clang-tidy has the list of checks and the reasons.
bad=0

if command -v clang-tidy >/dev/null; then
	# It knows neither gcc's flags nor the processor that CC compiles for. One file at a time: with
	# several, it carries what it learned of a va_list over to the next.
	flags="--target=$ARCH-linux-gnu $(printf '%s' "$FLAGS" | sed 's/-fsanitize=[^ ]*//')"
	export flags
	# shellcheck disable=SC2016 # $flags and $1 are for the inner shell
	printf '%s\n' src/*/*.c |
		xargs -P 2 -n 1 sh -c 'clang-tidy --quiet --warnings-as-errors="*" "$1" -- $flags 2>/dev/null' sh || bad=1
else
	echo 'note: clang-tidy is not installed'
fi

if command -v cppcheck >/dev/null; then
	# autoVariables: a parked task's frame is where what it waits for keeps its record.
	cppcheck -q --std=c11 --language=c --enable=warning,portability --inline-suppr --error-exitcode=1 \
		--suppress=missingInclude --suppress=missingIncludeSystem --suppress=unknownMacro --suppress=autoVariables \
		-D_GNU_SOURCE -D__linux__ -Iinclude -Isrc -Iarch -Iarch/"$ARCH" src || bad=1
else
	echo 'note: cppcheck is not installed'
fi

if command -v shellcheck >/dev/null; then
	shellcheck -S warning -s sh test/*.sh test/*/*.sh || bad=1
	shellcheck -S warning .ci/run || bad=1
fi
exit $bad
