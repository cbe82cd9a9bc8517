#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks the models in test/model with spin, where that is installed: the protocol holds in every schedule, and
# the model can tell, since it fails where a step is left out.
cd "$(dirname "$0")/.." || exit 1

CC=${CC:-cc} SPIN=${SPIN:-spin}
model=$PWD/test/model/inbox.pml

if ! command -v "$SPIN" >/dev/null; then
	echo "test_model: spin is not installed: the models are not checked"
	exit 0
fi

tmp=$(mktemp -d "${TMPDIR:-/tmp}/bide-model.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1

# holds FLAG...: all schedules of the model, compiled with these flags.
holds() {
	"$SPIN" "$@" -a "$model" >log 2>&1 && cc -O1 -w -DSAFETY -DMEMLIM=512 -o pan pan.c >>log 2>&1 &&
		./pan -m100000 >>log 2>&1 || { cat log; exit 1; }
	grep -q 'errors: 0' log && ! grep -q 'max search depth too small\|out of memory' log
}

failed=0
if holds; then
	sed -n 's/^ *\([0-9]*\) states, stored$/test_model: the inbox holds in \1 states/p' log
else
	cat log
	failed=1
fi
for fault in NO_RECHECK NO_WAIT SLEEP_IS_FORGOTTEN; do
	if holds "-D$fault"; then
		echo "test_model: the inbox would hold with $fault: the model cannot tell"
		failed=1
	fi
done
echo "test_model: $failed failed"
exit "$failed"
