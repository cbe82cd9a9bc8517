#!/bin/sh
# SPDX-License-Identifier: MIT
# The archive of the sources: it is the same each time, also when it is made from an unpacked one, and it
# is enough to build, install and use bide. As the last commit is; what is not committed is not in it.
set -u
cd "$(dirname "$0")/.." || exit 1
. test/tools/holds.sh

[ -z "$RUNNER$SAN$HOSTILE" ] && [ "$CC" = cc ] || { echo 'dist: only where all is as by default' && exit 0; }
unset O CFLAGS MAKEFLAGS
version=$(sed -n 's/^.define BIDE_VERSION_[A-Z]* *//p' include/bide.h | paste -sd.)
name=bide-$version

by_default() { make -s -C "$@"; }

uses_it() {
	$CC -o "$dir/user" test/consumer/consumer.c -I"$dir/root/include" "$dir/root/lib/libbide.a" -pthread &&
		[ "$("$dir/user")" = "$version" ]
}

holds 'an archive is made' by_default . dist O="$dir/first"
holds 'another one is made' by_default . dist O="$dir/second"
holds 'they are the same' cmp "$dir/first/$name.tar.gz" "$dir/second/$name.tar.gz"
holds 'it can be unpacked' tar -C "$dir" -xzf "$dir/first/$name.tar.gz"
holds 'it is built and installed' by_default "$dir/$name" install prefix="$dir/root" CFLAGS=-O1
holds 'what was installed can be used' uses_it
holds 'an archive is made of the unpacked one' by_default "$dir/$name" dist
holds 'that is the same too' cmp "$dir/first/$name.tar.gz" "$dir/$name/build/$name.tar.gz"
conclude dist
