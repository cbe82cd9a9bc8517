/* SPDX-License-Identifier: MIT
 * Demo: child processes, their reports, and that none of them outlives the demo. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "progress.h"

enum { CHILDREN_MAX = 4 };
static struct child *children[CHILDREN_MAX]; /* the living ones */
static int interrupts = -1;                  /* a signalfd: SIGINT, SIGTERM, SIGHUP, as events */

static sigset_t interrupt_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

void processes_init(void)
{
	sigset_t set = interrupt_set();

	signal(SIGCHLD, SIG_DFL); /* inherited as ignored, it would reap our children for us */
	sigprocmask(SIG_BLOCK, &set, NULL);
	interrupts = signalfd(-1, &set, SFD_CLOEXEC);
	if (interrupts < 0)
		die("signalfd: %s", strerror(errno));
}

static void forget(struct child *child)
{
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (children[i] == child)
			children[i] = NULL;
	close(child->control);
}

static int reap(struct child *child)
{
	int status;

	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	forget(child);
	return status;
}

static void kill_all(void)
{
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (children[i])
			kill(children[i]->pid, SIGKILL);
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (children[i])
			reap(children[i]);
}

_Noreturn void die(const char *format, ...)
{
	va_list args;

	kill_all();
	fflush(stdout);
	progress_end();
	fputs("demo: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* Ends as the signal would have ended us, so that make and shells see it. */
static _Noreturn void end_by_signal(void)
{
	struct signalfd_siginfo info = { .ssi_signo = SIGINT };
	sigset_t set = interrupt_set();

	if (read(interrupts, &info, sizeof(info)) < 0)
		info.ssi_signo = SIGINT;
	kill_all();
	fflush(stdout);
	progress_end();
	fputs("demo: interrupted; the servers and clients have ended\n", stderr);
	signal((int)info.ssi_signo, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise((int)info.ssi_signo);
	exit(1);
}

static _Noreturn void run_child(int control, pid_t parent, child_body *body, const void *arg)
{
	sigset_t set = interrupt_set();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before that call */
		_exit(1);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	close(interrupts);
	for (int i = 0; i < CHILDREN_MAX; i++)
		if (children[i])
			close(children[i]->control); /* else its end of input would never come */
	_exit(body(control, arg));
}

void child_start(struct child *child, const char *name, child_body *body, const void *arg)
{
	pid_t parent = getpid();
	int ends[2], slot = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		die("socketpair: %s", strerror(errno));
	fflush(stdout);
	child->pid = fork();
	if (child->pid < 0)
		die("cannot start the process \"%s\": %s", name, strerror(errno));
	if (child->pid == 0) {
		close(ends[0]);
		run_child(ends[1], parent, body, arg);
	}
	close(ends[1]);
	child->name = name;
	child->control = ends[0];
	while (children[slot])
		slot++;
	children[slot] = child;
}

static void check_end(struct child *child, int status)
{
	if (WIFSIGNALED(status))
		die("%s: killed by signal %d (%s)", child->name, WTERMSIG(status),
		    strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) != 0)
		die("%s: ended with exit code %d", child->name, WEXITSTATUS(status));
}

static _Noreturn void die_of(struct child *child)
{
	check_end(child, reap(child));
	die("%s: ended too early", child->name);
}

/* Until `child` has sent something or ended, or for so many milliseconds, -1 being for ever; true if
 * `other` has. */
static bool wait_for_input(struct child *child, struct child *other, int patience)
{
	struct pollfd fds[] = { { .fd = interrupts, .events = POLLIN },
				{ .fd = other ? other->control : -1, .events = POLLIN },
				{ .fd = child->control, .events = POLLIN } };

	int ready;
	while ((ready = poll(fds, 3, patience)) < 0)
		if (errno != EINTR)
			die("poll: %s", strerror(errno));
	if (ready == 0)
		die("%s: shows no sign of life", child->name);
	if (fds[0].revents)
		end_by_signal();
	return fds[1].revents != 0;
}

void child_end(struct child *child)
{
	struct report report;

	shutdown(child->control, SHUT_WR);
	wait_for_input(child, NULL, 20000);
	if (recv(child->control, &report, sizeof(report), 0) > 0)
		die("%s: %s", child->name, report.text);
	check_end(child, reap(child));
}

void report_send(int control, const struct report *report)
{
	if (send(control, report, sizeof(*report), MSG_NOSIGNAL) < 0)
		_exit(1); /* nobody is left to be told */
}

int report_failure(int control, const char *format, ...)
{
	struct report report = { .kind = REPORT_FAILED };
	va_list args;

	va_start(args, format);
	vsnprintf(report.text, sizeof(report.text), format, args);
	va_end(args);
	report_send(control, &report);
	return 1;
}

static bool has_crashed(const struct child *child)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
}

/* When one child has crashed, another may complain first: of a lost connection, or by ending. Names
 * the cause, if there was a crash. A server with 10,000 sockets takes a while to be gone. */
static void die_of_crash(void)
{
	for (int tries = 0; tries < 10; tries++) {
		for (int i = 0; i < CHILDREN_MAX; i++)
			if (children[i] && has_crashed(children[i]))
				die_of(children[i]);
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
}

static void report_read(struct child *child, struct report *report)
{
	bool ended = recv(child->control, report, sizeof(*report), 0) != sizeof(*report);

	if (ended || report->kind == REPORT_FAILED)
		die_of_crash();
	if (ended)
		die_of(child);
	if (report->kind == REPORT_FAILED)
		die("%s: %s", child->name, report->text);
}

void report_wait(struct child *child, struct child *other, struct report *report)
{
	/* What happened to the server is the cause of what its client complains about: first. */
	while (wait_for_input(child, other, -1))
		report_read(other, report);
	report_read(child, report);
}
