#!/bin/sh
# SPDX-License-Identifier: MIT
# collect.sh DIRECTORY >RESULTS.json: the files that the programs wrote there as one, with the versions of what
# bide was measured beside.
version() { # NAME VERSION
	[ -n "$2" ] || return
	printf '%s"%s":"%s"' "$comma" "$1" "$(printf %s "$2" | tr -d '"\\' | head -c 60)"
	comma=,
}
package() { dpkg-query -W -f='${Version}' "$1" 2>/dev/null; }

printf '{"versions":{'
comma=
version bide "$(sed -n 's/^.define BIDE_VERSION_[A-Z]* *//p' include/bide.h | paste -sd.)"
version libc "$(getconf GNU_LIBC_VERSION 2>/dev/null)"
version Boost.Context "$(package libboost-context-dev)"
version Boost.Fiber "$(package libboost-fiber-dev)"
version libuv "$(pkg-config --modversion libuv 2>/dev/null)"
version libev "$(package libev-dev)"
version Go "$(go version 2>/dev/null | cut -d' ' -f3)"
version Python "$(python3 -c 'import platform; print(platform.python_version())' 2>/dev/null)"
version nginx "$(nginx -v 2>&1 | sed -n 's/.*nginx\///p')"
version wrk "$(package wrk)"
version date "$(date -u +%Y-%m-%d)"
printf '},\n"programs":['
comma=
for file in "$1"/*.json; do
	[ -f "$file" ] || continue
	printf '%s\n' "$comma"
	cat "$file"
	comma=,
done
printf ']}\n'
