#!/bin/sh
# SPDX-License-Identifier: MIT
# The links of the project's texts, and of the pages for a browser that are made of them: what they name is there,
# and so is the heading behind a #; and the index leads to every text. Links that lead out of the project are only
# listed, with V=1: whether those are there is not ours to say.
pages=$O/html
sh docs/html/build.sh "$pages" >/dev/null || exit

texts() {
	find . \( -name '.?*' -o -path ./build \) -prune -o -name '*.md' -print | sed 's|^\./||'
	find "$pages" -name '*.html'
}

unlisted=$(for text in $(texts); do
	case $text in *.md) grep -q "href=\"${text%.md}.html" "$pages/index.html" || echo "the index does not lead to $text" ;; esac
done)
[ -z "$unlisted" ] || { echo "$unlisted"; exit 1; }

# All that may be linked to, first; then the texts.
{
	find . \( -name '.?*' -o -path ./build \) -prune -o -print | sed 's|^\./||'
	find "$pages"
} >"$O/files"
# shellcheck disable=SC2046 # file names without blanks
awk -v list="$V" '
function normal(path) {
	gsub(/(^|\/)\.\//, "/", path)
	while (sub(/(^|\/)[^\/]+\/\.\.(\/|$)/, "/", path) && path ~ /\.\./)
		;
	gsub(/\/\/+/, "/", path)
	return path
}

# Headings have the anchors that they get where they are read.
function heading(text) {
	gsub(/\]\([^)]*\)/, "", text)
	text = tolower(text)
	gsub(/[^a-z0-9 _-]/, "", text)
	gsub(/ /, "-", text)
	anchors[FILENAME "#" text] = 1
}

function link(target,    from, path) {
	if (target ~ /^[a-z]+:/) {
		if (list)
			print "note: " FILENAME ":" FNR " leads to " target
		return
	}
	from = FILENAME
	sub(/[^\/]*$/, "", from)
	path = target
	sub(/#.*/, "", path)
	path = path == "" ? FILENAME : normal((FILENAME ~ /^\// ? "" : "/") from path)
	if (FILENAME !~ /^\//)
		sub(/^\//, "", path)
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
}' "$O/files" $(texts)
