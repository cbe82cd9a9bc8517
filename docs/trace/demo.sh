#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh DIRECTORY [PICTURES]: runs three of the examples under BIDE_TRACE and makes of each trace a page that steps
# through the run: DIRECTORY/NAME.json, for ui.perfetto.dev, and DIRECTORY/NAME.html. With PICTURES, a directory,
# it takes a picture of each page there, if chromium is installed. From the environment: O and RUNNER, as in the
# Makefile.
set -e
cd "$(dirname "$0")/../.."
out=$1 pictures=$2 bin=${O:-build}/examples
mkdir -p "$out"

page() { # NAME TITLE
	sh docs/trace/page.sh "$2" "$out/$1.json" "docs/examples/$1.c" >"$out/$1.html"
	echo "$out/$1.html"
}

# Three clients of the echo server, one after the other and two at once; then its input ends.
clients() {
	until port=$(sed -n 's/.*listening on port //p' "$out/echo_server.log") && [ -n "$port" ]; do sleep 0.05; done
	"$out/client" "$port" use 0 send 'one\n' expect 'you said: one\n' half end
	"$out/client" "$port" use 0 send 'a\n' use 1 send 'b\n' expect 'you said: b\n' use 0 expect 'you said: a\n' \
		use 1 half end use 0 half end
}

serve() {
	cc -D_GNU_SOURCE -o "$out/client" test/examples/client.c
	: >"$out/echo_server.log"
	clients | BIDE_TRACE="$out/echo_server.json" timeout 60 $RUNNER "$bin/echo_server" 0 2>"$out/echo_server.log"
	rm -f "$out/client" "$out/echo_server.log"
}

picture() { # NAME STEP MODE SIZE FILE
	timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="$4" \
		--user-data-dir="$out/browser" --screenshot="$pictures/$5" "file://$(realpath "$out")/$1.html#$2,$3" \
		>/dev/null 2>&1
	echo "$pictures/$5"
}

BIDE_TRACE="$out/countdown.json" $RUNNER "$bin/countdown" --virtual >"$out/countdown.txt"
BIDE_TRACE="$out/stalled_read.json" $RUNNER "$bin/stalled_read" --virtual >"$out/stalled_read.txt"
serve
page countdown 'A countdown and a countup, interleaved'
page stalled_read 'A stalled read is canceled'
page echo_server 'An echo server and its clients'

if [ -n "$pictures" ] && command -v chromium >/dev/null; then
	mkdir -p "$pictures"
	picture countdown 28 light 1120,700 trace-countdown.png
	picture stalled_read 18 dark 1120,700 trace-stalled-read.png
	picture echo_server 16 light 1120,700 trace-echo-server.png
	rm -rf "$out/browser"
elif [ -n "$pictures" ]; then
	echo 'demo.sh: no pictures: there is no chromium here'
fi
