# SPDX-License-Identifier: MIT
# With package/paths.awk, for links.sh: the links of texts and pages. The first file lists all that may be linked to.

# Headings have the anchors that they get where they are read.
function heading(text) {
	gsub(/\]\([^)]*\)/, "", text)
	text = tolower(text)
	gsub(/[^a-z0-9 _-]/, "", text)
	gsub(/ /, "-", text)
	anchors[FILENAME "#" text] = 1
}

function link(target,    path) {
	if (target ~ /^[a-z]+:/) {
		if (list)
			print "note: " FILENAME ":" FNR " leads to " target
		return
	}
	path = target
	sub(/#.*/, "", path)
	path = path == "" ? FILENAME : normal(directory(FILENAME) path)
	if (!(path in there)) {
		print FILENAME ":" FNR ": there is no " target
		bad = 1
	} else if (target ~ /#/) {
		wanted[path substr(target, index(target, "#"))] = FILENAME ":" FNR
	}
}

function links(text, pattern, before, behind) {
	while (match(text, pattern)) {
		link(substr(text, RSTART + before, RLENGTH - before - behind))
		text = substr(text, RSTART + RLENGTH)
	}
}

NR == FNR { there[$0] = 1; next }
FNR == 1 { inside = 0 }
FILENAME ~ /\.html$/ {
	text = $0
	while (match(text, / id="[^"]*"/)) {
		anchors[FILENAME "#" substr(text, RSTART + 5, RLENGTH - 6)] = 1
		text = substr(text, RSTART + RLENGTH)
	}
	links($0, "href=\"[^\"]*\"", 6, 1)
	next
}
/^ *```/ { inside = !inside }
inside { next }
/^#+ / { text = $0; sub(/^#+ +/, "", text); heading(text) }
{ gsub(/`[^`]*`/, ""); links($0, "\\]\\([^) ]*\\)", 2, 1) }

END {
	for (anchor in wanted)
		if (!(anchor in anchors)) {
			print wanted[anchor] ": there is no heading " anchor
			bad = 1
		}
	exit bad
}
