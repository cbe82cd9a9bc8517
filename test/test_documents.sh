#!/bin/sh
# SPDX-License-Identifier: MIT
# The C in the project's texts and manual pages (test/tools/blocks.awk): each block compiles as a reader's own
# program would, without a warning, and programs print what the text says; commands can be read by a shell. The
# servers of the guide are driven by a client.
cd "$(dirname "$0")/.." || exit 1
. test/tools/examples.sh

bin=$tmp/blocks
library=$(realpath "$O/libbide.a")
flags="-g -std=c11 -Wall -Wextra -Werror -pedantic -I$PWD/include ${SAN:+-fsanitize=$SAN} $CFLAGS"
texts="*.md docs/*.md docs/*/*.md bench/*.md docs/man/*.[37]"

extract() {
	mkdir "$bin" || return 1
	# shellcheck disable=SC2086 # a list of patterns
	awk -v into="$bin" -f test/tools/blocks.awk $texts >"$bin/list" && [ -s "$bin/list" ]
}

# What is only a part of a program has shown all it can when one compiler has seen it.
is_worth_it() { # KIND
	[ "$1" = program ] || [ -z "$RUNNER$SAN" ]
}

compile() { # KIND NAME
	# shellcheck disable=SC2086 # a list of flags
	case $1 in
	program) (cd "$bin" && $CC $flags -o "$2" "$2.c" "$library" -pthread) ;;
	fragment) $CC $flags -D_GNU_SOURCE -Wno-unused -Wno-unused-parameter -fsyntax-only "$bin/$2.c" ;;
	script) sh -n "$bin/$2.sh" ;;
	esac
}

# Runs each `$ ./NAME WORD...` of NAME.run in a directory of its own and writes what the file should have been.
replay() { # NAME
	shown=1
	while IFS= read -r line; do
		case $line in
		'$ ./'*)
			echo "$line"
			# shellcheck disable=SC2086 # words
			set -- ${line#'$ ./'}
			run "$@" 2>&1 </dev/null || echo "exit status $?"
			shown=
			;;
		'$ '*) echo "$line"; shown=1 ;;
		*) [ -z "$shown" ] || echo "$line" ;;
		esac
	done <"$bin/$1.run"
}

# Without what differs from run to run and from build to build.
blurred() { sed 's/0x[0-9a-f]*/N/g; s/[0-9][0-9.]*/N/g; s/[a-z_]* (run\.c:N)/.../; s/spawned at [a-z_]* (/spawned at (/' "$1"; }

prints_what_the_text_says() { # NAME
	replay "$1" >"$tmp/out"
	[ -e "$bin/$1.like" ] || { diff "$bin/$1.run" "$tmp/out"; return; }
	blurred "$bin/$1.run" >"$tmp/wanted"
	blurred "$tmp/out" | diff "$tmp/wanted" -
}

# ---- the guide's servers

end_server() { kill -TERM "$pid" && stop_servers; }

# serves NAME SCRIPT...: drives it with a client, and ends it.
serves() {
	server=$1
	shift
	holds "$server starts" start_server 256 "$server" 127.0.0.1:0 || return
	count_descriptors
	holds "$server does what it should" client "$@"
	holds "$server leaves nothing behind" no_descriptor_is_left
	holds "$server ends in order when it is told to" end_server
}

# ---- all

holds blocks_are_taken_out extract || exit 1
while read -r kind name place; do
	is_worth_it "$kind" || continue
	holds "$place compiles" compile "$kind" "$name" || continue
	[ ! -e "$bin/$name.run" ] || holds "$place prints what the text says" prints_what_the_text_says "$name"
done <"$bin/list"

holds client_compiles compile_client || exit 1
serves echo use 0 send 'one\n' expect 'one\n' use 1 send 'two' expect 'two' half end use 0 half end
serves lines use 0 send 'he' send 'llo\nworld\nx' expect 'HELLO\nWORLD\n' half expect 'X' end \
	use 1 send "$(printf '%0600d' 0)" gone use 2 reset
serves chat use 0 use 1 use 2 send 'hello\n' use 0 expect 'hello\n' use 1 expect 'hello\n' \
	send 'hi\nthere\n' use 0 expect 'hi\nthere\n' use 2 expect 'hi\nthere\n' use 0 half end \
	use 1 send 'still here\n' use 2 expect 'still here\n' reset use 1 send 'alone\n' half end

conclude documents
