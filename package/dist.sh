#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes $O/bide-VERSION.tar.gz of the last commit or, where there is no git, of this tree without its output.
# The same sources give the same bytes: order, owner, modes and times are set, also from an unpacked archive.
set -eu
name=bide-$version
archive=$O/$name.tar.gz
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$O" "$tmp/$name"

if [ -e .git ]; then
	git archive HEAD | tar -x -C "$tmp/$name"
	[ -z "$(git status --porcelain)" ] || echo "dist: what is not committed is not in it"
else
	tar -c --exclude=./build . | tar -x -C "$tmp/$name"
fi
# Unpacked files have the commit's time.
when=$(stat -c %Y "$tmp/$name/CHANGELOG.md")
tar -c -C "$tmp" --format=ustar --sort=name --mtime="@$when" --owner=0 --group=0 --numeric-owner \
	--mode=u+rw,go=rX "$name" | gzip -n -9 >"$archive"
echo "$archive: $(wc -c <"$archive") bytes"
