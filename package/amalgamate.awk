# SPDX-License-Identifier: MIT
# Writes the library as one source file, for amalgamate.sh, which gives the variables: `what`, header, source or
# assembly; `files`, in order; `ports`; `shared`, the global names that cannot become static; `repeated`, the
# tags of records that several files define; `lines`, if compilers are to speak of the sources, not of the result.
#
# Each of our headers is put where it is first included; one of a port, once for each port, behind a guard.
# What was global within the library becomes static, since its header says so first (C11, 6.2.2, 5). What
# was local to a file gets the file's name behind its own, since two files may use the same: find() of
# src/io/listen.c becomes find_in_io_listen(). A member of a record keeps its name, since one that is declared
# in a header has to.

function fail(text) { print "amalgamate: " text >"/dev/stderr"; exit 1 }

function exists(path,    line, there) {
	there = (getline line <path) >= 0
	close(path)
	return there
}

# ---- names that are local to a file

# Adds those that a line of the file's outermost level declares; `place` is where it stands. The style of the sources
# is what makes it so simple: a declaration begins at the left, with its name in the first line, and has only one.
function declares(line, local, place,    rest, name) {
	if (line ~ RECORD) {
		match(line, /[a-z_0-9]* \{$/)
		name = substr(line, RSTART, RLENGTH - 2)
		if (index(" " repeated " ", " " name " ")) local["struct " name]
		return
	}
	if (line !~ /^(static|typedef|}) /) return
	rest = line
	gsub(/ ?__attribute__\(\([^;{]*\)\)/, "", rest)
	gsub(/ [A-Z_]+ = /, " = ", rest)
	sub(/^static /, "", rest)
	if (match(rest, /\(\*(const )?[a-z_0-9]+/)) { # a pointer to a function
		rest = substr(rest, RSTART + 2, RLENGTH - 2)
		sub(/^const /, "", rest)
		local[rest]
		return
	}
	if (!match(rest, /[a-z_0-9]+[({;=\[]|[a-z_0-9]+ [={]/)) fail(place ": no name is declared in this line: " line)
	if (substr(rest, 1, RSTART) ~ /,/) fail(place ": more than one name is declared in this line: " line)
	rest = substr(rest, RSTART, RLENGTH)
	sub(/ ?[({;=\[]$/, "", rest)
	if (rest !~ /^(struct|union|enum)$/) local[rest]
}

function suffix(path) {
	sub(/^src\//, "", path)
	sub(/\.c$/, "", path)
	gsub(/[^a-z0-9]/, "_", path)
	return "_in_" path
}

# The line with the names of `local` made those of the file. Comments, strings and members stay.
function rename(line, local, tail,    done, token, before) {
	done = ""
	while (line != "") {
		if (in_comment) {
			if (!match(line, /\*\//)) return done line
			in_comment = 0
		} else {
			if (!match(line, /"([^"\\]|\\.)*"|'([^'\\]|\\.)*'|\/\*|\/\/.*|[A-Za-z_][A-Za-z_0-9]*/)) return done line
			token = substr(line, RSTART, RLENGTH)
			before = done substr(line, 1, RSTART - 1)
			if (token == "/*") in_comment = 1
			else if (is_local(token, before, local)) {
				done = before token tail
				line = substr(line, RSTART + RLENGTH)
				continue
			}
		}
		done = done substr(line, 1, RSTART + RLENGTH - 1)
		line = substr(line, RSTART + RLENGTH)
	}
	return done
}

# Whether the name that stands behind `before` is one of those: neither another's tag nor a record's member.
function is_local(name, before, local) {
	if (before ~ /(struct|union|enum) $/) return ("struct " name) in local
	return (name in local) && !in_record && before !~ /(\.|->)$/
}

# ---- writing

# A declaration of a header, and who may see it.
function limited(line,    i, n, name) {
	if (line ~ /^extern /) return "BIDE_SHARED " line
	if (line !~ /^[A-Za-z_].*\(/ || line ~ /^(static|typedef|_Static_assert)/ || line ~ /^[A-Z_0-9]+\(/) return line
	n = split(shared, name, " ")
	for (i = 1; i <= n; i++)
		if (line ~ "[ *]" name[i] "\\(") return "BIDE_SHARED " line
	return "BIDE_LOCAL " line
}

function write_port_file(name,    port, n, i) {
	n = split(ports, port, " ")
	for (i = 1; i <= n; i++) {
		print (i == 1 ? "#if" : "#elif") " defined(__" port[i] "__)"
		write_file("arch/" port[i] "/" name)
	}
	print "#else\n#error \"bide has no port for this processor\"\n#endif"
}

function write_include(line, from,    name, path) {
	name = line
	sub(/^[^"]*"/, "", name)
	sub(/".*/, "", name)
	path = from
	sub(/[^\/]*$/, name, path)
	if (!exists(path)) path = "src/" name
	if (!exists(path)) path = "arch/" name
	if (exists(path)) write_once(path)
	else if (!(("port " name) in written)) {
		written["port " name]
		write_port_file(name)
	}
}

function write_once(path) {
	if (path in written) return
	written[path]
	write_file(path)
}

function say_line(number, path) {
	if (lines) print "#line " number " \"" path "\""
}

# Calls itself for what a file includes: what it knows of a file is in its own variables.
function write_file(path,    line, number, is_code, local, tail, macro, word) {
	is_code = path ~ /^src\/.*\.c$/
	tail = suffix(path)
	if (is_code) {
		for (number = 1; (getline line <path) > 0; number++) declares(line, local, path ":" number)
		close(path)
	}
	print "\n/* ---- " path " */\n"
	say_line(1, path)
	for (number = 1; (getline line <path) > 0; number++) {
		if (line ~ /^#[ \t]*include[ \t]*"/) {
			write_include(line, path)
			say_line(number + 1, path)
		} else if (line ~ /^#[ \t]*include[ \t]*<bide(\.h|\/)/) {
			if (what == "header") write_once("include/" between(line, "<", ">"))
			say_line(number + 1, path)
		} else if (is_code) {
			if (line ~ /^}/) in_record = 0
			print rename(line, local, tail)
			if (line ~ RECORD) in_record = 1
			if (line ~ /^#define /) {
				split(line, word, /[ (]+/)
				macro[word[2]]
			}
		} else print what == "source" ? limited(line) : line
	}
	close(path)
	for (line in macro) print "#undef " line
}

function between(line, open, end) {
	line = substr(line, index(line, open) + 1)
	return substr(line, 1, index(line, end) - 1)
}

BEGIN {
	RECORD = "^(static |typedef )?(const )?(struct|union|enum) ?[a-z_0-9]* {$" # the head of one
	n = split(shared, name, " ")
	if (what != "header")
		for (i = 1; i <= n; i++) print "#define " name[i] " bide_internal_" name[i]
	if (what == "source") {
		print "#define BIDE_LOCAL static __attribute__((unused))"
		print "#define BIDE_SHARED __attribute__((visibility(\"hidden\")))"
	}
	if (what == "assembly") write_port_file(files)
	else {
		n = split(files, file, " ")
		for (i = 1; i <= n; i++) write_once(file[i])
	}
}
