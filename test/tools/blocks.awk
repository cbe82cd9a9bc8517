# SPDX-License-Identifier: MIT
# Takes the C out of the project's texts: awk -v into=DIRECTORY -f blocks.awk FILE..., Markdown and manual pages.
#
# Each block becomes NAME.c in that directory, and a line of its output: program or fragment, NAME, FILE:LINE. Commands,
# ```sh, become NAME.sh, and a line that says script.
#
# In Markdown a block begins with ```c and is a whole program, with its main() and what it includes; other C is marked ```c fragment. A program may have a name,
# ```c echo.c. A block ```text that follows it shows what it prints; there `$ ./echo WORD...` runs it, and what
# other commands print is not looked at. It becomes NAME.run. In ```text like, which makes NAME.like, numbers, and places
# in the library, may be others.
# In manual pages each .EX is C, unless the line before it is .\" not c; and a program is run if lines before it tell
# what it prints: .\" prints: 1 2 3
#
# A fragment is a part of a file if a line of it is a brace alone, else a part of a function. What it uses and does
# not show is declared in lines before it: <!-- c: int fd; -->, and in manual pages .\" c: int fd;

function begin(a_name, is_marked) {
	inside = "c"
	first = FNR + 1
	text = ""
	name = a_name
	marked = is_marked
}

function write_fragment(file) {
	print "#include <bide.h>\n#include <errno.h>\n#include <fcntl.h>\n#include <signal.h>\n#include <stdio.h>" >file
	print "#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n" given >file
	if (text ~ /\n[{]\n/) {
		printf "#line %d \"%s\"\n%s", first, FILENAME, text >file
	} else {
		printf "void *example(void *arg);\nvoid *example(void *arg)\n{\n(void)arg;\n" >file
		printf "#line %d \"%s\"\n%sreturn NULL;\n}\n", first, FILENAME, text >file
	}
}

function default_name(    name) {
	name = FILENAME "_" first
	gsub(/[\/.]/, "_", name)
	return name
}

function end_script(    file) {
	file = into "/" default_name() ".sh"
	printf "%s", text >file
	close(file)
	print "script", default_name(), FILENAME ":" first
	inside = ""
}

function end(    file, kind) {
	kind = text ~ /(^|\n)int main\(/ && text ~ /(^|\n)#include / ? "program" : "fragment"
	if (kind == "fragment" && !marked) {
		print FILENAME ":" first ": no whole program: mark it as a fragment" >"/dev/stderr"
		exit 1
	}
	if (name == "")
		name = default_name()
	file = into "/" name ".c"
	if (kind == "program")
		printf "%s", text >file
	else
		write_fragment(file)
	close(file)
	if (printed != "") {
		printf "$ ./%s\n%s", name, printed == "\n" ? "" : printed >(into "/" name ".run")
		close(into "/" name ".run")
	}
	print kind, name, FILENAME ":" first
	program = kind == "program" ? name : ""
	inside = given = printed = ""
}

FNR == 1 { inside = given = printed = program = "" }

FILENAME ~ /\.md$/ && /^```/ {
	if (inside == "c") {
		end()
	} else if (inside == "sh") {
		end_script()
	} else if (inside != "") {
		if (inside == "text")
			close(into "/" program ".run")
		inside = ""
	} else if ($1 == "```c") {
		begin($2 ~ /\.c$/ ? substr($2, 1, length($2) - 2) : "", $2 == "fragment")
	} else if ($1 == "```sh") {
		begin("", 1)
		inside = "sh"
	} else {
		inside = $1 == "```text" && program != "" ? "text" : "other"
		if (inside == "text" && $2 == "like")
			printf "" >(into "/" program ".like")
	}
	next
}

FILENAME ~ /\.md$/ && inside == "" && /^<!-- c: .* -->$/ { given = given substr($0, 9, length($0) - 12) "\n" }

FILENAME ~ /\.[37]$/ && /^\.\\" c: / { given = given substr($0, 8) "\n" }
FILENAME ~ /\.[37]$/ && /^\.\\" prints: / { printed = printed substr($0, 13) "\n" }
FILENAME ~ /\.[37]$/ && /^\.EX/ { if (before !~ /^\.\\" not c/) begin("", 1); next }
FILENAME ~ /\.[37]$/ && /^\.EE/ { if (inside == "c") end(); next }
FILENAME ~ /\.[37]$/ {
	before = $0
	gsub(/\\-/, "-")
	gsub(/\\&/, "")
	gsub(/\\e/, "\\")
}

inside == "c" || inside == "sh" { text = text $0 "\n" }
inside == "text" { print >(into "/" program ".run") }
