#!/bin/sh
# SPDX-License-Identifier: MIT
# The recipes of docs/operations.md, by the examples service and restart: sockets passed in, readiness, health, drain,
# and the hand-over to a new process, while clients hammer, without one connection or request that fails.
cd "$(dirname "$0")/.." || exit 1
. test/tools/examples.sh

crlf=$(printf '\r')'\n' # for the client's script
end=$crlf$crlf
ok="HTTP/1.0 200 OK$end"
get="GET / HTTP/1.0$end"
stop=$tmp/stop

ask_operator() { timeout "$limit" $start "$tmp/client" "$operators" use 0 send "GET $1 HTTP/1.0$end" print; }
says() { ask_operator "$1" | grep -q "$2"; } # PATH TEXT

# A process of which nobody waits for here may stay a zombie.
has_ended() { ! grep -q '^State:[^Z]*$' "/proc/$1/status" 2>/dev/null; }

# The first half of a request, until there is a file $tmp/answered. It is accepted when this returns.
begin_request() { # EXPECTED
	rm -f "$tmp/asked" "$tmp/answered"
	client use 0 send "GET / HTTP/1.0$crlf" mark "$tmp/asked" await "$tmp/answered" send "$crlf" expect "$1" end &
	asking=$!
	until_true test -e "$tmp/asked" && until_true has_descriptors $((descriptors + 1))
}

end_request() {
	: >"$tmp/answered"
	wait "$asking"
}

hammers=
start_hammers() {
	rm -f "$stop"
	for i in 1 2; do
		timeout $((limit * 3)) $start "$tmp/hammer" "$port" "$stop" >"$tmp/hammer.$i" 2>&1 &
		hammers="$hammers $!"
	done
}

# That none of them met an error, and that each has been answered by so many processes at least: one that is soon
# replaced may have answered only the other.
stop_hammers() { # PROCESSES
	: >"$stop"
	good=true
	for hammer in $hammers; do wait "$hammer" || good=false; done
	hammers=
	cat "$tmp"/hammer.[12]
	for i in 1 2; do
		processes=$(sed -n 's/^[1-9][0-9]* answers, \([0-9]*\) processes$/\1/p' "$tmp/hammer.$i")
		[ "${processes:-0}" -ge "$1" ] || good=false
	done
	$good
}

# ---- drain, health

refuses() { ! timeout "$limit" $start "$tmp/client" "$port" use 0 2>"$tmp/refused" && grep -q refused "$tmp/refused"; }

lets_requests_end() {
	begin_request "${ok}process $pid\n" && kill -TERM "$pid" && until_true refuses &&
		says /healthz '503 Draining' && end_request && stop_servers
}

serves_while_lame() {
	kill -TERM "$pid" && until_true says /healthz '503 Draining' &&
		client use 0 send "$get" expect "${ok}process $pid\n" end
}

second_signal_ends() {
	ended=$servers
	kill -TERM "$pid"
	servers=
	# shellcheck disable=SC2086 # one number
	wait $ended
	[ $? -eq 143 ]
}

start_service() { # LAME_MS
	start_server 256 service 0 0 "$1" || return
	operators=$(sed -n 's/.*operators on .*:\([0-9]*\)$/\1/p' "$log")
	count_descriptors
}

test_service() {
	holds service_starts start_service 0 || return
	holds requests_are_answered client use 0 send "$get" expect "${ok}process $pid\n" end
	holds it_says_that_it_is_healthy says /healthz '200 OK'
	holds it_counts says /metrics '^service_requests_total 1$'
	holds it_tells_how_its_loop_is says /metrics '^bide_tasks{.*loop="0".*} [1-9]'
	holds what_is_not_there_is_not_found says /nothing '404 Not Found'
	holds who_sends_nothing_is_no_harm client use 0 half end
	holds told_to_end_it_refuses_and_lets_requests_end lets_requests_end
	holds a_lame_service_starts start_service 600000 || return
	holds lame_is_not_healthy_and_still_serves serves_while_lame
	holds a_second_signal_ends_it_at_once second_signal_ends
}

# ---- sockets passed in

start_manager() {
	mkdir "$tmp/manager"
	timeout $((limit * 6)) $start "$tmp/manager_" "$tmp/manager" 2 $start "$bin/service" 2>"$tmp/service.log" &
	manager=$!
	until_true test -e "$tmp/manager/ports" || return 1
	port=$(sed -n 1p "$tmp/manager/ports")
	operators=$(sed -n 2p "$tmp/manager/ports")
}

was_told() { [ "$(grep -c "^$1\$" "$tmp/manager/told")" -eq "$2" ]; } # STATE TIMES
is_another() { pid=$(cat "$tmp/manager/pid") && [ "$pid" != "$1" ]; }

# The first one starts it; it is in the backlog before there is a service.
activates() {
	[ ! -e "$tmp/manager/pid" ] && client use 0 send "$get" expect "${ok}process " gone &&
		until_true was_told READY=1 1
}

is_restarted() {
	for times in 2 3 4; do
		old=$(cat "$tmp/manager/pid")
		kill -TERM "$old"
		until_true is_another "$old" && until_true was_told READY=1 $times || return 1
	done
}

manager_ends() {
	: >"$tmp/manager/stop"
	kill -TERM "$pid"
	wait "$manager" && was_told READY=1 4 && was_told STOPPING=1 4
}

test_manager() {
	holds manager_starts start_manager || return
	holds the_first_connection_starts_the_service activates
	holds both_sockets_were_passed says /healthz '200 OK'
	holds while_clients_hammer start_hammers
	holds it_is_ended_and_started_anew is_restarted
	holds and_no_client_met_an_error stop_hammers 3
	holds it_ends_well_and_has_told_so manager_ends
}

# ---- the hand-over

# What it starts anew is what it was started as: a copy that a test may replace, or for an emulator a script.
make_restartable() {
	rm -f "$tmp/restart"
	if [ -n "$RUNNER" ]; then
		printf '#!/bin/sh\nexec %s -0 "$0" "%s" "$@"\n' "$RUNNER" "$bin/restart" >"$tmp/restart"
	else
		cp "$bin/restart" "$tmp/restart"
	fi
	chmod +x "$tmp/restart"
}

start_restartable() {
	bin_before=$bin start_before=$start
	bin=$tmp
	[ -z "$RUNNER" ] || start=
	start_server 256 restart 0 2
	started=$?
	bin=$bin_before start=$start_before
	count_descriptors
	return $started
}

newest() { sed -n 's/^restart: \([0-9]*\) listening .*/\1/p' "$log" | tail -n 1; }
is_newer() { [ "$(newest)" -gt 0 ] && [ "$(newest)" != "$1" ]; }

# The old one ends when its last request does.
hands_over() {
	old=$pid
	kill -HUP "$old"
	until_true is_newer "$old" || return 1
	pid=$(newest)
	strays="$strays $pid"
}

# Its request is under way all the time, so the old one is there for long after the new one.
hands_over_and_lets_requests_end() {
	begin_request "${ok}process $pid\n" && start_hammers && hands_over && sleep 0.2 &&
		! has_ended "$old" && end_request && until_true has_ended "$old"
}

hands_over_again() {
	for times in 1 2 3; do hands_over && until_true has_ended "$old" || return 1; done
}

goes_on_if_the_next_one_fails() {
	rm "$tmp/restart"
	printf '#!/bin/sh\nexit 1\n' >"$tmp/restart" && chmod +x "$tmp/restart"
	kill -HUP "$pid" && until_true grep -q 'does not serve: going on' "$log" &&
		client use 0 send "$get" expect "${ok}process $pid\n" end
}

ends_well() {
	kill -TERM "$pid"
	until_true has_ended "$pid" && strays=
}

test_restart() {
	holds a_restartable_copy_is_made make_restartable && holds restart_starts start_restartable || return
	holds a_request_is_answered client use 0 send "$get" expect "${ok}process $pid\n" end
	holds it_hands_over_and_lets_requests_end hands_over_and_lets_requests_end
	holds the_first_one_ended_well stop_servers
	holds it_hands_over_again_and_again hands_over_again
	holds no_client_met_an_error stop_hammers 3
	holds it_goes_on_if_the_next_one_fails goes_on_if_the_next_one_fails
	holds the_last_one_ends ends_well
	holds bad_arguments_are_told fails_with 2 '^usage: restart' restart 0 0
}

compile_all() {
	compile_peer client && compile_peer hammer && compile_peer manager && mv "$tmp/manager" "$tmp/manager_"
}

build_examples || exit 1
holds programs_compile compile_all || exit 1
test_service
case $SAN in
*thread*) echo 'test_operations: ThreadSanitizer keeps a signal for a task that may have ended: no restarts here' ;;
*)
	test_manager
	test_restart
	;;
esac

conclude operations
