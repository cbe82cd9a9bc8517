# SPDX-License-Identifier: MIT
# Paths, for the scripts that follow links: functions alone.

# PATH without `.` and `x/..`; a `..` that leads out of where it begins stays.
function normal(path,    part, n, i, kept, out) {
	n = split(path, part, "/")
	kept = 0
	for (i = 1; i <= n; i++) {
		if (part[i] == "" || part[i] == ".") continue
		if (part[i] == ".." && kept > 0 && part[kept] != "..") kept--
		else part[++kept] = part[i]
	}
	out = path ~ /^\// ? "/" : ""
	for (i = 1; i <= kept; i++) out = out (i > 1 ? "/" : "") part[i]
	return out
}

function directory(path) {
	sub(/[^\/]*$/, "", path)
	return path
}

# The way from the directory of the file FROM to the file TO, both of them absolute and normal.
function way(from, to,    a, b, n, m, i, common, out) {
	n = split(from, a, "/")
	m = split(to, b, "/")
	common = 1
	while (common < n && common < m && a[common] == b[common]) common++
	out = ""
	for (i = common; i < n; i++) out = out "../"
	for (i = common; i <= m; i++) out = out b[i] (i < m ? "/" : "")
	return out
}
