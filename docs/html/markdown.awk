# SPDX-License-Identifier: MIT
# Markdown to HTML, as far as the project's texts use it: headings, paragraphs, lists of one level, tables, blocks and
# spans of code, links, emphasis. A link to a file of the project leads to its page: TEXT.md to TEXT.html, all else
# to FILE.html.

function escape(s) {
	gsub(/&/, "\\&amp;", s)
	gsub(/</, "\\&lt;", s)
	gsub(/>/, "\\&gt;", s)
	return s
}

function anchor(s) {
	gsub(/\]\([^)]*\)/, "", s)
	s = tolower(s)
	gsub(/[^a-z0-9 _-]/, "", s)
	gsub(/ /, "-", s)
	return s
}

function target(url,    hash, behind) {
	if (url ~ /:\/\// || url ~ /^#/)
		return url
	hash = index(url, "#")
	behind = hash ? substr(url, hash) : ""
	if (hash)
		url = substr(url, 1, hash - 1)
	if (!sub(/\.md$/, ".html", url))
		url = url ".html"
	return url behind
}

function span(token,    middle) {
	if (token ~ /^`/)
		return "<code>" escape(substr(token, 2, length(token) - 2)) "</code>"
	if (token ~ /^\*\*/)
		return "<strong>" inline(substr(token, 3, length(token) - 4)) "</strong>"
	if (token ~ /^\*/)
		return "<em>" inline(substr(token, 2, length(token) - 2)) "</em>"
	middle = index(token, "](")
	if (token ~ /^!/)
		return "<img src=\"" substr(token, middle + 2, length(token) - middle - 2) "\" alt=\"" \
			escape(substr(token, 3, middle - 3)) "\">"
	return "<a href=\"" target(substr(token, middle + 2, length(token) - middle - 2)) "\">" \
		inline(substr(token, 2, middle - 2)) "</a>"
}

function inline(s,    out, token) {
	out = ""
	while (match(s, /`[^`]+`|!?\[[^]]*\]\([^) ]*\)|\*\*[^*]+\*\*|\*[^* ][^*]*\*/)) {
		out = out escape(substr(s, 1, RSTART - 1))
		token = substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
		out = out span(token)
	}
	return out escape(s)
}

# The bars in spans of code, which end no cell, as \001.
function hide_bars(line,    out, token) {
	out = ""
	while (match(line, /`[^`]*`/)) {
		token = substr(line, RSTART, RLENGTH)
		gsub(/\|/, "\001", token)
		out = out substr(line, 1, RSTART - 1) token
		line = substr(line, RSTART + RLENGTH)
	}
	return out line
}

function row(line, tag,    cells, count, i, out) {
	count = split(hide_bars(line), cells, "|")
	out = "<tr>"
	for (i = 2; i < count; i++) {
		gsub(/^ +| +$/, "", cells[i])
		gsub(/\001/, "|", cells[i])
		out = out "<" tag ">" inline(cells[i]) "</" tag ">"
	}
	return out "</tr>"
}

# Ends the paragraph or item that is being gathered.
function flush() {
	if (text != "")
		print list ? "<li>" inline(text) "</li>" : "<p>" inline(text) "</p>"
	text = ""
}

# Ends whatever is open, since another thing begins.
function close_all() {
	flush()
	if (list)
		print "</" list ">"
	if (in_table)
		print "</table></div>"
	if (in_code)
		print "</pre>"
	list = in_table = in_code = ""
}

function open_list(kind) {
	if (list == kind) {
		flush()
		return
	}
	close_all()
	print "<" kind ">"
	list = kind
}

/^```/ {
	if (in_fence) {
		print "</pre>"
	} else {
		close_all()
		printf "<pre%s>", $1 == "```text" ? " class=\"output\"" : ""
	}
	in_fence = !in_fence
	next
}
in_fence { print escape($0); next }
/^<!--.*-->$/ { next }
/^ *$/ { if (list) flush(); else if (!in_code) close_all(); else print ""; was_blank = 1; next }

/^#+ / {
	close_all()
	level = length($1)
	sub(/^#+ +/, "")
	printf "<h%d id=\"%s\">%s</h%d>\n", level, anchor($0), inline($0), level
	next
}

/^\|/ {
	if ($0 ~ /^\|[-| :]+\|$/)
		next
	if (!in_table) {
		close_all()
		print "<div class=\"table\"><table>"
		print row($0, "th")
	} else {
		print row($0, "td")
	}
	in_table = 1
	next
}

/^- / { open_list("ul"); text = substr($0, 3); was_blank = 0; next }
/^[0-9]+\. / { open_list("ol"); sub(/^[0-9]+\. /, ""); text = $0; was_blank = 0; next }

/^    / && !list && text == "" {
	if (!in_code) {
		close_all()
		printf "<pre>"
		in_code = 1
	}
	print escape(substr($0, 5))
	next
}

{
	if (in_table || in_code || (list && was_blank && $0 !~ /^ /))
		close_all()
	was_blank = 0
	sub(/^ +/, "")
	text = text (text == "" ? "" : "\n") $0
}

END { close_all() }
