#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh DIRECTORY: the project's texts, manual and examples as pages for a browser, below DIRECTORY/index.html, at
# the places where the project has them. Needs awk; and mandoc, or else groff, for the manual pages. A page needs no
# other file but its pictures.
into=${1:?a directory}
cd "$(dirname "$0")/../.." || exit
rm -rf "$into"

# page FILE TITLE: what comes in on standard input, as DIRECTORY/FILE.
page() {
	up=$(printf '%s' "$1" | sed 's|[^/]*$||; s|[^/]*/|../|g')
	mkdir -p "$(dirname "$into/$1")" || return
	{
		printf '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
		printf '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>%s</title>\n<style>\n' "$2"
		cat docs/html/style.css
		printf '</style></head><body>\n<nav>'
		for entry in index:bide docs/guide:Guide docs/examples/README:Examples docs/faq:Questions \
			docs/testing:Testing docs/man/index:Manual docs/architecture:Code; do
			printf '<a href="%s%s.html">%s</a>' "$up" "${entry%:*}" "${entry#*:}"
		done
		printf '</nav>\n<main>\n'
		cat
		printf '</main></body></html>\n'
	} >"$into/$1"
}

escape() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g' "$@"; }

texts() { find . \( -name '.?*' -o -path ./build \) -prune -o -name '*.md' -print | sed 's|^\./||'; }

# Whatever a text links to that is no text: a page of its own.
sources() {
	for text in $(texts); do
		grep -o '](\([^)#:]*\)[^):]*)' "$text" | sed 's/^](//; s/[)#].*//' | grep -v '\.md$\|^$' |
			while read -r file; do realpath --relative-to=. "$(dirname "$text")/$file"; done
	done
	ls docs/examples/*.c include/bide.h include/bide/*.h
}

# References become links to the pages that there are.
manual_page() {
	if command -v mandoc >/dev/null; then
		mandoc -T html -O fragment "$1" | sed '/^<br\/>$/d' # which doubles the ends of lines that are shown as they are
	elif command -v groff >/dev/null; then
		printf '<pre>\n'
		groff -man -t -Tutf8 -P-cbou "$1" | escape
		printf '</pre>\n'
	else
		printf '<pre>\n'
		escape "$1"
		printf '</pre>\n'
	fi | sed 's|<b>\(bide[a-z-]*\)</b>(\([37]\))|<a href="\1.\2.html">\1(\2)</a>|g'
}

# The one line that a page has below NAME.
purpose() {
	awk '/^\.SH/ { inside = $2 == "NAME"; next } inside { printf "%s ", $0 }' "$1" | sed 's/.*\\- *//; s/ *$//' | escape
}

manual_index() {
	printf '<h1>Manual</h1>\n<p>How things hang together</p>\n<div class="table parts"><table>\n'
	for file in docs/man/bide.7 docs/man/bide-*.7 docs/man/bide-*.3; do
		[ "$file" != docs/man/bide-cancel.3 ] || printf '</table></div>\n<p>The parts</p>\n<div class="table parts"><table>\n'
		name=$(basename "$file")
		printf '<tr><td><a href="%s.html">%s(%s)</a></td><td>%s</td></tr>\n' "$name" "${name%.*}" "${name##*.}" "$(purpose "$file")"
	done
	printf '</table></div>\n<h2 id="calls">Every call</h2>\n<ul class="calls">\n'
	mkdir -p "$into/calls" && sh docs/man/aliases.sh "$into/calls"
	for call in "$into"/calls/*; do
		name=$(basename "$call" .3)
		printf '<li><a href="%s.html">%s</a></li>\n' "$(sed 's|.*/||' "$call")" "$name"
	done
	rm -r "$into/calls"
	printf '</ul>\n'
}

mkdir -p "$into" || exit
page index.html 'bide: stackful coroutines for servers' <docs/html/index.html
for text in $(texts); do
	awk -f docs/html/markdown.awk "$text" | page "${text%.md}.html" "bide: $(sed -n 's/^# //p;' "$text" | head -n 1 | escape)"
done
for file in docs/man/*.[37]; do
	manual_page "$file" | page "$file.html" "$(basename "$file" | sed 's/\.\(.\)$/(\1)/')"
done
manual_index | page docs/man/index.html 'bide: manual'
for file in $(sources | sort -u); do
	case $file in
	docs/man/*.[37]) continue ;;
	*.png) mkdir -p "$into/$(dirname "$file")" && cp "$file" "$into/$file"; continue ;;
	esac
	[ -f "$file" ] || continue
	{ printf '<h1>%s</h1>\n<pre>\n' "$(basename "$file")"; escape "$file"; printf '</pre>\n'; } | page "$file.html" "bide: $(basename "$file")"
done
echo "docs: $into/index.html"
