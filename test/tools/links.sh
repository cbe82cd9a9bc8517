#!/bin/sh
# SPDX-License-Identifier: MIT
# links.sh DIRECTORY md|html: the links of the texts, or of the pages for a browser, that are below it: what they name
# is there too, and so is the heading behind a #. Links that lead out are only listed, with V=1: whether those are there
# is not ours to say. It fails, too, where nothing is to be read.
top=$(cd "$(dirname "$0")/../.." && pwd)
files=$(mktemp) || exit
trap 'rm -f "$files"' EXIT
cd "$1" || exit
find . \( -name '.?*' -o -path ./build \) -prune -o -print | sed 's|^\./||' >"$files"
texts=$(grep "\.$2\$" "$files") || { echo "links: there is no .$2 below $1" && exit 1; }
# shellcheck disable=SC2086 # file names without blanks
awk -v list="$V" -f "$top/package/paths.awk" -f "$top/test/tools/links.awk" "$files" $texts
