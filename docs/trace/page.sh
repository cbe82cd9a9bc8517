#!/bin/sh
# SPDX-License-Identifier: MIT
# page.sh TITLE TRACE SOURCE >PAGE: makes a page of HTML, which needs nothing else, that steps through the run of a
# program: page.html with the trace, of one loop, and the program's text in it.
[ $# -eq 3 ] || { echo "usage: page.sh TITLE TRACE SOURCE >PAGE" >&2; exit 2; }
LC_ALL=C awk -v title="$1" -v trace="$2" -v source="$3" '
BEGIN {
	file = source
	sub(/.*\//, "", file)
}

# What a page needs of the trace: numbered events, and the names of tracks.
function put_trace(    line) {
	while ((getline line <trace) > 0)
		if (line ~ /"args":{"n":/ || line ~ /"thread_name"/) {
			sub(/,$/, "", line)
			print line ","
			events++
		}
}

# A string of JavaScript that may stand in HTML.
function quoted(text,    i, byte, made) {
	for (i = 1; i <= length(text); i++) {
		byte = substr(text, i, 1)
		if (byte == "\\" || byte == "\"") byte = "\\" byte
		else if (byte == "\t") byte = "\\t"
		else if (byte == "<") byte = "\\x3c"
		made = made byte
	}
	return "\"" made "\""
}

function put_source(    line) {
	while ((getline line <source) > 0) {
		print quoted(line) ","
		lines++
	}
}

{
	gsub(/@TITLE@/, title)
	gsub(/@FILE@/, file)
}
$0 == "/*TRACE*/" { put_trace(); next }
$0 == "/*SOURCE*/" { put_source(); next }
{ print }

END {
	if (events && lines) exit 0
	print "page.sh: no events in " trace ", or no text in " source >"/dev/stderr"
	exit 1
}' "$(dirname "$0")/page.html"
