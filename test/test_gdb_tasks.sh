#!/bin/sh
# SPDX-License-Identifier: MIT
# src/inspect/gdb/bide-gdb.py: tasks and their backtraces in a live process, which goes on unchanged, and in a core, with
# a library that has neither symbols nor debug information. Scenarios J5 and J6.
# valgrind: skip
set -u

skip() { # REASON
	printf 'note: %s, so gdb is not tried\n' "$1"
	printf 'gdb_tasks: 1 passed, 0 failed\n'
	exit 0
}

[ -z "${SAN:-}" ] || skip 'the sanitizers have frames of their own'
gdb=gdb
[ -z "${RUNNER:-}" ] || gdb="gdb-multiarch"
command -v "$gdb" >/dev/null || skip "$gdb is not installed"

top=$(pwd)
. test/tools/holds.sh

# Five kinds of waits, ten tasks each; one that has not begun; main itself runs, and a coroutine is on a task.
cat >"$dir/program.c" <<'END'
#include <bide.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EACH 10

static int fds[2];
static bide_mutex mutex;
static bide_event event;
static bide_task *sleeping;

__attribute__((noinline)) void stop_here(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) static void *reads_a_pipe(void *arg)
{
	char byte;
	return bide_read(fds[0], &byte, 1) < 0 ? arg : NULL;
}

__attribute__((noinline)) static void *sleeps_for_an_hour(void *arg)
{
	return bide_sleep(3600 * BIDE_SEC) < 0 ? arg : NULL;
}

__attribute__((noinline)) static void *wants_the_mutex(void *arg)
{
	return bide_mutex_lock(&mutex) < 0 ? arg : NULL;
}

__attribute__((noinline)) static void *awaits_the_event(void *arg)
{
	return bide_event_wait(&event) < 0 ? arg : NULL;
}

__attribute__((noinline)) static void *joins_another(void *arg)
{
	return bide_join(sleeping, NULL) < 0 ? arg : NULL;
}

__attribute__((noinline)) static void *resumes_a_coroutine(void *arg)
{
	bide_coro *coro = bide_coro_new(sleeps_for_an_hour, NULL, 0);
	bide_coro_resume(coro, NULL, NULL);
	bide_coro_close(coro);
	return arg;
}

static void *serve(void *arg)
{
	static bide_fn *const bodies[] = { reads_a_pipe, sleeps_for_an_hour, wants_the_mutex, awaits_the_event,
		joins_another };
	if (pipe(fds) < 0 || bide_mutex_lock(&mutex) < 0)
		return bide_fail(1);
	sleeping = bide_spawn(resumes_a_coroutine, NULL);
	bide_task_set_name(sleeping, "sleeping");
	for (int i = 0; i < 5 * EACH; i++)
		bide_go(bodies[i % 5], NULL);
	bide_sleep(BIDE_MSEC);
	bide_go(sleeps_for_an_hour, NULL);
	stop_here();
	if (arg)
		abort();
	bide_mutex_unlock(&mutex);
	return NULL;
}

int main(int argc, char **argv)
{
	return bide_run(serve, argc > 1 ? argv[1] : NULL, NULL, NULL) == 0 ? 7 : 1;
}
END

build() { # NAME LIBRARY...
	name=$1
	shift
	# shellcheck disable=SC2086 # a list of words
	$CC -O2 $FLAGS -Iinclude "$dir/program.c" "$@" -pthread -o "$dir/$name"
}

# Where the kernel puts it: here, unless somebody else collects them. qemu writes one of the program before the
# kernel writes one of qemu.
dump_core() { # COMMAND...
	# shellcheck disable=SC3045 # every shell that Linux has knows -c
	(cd "$dir" && ulimit -c unlimited && "$@" abort; :) >/dev/null 2>&1
	set -- "$dir"/qemu_*.core "$dir"/core*
	[ ! -f "$1" ] || mv "$1" "$dir/the.dump"
	[ -n "$RUNNER" ] || [ ! -f "${2-}" ] || mv "$2" "$dir/the.dump"
	[ -f "$dir/the.dump" ]
}

look() { # PROGRAM ARGUMENT...
	program=$1
	shift
	LD_LIBRARY_PATH=$dir timeout 100 "$gdb" -nx -batch -ex 'set pagination off' -ex 'set width 0' \
		-ex "source $top/src/inspect/gdb/bide-gdb.py" "$@" "$dir/$program" ${core:+"$core"} >"$dir/out" 2>&1
	cat "$dir/out"
	! grep -q 'Python Exception\|Traceback\|rest cannot be read' "$dir/out"
}

lists() { # COUNT PATTERN
	[ "$(grep -c "$2" "$dir/out")" = "$1" ] || {
		echo "not $1 of: $2"
		cat "$dir/out"
		return 1
	}
}

all_are_listed() {
	lists 1 '^loop on thread .*: 53 tasks' && lists 1 '^  task 1 "main" running, spawned' &&
		lists 10 '^  task .* suspended, waits for fd ' && lists 11 '^  task .* suspended, waits for sleep' &&
		lists 10 '^  task .* suspended, waits for mutex 0x' && lists 10 '^  task .* suspended, waits for event 0x' &&
		lists 10 '^  task .* suspended, waits for task 2 "sleeping"' && lists 1 '^  task .* created, spawned at serve'
}

# The frames of one task, as far as there are.
trace_of() { # PATTERN
	awk -v wanted="$1" '/^task / { inside = $0 ~ wanted } inside' "$dir/out"
}

ends_at_its_body() { # TASKS BODY
	trace_of "$1" >"$dir/trace"
	grep -q " in $2[[ ]" "$dir/trace" || { cat "$dir/trace"; return 1; }
}

each_has_its_backtrace() {
	ends_at_its_body 'waits for fd' reads_a_pipe && ends_at_its_body 'waits for mutex' wants_the_mutex &&
		ends_at_its_body 'waits for event' awaits_the_event && ends_at_its_body 'waits for task' joins_another &&
		ends_at_its_body '"sleeping"' sleeps_for_an_hour && ends_at_its_body '"sleeping"' resumes_a_coroutine &&
		ends_at_its_body '"main"' serve && trace_of ' created' | grep -q 'has not begun: sleeps_for_an_hour'
}

looks_live() { # PROGRAM ARGUMENT...
	program=$1
	shift
	look "$program" "$@" -ex 'bide tasks' -ex 'bide bt all' -ex 'bide bt 99' -ex 'bide enter 3' \
		-ex 'frame function reads_a_pipe' -ex 'info locals' -ex 'bide leave' -ex continue
}

all_of_it_is_seen() {
	holds 'its tasks are listed with what they wait for' all_are_listed
	holds 'each of them has a backtrace' each_has_its_backtrace
	holds 'there is no task 99' grep -q 'there is no task 99' "$dir/out"
	holds 'one can enter a task, and see its variables' grep -q '^byte = ' "$dir/out"
	holds 'the process goes on as if nobody had looked' grep -q 'exited with code 07' "$dir/out"
}

# The emulator stops before the first instruction and lets a debugger in.
let_in() {
	timeout 100 "${RUNNER%% *}" -cpu cortex-a72 -g "$dir/socket" "$dir/live" >/dev/null 2>&1 &
	tries=0
	while [ ! -S "$dir/socket" ] && [ $tries -lt 100 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
}

FLAGS=
core=
if [ -n "$RUNNER" ]; then
	# A processor that does not sign addresses: neither qemu's cores nor its answers to a debugger have what it takes
	# to read signed ones.
	FLAGS='-static -g'
	holds 'the program is built' build live "$O/libbide.a" || exit 1
	let_in
	holds 'gdb looks into a live process' looks_live live -ex "target remote $dir/socket" -ex 'break stop_here' -ex continue
	all_of_it_is_seen
	FLAGS=-static
	holds 'the program is built' build program "$O/libbide.a" || exit 1
	dump_core "${RUNNER%% *}" -cpu cortex-a72 ./program || skip 'the emulator writes no core'
else
	FLAGS=-g
	holds 'the program is built' build live "$O/libbide.a"
	holds 'gdb looks into a live process' looks_live live -ex 'break stop_here' -ex run
	if grep -qi 'ptrace: operation not permitted\|cannot execute' "$dir/out"; then
		skip 'gdb may not trace here'
	fi
	all_of_it_is_seen
	FLAGS=
	cp "$O/libbide.so.0" "$dir/libbide.so.0" && ln -s libbide.so.0 "$dir/libbide.so"
	holds 'the library is stripped' strip "$dir/libbide.so.0"
	holds 'the program is built with it' build program -L"$dir" -lbide
	dump_core env LD_LIBRARY_PATH="$dir" ./program || skip 'the kernel leaves no core here'
fi
core=$dir/the.dump
holds 'gdb looks into a core' look program -ex 'bide tasks' -ex 'bide bt all'
holds 'the tasks of the core are listed with what they wait for' all_are_listed
holds 'each of them has a backtrace in the core' each_has_its_backtrace

conclude gdb_tasks
