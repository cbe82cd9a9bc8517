#!/bin/sh
# SPDX-License-Identifier: MIT
# The links of the project's texts: what they name is there, and so is the heading behind a #. Those that lead out
# of the project are only listed, with V=1: whether they are there is not ours to say.
bad=0

complain() {
	printf '%s\n' "$1"
	bad=1
}

texts() { find . \( -name .git -o -path ./build \) -prune -o -name '*.md' -print -o -path './docs/*.html' -print; }

# LINE TARGET, one a link, but for those in blocks and spans of code.
links() {
	awk '/^ *```/ { inside = !inside }
	inside { next }
	{
		rest = $0
		gsub(/`[^`]*`/, "", rest)
		while (match(rest, /\]\([^) ]*\)|(href|src)="[^"]*"/)) {
			target = substr(rest, RSTART, RLENGTH)
			rest = substr(rest, RSTART + RLENGTH)
			gsub(/^\]\(|\)$|^[a-z]*="|"$/, "", target)
			print FNR, target
		}
	}' "$1"
}

# The anchors of a text: of its headings, as they are made where it is read; in HTML the ids.
anchors() {
	case $1 in
	*.html) grep -o ' id="[^"]*"' "$1" | sed 's/.*="//; s/"$//' ;;
	*) awk '/^ *```/ { inside = !inside } !inside && sub(/^#+ +/, "")' "$1" | tr '[:upper:]' '[:lower:]' |
		sed 's/\[\([^]]*\)\]([^)]*)/\1/g; s/[^a-z0-9 _-]//g; s/ /-/g' ;;
	esac
}

for text in $(texts); do
	text=${text#./}
	from=$(dirname "$text")
	links "$text" >"$O/links"
	while read -r line target; do
		case $target in
		*://* | mailto:*)
			[ -z "$V" ] || echo "note: $text:$line leads to $target"
			continue
			;;
		'#'*) file=$text ;;
		*) file=$from/${target%%#*} ;;
		esac
		[ -e "$file" ] || { complain "$text:$line: there is no $target"; continue; }
		case $target in
		*'#'*) anchors "$file" | grep -Fqx -- "${target#*#}" || complain "$text:$line: $file has no heading #${target#*#}" ;;
		esac
	done <"$O/links"
done
rm -f "$O/links"
exit $bad
