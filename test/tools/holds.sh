# SPDX-License-Identifier: MIT
# For tests that are scripts, which source it from the project's directory: counts what is true, in a
# directory $dir that is removed at the end.
dir=$(mktemp -d "${TMPDIR:-/tmp}/bide-test.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
passed=0 failed=0

holds() { # SENTENCE COMMAND...
	sentence=$1
	shift
	if "$@" >"$dir/log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'not true: %s\n' "$sentence"
		sed 's/^/    /' "$dir/log"
	fi
}

conclude() { # NAME
	printf '%s: %s passed, %s failed\n' "$1" "$passed" "$failed"
	[ "$failed" = 0 ]
}
