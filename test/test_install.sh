#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into a directory of its own, builds programs against that as a user would, in C and C++,
# against the shared and the static library, runs them, and uninstalls.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0

holds() { # SENTENCE COMMAND...
	sentence=$1
	shift
	if "$@" >"$dir/log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'install: not true: %s\n' "$sentence"
		cat "$dir/log"
	fi
}

cat >"$dir/user.c" <<'EOF'
#include <bide.h>
#include <stdio.h>

static void *body(void *arg)
{
	bide_sleep(1000);
	return arg;
}

int main(void)
{
	int value = 0;
	bide_result result;
	if (bide_run(body, &value, NULL, &result) == -1 || result.value != &value) {
		perror("bide_run");
		return 1;
	}
	printf("%d.%d.%d\n", BIDE_VERSION_MAJOR, BIDE_VERSION_MINOR, BIDE_VERSION_PATCH);
	return 0;
}
EOF
cp "$dir/user.c" "$dir/user.cpp"

root=$dir/root
lib=$root/opt/bide/lib
where="DESTDIR=$root prefix=/opt/bide"
export PKG_CONFIG_SYSROOT_DIR="$root" PKG_CONFIG_LIBDIR="$lib/pkgconfig"
sanitize=${SAN:+-fsanitize=$SAN}

# shellcheck disable=SC2086 # lists of words
holds 'make install succeeds' make install $where
cflags=$(pkg-config --cflags bide)
libs=$(pkg-config --libs bide)
rwstack() { "$READELF" -lW "$1" | grep -q 'GNU_STACK.* RW '; }

# shellcheck disable=SC2086
for language in c cpp; do
	case $language in
	c) compiler="$CC -std=c11" ;;
	cpp) compiler="$CXX -std=c++17" ;;
	esac
	strict="-Wall -Wextra -pedantic -Werror $sanitize"
	shared=$dir/shared_$language
	static=$dir/static_$language
	holds "a $language program builds against the shared library" \
		$compiler $strict -o "$shared" "$dir/user.$language" $cflags $libs -Wl,-rpath,"$lib"
	holds "a $language program builds against the static library" \
		$compiler $strict -o "$static" "$dir/user.$language" $cflags "$lib/libbide.a" -pthread
	for program in "$shared" "$static"; do
		holds "it runs: $program" ${RUNNER:-} "$program"
		holds "its stack is not executable: $program" rwstack "$program"
	done
done

# shellcheck disable=SC2086
holds 'pkg-config and bide.h name the same version' \
	test "$(pkg-config --modversion bide)" = "$(${RUNNER:-} "$dir/static_c")"
# shellcheck disable=SC2086
holds 'make uninstall succeeds' make uninstall $where
holds 'it leaves no file' test -z "$(find "$root" ! -type d)"

printf 'install: %s passed, %s failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
