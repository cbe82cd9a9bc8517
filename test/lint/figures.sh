#!/bin/sh
# SPDX-License-Identifier: MIT
# The figures that README quotes are those of a run: each number in the table below "## Numbers" stands, digit for
# digit, in docs/notes/measured.md, which `make bench` has written.
measured=docs/notes/measured.md
awk -v measured=$measured '
FILENAME == measured {
	text = text " " $0
	next
}
/^## / { in_table = $0 == "## Numbers" }
in_table && /^\| / && FNR > 1 {
	row = $0
	gsub(/`[^`]*`|[0-9,]+ x [0-9]+ Ki?B|[0-9,]+ (tasks|connections|idle|timers)/, "", row)
	while (match(row, /[0-9]+(\.[0-9]+)?/)) {
		number = substr(row, RSTART, RLENGTH)
		row = substr(row, RSTART + RLENGTH)
		numbers++
		if (text !~ "(^|[^0-9.])" number "($|[^0-9.]|\\.[^0-9])") {
			printf "README quotes %s, which is not in %s: %s\n", number, measured, $0
			bad = 1
		}
	}
}
END {
	if (numbers < 10) {
		print "README quotes only " numbers + 0 " figures: the table was not found"
		bad = 1
	}
	exit bad
}' $measured README.md
