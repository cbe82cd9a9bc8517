#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs every check in this directory, goes on after one that fails, and fails if any did. The Makefile
# hands over the tools and flags that the library is built with.
bad=0
for check in test/lint/*.sh; do
	name=$(basename "$check" .sh)
	[ "$name" != all ] || continue
	if sh "$check"; then
		printf 'lint: %s: ok\n' "$name"
	else
		printf 'lint: %s: FAILED\n' "$name"
		bad=1
	fi
done
exit $bad
