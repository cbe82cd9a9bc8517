#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and runs docs/examples, compares what they print with test/examples/*.txt, and drives the
# echo server with test/examples/client.c. The other servers: test_servers.sh.
cd "$(dirname "$0")/.." || exit 1
. test/tools/examples.sh

# ---- the examples without a peer

is_exemplary() { # FILE
	sed -n 1p "$1" | grep -q 'SPDX-License-Identifier: MIT' || echo "$1: no licence in line 1"
	[ "$(wc -l <"$1")" -lt 100 ] || echo "$1: 100 lines or more"
	grep -n '#include "\|#include <bide/' "$1"
}

all_are_exemplary() {
	for file in docs/examples/*.c; do is_exemplary "$file"; done >"$tmp/flaws"
	cat "$tmp/flaws"
	[ ! -s "$tmp/flaws" ]
}

# In real time a slow machine may be late: what is printed is certain, the seconds are not.
counts_in_real_time() {
	run countdown --quick >"$tmp/out" || return 1
	for word in Up Down; do
		sed -n "s/^[0-9]* $word/$word/p" "$tmp/out" >"$tmp/got"
		sed -n "s/^[0-9]* $word/$word/p" test/examples/countdown.txt | diff - "$tmp/got" || return 1
	done
}

philosophers_starve() {
	fails_with 1 'Resource deadlock avoided' philosophers || return 1
	cat "$tmp/out"
	for seat in 0 1 2 3 4; do
		grep -qx "philosopher $seat: Resource deadlock avoided" "$tmp/out" || return 1
	done
	[ "$(wc -l <"$tmp/out")" -eq 5 ]
}

# The addresses are different each time.
everybody_is_found() {
	run where --backtraces >"$tmp/out" || return 1
	cat "$tmp/out"
	grep -q '^    task 4 "rotator" suspended, waits for mutex 0x[0-9a-f]*, held by task 3 "flusher", ' "$tmp/out" &&
		grep -q '^        at serve_connection (where' "$tmp/out" && [ "$(grep -c '^ *task ' "$tmp/out")" -eq 6 ]
}

many_sleep() {
	run sleepers 500 >"$tmp/out" || return 1
	cat "$tmp/out"
	sed -n 1p "$tmp/out" | grep -qx '500 of 500 tasks slept for up to 1 s each' &&
		sed -n 2p "$tmp/out" | grep -qx '[0-9]*\.[0-9]* s elapsed' &&
		sed -n 3p "$tmp/out" | grep -qx '[0-9]*\.[0-9] KiB of memory per task at the peak'
}

# How many beats there are is the machine's business; that there are any beside the work is ours.
heart_beats_beside_the_work() {
	run heartbeat >"$tmp/out" || return 1
	cat "$tmp/out"
	[ "$(grep -cx '33860 primes below 400000' "$tmp/out")" -eq 2 ] &&
		sed -n 's/^\([0-9]*\) beats, [0-9]* ms the longest gap$/\1/p' "$tmp/out" | grep -qx '[0-9][0-9]*'
}

names_are_found() {
	run lookup localhost 127.0.0.1 >"$tmp/out" || return 1
	cat "$tmp/out"
	grep -qx '127.0.0.1 127.0.0.1' "$tmp/out" && grep -q '^localhost ' "$tmp/out"
}

# Programs in a row that do what they must, or not.
each_program_that_fails_is_told() {
	fails_with 1 '^shell_pipe: sh: exit status 3$' shell_pipe cat 'sh -c exit${IFS}3' cat &&
		fails_with 1 '^shell_pipe: sh: signal 9$' shell_pipe 'sh -c kill${IFS}-9${IFS}$$' cat &&
		fails_with 1 '^shell_pipe: yes: signal 13$' shell_pipe yes 'head -n 1' && [ "$(cat "$tmp/out")" = y ]
}

# An emulator learns too late that there is no such program.
a_program_that_is_not_there_is_told() {
	fails_with 1 '^shell_pipe: not-there: No such file' shell_pipe cat not-there cat &&
		fails_with 1 '^shell_pipe: not-there: No such file' shell_pipe cat cat not-there &&
		fails_with 1 '^shell_pipe: : No such file' shell_pipe ''
}

much_goes_through() {
	fails_with 1 '^shell_pipe: File too large' shell_pipe 'seq 400000' &&
		run shell_pipe 'seq 150000' cat cat >"$tmp/out" && seq 150000 | cmp - "$tmp/out"
}

out_of_memory() (
	# shellcheck disable=SC3045 # every shell has it
	ulimit -v 200000 || return 1
	fails_with 1 '^sleepers: Cannot allocate memory' sleepers 100000
)

full_disk() {
	timeout "$limit" $start "$bin/$1" $2 >/dev/full 2>"$tmp/err" && return 1
	grep 'No space left on device' "$tmp/err"
}

# ---- the echo server

ends_its_clients() {
	(
		exec 9>&-
		client use 0 send 'a\n' expect 'you said: a\n' use 1 stuff mark "$tmp/there" \
			use 0 end use 1 gone
	) &
	clients=$!
	until_true test -e "$tmp/there" && stop_servers && wait "$clients"
}

complained_once_a_second() {
	complaints=$(grep -c 'Too many open files: waiting a second' "$log")
	cat "$log"
	[ "$complaints" -ge 1 ] && [ "$complaints" -le $((3 * scale)) ]
}

# 14 clients, of whom a server with 16 descriptors can take some 9: they wait for those that leave.
serves_beyond_its_descriptors() {
	set --
	for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13; do set -- "$@" use $i send "$i\\n"; done
	for i in 0 1 2 3 4 5 6; do set -- "$@" use $i expect "you said: $i\\n" close; done
	for i in 7 8 9 10 11 12 13; do set -- "$@" use $i expect "you said: $i\\n"; done
	client "$@"
}

input_ends_at_once() {
	echo text >"$tmp/text"
	run echo_server 0 </dev/null && run echo_server 0 <"$tmp/text" && echo text | run echo_server 0 &&
		run echo_server 0 <<-END
			text
		END
}

netcat_talks() {
	mkfifo "$tmp/to" "$tmp/from" || return 1
	timeout "$limit" nc 127.0.0.1 "$port" <"$tmp/to" >"$tmp/from" 9>&- &
	netcat=$!
	{
		echo 'from netcat' >&7
		read -r line <&8
	} 7>"$tmp/to" 8<"$tmp/from"
	kill "$netcat" 2>/dev/null
	[ "$line" = 'you said: from netcat' ]
}

test_server() {
	# Without these three there is no use in going on.
	holds client_compiles compile_client &&
		holds server_starts_on_a_free_port start_server 256 echo_server 0 &&
		holds a_line_is_echoed client use 0 send 'one\n' expect 'you said: one\n' half end || return
	count_descriptors

	holds port_in_use_is_told fails_with 1 "^echo_server: 127.0.0.1:$port: Address already in use" \
		echo_server "$port"
	holds port_out_of_range_is_told fails_with 1 '^echo_server: 127.0.0.1:99999: ' echo_server 99999
	holds two_clients_are_interleaved client use 0 send 'a\n' use 1 send 'b\n' expect 'you said: b\n' \
		use 0 expect 'you said: a\n' send 'c\n' expect 'you said: c\n' use 1 send 'd\n' \
		expect 'you said: d\n' use 0 half end use 1 send 'e\n' expect 'you said: e\n' half end
	holds half_closed_client_gets_everything client use 0 send 'x\n\ny\ntail' half \
		expect 'you said: x\nyou said: \nyou said: y\nyou said: tail' end
	holds split_line_has_one_prefix client use 0 send 'hel' expect 'you said: hel' send 'lo\nwor' \
		expect 'lo\nyou said: wor' send 'ld\n' expect 'ld\n' half end
	holds long_line_is_echoed client use 0 long 3000000 half end
	holds slow_peer_delays_nobody client use 0 stuff use 1 send 'a\n' expect 'you said: a\n' \
		use 0 drain send '\n' expect '\n' half end
	holds idle_client_resets client use 0 send 'a\n' expect 'you said: a\n' reset
	holds client_resets_amid_a_reply client use 0 stuff reset
	holds resets_are_told until_true grep -q 'lost a client: Connection reset' "$log"
	holds others_go_on_after_resets client use 0 send 'b\n' expect 'you said: b\n' close
	[ -n "$RUNNER" ] || ! command -v nc >/dev/null || holds netcat_is_served netcat_talks
	holds no_descriptor_leaks no_descriptor_is_left
	holds end_of_input_ends_server_and_clients ends_its_clients
}

test_descriptor_limit() {
	holds server_starts_with_few_descriptors start_server 16 echo_server 0
	holds clients_beyond_the_limit_are_served serves_beyond_its_descriptors
	holds limit_is_told_once_a_second complained_once_a_second
	holds server_at_its_limit_ends stop_servers
}

# ---- all

build_examples || exit 1
holds sources_are_exemplary all_are_exemplary
holds hello_greets prints_as_expected hello
holds countdown_follows_the_golden_trace prints_as_expected countdown --virtual
holds countdown_counts_in_real_time counts_in_real_time
holds countdown_refuses_a_wrong_option fails_with 2 '^usage: countdown' countdown --wrong
holds countdown_tells_of_a_full_disk full_disk countdown --virtual
holds stalled_read_follows_the_golden_trace prints_as_expected stalled_read --virtual
holds generator_gives_and_takes prints_as_expected generator
holds datagrams_are_answered prints_as_expected udp_echo
holds udp_echo_refuses_a_bad_address fails_with 1 '^udp_echo: ' udp_echo nowhere
holds timeouts_end_in_time prints_as_expected timeouts --virtual
holds gather_tells_of_all prints_as_expected gather --virtual
holds as_completed_tells_in_the_order_of_ends prints_as_expected as_completed --virtual
holds shutdown_lets_clients_finish prints_as_expected shutdown --virtual
holds retry_backs_off prints_as_expected retry --virtual
holds rate_limit_lets_few_through prints_as_expected rate_limit --virtual
holds worker_pool_shares_its_jobs prints_as_expected worker_pool --virtual
holds pipeline_passes_on prints_as_expected pipeline --virtual
holds polite_philosophers_eat prints_as_expected philosophers --polite
holds greedy_philosophers_are_told_of_their_deadlock philosophers_starve
holds heartbeat_beats_beside_the_work heart_beats_beside_the_work
holds heartbeat_refuses_a_wrong_option fails_with 2 '^usage: heartbeat' heartbeat --wrong
if getent hosts localhost >/dev/null; then holds lookup_finds_names names_are_found; else
	echo 'test_examples: this system does not know localhost: lookup is not tested with a name'
fi
holds lookup_wants_a_name fails_with 2 '^usage: lookup' lookup
holds shell_pipe_joins_programs prints_as_expected shell_pipe
holds shell_pipe_tells_of_each_that_fails each_program_that_fails_is_told
[ -n "$RUNNER" ] || holds shell_pipe_tells_of_programs_that_are_not_there a_program_that_is_not_there_is_told
holds shell_pipe_carries_much much_goes_through
holds shell_pipe_refuses_too_many fails_with 2 '^shell_pipe: at most' shell_pipe a a a a a a a a a a a a a a a a a
holds the_dump_finds_everybody everybody_is_found
holds sleepers_all_wake many_sleep
holds sleepers_refuses_a_wrong_count fails_with 2 '^usage: sleepers' sleepers 0
[ -n "$RUNNER$SAN" ] || holds sleepers_tells_of_missing_memory out_of_memory
holds echo_server_ends_with_any_kind_of_input input_ends_at_once
test_server
[ -n "$RUNNER" ] || [ "$failed" -gt 0 ] || test_descriptor_limit

conclude examples
