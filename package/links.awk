# SPDX-License-Identifier: MIT
# With paths.awk: a text of the project as it is installed. Its links to files of the project are made links to where
# those are put. The first file has a line for each that is put, PROJECT-FILE <tab> INSTALLED-FILE; the second is the
# text, which is one of them. A link to what is not put is an error.

function moved(target,    path, anchor) {
	if (target ~ /^([a-z]+:|#)/) return target
	anchor = target ~ /#/ ? substr(target, index(target, "#")) : ""
	sub(/#.*/, "", target)
	path = normal(directory(FILENAME) target)
	if (path in place) return way(place[FILENAME], place[path]) anchor
	print "install: " FILENAME ":" FNR ": leads to " path ", which is not installed" >"/dev/stderr"
	missing = 1
	return target anchor
}

# A piece of a line that is no code.
function with_links(text,    done) {
	done = ""
	while (match(text, /\]\([^) ]*\)/)) {
		done = done substr(text, 1, RSTART + 1) moved(substr(text, RSTART + 2, RLENGTH - 3)) ")"
		text = substr(text, RSTART + RLENGTH)
	}
	return done text
}

NR == FNR { split($0, pair, "\t"); place[pair[1]] = normal(pair[2]); next }
/^ *```/ { inside = !inside }
inside { print; next }
/^ *$/ { is_code = 0 }
{
	n = split($0, piece, "`")
	line = ""
	for (i = 1; i <= n; i++) {
		line = line (i > 1 ? "`" : "") (is_code ? piece[i] : with_links(piece[i]))
		if (i < n) is_code = !is_code # what is in backquotes may go on in the next line
	}
	print line
}
END { exit missing }
