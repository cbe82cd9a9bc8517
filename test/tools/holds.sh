# SPDX-License-Identifier: MIT
# For tests that are scripts, which source it from the project's directory: counts what is true, in a
# directory $dir that is removed at the end. What one of them has to end before it is gone is ends(), which it defines.
dir=$(mktemp -d "${TMPDIR:-/tmp}/bide-test.XXXXXX") || exit 1
trap 'ends; rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
passed=0 failed=0

ends() { :; }

# Fails if it does not.
holds() { # SENTENCE COMMAND...
	sentence=$1
	shift
	if "$@" >"$dir/log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'not true: %s\n' "$sentence"
		sed 's/^/    /' "$dir/log"
		return 1
	fi
}

conclude() { # NAME
	printf '%s: %s passed, %s failed\n' "$1" "$passed" "$failed"
	[ "$failed" = 0 ]
}
