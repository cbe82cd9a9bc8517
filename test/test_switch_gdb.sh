#!/bin/sh
# SPDX-License-Identifier: MIT
# gdb's backtrace inside a task and a coroutine, fresh and resumed, and of a suspended context: it ends at
# the entry, and shows nothing unknown. Scenario A8.
# valgrind: skip
set -u
cd "$(dirname "$0")/.." || exit 1

skip() {
	printf 'note: %s, so gdb is not tried\n' "$1"
	printf 'switch_gdb: 1 passed, 0 failed\n'
	exit 0
}

[ -z "${RUNNER:-}" ] || skip 'the programs run under an emulator'
[ -z "${SAN:-}" ] || skip 'the sanitizers have frames of their own'
command -v gdb >/dev/null || skip 'gdb is not installed'

. test/tools/holds.sh

cat >"$dir/program.c" <<'EOF'
#include <bide.h>
#include <stddef.h>

#include "context.h"

struct context here, there;
static char stack[65536] __attribute__((aligned(64)));

__attribute__((noinline)) void stop_here(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) static void go_deep(int depth)
{
	if (depth > 0)
		go_deep(depth - 1);
	else
		stop_here();
	__asm__ volatile("");
}

static void *run_coro(void *arg)
{
	go_deep(3);
	bide_coro_yield(NULL);
	go_deep(3);
	return arg;
}

static void *run_task(void *arg)
{
	go_deep(3);
	bide_yield();
	go_deep(3);
	bide_coro *coro = bide_coro_new(run_coro, NULL, 0);
	while (bide_coro_resume(coro, NULL, NULL) == 1)
		;
	bide_coro_close(coro);
	return arg;
}

__attribute__((noinline)) static void suspend(int is_inline)
{
	if (is_inline)
		context_switch_inline(&there, &here);
	else
		context_switch(&there, &here);
	__asm__ volatile("");
}

static void run_context(void *arg)
{
	(void)arg;
	suspend(0);
	suspend(1);
	__asm__ volatile("");
}

int main(void)
{
	bide_run(run_task, NULL, NULL, NULL);
	context_init(&there, stack + sizeof stack, run_context, NULL);
	context_switch(&here, &there);
	stop_here();
	context_switch(&here, &there);
	stop_here();
	return 0;
}
EOF

cat >"$dir/script" <<'EOF'
set confirm off
set pagination off
set width 0
set backtrace past-main on
break stop_here
run
echo \n=== a fresh task\n
backtrace
continue
echo \n=== a resumed task\n
backtrace
continue
echo \n=== a fresh coroutine in a task\n
backtrace
continue
echo \n=== a resumed coroutine in a task\n
backtrace
continue
echo \n=== suspended by the function\n
set $saved_sp = $sp
set $saved_pc = $pc
set $saved_fp = $fp
set $sp = there.sp
set $FP = there.fp
set $pc = there.resume
backtrace
set $sp = $saved_sp
set $FP = $saved_fp
set $pc = $saved_pc
continue
echo \n=== suspended inline\n
set $sp = there.sp
set $FP = there.fp
set $pc = there.resume
backtrace
kill
EOF
case $ARCH in
x86_64) sed -i 's/\$FP/$rbp/' "$dir/script" ;;
*) sed -i 's/\$FP/$x29/' "$dir/script" ;;
esac

# shellcheck disable=SC2086 # lists of words
holds 'the program is built' $CC -g -O2 -D_GNU_SOURCE -Iinclude -Iarch -Iarch/"$ARCH" "$dir/program.c" \
	arch/"$ARCH"/context.S "$O/libbide.a" -pthread -o "$dir/program"
gdb -nx -batch -x "$dir/script" "$dir/program" >"$dir/out" 2>&1 || :

if grep -qi 'ptrace: operation not permitted\|cannot execute' "$dir/out"; then
	skip 'gdb may not trace here'
fi

# Each backtrace: the function it must show, the outermost frame, and no other trouble.
is_whole() { # TITLE FUNCTION
	sed -n "/^=== $1\$/,/^\$\|^=== /p" "$dir/out" | grep '^#' >"$dir/trace"
	grep -q "$2" "$dir/trace" && tail -n 1 "$dir/trace" | grep -q 'context_entry' &&
		[ "$(grep -c context_entry "$dir/trace")" = 1 ] && ! grep -q '??' "$dir/trace"
}

holds 'a backtrace in a fresh task ends at its entry' is_whole 'a fresh task' run_task
holds 'a backtrace in a resumed task ends at its entry' is_whole 'a resumed task' run_task
holds 'a backtrace in a fresh coroutine ends at its entry' is_whole 'a fresh coroutine in a task' run_coro
holds 'a backtrace in a resumed coroutine ends at its entry' is_whole 'a resumed coroutine in a task' run_coro
holds 'a context suspended by the function can be looked at' is_whole 'suspended by the function' run_context
holds 'a context suspended inline can be looked at' is_whole 'suspended inline' run_context
holds 'gdb finds no stack corrupt' sh -c '! grep -qi corrupt "$1"' sh "$dir/out"

[ "$failed" = 0 ] || cat "$dir/out"
conclude switch_gdb
