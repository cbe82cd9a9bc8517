#!/bin/sh
# SPDX-License-Identifier: MIT
# Where a task was spawned is told by file and line however a program was built, and by what there is where there
# is less: without lines the function, without symbols the offset in the file. Statements 29, 189.
# valgrind: skip
set -u
cd "$(dirname "$0")/.." || exit 1
. test/tools/holds.sh

cat >"$dir/here.c" <<'EOT'
#include <bide.h>

static void *body(void *arg)
{
	bide_yield();
	return arg;
}

static __attribute__((noinline)) bide_task *spawn_here(void)
{
	bide_task *task = bide_spawn(body, 0);
	__asm__ volatile("");
	return task;
}

static void *first(void *arg)
{
	bide_task *task = spawn_here();
	bide_dump(stdout, BIDE_DUMP_BACKTRACES);
	bide_join(task, 0);
	return arg;
}

int main(void)
{
	return bide_run(first, 0, 0, 0) < 0;
}
EOT

line=$(grep -n 'bide_spawn(' "$dir/here.c" | cut -d: -f1)

# The task's line, and below it the function that it will begin with.
says() { # PATTERN-OF-PLACE PATTERN-OF-FUNCTION
	${RUNNER:-} "$dir/here" >"$dir/said" 2>&1 &&
		grep -q "^task 2 created, .* spawned at $1\$" "$dir/said" && grep -A1 '^task 2' "$dir/said" | grep -q "^    at $2\$" ||
		{ cat "$dir/said"; return 1; }
}

built() { # EXPECTED-PLACE EXPECTED-FUNCTION FLAGS...
	place=$1 function=$2
	shift 2
	# shellcheck disable=SC2086 # lists of flags
	$CC -Iinclude ${SAN:+-fsanitize=$SAN} "$@" -o "$dir/here" "$dir/here.c" $linked -pthread || return 1
	says "$place" "$function"
}

exact="spawn_here (here\\.c:$line)"
body='body (here\.c:[34])'
offset='here+0x[0-9a-f]*'
linked=$O/libbide.a
holds 'optimised' built "$exact" "$body" -O2 -g
holds 'not optimised' built "$exact" "$body" -O0 -g
holds 'with DWARF 4' built "$exact" "$body" -O2 -gdwarf-4
holds 'with DWARF 5' built "$exact" "$body" -O2 -gdwarf-5
holds 'at a fixed place' built "$exact" "$body" -O2 -g -no-pie -fno-pie
holds 'each function a section' built "$exact" "$body" -O2 -g -ffunction-sections -Wl,--gc-sections
[ -n "$SAN" ] || holds 'static' built "$exact" "$body" -O2 -g -static
holds 'with compressed lines' built "spawn_here ($offset)" "body ($offset)" -O2 -g -gz
holds 'without lines' built "spawn_here ($offset)" "body ($offset)" -O2 -g0
[ -n "$SAN" ] || holds 'stripped' built "$offset" "$offset" -O2 -s
linked="-L$O -lbide -Wl,-rpath,$PWD/$O"
[ -n "$SAN" ] || holds 'with the shared library' built "$exact" "$body" -O2 -g
conclude place_builds
