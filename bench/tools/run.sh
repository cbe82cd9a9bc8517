#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh PROGRAM...: runs the benchmarks, keeps all that they measured in $O/bench/results.json, and writes the reports
# beside it. What a program that failed had to say is missing there; it is told, and the status is 1.
results=$O/bench/results
rm -rf "$results"
mkdir -p "$results" || exit
ARGS="$ARGS --record $results" sh test/tools/run.sh "$@"
status=$?
sh bench/tools/collect.sh "$results" >"$O/bench/results.json" &&
	"$O/bench/report" "$O/bench/results.json" "$O/bench/report.md" "$O/bench/report.html" || exit
printf 'bench: %s\n' "$O/bench/report.html" "$O/bench/report.md" "$O/bench/results.json"
exit $status
