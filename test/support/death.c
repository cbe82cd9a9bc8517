/* SPDX-License-Identifier: MIT */
#include "death.h"

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void be_the_child(void (*fn)(void *), void *arg, int out)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGINT, SIGTERM };
	struct rlimit no_core = { 0, 0 };
	setrlimit(RLIMIT_CORE, &no_core);
	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		signal(fatal[i], SIG_DFL);
	dup2(out, STDERR_FILENO);
	fn(arg);
	_exit(0);
}

static void read_all(int in, char *text, size_t size)
{
	size_t length = 0;
	char rest[256];
	for (;;) {
		bool is_full = length == size - 1;
		ssize_t count = is_full ? read(in, rest, sizeof rest) : read(in, text + length, size - 1 - length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		length += is_full ? 0 : (size_t)count;
	}
	text[length] = '\0';
}

struct death death_of(void (*fn)(void *arg), void *arg)
{
	struct death death = { 0 };
	int pipe_fds[2], status = 0;
	ck_assert_int_eq(pipe(pipe_fds), 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		be_the_child(fn, arg, pipe_fds[1]);
	close(pipe_fds[1]);
	read_all(pipe_fds[0], death.text, sizeof death.text);
	close(pipe_fds[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		death.signal = WTERMSIG(status);
	else
		death.exit_status = WEXITSTATUS(status);
	return death;
}

bool died_of_access(const struct death *death)
{
	return death->signal == SIGSEGV || death->signal == SIGBUS;
}

bool died_of_rule(const struct death *death, const char *rule)
{
	return death->signal == SIGABRT && strstr(death->text, "internal error") && strstr(death->text, rule);
}
