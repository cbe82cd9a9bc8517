#!/bin/sh
# SPDX-License-Identifier: MIT
# What the object files promise to the linker: no executable stack (A5), landing pads and, on aarch64,
# signed return addresses (A7), and nothing that is not kept.
# valgrind: skip
set -u
cd "$(dirname "$0")/.." || exit 1
. test/tools/holds.sh

cat >"$dir/program.c" <<'EOF'
#include <bide.h>

static void *body(void *arg)
{
	bide_yield();
	return arg;
}

int main(void)
{
	return bide_run(body, 0, 0, 0);
}
EOF

sanitize=${SAN:+-fsanitize=$SAN}
stack_is_rw() { "$READELF" -lW "$1" | grep 'GNU_STACK' | grep -q ' RW '; }
has_note() { "$READELF" -SW "$1" | grep -F .note.GNU-stack | grep -qv ' X '; }
claims() { "$READELF" -nW "$1" 2>/dev/null | grep 'feature' | grep -qw "$2"; }
claims_not() { ! claims "$1" "$2"; }

# shellcheck disable=SC2086 # lists of words, here and below
link_program() { $CC $sanitize -Iinclude "$dir/program.c" "$@" -pthread -o "$dir/program"; }
holds 'a program links with the static library' link_program "$O/libbide.a"
holds 'its stack is not executable' stack_is_rw "$dir/program"
holds 'a program links with the shared library' link_program -L"$O" -lbide
holds 'its stack is not executable' stack_is_rw "$dir/program"
holds 'the shared library asks for no executable stack' stack_is_rw "$O/libbide.so.0"

for object in "$O"/arch/"$ARCH"/*.o; do
	holds "$object has the stack note" has_note "$object"
done

context=$O/arch/$ARCH/context.o
case $ARCH in
x86_64)
	features=IBT
	holds 'the switch does not claim shadow stacks' claims_not "$context" SHSTK
	holds 'nor does the library' claims_not "$O/libbide.a" SHSTK
	holds 'nor the shared one' claims_not "$O/libbide.so.0" SHSTK
	;;
aarch64)
	features='BTI PAC'
	;;
*)
	features=
	;;
esac
for feature in $features; do
	holds "the switch claims $feature" claims "$context" "$feature"
	holds "the whole library claims $feature" claims "$O/libbide.a" "$feature"
done

conclude switch_elf
