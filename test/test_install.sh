#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into a directory of its own, builds programs against that as a user would, in C and C++, with
# pkg-config and with CMake, against the shared and the static library, runs them, and uninstalls.
set -u
cd "$(dirname "$0")/.." || exit 1
. test/tools/holds.sh
root=$dir/root
libdir=/opt/bide/lib/$ARCH-linux-gnu
lib=$root$libdir
where="DESTDIR=$root prefix=/opt/bide libdir=$libdir"
export PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_LIBDIR="$lib/pkgconfig"
sanitize=${SAN:+-fsanitize=$SAN}

tree() { (cd "$root" && find . -printf '%p %M %l\n' | LC_ALL=C sort); }

# A directory that is there already, a file of somebody else's in one that bide adds to, an older bide.
furnish() {
	mkdir -p "$root/opt/bide/share/man/man3" "$root/opt/bide/include/bide" "$lib/pkgconfig"
	touch "$root/opt/bide/include/bide/theirs.h"
}

# ---- what is there

is_there() {
	for file in include/bide.h include/bide/api.h share/man/man3/bide-io.3 share/man/man3/bide_sleep.3 \
		share/man/man7/bide-stacks.7 share/doc/bide/examples/hello.c "${libdir#/opt/bide/}/cmake/bide/bide-config.cmake"; do
		test -f "$root/opt/bide/$file" || { echo "no $file"; return 1; }
	done
}

soname_is() { "$READELF" -dW "$lib/libbide.so" | grep -q "SONAME.*\[$1\]"; }

everybody_may_read() { [ -z "$(find "$root" ! -type l ! -perm -444)" ]; }

no_path_of_the_build() { ! grep -rlF -e "$root" -e "$PWD" "$lib/pkgconfig" "$lib/cmake"; }

# Where somebody compresses the manual pages, as Debian does, mansuffix says so.
links_hold_to_compressed_pages() {
	gzip "$root"/opt/bide/share/man/man[37]/bide[.-]*
	sh test/tools/links.sh "$root" md
	result=$?
	gunzip "$root"/opt/bide/share/man/man[37]/*.gz
	return $result
}

# ---- who uses it

rwstack() { "$READELF" -lW "$1" | grep -q 'GNU_STACK.* RW '; }

runs() { # PROGRAM
	test "$(${RUNNER:-} "$1")" = "$(pkg-config --modversion bide)"
}

uses() { # NAME COMPILER-AND-FLAGS...
	program=$dir/$1
	shift
	holds "a program is built: $*" "$@" -o "$program"
	holds "it runs, and tells the version that pkg-config does: $*" runs "$program"
	holds "its stack is not executable: $*" rwstack "$program"
}

# shellcheck disable=SC2086,SC2046 # lists of words
with_pkg_config() {
	for language in c/c11 c++/c++17 c++/c++20; do
		compiler=$CC
		[ "${language%/*}" = c ] || compiler=$CXX
		set -- $compiler -std="${language#*/}" -Wall -Wextra -pedantic -Werror $sanitize \
			-x "${language%/*}" test/consumer/consumer.c -x none
		uses shared "$@" $(pkg-config --cflags --libs bide) -Wl,-rpath,"$lib"
		uses archive "$@" $(pkg-config --cflags bide) "$lib/libbide.a" -pthread
	done
	[ -n "$SAN" ] || uses static "$CC" -static test/consumer/consumer.c $(pkg-config --static --cflags --libs bide)
}

with_cmake() {
	command -v cmake >/dev/null || { echo 'install: without CMake, which is not installed' && return; }
	holds 'CMake finds it' cmake -S test/consumer -B "$dir/cmake" -DCMAKE_C_COMPILER="$CC" \
		-DCMAKE_C_FLAGS="$sanitize" -DCMAKE_PREFIX_PATH="$root/opt/bide"
	holds 'a project with CMake is built' cmake --build "$dir/cmake"
	for program in shared static; do
		holds "it runs: $program" runs "$dir/cmake/$program"
	done
	holds 'only the one needs the shared library' needs_differ
}

needs_it() { "$READELF" -dW "$1" | grep -q 'NEEDED.*libbide.so.0'; }
needs_differ() { needs_it "$dir/cmake/shared" && ! needs_it "$dir/cmake/static"; }

# ---- the tests

furnish
tree >"$dir/before"
# shellcheck disable=SC2086
holds 'make install succeeds' make install $where
holds 'what a user looks for is there' is_there
holds 'the soname has the major version' soname_is libbide.so.0
holds 'everybody may read it' everybody_may_read
holds 'no file names the directory it was staged in' no_path_of_the_build
holds 'the links of the texts lead somewhere' sh test/tools/links.sh "$root" md
with_pkg_config
with_cmake

touch "$lib/bide/older"
echo "$libdir/bide/older" >>"$lib/bide/installed"
# shellcheck disable=SC2086
holds 'installing over an older version succeeds' make install $where mansuffix=.gz
holds 'the links of the texts lead to compressed manual pages' links_hold_to_compressed_pages
# shellcheck disable=SC2086
holds 'make uninstall succeeds' make uninstall $where
tree >"$dir/after"
holds 'all is as it was before' diff "$dir/before" "$dir/after"
conclude install
