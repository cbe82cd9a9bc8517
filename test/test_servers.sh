#!/bin/sh
# SPDX-License-Identifier: MIT
# Drives the example servers of docs/examples: with test/examples/client.c, and with curl, nc and wrk where
# they are installed. Statement 175; scenario F10.
cd "$(dirname "$0")/.." || exit 1
. test/tools/examples.sh

crlf=$(printf '\r')'\n' # for the client's script
end=$crlf$crlf

# A tool of the distribution: whether it is there, and can be used. Each is missed once.
missed=
have() {
	command -v "$1" >/dev/null && return 0
	case $missed in *" $1 "*) ;; *) echo "test_servers: there is no $1 here: its tests are skipped" ;; esac
	missed="$missed $1 "
	return 1
}

# ---- chat

chat_lines() {
	client use 0 use 1 use 2 send 'hello\n' use 0 expect 'hello\n' use 1 expect 'hello\n' send 'hi\nthere\n' \
		use 0 expect 'hi\nthere\n' use 2 expect 'hi\nthere\n' use 0 half end use 1 send 'still here\n' \
		use 2 expect 'still here\n'
}

nc_chats() {
	mkfifo "$tmp/to" "$tmp/from" || return 1
	timeout "$limit" nc 127.0.0.1 "$port" <"$tmp/to" >"$tmp/from" 9>&- &
	netcat=$!
	{
		until_true has_descriptors $((descriptors + 1)) # it is a member
		client use 0 send 'to netcat\n' use 1 mark "$tmp/said"
		read -r line <&8
	} 7>"$tmp/to" 8<"$tmp/from"
	kill "$netcat" 2>/dev/null
	[ "$line" = 'to netcat' ]
}

# More lines than the server's kernel buffers for a member who reads none.
too_many() { awk '{ print int(($3 + 2000000) / 150) }' /proc/sys/net/ipv4/tcp_wmem; }

test_chat() {
	holds chat_starts start_server 256 chat 0 || return
	count_descriptors
	holds what_one_says_the_others_get chat_lines
	holds a_split_line_is_one_line client use 0 use 1 send 'a' send 'b' send 'c\n' use 0 expect 'abc\n'
	holds a_line_without_an_end_counts client use 0 use 1 send 'tail' half end use 0 expect 'tail\n'
	holds a_line_that_is_too_long_ends_its_member client use 0 send "$(printf '%0300d' 0)" gone
	holds who_does_not_read_is_shown_the_door client use 0 use 1 flood "$(too_many)" \
		use 0 gone
	holds nobody_is_left_behind no_descriptor_is_left
	[ -n "$RUNNER" ] || ! have nc || holds nc_is_a_member nc_chats
	holds members_leave_nothing no_descriptor_is_left
	holds chat_ends_with_its_input stop_servers
}

# ---- proxy

# nc closes its output at the end of its input, and must get the whole answer all the same.
nc_half_closes() {
	head -c 300000 /dev/zero | tr '\0' 'z' >"$tmp/zs"
	timeout "$limit" nc -N 127.0.0.1 "$port" <"$tmp/zs" >"$tmp/answer" 9>&- || return 1
	[ "$(wc -c <"$tmp/answer")" -eq 300010 ] && [ "$(head -c 12 "$tmp/answer")" = 'you said: zz' ]
}

test_proxy() {
	holds backend_starts start_server 256 echo_server 0 &&
		holds proxy_starts start_server 256 proxy "127.0.0.1:$port" 0 || return
	count_descriptors
	holds a_line_goes_there_and_back client use 0 send 'a\n' expect 'you said: a\n' send 'b\n' expect 'you said: b\n'
	holds a_half_close_is_passed_on client use 0 send 'x\ny' half expect 'you said: x\nyou said: y' end
	holds much_goes_both_ways client use 0 long 3000000 half end
	holds a_slow_peer_delays_nobody client use 0 stuff use 1 send 'a\n' expect 'you said: a\n' \
		use 0 drain send '\n' expect '\n' half end
	holds a_client_resets client use 0 send 'a\n' expect 'you said: a\n' reset
	holds a_client_resets_amid_an_answer client use 0 stuff reset
	[ -n "$RUNNER" ] || ! have nc || holds nc_half_closes_and_gets_everything nc_half_closes
	holds connections_leave_nothing no_descriptor_is_left
	holds proxy_ends_with_its_input stop_servers
	holds a_dead_target_is_told start_server 256 proxy 127.0.0.1:1 0 && {
		holds the_client_of_a_dead_target_is_let_go client use 0 gone
		holds and_that_is_told until_true grep -q 'lost a connection: Connection refused' "$log"
		holds proxy_without_connections_ends stop_servers
	}
}

# ---- file_server

make_files() {
	mkdir -p "$tmp/www/sub" && echo 'a small file' >"$tmp/www/small" && echo index >"$tmp/www/index.html" &&
		echo secret >"$tmp/secret" && echo hidden >"$tmp/www/.hidden" &&
		head -c 3000000 /dev/urandom >"$tmp/www/sub/large"
}

ok() { printf '%s' "HTTP/1.0 200 OK${crlf}Content-Length: $1$end"; }
gets() { # PATH STATUS
	client use 0 send "GET $1 HTTP/1.0$end" expect "HTTP/1.0 $2$crlf" gone
}

curl_gets() { timeout "$limit" curl -sS --max-time "$limit" "$@"; }

curl_downloads() {
	curl_gets -o "$tmp/got" "http://127.0.0.1:$port/sub/large" && cmp "$tmp/got" "$tmp/www/sub/large" &&
		curl_gets --limit-rate 3M -o "$tmp/got" "http://127.0.0.1:$port/sub/large" &&
		cmp "$tmp/got" "$tmp/www/sub/large" &&
		[ "$(curl_gets "http://127.0.0.1:$port/")" = index ] &&
		curl_gets -I "http://127.0.0.1:$port/small" | grep -q '^Content-Length: 13' &&
		[ "$(curl_gets -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/none")" = 404 ]
}

test_files() {
	holds files_are_made make_files &&
		holds file_server_starts start_server 256 file_server "$tmp/www" 0 || return
	count_descriptors
	holds a_file_is_sent client use 0 send "GET /small HTTP/1.0$end" expect "$(ok 13)a small file\n" end
	holds a_head_is_sent client use 0 send "HEAD /small HTTP/1.0$end" expect "$(ok 13)" end
	holds the_index_is_sent client use 0 send "GET / HTTP/1.0${crlf}Host: x$end" expect "$(ok 6)index\n" end
	holds a_request_may_come_in_pieces client use 0 send 'GET /sm' send "all HTTP/1.0$crlf" send "$crlf" \
		expect "$(ok 13)a small file\n" end
	holds what_is_not_there_is_not_found gets /none '404 Not Found'
	holds nothing_above_is_found gets /../secret '404 Not Found'
	holds nothing_hidden_is_found gets /.hidden '404 Not Found'
	holds nothing_absolute_is_found gets //etc/passwd '404 Not Found'
	holds a_directory_is_not_found gets /sub '404 Not Found'
	holds another_method_is_refused client use 0 send "PUT /small HTTP/1.0$end" expect 'HTTP/1.0 400' gone
	holds nonsense_is_refused client use 0 send "nonsense$end" expect 'HTTP/1.0 400' gone
	holds half_a_request_is_refused client use 0 send 'GET /small' half expect 'HTTP/1.0 ' gone
	holds a_client_resets client use 0 send 'GET /sub/la' reset
	[ -n "$RUNNER" ] || ! have curl || holds curl_gets_files curl_downloads
	holds requests_leave_nothing no_descriptor_is_left
	holds file_server_ends_with_its_input stop_servers
	holds a_missing_directory_is_told fails_with 2 '^file_server: No such file' file_server "$tmp/nowhere"
}

# ---- httpd

hello="HTTP/1.1 200 OK${crlf}Content-Type: text/plain${crlf}Content-Length: 14${crlf}Connection: "

curl_keeps_alive() {
	curl_gets -w '%{num_connects}\n' "http://127.0.0.1:$port/[1-3]" >"$tmp/got" || return 1
	printf 'Hello, world!\n%s\nHello, world!\n%s\nHello, world!\n%s\n' 1 0 0 | diff - "$tmp/got" &&
		curl_gets -d @Makefile "http://127.0.0.1:$port/" && curl_gets -0 -I "http://127.0.0.1:$port/"
}

# Many connections, none of which may fail.
wrk_loads() {
	timeout "$limit" wrk -t1 -c50 -d1 "http://127.0.0.1:$port/" >"$tmp/got" || return 1
	cat "$tmp/got"
	grep -q '^Requests/sec' "$tmp/got" && ! grep -qi 'socket errors\|non-2xx' "$tmp/got"
}

test_httpd() {
	if [ ! -x "$bin/httpd" ]; then
		echo 'test_servers: httpd was not built: its tests are skipped'
		return
	fi
	holds httpd_starts start_server 256 httpd 0 || return
	count_descriptors
	get="GET / HTTP/1.1${crlf}Host: x$end"
	holds a_request_is_answered client use 0 send "$get" expect "${hello}keep-alive${end}Hello, world!\n"
	holds a_connection_is_kept client use 0 send "$get" expect "${hello}keep-alive${end}Hello, world!\n" \
		send "$get" expect "${hello}keep-alive${end}Hello, world!\n" half end
	holds pipelined_requests_are_answered_in_order client use 0 send "${get}HEAD / HTTP/1.1$end$get" \
		expect "${hello}keep-alive${end}Hello, world!\n" expect "${hello}keep-alive${end}" \
		expect "${hello}keep-alive${end}Hello, world!\n" half end
	holds a_close_is_obeyed client use 0 send "GET / HTTP/1.0$end$get" expect "${hello}close${end}Hello, world!\n" end
	holds a_request_may_come_in_pieces client use 0 send 'GE' send "T / HTTP/1.1$crlf" send "$crlf" \
		expect "${hello}keep-alive${end}Hello, world!\n"
	holds nonsense_is_refused client use 0 send "nonsense$end" expect 'HTTP/1.1 400' gone
	holds a_client_resets client use 0 send "$get" reset
	[ -n "$RUNNER" ] || ! have curl || holds curl_keeps_its_connection curl_keeps_alive
	[ -n "$RUNNER$SAN" ] || ! have wrk || holds wrk_meets_no_error wrk_loads
	holds requests_leave_nothing no_descriptor_is_left
	holds httpd_ends_with_its_input stop_servers
}

# ---- multicore_echo

# The kernel chooses the loop by the client's port: of 40, all at one loop, is as good as impossible.
many_connect() {
	set --
	for i in 0 1 2 3 4 5 6 7 8 9; do
		for j in "$i" "1$i" "2$i" "3$i"; do set -- "$@" use "$j" send "$j\n" expect "$j\n"; done
	done
	client "$@"
}

connections_of() { sed -n "s/.*loop $1 had \([0-9]*\) connections\$/\1/p" "$log"; }

both_loops_served() {
	stop_servers && cat "$log" || return 1
	[ "$(connections_of 0)" -gt 0 ] && [ "$(connections_of 1)" -gt 0 ] &&
		[ $(($(connections_of 0) + $(connections_of 1))) -eq 42 ]
}

test_multicore() {
	holds multicore_echo_starts start_server 256 multicore_echo 0 2 || return
	count_descriptors
	holds a_line_comes_back client use 0 send 'one\n' expect 'one\n' half end
	holds a_client_resets client use 0 send 'one\n' expect 'one\n' reset
	holds many_are_served many_connect
	holds connections_leave_nothing no_descriptor_is_left
	holds both_loops_have_served_and_end_with_its_input both_loops_served
	holds a_wrong_number_of_loops_is_told fails_with 2 '^multicore_echo: 1 to' multicore_echo 0 0
	holds a_bad_port_is_told fails_with 1 '^multicore_echo: 127.0.0.1:99999: ' multicore_echo 99999
}

build_examples || exit 1
holds client_compiles compile_client || exit 1
test_chat
test_proxy
test_files
test_httpd
test_multicore

conclude servers
