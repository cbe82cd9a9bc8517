#!/bin/sh
# SPDX-License-Identifier: MIT
# What reads the benchmarks' results: reports that hold what was measured, comparisons that tell a change from
# chance, files that are broken. Built and run for this machine, whatever the tests are built for.
set -u
cd "$(dirname "$0")/.." || exit 1
. test/tools/holds.sh

[ -z "$RUNNER$SAN$HOSTILE" ] || {
	echo "skipped: the numbers of this build mean nothing"
	exit 0
}
make -s bench-tools "$O/bench/sync" O="$O" CC="$CC" CFLAGS="$CFLAGS" || exit 1

# results FILE MUTEX-ROUNDS RIVAL-ROUNDS: a run of one program: bide's mutex, threads compared with it, and what a
# rival costs by itself.
results() {
	printf '{"versions":{},"programs":[{"bench":"sync","about":"a <b> & c","rounds":7,"cpus":[0,1],"machine":{},
	"rows":[{"table":"a hop","case":"mutex","unit":"ns","clock":"cpu","median":1,"rounds":[%s]},
	{"table":"a hop","case":"2 threads","unit":"ns","clock":"cpu","median":1,"vs":"mutex","ratio":1,"rounds":[%s]},
	{"table":"a hop","case":"raw epoll","unit":"ns","clock":"cpu","median":1,"rounds":[%s]}],"bars":[]}]}' "$2" "$3" "$3" >"$1"
}

seven='10.1,10.2,10.3,10.4,10.5,10.6,10.7'
results "$dir/base.json" "$seven" 100,101,102,103,104,105,106

says() { # STATUS PATTERN ARGUMENT...
	wanted=$1 pattern=$2
	shift 2
	"$O/bench/compare" "$@" >"$dir/out" 2>&1
	got=$?
	grep -q -e "$pattern" "$dir/out" && [ $got = "$wanted" ] || {
		echo "status $got, wanted $wanted and $pattern"
		cat "$dir/out"
		return 1
	}
}

# ---- comparing

the_same_run_has_not_changed() {
	says 0 '0 slower' --all "$dir/base.json" "$dir/base.json" && grep -q 'p 1.0000' "$dir/out"
}

# Seven rounds against seven, all of one below all of the other: 2 of 3,432 ways to deal the ranks.
slower_is_told_with_its_probability() {
	results "$dir/slow.json" 11.1,11.2,11.3,11.4,11.5,11.6,11.7 110,111,112,113,114,115,116
	says 1 'SLOWER  sync *mutex .* +9.6 %  p 0.0006' "$dir/base.json" "$dir/slow.json" &&
		says 0 'faster  sync *mutex' "$dir/slow.json" "$dir/base.json"
}

less_than_the_threshold_is_no_change() {
	results "$dir/slow.json" 11.1,11.2,11.3,11.4,11.5,11.6,11.7 110,111,112,113,114,115,116
	says 0 '0 slower by more than 20 %' --threshold 20 "$dir/base.json" "$dir/slow.json"
}

# As far apart in the median, but the rounds overlap. The tie counts half: 18.5 of 49 pairs, which is taken as 19.
chance_is_no_change() {
	results "$dir/noisy.json" 9.0,9.1,10.3,11.3,11.4,11.5,11.6 100,101,102,103,104,105,106
	says 0 'same *sync *mutex .* p 0.5350' --all "$dir/base.json" "$dir/noisy.json"
}

# The machine was half as fast: bide and threads alike. Judged by the ratio, nothing of bide's changed there.
a_slow_machine_is_not_taken_for_a_slow_library() {
	results "$dir/half.json" 20.2,20.4,20.6,20.8,21,21.2,21.4 200,202,204,206,208,210,212
	says 1 '1 slower' "$dir/base.json" "$dir/half.json" && ! grep -q '2 threads' "$dir/out"
}

# Threads became slower by themselves: that is nothing that bide did worse, and a ratio the other way round.
a_slower_rival_is_not_a_slower_library() {
	results "$dir/rival.json" "$seven" 200,202,204,206,208,210,212
	says 0 'faster *sync *2 threads' "$dir/base.json" "$dir/rival.json" && ! grep -q 'raw epoll' "$dir/out"
}

# ---- files that are broken

every_beginning_of_a_file_is_refused() {
	size=$(wc -c <"$dir/base.json") at=0
	while [ $at -lt "$size" ]; do
		head -c $at "$dir/base.json" >"$dir/cut.json"
		says 2 'is not JSON, at byte' "$dir/base.json" "$dir/cut.json" || return 1
		at=$((at + 41))
	done
}

other_files_are_refused() {
	echo '[1, 2]' >"$dir/other.json"
	says 2 'has no "programs"' "$dir/other.json" "$dir/base.json" &&
		says 2 'No such file' "$dir/none.json" "$dir/base.json" && says 2 usage "$dir/base.json" &&
		awk 'BEGIN { for (i = 0; i < 100000; i++) printf "[" }' >"$dir/deep.json" &&
		says 2 'is not JSON' "$dir/deep.json" "$dir/base.json"
}

# ---- a report of a real run

has() { # PATTERN FILE
	grep -q -e "$1" "$2" || {
		echo "no $1 in $2:"
		head -c 3000 "$2"
		return 1
	}
}

# The row's median as the reports write numbers of its size.
median_of() { # CASE
	sed -n "s/.*\"case\":\"$1\".*\"median\":\([0-9.]*\).*/\1/p" "$dir/run/results.json" | head -1 |
		awk '{ printf("%.*f", $1 >= 1000 ? 0 : $1 >= 100 ? 1 : $1 >= 10 ? 2 : 3, $1) }'
}

samples_of() { # CASE
	sed -n "s/.*\"case\":\"$1\".*\"samples\":\[\([^]]*\).*/\1/p" "$dir/run/results.json" | tr , '\n' | wc -l
}

a_run_is_reported_with_its_machine_samples_and_charts() {
	mkdir -p "$dir/run/results" &&
		"$O/bench/sync" --quick --case mutex --record "$dir/run/results" >/dev/null &&
		sh bench/tools/collect.sh "$dir/run/results" >"$dir/run/results.json" &&
		"$O/bench/report" "$dir/run/results.json" "$dir/run/report.md" "$dir/run/report.html" || return 1
	median=$(median_of 'mutex and condition')
	[ "$(samples_of 'mutex and condition')" -ge 20 ] && has "^| mutex and condition | ns | cpu | $median" "$dir/run/report.md" &&
		has "^- kernel: $(uname -s) $(uname -r)" "$dir/run/report.md" &&
		has 'mutex and condition | [0-9.]* ns | at most' "$dir/run/report.md" &&
		has "class=\"bide\".*>$median" "$dir/run/report.html" &&
		says 0 'compared 3 rows' "$dir/run/results.json" "$dir/run/results.json"
}

what_means_something_to_a_browser_is_escaped() {
	"$O/bench/report" "$dir/base.json" "$dir/report.md" "$dir/report.html" &&
		grep -q 'a &lt;b&gt; &amp; c' "$dir/report.html" && ! grep -q '<b> &' "$dir/report.html"
}

for test in the_same_run_has_not_changed slower_is_told_with_its_probability less_than_the_threshold_is_no_change \
	chance_is_no_change a_slow_machine_is_not_taken_for_a_slow_library a_slower_rival_is_not_a_slower_library \
	every_beginning_of_a_file_is_refused other_files_are_refused \
	a_run_is_reported_with_its_machine_samples_and_charts what_means_something_to_a_browser_is_escaped; do
	holds "$(echo "$test" | tr _ " ")" "$test"
done
conclude "bench report"
