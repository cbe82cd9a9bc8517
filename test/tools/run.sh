#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh PROGRAM...: runs every program, goes on after a failure, and ends with a list of those that
# failed. Read from the environment:
#   RUNNER            what a compiled program is started with: an emulator, memcheck
#   ARGS              arguments for each program
#   SAN               the sanitizers that it was compiled with
#   JOBS              programs at a time; 1, since many of them look at the clock
#   HOSTILE, SEED     not empty: it was compiled to give bugs a chance; and the run of it
#   BIDE_TEST_SCALE   how much slower than a plain native build; tests multiply time limits by it
#   TEST_TIMEOUT      seconds after which a program counts as hung
# The rest is for the tests, which inherit it.

: "${BIDE_TEST_SCALE:=1}" "${JOBS:=1}"
if [ "$BIDE_TEST_SCALE" = 1 ]; then
	: "${TEST_TIMEOUT:=300}" "${CK_DEFAULT_TIMEOUT:=60}"
else
	: "${TEST_TIMEOUT:=600}" "${CK_DEFAULT_TIMEOUT:=180}"
fi
export RUNNER ARGS SAN HOSTILE SEED JOBS BIDE_TEST_SCALE TEST_TIMEOUT CK_DEFAULT_TIMEOUT

# Under memcheck every fork would report the leaks and errors of its parent.
case $RUNNER in *valgrind*) export CK_FORK="${CK_FORK:-no}" ;; esac

# An allocation that cannot be served must fail as it would without a sanitizer.
common=allocator_may_return_null=1
export ASAN_OPTIONS="$common:detect_stack_use_after_return=1:strict_string_checks=1:$ASAN_OPTIONS"
export UBSAN_OPTIONS="print_stacktrace=1:$UBSAN_OPTIONS"
suppressions=test/suppressions/thread
[ ! -f $suppressions ] || common=$common:suppressions=$suppressions
export TSAN_OPTIONS="$common:$TSAN_OPTIONS"

# An older ThreadSanitizer does not start where the kernel spreads addresses more widely than it knew.
fixed=
case $SAN in
*thread*) if setarch "$(uname -m)" -R true 2>/dev/null; then fixed="setarch $(uname -m) -R"; fi ;;
esac

FAILED=$(mktemp)
export FAILED
trap 'rm -f "$FAILED"' EXIT
printf '%s\n' "$@" | $fixed xargs -P "$JOBS" -n 1 sh test/tools/run_one.sh
if [ -s "$FAILED" ]; then
	printf '\nFAILED, of %s programs:\n' $#
	cat "$FAILED"
	exit 1
fi
printf 'programs: %s, none failed\n' $# >&2
