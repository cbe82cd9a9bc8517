# SPDX-License-Identifier: MIT
# For the tests of docs/examples, which source it from the project's directory: running an example, and
# servers and their clients. From the environment: O, CC, ARCH, RUNNER, SAN, CFLAGS, BIDE_TEST_SCALE (how
# much slower than a native build things may be).
. test/tools/holds.sh
O=${O:-build} CC=${CC:-cc} RUNNER=${RUNNER:-} SAN=${SAN:-}
scale=${BIDE_TEST_SCALE:-1}
limit=$((20 * scale)) # seconds that a command may take
bin=$O/examples
start=$RUNNER # what a program is started with
tmp=$dir
servers= # processes
strays=  # processes that are not our children

ends() {
	exec 9>&-
	# shellcheck disable=SC2086 # a list
	[ -z "$servers$strays" ] || kill $servers $strays 2>/dev/null
}

# As in test/tools/run.sh: an older ThreadSanitizer needs addresses that are not spread.
case $SAN in
*thread*) if setarch "$(uname -m)" -R true 2>/dev/null; then start="setarch $(uname -m) -R"; fi ;;
esac

# ---- tests

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

# ---- servers

# start_server DESCRIPTORS EXAMPLE ARGUMENT...: a server whose input is held open by descriptor 9; sets
# $port, $pid and $log. Several may run at once.
start_server() {
	most=$1 example=$2
	shift 2
	log=$tmp/$example.log
	rm -f "$tmp/pid"
	[ -n "$servers" ] || { rm -f "$tmp/input" && mkfifo "$tmp/input" && exec 9<>"$tmp/input"; } || return 1
	: >"$log"
	timeout $((limit * 6)) sh -c 'ulimit -n "$1"; echo $$ >"$2"; shift 2; exec "$@"' sh "$most" \
		"$tmp/pid" $start "$bin/$example" "$@" <"$tmp/input" 2>"$log" 9>&- &
	servers="$servers $!"
	until_true grep -q 'listening on .*[0-9]$' "$log" || { cat "$log"; return 1; }
	port=$(sed -n 's/.*listening on .*[: ]\([0-9]*\)$/\1/p' "$log")
	pid=$(cat "$tmp/pid")
}

# Ends their input. They must end by themselves, with status 0.
stop_servers() {
	exec 9>&-
	stopping=$servers
	servers=
	for server in $stopping; do
		wait "$server" || { echo "exit status $?"; cat "$tmp"/*.log; return 1; }
	done
}

# compile_peer NAME: a program of test/examples.
compile_peer() { $CC -std=c11 -D_GNU_SOURCE -O1 -o "$tmp/$1" "test/examples/$1.c"; }
compile_client() { compile_peer client; }

client() { timeout "$limit" $start "$tmp/client" "$port" "$@"; }

count_descriptors() { descriptors=$(ls "/proc/$pid/fd" | wc -l); }

has_descriptors() { [ "$(ls "/proc/$pid/fd" | wc -l)" -eq "$1" ]; }

no_descriptor_is_left() {
	until_true has_descriptors "$descriptors" && return 0
	echo "$descriptors before, now:"
	ls -l "/proc/$pid/fd"
	return 1
}

# ---- building

build_examples() {
	for source in docs/examples/*.c; do
		[ "$source" != docs/examples/httpd.c ] || continue # which needs a library
		[ -x "$bin/$(basename "$source" .c)" ] && continue
		${MAKE:-make} -s examples O="$O" CC="$CC" ${ARCH:+ARCH="$ARCH"} ${SAN:+SAN="$SAN"} ${CFLAGS:+CFLAGS="$CFLAGS"}
		return
	done
}
