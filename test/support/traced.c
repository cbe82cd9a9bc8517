/* SPDX-License-Identifier: MIT */
#include "traced.h"

#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#define MARK 0x6269646520736563 /* an argument that no other call has */
#define NO_PTRACE 77

void traced_mark(void)
{
	syscall(SYS_getppid, MARK);
}

static _Noreturn void be_traced(void (*fn)(void))
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(NO_PTRACE);
	raise(SIGSTOP);
	fn();
	_exit(0);
}

static void note_entry(pid_t child, struct traced *traced)
{
	struct __ptrace_syscall_info info;
	memset(&info, 0, sizeof info);
	if (ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof info, &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	if (info.entry.nr == SYS_getppid && info.entry.args[0] == MARK) {
		traced->marks++;
	} else if (traced->marks == 1) {
		traced->calls++;
		if (info.entry.nr < TRACED_NUMBERS)
			traced->of[info.entry.nr]++;
	}
}

/* The exit status of the child. */
static int count_calls(pid_t child, struct traced *traced)
{
	int status;
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		int signal = WSTOPSIG(status);
		if (signal == (SIGTRAP | 0x80))
			note_entry(child, traced);
		else
			ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACESYSGOOD);
		bool is_ours = signal == (SIGTRAP | 0x80) || signal == SIGSTOP;
		ptrace(PTRACE_SYSCALL, child, NULL, (void *)(intptr_t)(is_ours ? 0 : signal));
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool traced_run(void (*fn)(void), struct traced *traced)
{
	memset(traced, 0, sizeof *traced);
	pid_t child = fork();
	if (child == 0)
		be_traced(fn);
	int status = count_calls(child, traced);
	if (status == NO_PTRACE) {
		printf("note: there is no ptrace here, so system calls are not counted\n");
		return false;
	}
	must_msg(status == 0, "the traced program ended with %d", status);
	must_msg(traced->marks == 2, "%d marks", traced->marks);
	return true;
}
