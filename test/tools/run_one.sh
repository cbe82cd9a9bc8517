#!/bin/sh
# SPDX-License-Identifier: MIT
# run_one.sh PROGRAM, for run.sh: runs it, for TEST_TIMEOUT seconds at most, and adds a line to the file
# FAILED if it fails. With others beside it, it shows what the program wrote only when that is complete.
program=$1

start() {
	case $program in
	*.sh) timeout -k 5 "$TEST_TIMEOUT" sh "$program" ;;
	*) timeout -k 5 "$TEST_TIMEOUT" $RUNNER "$program" $ARGS ;;
	esac
}

if [ "$JOBS" = 1 ]; then
	start
	code=$?
else
	output=$(mktemp)
	start >"$output" 2>&1
	code=$?
	cat "$output"
	rm -f "$output"
fi

case $code in
0) exit 0 ;;
124 | 137) why="hung: stopped after $TEST_TIMEOUT s" ;;
*) why="exit status $code" ;;
esac
printf '%s: %s\n' "$program" "$why"
printf '  %s (%s)\n' "$program" "$why" >>"$FAILED"
