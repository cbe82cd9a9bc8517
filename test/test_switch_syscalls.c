/* SPDX-License-Identifier: MIT
 * A switch makes no system call: they are counted from outside, by ptrace. Scenario A13.
 * valgrind: skip (it and emulators have no ptrace) */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runs.h"
#include "suite.h"

#define MARK 0x6269646520736563 /* an argument that no other call has */

static int yields;

static void mark(void)
{
	syscall(SYS_getppid, MARK);
}

static void *yield_often(void *arg)
{
	for (int i = 0; i < yields / 2; i++)
		must(bide_yield() == 0);
	return arg;
}

static void *yield_in_two_tasks(void *arg)
{
	bide_task *first = must_spawn(yield_often, NULL), *second = must_spawn(yield_often, NULL);
	must(bide_yield() == 0);
	mark();
	must_end_well(first);
	must_end_well(second);
	mark();
	return arg;
}

static void *yield_values(void *arg)
{
	for (int i = 0; i <= yields / 2; i++)
		bide_coro_yield(arg);
	return arg;
}

static void run_tasks(void)
{
	run_real(yield_in_two_tasks, NULL);
}

static void run_coros(void)
{
	bide_coro *coro = bide_coro_new(yield_values, NULL, 0);
	bide_coro_resume(coro, NULL, NULL);
	mark();
	for (int i = 0; i < yields / 2; i++)
		must(bide_coro_resume(coro, NULL, NULL) == 1);
	mark();
}

static const struct {
	void (*run)(void);
	int most_percent;
} cases[] = {
	{ run_tasks, 1 }, /* the loop looks at its descriptors now and then */
	{ run_coros, 0 },
};

static _Noreturn void be_traced(void (*run)(void))
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(77);
	raise(SIGSTOP);
	run();
	_exit(0);
}

struct count {
	long calls, masks; /* between the marks; of them rt_sigprocmask */
	int marks;
};

static void note_entry(pid_t child, struct count *count)
{
	struct __ptrace_syscall_info info;
	memset(&info, 0, sizeof info);
	if (ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof info, &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	if (info.entry.nr == SYS_getppid && info.entry.args[0] == MARK) {
		count->marks++;
	} else if (count->marks == 1) {
		count->calls++;
		count->masks += info.entry.nr == SYS_rt_sigprocmask;
	}
}

/* The exit status of the child. */
static int count_calls(pid_t child, struct count *count)
{
	int status;
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		int signal = WSTOPSIG(status);
		if (signal == (SIGTRAP | 0x80))
			note_entry(child, count);
		else
			ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACESYSGOOD);
		bool is_ours = signal == (SIGTRAP | 0x80) || signal == SIGSTOP;
		ptrace(PTRACE_SYSCALL, child, NULL, (void *)(intptr_t)(is_ours ? 0 : signal));
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(a_switch_makes_no_system_call) /* A13 */
{
	struct count count = { 0, 0, 0 };
	yields = suite_scaled_down(1000000, 10000);
	pid_t child = fork();
	if (child == 0)
		be_traced(cases[_i].run);
	int status = count_calls(child, &count);
	if (status == 77) {
		printf("note: there is no ptrace here, so system calls are not counted\n");
		return;
	}
	must_msg(status == 0, "the traced program ended with %d", status);
	ck_assert_int_eq(count.marks, 2);
	ck_assert_int_eq(count.masks, 0);
	must_msg(count.calls <= (long)yields / 100 * cases[_i].most_percent, "%ld system calls in %d switches",
	    count.calls, yields);
}
END_TEST

int main(void)
{
	return SUITE("switch_syscalls", TABLE(a_switch_makes_no_system_call, cases));
}
