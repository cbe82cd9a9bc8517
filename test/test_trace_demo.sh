#!/bin/sh
# SPDX-License-Identifier: MIT
# The traces and pages of `make trace-demo`: what is in them, and that the pages step through them in a browser,
# where chromium is installed. Statement 192.
cd "$(dirname "$0")/.." || exit 1
. test/tools/examples.sh

demo() { O=$O RUNNER=$start timeout $((limit * 3)) sh docs/trace/demo.sh "$tmp/trace"; }

# By a parser that is not ours, where there is one.
is_json() { # FILE
	if command -v python3 >/dev/null; then
		python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$1"
	else
		grep -q '^{"displayTimeUnit":"ns","traceEvents":\[$' "$1" && tail -n 1 "$1" | grep -q '"lost":0}}$'
	fi
}

all_are_json() { for name in countdown stalled_read echo_server; do is_json "$tmp/trace/$name.json" || return 1; done; }

# The deadlines in the order in which their timers expired. At the ties the older sleep, that of 4 s, comes first.
timers_expire_in_order() {
	sed -n 's/.*"name":"timer".*"deadline":\([0-9]*\)000000000}}.*/\1/p' "$tmp/trace/countdown.json" >"$tmp/got"
	for i in 1 2 3 4 4 5 6 7 8 8 9 10 11 12 12 13 14 15 16 16 17 18 19 20 20; do echo $i; done | diff - "$tmp/got" &&
		diff test/examples/countdown.txt "$tmp/trace/countdown.txt"
}

# Both wakes at 4 s: the track of the countdown is that of the second spawn.
older_sleep_is_woken_first() {
	down=$(sed -n 's/.*"task":\([0-9]*\),"fn":"countdown .*/\1/p' "$tmp/trace/countdown.json")
	sed -n '/"now":4000000000/,/"now":5000000000/s/.*"name":"wake".*"task":\([0-9]*\),"from":"sleep".*/\1/p' \
		"$tmp/trace/countdown.json" | head -n 1 | grep -qx "$down"
}

# The cancel is there before the read has been woken, and the read before it runs.
cancel_wakes_the_read() {
	sed -n 's/.*"i","name":"\(cancel\)".*"reason":"too slow".*/\1/p
		s/.*"i","name":"\(wake\)".*"from":"fd","err":"ECANCELED".*/\1/p
		s/.*"i","name":"\(end\)".*"err":"ECANCELED".*/\1/p' "$tmp/trace/stalled_read.json" | paste -sd ' ' |
		grep -qx 'cancel wake end'
}

parks_tell_their_lines() {
	grep '"name":"park"' "$tmp/trace/stalled_read.json" | grep -q '"for":"fd".*"at":"read_stalled (stalled_read.c:[0-9]*)"' &&
		grep '"name":"at"' "$tmp/trace/stalled_read.json" | grep -q '"at":"time_out (stalled_read.c:41)"' &&
		grep '"name":"park"' "$tmp/trace/echo_server.json" | grep -q '"at":"serve_client (echo_server.c:[0-9]*)"'
}

needs_nothing_else() { ! grep -nE 'src=|href=|url\(|import ' "$tmp"/trace/*.html; }

page_tests_itself() { # NAME SIZE MODE
	timeout $((limit * 3)) chromium --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/browser" \
		--window-size="$2" --dump-dom "file://$tmp/trace/$1.html#selftest,$3" >"$tmp/dom" 2>/dev/null
	sed -n '/id="selftest"/,$p' "$tmp/dom"
	grep -q '<title>OK [0-9]* steps, \([0-9]*\) of \1 tasks ended</title>' "$tmp/dom"
}

build_examples || exit 1
holds demo_makes_its_pages demo || exit 1
holds traces_are_json all_are_json
holds timers_of_the_countdown_expire_in_the_golden_order timers_expire_in_order
holds of_equal_sleeps_the_older_is_woken_first older_sleep_is_woken_first
holds a_cancel_wakes_the_stalled_read_which_ends_by_it cancel_wakes_the_read
[ -n "$SAN" ] || holds parks_tell_the_lines_of_the_program parks_tell_their_lines
holds pages_need_nothing_else needs_nothing_else
if ! command -v chromium >/dev/null; then
	echo 'test_trace_demo: no chromium here (make setup-peers installs it): the pages were not run'
elif [ -n "$RUNNER$SAN" ]; then
	echo 'test_trace_demo: the pages are run with the plain native build only'
else
	holds the_page_of_the_countdown_steps page_tests_itself countdown 1280,800 light
	holds the_page_of_the_stalled_read_steps page_tests_itself stalled_read 500,900 dark
	holds the_page_of_the_echo_server_steps page_tests_itself echo_server 1280,800 dark
fi

conclude trace_demo
