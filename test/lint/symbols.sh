#!/bin/sh
# SPDX-License-Identifier: MIT
# What leaves the libraries: the names that the headers declare, all of them and no others. And what
# must not: an executable stack, text relocations, a claim of shadow stacks, which are not switched.
# Scenario J7.
bad=0
liba=$O/libbide.a
libso=$O/libbide.so.0

complain() {
	printf '%s\n' "$1"
	bad=1
}

exported=$("$NM" -D --defined-only "$libso" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
archived=$("$NM" -g --defined-only "$liba" | awk 'NF == 3 { print $3 }' | sort)
for name in $exported; do
	case $name in bide_*) ;; *) complain "$libso exports $name" ;; esac
done
for name in $archived; do
	case $name in bide_*) ;; *) complain "$liba has the global symbol $name" ;; esac
done
[ "$exported" = "$archived" ] || complain "$libso and $liba do not export the same names"

declared=$(sed -n 's/^[A-Z_ ]*BIDE_API.*[ *]\(bide_[a-z0-9_]*\)(.*/\1/p' include/bide/*.h | sort)
for name in $declared; do
	printf '%s\n' "$exported" | grep -qx "$name" || complain "$name is declared and not there"
done
for name in $exported; do
	printf '%s\n' "$declared" | grep -qx "$name" || complain "$name is exported and not declared"
done

"$READELF" -lW "$libso" | grep -q 'GNU_STACK.* RW ' || complain "$libso: the stack is not RW"
notes=$("$READELF" -SW "$liba" | grep -F .note.GNU-stack)
case $notes in '' | *' X '*) complain "$liba: the stack is not RW" ;; esac
[ -z "$("$READELF" -dW "$libso" | grep TEXTREL)" ] || complain "$libso has text relocations"
for library in "$liba" "$libso"; do
	[ -z "$("$READELF" -nW "$library" | grep SHSTK)" ] || complain "$library claims shadow stacks"
done
exit $bad
