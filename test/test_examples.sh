#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and runs docs/examples, compares what they print with test/examples/*.txt, and drives the
# echo server with test/examples/client.c. From the environment: O, CC, ARCH, RUNNER, SAN, CFLAGS,
# BIDE_TEST_SCALE (how much slower than a native build things may be).
cd "$(dirname "$0")/.." || exit 1

O=${O:-build} CC=${CC:-cc} RUNNER=${RUNNER:-} SAN=${SAN:-}
scale=${BIDE_TEST_SCALE:-1}
limit=$((20 * scale)) # seconds that a command may take
bin=$O/examples
start=$RUNNER # what a program is started with
passed=0 failed=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/bide-examples.XXXXXX") || exit 1
server=

clean_up() {
	exec 9>&-
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$tmp"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# As in test/tools/run.sh: an older ThreadSanitizer needs addresses that are not spread.
case $SAN in
*thread*) if setarch "$(uname -m)" -R true 2>/dev/null; then start="setarch $(uname -m) -R"; fi ;;
esac

# ---- tests

# check SENTENCE COMMAND...: counts a command that succeeds as passed; else shows what it printed, and
# fails.
check() {
	sentence=$1
	shift
	if "$@" >"$tmp/log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED: $sentence"
		sed 's/^/    /' "$tmp/log"
		return 1
	fi
}

# until_true COMMAND...: tries it until it holds, for as long as a command may take.
until_true() {
	tries=$((limit * 20))
	until "$@"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.05
	done
}

# run EXAMPLE ARGUMENT...
run() {
	example=$1
	shift
	timeout "$limit" $start "$bin/$example" "$@"
}

prints_as_expected() { # EXAMPLE ARGUMENT...
	run "$@" >"$tmp/out" 2>"$tmp/err" || { echo "exit status $?"; cat "$tmp/err"; return 1; }
	diff "test/examples/$1.txt" "$tmp/out" && ! grep -v '^--[0-9]*-- ' "$tmp/err" # memcheck's remarks
}

# fails_with STATUS MESSAGE EXAMPLE ARGUMENT...: the message is on stderr, after the name.
fails_with() {
	wanted=$1 message=$2
	shift 2
	run "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ "$status" -eq "$wanted" ] && grep -q "$message" "$tmp/err" && return 0
	echo "exit status $status instead of $wanted, stderr:"
	cat "$tmp/err"
	return 1
}

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

many_sleep() {
	run sleepers 500 >"$tmp/out" || return 1
	cat "$tmp/out"
	sed -n 1p "$tmp/out" | grep -qx '500 of 500 tasks slept for up to 1 s each' &&
		sed -n 2p "$tmp/out" | grep -qx '[0-9]*\.[0-9]* s elapsed' &&
		sed -n 3p "$tmp/out" | grep -qx '[0-9]*\.[0-9] KiB of memory per task at the peak'
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

# Starts a server whose input is held open by descriptor 9; sets $server, $port and $pid.
start_server() {
	rm -f "$tmp/input" "$tmp/pid" "$tmp/server"
	mkfifo "$tmp/input" && : >"$tmp/server" && exec 9<>"$tmp/input" || return 1
	timeout $((limit * 6)) sh -c 'ulimit -n "$1"; echo $$ >"$2"; shift 2; exec "$@"' sh "${1:-256}" \
		"$tmp/pid" $start "$bin/echo_server" 0 <"$tmp/input" 2>"$tmp/server" 9>&- &
	server=$!
	until_true grep -q 'listening on port [0-9]' "$tmp/server" || { cat "$tmp/server"; return 1; }
	port=$(sed -n 's/.*listening on port \([0-9]*\).*/\1/p' "$tmp/server")
	pid=$(cat "$tmp/pid")
}

# Ends its input. It must end by itself, with status 0.
stop_server() {
	exec 9>&-
	wait "$server"
	status=$?
	server=
	[ "$status" -eq 0 ] || { echo "exit status $status"; cat "$tmp/server"; return 1; }
}

client() { timeout "$limit" $start "$tmp/client" "$port" "$@"; }

has_descriptors() { [ "$(ls "/proc/$pid/fd" | wc -l)" -eq "$1" ]; }

no_descriptor_is_left() {
	until_true has_descriptors "$descriptors" && return 0
	echo "$descriptors before, now:"
	ls -l "/proc/$pid/fd"
	return 1
}

ends_its_clients() {
	(
		exec 9>&-
		client use 0 send 'a\n' expect 'you said: a\n' use 1 stuff mark "$tmp/there" \
			use 0 end use 1 gone
	) &
	clients=$!
	until_true test -e "$tmp/there" && stop_server && wait "$clients"
}

complained_once_a_second() {
	complaints=$(grep -c 'Too many open files: waiting a second' "$tmp/server")
	cat "$tmp/server"
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
	check client_compiles $CC -std=c11 -D_GNU_SOURCE -O1 -o "$tmp/client" test/examples/client.c &&
		check server_starts_on_a_free_port start_server &&
		check a_line_is_echoed client use 0 send 'one\n' expect 'you said: one\n' half end || return
	descriptors=$(ls "/proc/$pid/fd" | wc -l)

	check port_in_use_is_told fails_with 1 "^echo_server: 127.0.0.1:$port: Address already in use" \
		echo_server "$port"
	check port_out_of_range_is_told fails_with 1 '^echo_server: 127.0.0.1:99999: ' echo_server 99999
	check two_clients_are_interleaved client use 0 send 'a\n' use 1 send 'b\n' expect 'you said: b\n' \
		use 0 expect 'you said: a\n' send 'c\n' expect 'you said: c\n' use 1 send 'd\n' \
		expect 'you said: d\n' use 0 half end use 1 send 'e\n' expect 'you said: e\n' half end
	check half_closed_client_gets_everything client use 0 send 'x\n\ny\ntail' half \
		expect 'you said: x\nyou said: \nyou said: y\nyou said: tail' end
	check split_line_has_one_prefix client use 0 send 'hel' expect 'you said: hel' send 'lo\nwor' \
		expect 'lo\nyou said: wor' send 'ld\n' expect 'ld\n' half end
	check long_line_is_echoed client use 0 long 3000000 half end
	check slow_peer_delays_nobody client use 0 stuff use 1 send 'a\n' expect 'you said: a\n' \
		use 0 drain send '\n' expect '\n' half end
	check idle_client_resets client use 0 send 'a\n' expect 'you said: a\n' reset
	check client_resets_amid_a_reply client use 0 stuff reset
	check resets_are_told until_true grep -q 'lost a client: Connection reset' "$tmp/server"
	check others_go_on_after_resets client use 0 send 'b\n' expect 'you said: b\n' close
	[ -n "$RUNNER" ] || ! command -v nc >/dev/null || check netcat_is_served netcat_talks
	check no_descriptor_leaks no_descriptor_is_left
	check end_of_input_ends_server_and_clients ends_its_clients
}

test_descriptor_limit() {
	check server_starts_with_few_descriptors start_server 16
	check clients_beyond_the_limit_are_served serves_beyond_its_descriptors
	check limit_is_told_once_a_second complained_once_a_second
	check server_at_its_limit_ends stop_server
}

# ---- all

for source in docs/examples/*.c; do
	[ -x "$bin/$(basename "$source" .c)" ] && continue
	${MAKE:-make} -s examples O="$O" CC="$CC" ${ARCH:+ARCH="$ARCH"} ${SAN:+SAN="$SAN"} ${CFLAGS:+CFLAGS="$CFLAGS"} || exit 1
	break
done

check sources_are_exemplary all_are_exemplary
check hello_greets prints_as_expected hello
check countdown_follows_the_golden_trace prints_as_expected countdown --virtual
check countdown_counts_in_real_time counts_in_real_time
check countdown_refuses_a_wrong_option fails_with 2 '^usage: countdown' countdown --wrong
check countdown_tells_of_a_full_disk full_disk countdown --virtual
check stalled_read_follows_the_golden_trace prints_as_expected stalled_read --virtual
check generator_gives_and_takes prints_as_expected generator
check datagrams_are_answered prints_as_expected udp_echo
check udp_echo_refuses_a_bad_address fails_with 1 '^udp_echo: ' udp_echo nowhere
check timeouts_end_in_time prints_as_expected timeouts --virtual
check gather_tells_of_all prints_as_expected gather --virtual
check as_completed_tells_in_the_order_of_ends prints_as_expected as_completed --virtual
check shutdown_lets_clients_finish prints_as_expected shutdown --virtual
check retry_backs_off prints_as_expected retry --virtual
check rate_limit_lets_few_through prints_as_expected rate_limit --virtual
check worker_pool_shares_its_jobs prints_as_expected worker_pool --virtual
check pipeline_passes_on prints_as_expected pipeline --virtual
check polite_philosophers_eat prints_as_expected philosophers --polite
check greedy_philosophers_are_told_of_their_deadlock philosophers_starve
check sleepers_all_wake many_sleep
check sleepers_refuses_a_wrong_count fails_with 2 '^usage: sleepers' sleepers 0
[ -n "$RUNNER$SAN" ] || check sleepers_tells_of_missing_memory out_of_memory
check echo_server_ends_with_any_kind_of_input input_ends_at_once
test_server
[ -n "$RUNNER" ] || [ "$failed" -gt 0 ] || test_descriptor_limit

echo "test_examples: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
