#!/bin/sh
# SPDX-License-Identifier: MIT
# Calls go down: a file includes headers of its own layer and of those below it, and no header
# reaches itself. This table is the architecture. Each line names a layer and the layers directly
# below it; what those may include, it may include too.
layers='
interface:
arch:
base:      interface
stack:     base arch
sched:     stack
await:     sched
sync:      await
host:      await
io:        host
inspect:   sync io
bench:     interface
demo:      interface
examples:  interface
'
# A name, and the files that alone may use it: what another back end would have to replace.
private='
system_epoll_   src/base/system.h src/sched/poller_epoll.c
'

files=$(find include src arch bench demo docs/examples -name '*.[chS]' -o -name '*.cpp' 2>/dev/null | LC_ALL=C sort)
# shellcheck disable=SC2086 # a list of file names
awk -v layers="$layers" -v private="$private" -v files="$files" '
function complain(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad = 1 }

function layer_of(path,    part) {
	split(path, part, "/")
	if (part[1] == "include") return "interface"
	if (part[1] == "src") return part[3] == "" ? "src" : part[2]
	return part[1] == "docs" ? "examples" : part[1]
}

# The file that an include directive in `from` means, as the include path of the Makefile finds it.
function resolve(name, from,    i, path) {
	path = from
	sub(/[^\/]*$/, name, path)
	while (sub(/[^\/]+\/\.\.\//, "", path)) continue
	if (path in known) return path
	for (i = 1; i <= count; i++) {
		path = file[i]
		if (path == "src/" name || path == "include/" name || path == "arch/" name ||
		    path == "bench/" name || path == "bench/common/" name ||
		    (path ~ /^arch\// && path == "arch/" port(path) "/" name))
			return path
	}
	return ""
}

function port(path,    part) { split(path, part, "/"); return part[2] }

# Depth first over the headers; a header that is met again on the way down closes a cycle.
function visit(path, trail,    i) {
	if (state[path] == "done") return
	if (state[path] == "open") {
		printf "include cycle:%s %s\n", trail, path
		bad = 1
		return
	}
	state[path] = "open"
	for (i = 1; i <= includes[path]; i++) visit(include[path, i], trail " " path)
	state[path] = "done"
}

BEGIN {
	rows = split(layers, row, "\n")
	for (i = 1; i <= rows; i++) {
		n = split(row[i], word, /[: ]+/)
		if (word[1] == "") continue
		me = word[1]
		may[me, me] = declared[me] = 1
		for (j = 2; j <= n; j++)
			for (l in declared) if (may[word[j], l]) may[me, l] = 1
	}
	rules = split(private, rule, /\n+/)
	count = split(files, file, "\n")
	for (i = 1; i <= count; i++) known[file[i]] = 1
}

FNR == 1 {
	me = layer_of(FILENAME)
	if (!(me in declared)) complain("layer " me " is not in the table of test/lint/layers.sh")
}

{
	for (i = 1; i <= rules; i++) {
		split(rule[i], word)
		if (word[1] != "" && index($0, word[1]) && !index(rule[i] " ", " " FILENAME " "))
			complain(word[1] " does not belong here")
	}
}

/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
	quoted = /^[^<]*"/
	split($0, word, /[<">]/)
	name = word[2]
	if (!quoted && name !~ /^bide(\.h$|\/)/) next

	target = resolve(name, FILENAME)
	if (target == "") {
		complain("no such file: " name)
		next
	}
	if (!may[me, layer_of(target)])
		complain("layer " me " includes " target " of layer " layer_of(target))
	include[FILENAME, ++includes[FILENAME]] = target
}

END {
	for (i = 1; i <= count; i++) visit(file[i], "")
	exit bad
}' $files
