#!/bin/sh
# SPDX-License-Identifier: MIT
# The manual pages: they set without a warning; each header has a section-3 page with the parts that a reader
# looks for, the header's declarations word by word, every call of it, and every errno that the header names;
# and each exported call is found by its name.
bad=0

complain() {
	printf '%s\n' "$1"
	bad=1
}

# All names of errors that the system has.
names=$(echo '#include <errno.h>' | "$CC" -E -dM - | awk '$2 ~ /^E[A-Z0-9]+$/ { print $2 }')

squeeze() { tr -s ' \t\n' ' '; }

# The public declarations of a header, one a line, as a synopsis has them.
declarations() {
	grep -v '^#' "$1" | sed 's|/\*.*\*/||' | squeeze | grep -o 'BIDE_API [^;]*;' | sed 's/^BIDE_API //'
}

command -v groff >/dev/null || echo 'lint: manual: groff is not installed, its warnings are not looked at'
command -v mandoc >/dev/null || echo 'lint: manual: mandoc is not installed, its warnings are not looked at'

# The constants and macros of a header; the fields of its structures, but for what nobody may look at.
constants() {
	sed -n '/_H$/d; s/^#define \(BIDE_[A-Z0-9_]*\).*/\1/p; s/^	\(BIDE_[A-Z0-9_]*\)\( .*\|,.*\)*$/\1/p' "$1"
}
fields() {
	awk '/^typedef struct [a-z_]* [{]/ { inside = 1; next }
	/^}/ { inside = 0 }
	inside {
		line = in_comment ? "" : $0
		if ($0 ~ /\/\*/)
			in_comment = 1
		if ($0 ~ /\*\//)
			in_comment = 0
		sub(/\/\*.*/, "", line)
		print line
	}' "$1" | grep -o '[a-z_]*\(\[[^]]*\]\)*[;,]\|(\*[a-z_]*)' | sed 's/\[.*//; s/[^a-z_]//g' |
		grep -v '^opaque$\|^reserved$\|^$'
}

for page in docs/man/*.[0-9]; do
	if command -v groff >/dev/null; then
		said=$({ printf '.pl 1000v\n.lf 1 %s\n' "$page"; cat "$page"; } | groff -man -t -ww -z -Tutf8 2>&1) # one long page
		[ -z "$said" ] || complain "$page: $said"
	fi
	if command -v mandoc >/dev/null; then
		said=$(mandoc -T lint -W warning "$page" 2>&1)
		[ -z "$said" ] || complain "$page: $said"
	fi
	[ -z "$(sed -n '/^\.EX/,/^\.EE/{/\t/p;}' "$page")" ] || complain "$page has tabs in an example: tables move their stops"
	for also in $(sed -n 's/^\.BR \(bide-[a-z]*\) (\([0-9]\)).*/\1.\2/p' "$page"); do
		[ -f "docs/man/$also" ] || complain "$page refers to $also, which is not there"
	done
done

for page in docs/man/*.3; do
	header=include/bide/$(basename "$page" .3 | sed 's/^bide-//').h
	[ -f "$header" ] || { complain "$page: there is no $header"; continue; }
	for part in NAME SYNOPSIS DESCRIPTION 'RETURN VALUE' ERRORS CANCELLATION THREADS EXAMPLE 'SEE ALSO'; do
		grep -q "^\.SH $part\$" "$page" || complain "$page has no section $part"
	done
	synopsis=$(sed -n '/^\.SH SYNOPSIS/,/^\.SH DESCRIPTION/p' "$page" | squeeze)
	missing=$(declarations "$header" | while read -r line; do
		case $synopsis in *" $line"*) ;; *) printf '  %s\n' "$line" ;; esac
	done)
	[ -z "$missing" ] || complain "$page: its synopsis does not have
$missing"
	for name in $(constants "$header") $(fields "$header"); do
		grep -qw -- "$name" "$page" || complain "$page does not tell of $name"
	done
	# The pages whose errors this one's come on top of.
	besides=$(sed -n '/^\.SH ERRORS/,/^\.TP/s|^\.BR \(bide-[a-z]*\) (3).*|docs/man/\1.3|p' "$page")
	for name in $(grep -ow 'E[A-Z]*' "$header" | sort -u); do
		printf '%s\n' "$names" | grep -qx "$name" || continue
		# shellcheck disable=SC2086 # a list of file names
		grep -qw "$name" "$page" $besides || complain "$page does not tell of $name"
	done
done

for header in include/bide/*.h; do
	page=docs/man/bide-$(basename "$header" .h).3
	! grep -q '^BIDE_API\|^BIDE_NORETURN BIDE_API' "$header" || [ -f "$page" ] || complain "$header has no page $page"
done

for name in $(sed -n 's/.*X([A-Z_]*, "\([a-z_]*\)").*/\1/p' src/base/fault.h); do
	for text in include/bide/testing.h docs/man/bide-testing.3; do
		grep -qw -- "$name" "$text" || complain "$text does not tell that $name can be made to fail"
	done
done

for page in docs/man/bide-*.[37]; do
	name=$(basename "${page%.*}")
	section=${page##*.}
	grep -q "^$name($section)\|^\.BR $name ($section)" docs/man/bide.7 || complain "bide.7 does not list $page"
done
for variable in $(grep -rho 'getenv("BIDE_[A-Z_]*' src | sed 's/.*"//' | sort -u); do
	grep -q "^\.B $variable\$" docs/man/bide.7 || complain "bide.7 does not tell of $variable in the environment"
done

# `man CALL` finds the page.
aliases=$(mktemp -d) || exit
trap 'rm -rf "$aliases"' EXIT
sh docs/man/aliases.sh "$aliases" || bad=1
for call in $("$NM" -D --defined-only "$O/libbide.so.0" | sed -n 's/.* \(bide_[a-z0-9_]*\)@.*/\1/p'); do
	[ -f "$aliases/$call.3" ] || complain "$call has no page"
	rm -f "$aliases/$call.3"
done
for call in "$aliases"/*; do
	[ ! -e "$call" ] || complain "the manual has $(basename "$call" .3), which is not exported"
done
exit $bad
