#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh install | uninstall, for the Makefile, which hands over in the environment: DESTDIR, prefix,
# includedir, libdir, datadir, mandir, mansuffix, docdir, version, O (where the libraries were built).
#
# What is put in place, the directories that had to be made too, is written to $libdir/bide/installed, in
# that order. So uninstall takes away just that, whichever version it was, and leaves what was there before.
set -eu
record=$libdir/bide/installed
soname=libbide.so.0
libso=libbide.so.$version

for directory in "$prefix" "$includedir" "$libdir" "$datadir" "$mandir" "$docdir"; do
	case $directory in
	/*) ;;
	*) echo "install: not an absolute path: $directory" >&2 && exit 1 ;;
	esac
done

# ---- putting

note() { printf '%s\n' "$1" >>"$new"; }

directory() { # PATH: with those above it
	[ ! -d "$DESTDIR$1" ] || return 0
	directory "$(dirname "$1")"
	install -d -m 755 "$DESTDIR$1"
	note "$1"
}

put() { # DIRECTORY FILE...: those of them that there are
	into=$1
	shift
	for file; do
		[ -f "$file" ] || continue
		directory "$into"
		install -m 644 "$file" "$DESTDIR$into"
		note "$into/${file##*/}"
	done
}

link() { # DIRECTORY NAME TARGET
	ln -sf "$3" "$DESTDIR$1/$2"
	note "$1/$2"
}

# A path below the prefix is written by means of it: such a tree may be moved.
by_prefix() {
	case $1 in
	"$prefix"/*) printf '${%s}/%s' "$2" "${1#"$prefix"/}" ;;
	*) printf %s "$1" ;;
	esac
}

fill() { # DIRECTORY NAME VARIABLE: from package/NAME.in; VARIABLE is what the file calls the prefix
	directory "$1"
	found=$prefix
	case $1 in
	"$prefix"/*) found='${CMAKE_CURRENT_LIST_DIR}/'$(printf %s "${1#"$prefix"/}" | sed 's|[^/]\{1,\}|..|g') ;;
	esac
	sed "s|@prefix@|$prefix|; s|@found@|$found|; s|@version@|$version|; s|@soname@|$soname|; s|@libso@|$libso|
		s|@libdir@|$(by_prefix "$libdir" "$3")|; s|@includedir@|$(by_prefix "$includedir" "$3")|" \
		"package/$2.in" >"$DESTDIR$1/$2"
	chmod 644 "$DESTDIR$1/$2"
	note "$1/$2"
}

# Where the files go that a text may lead to: lines PROJECT-FILE <tab> INSTALLED-FILE.
places() {
	for file in *.md LICENSE bench/README.md docs/*.md docs/notes/* docs/pictures/* docs/examples/*.c docs/examples/*.md; do
		printf '%s\t%s\n' "$file" "$docdir/${file#docs/}"
	done
	for file in docs/man/*.[37]; do
		printf '%s\t%s\n' "$file" "$mandir/man${file##*.}/${file##*/}$mansuffix"
	done
	for file in include/bide.h include/bide/*.h; do
		printf '%s\t%s\n' "$file" "$includedir/${file#include/}"
	done
}

put_texts() { # what is to be below docdir
	places >"$tmp/places"
	while IFS='	' read -r file place; do
		case $place in "$docdir"/*) ;; *) continue ;; esac
		put "${place%/*}" "$file"
		case $file in
		*.md) awk -f package/paths.awk -f package/links.awk "$tmp/places" "$file" >"$DESTDIR$place" ;;
		esac
	done <"$tmp/places"
}

put_all() {
	put "$includedir" include/bide.h
	put "$includedir/bide" include/bide/*.h

	put "$libdir" "$O/libbide.a"
	install -m 755 "$O/$soname" "$DESTDIR$libdir/$libso"
	note "$libdir/$libso"
	link "$libdir" $soname "$libso"
	link "$libdir" libbide.so $soname

	fill "$libdir/pkgconfig" bide.pc prefix
	fill "$libdir/cmake/bide" bide-config.cmake prefix_of_bide
	fill "$libdir/cmake/bide" bide-config-version.cmake prefix_of_bide

	sh docs/man/aliases.sh "$tmp"
	put "$mandir/man3" docs/man/*.3 "$tmp"/*.3
	put "$mandir/man7" docs/man/*.7
	put_texts
	put "$datadir/bide/gdb" src/inspect/gdb/*.py
}

# An older version's record is kept: what it alone had goes at the end, too.
put_record() {
	directory "$libdir/bide"
	note "$record"
	cat "$DESTDIR$record" "$new" 2>/dev/null | awk '!seen[$0]++' >"$tmp/all"
	install -m 644 "$tmp/all" "$DESTDIR$record"
}

# ---- taking away

take_away() { # a path a line, from standard input
	while IFS= read -r path; do
		path=$DESTDIR$path
		if [ -d "$path" ] && [ ! -L "$path" ]; then
			rmdir "$path" 2>/dev/null || echo "uninstall: not empty, and left: $path"
		else
			rm -f "$path"
		fi
	done
}

case $1 in
install)
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	new=$tmp/new
	mkdir -p "$DESTDIR/"
	put_all
	put_record
	echo "installed below $DESTDIR$prefix: $(wc -l <"$new") files and directories, listed in $DESTDIR$record"
	;;
uninstall)
	[ -f "$DESTDIR$record" ] || { echo "uninstall: nothing to do, there is no $DESTDIR$record" >&2 && exit 1; }
	tac "$DESTDIR$record" | take_away
	;;
esac
