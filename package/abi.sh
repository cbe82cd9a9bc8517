#!/bin/sh
# SPDX-License-Identifier: MIT
# abi.sh check | update, for the Makefile (O, NM, version): what a program that was linked with an older
# libbide.so would notice.
#
# debian/libbide0.symbols is the list of what the library exports, each name with the version that first had
# it. check, a part of `make lint`, tells of new names and fails where one is gone. update (`make abi`) adds the
# new ones, and compares the types too, with the last release, where abidiff is installed and git has a tag.
set -u
library=$O/libbide.so.0
list=debian/libbide0.symbols
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

"$NM" -D --defined-only "$library" | awk '$2 != "A" { sub(/@@/, "@", $3); print $3 }' | LC_ALL=C sort >"$tmp/exported"
sed -n 's/^ \(bide_[^ ]*\) .*/\1/p' "$list" | LC_ALL=C sort >"$tmp/listed"
new=$(LC_ALL=C comm -23 "$tmp/exported" "$tmp/listed")
gone=$(LC_ALL=C comm -13 "$tmp/exported" "$tmp/listed")

if [ -n "$gone" ]; then
	echo "gone from the library: programs that use it no longer start. After a release the soname has to change;"
	echo "before, take it out of $list:" $gone
	bad=1
fi

compare_types() {
	command -v abidiff >/dev/null || { echo 'abi: the types are not compared, abidiff is not installed' && return; }
	tag=$(git describe --tags --abbrev=0 2>/dev/null) || { echo 'abi: the types are not compared, nothing is released yet' && return; }
	mkdir "$tmp/old" && git archive "$tag" | tar -x -C "$tmp/old" && make -s -C "$tmp/old" O="$tmp/old/build" all || return
	abidiff --headers-dir1 "$tmp/old/include" --headers-dir2 include "$tmp/old/build/libbide.so.0" "$library"
	# Bits 0 and 1: it could not be done; bit 3: incompatible; bit 2 alone: whoever changed it judges.
	case $? in
	0) echo "abi: as of $tag" ;;
	4) echo "abi: not as of $tag, see above: fields may be added at the end of what has its size in it" ;;
	*) echo "abi: not compatible with $tag" && bad=1 ;;
	esac
}

case $1 in
check)
	[ -z "$new" ] || echo "note: new in the library, to be listed by \`make abi\`:" $new
	;;
update)
	[ -z "$new" ] || echo "abi: new in $version:" $new
	for name in $new; do printf ' %s %s\n' "$name" "$version"; done | LC_ALL=C sort -o "$tmp/more"
	{
		grep -v '^ bide_' "$list"
		grep '^ bide_' "$list" | LC_ALL=C sort - "$tmp/more"
	} >"$tmp/list" && cat "$tmp/list" >"$list"
	compare_types
	;;
esac
exit $bad
