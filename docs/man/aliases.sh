#!/bin/sh
# SPDX-License-Identifier: MIT
# aliases.sh DIRECTORY: writes into it, for each call of the library, a page of section 3 that sends the reader
# on to the page that tells of it, so that `man bide_sleep` finds bide-time(3). Which that is, the synopses say.
into=$(cd "${1:?a directory}" && pwd) || exit
cd "$(dirname "$0")" || exit
for page in *.3; do
	calls=$(sed -n '/^typedef/d; /^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/s/^[A-Za-z_][^(]*[ *]\(bide_[a-z0-9_]*\)(.*/\1/p' "$page")
	for call in $calls; do
		printf '.so man3/%s\n' "$page" >"$into/$call.3" || exit
	done
done
