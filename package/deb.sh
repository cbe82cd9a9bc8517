#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds Debian packages of the archive that `make dist` made, in $O/deb, follows the links of the texts in them, and
# looks at them with lintian where that is installed.
set -eu
name=bide-$version
rm -rf "$O/deb"
mkdir -p "$O/deb"
tar -C "$O/deb" -xzf "$O/$name.tar.gz"
ln "$O/$name.tar.gz" "$O/deb/bide_$version.orig.tar.gz"
grep -q "^bide ($version-" debian/changelog || { echo "deb: debian/changelog does not begin with $version" && exit 1; }
# The variables of this make are not those of that one.
(cd "$O/deb/$name" && env -u MAKEFLAGS -u MAKELEVEL -u O dpkg-buildpackage -us -uc -b)
for package in "$O"/deb/*.deb; do dpkg-deb -x "$package" "$O/deb/root"; done
sh test/tools/links.sh "$O/deb/root" md
if command -v lintian >/dev/null; then
	lintian --fail-on error,warning --tag-display-limit 0 "$O"/deb/*.changes
else
	echo 'deb: not looked at, lintian is not installed'
fi
ls "$O"/deb/*.deb
