/* SPDX-License-Identifier: MIT
 * Other programs: bide/process.h. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resources.h"
#include "runs.h"
#include "trace.h"

static bide_proc_opts shell(char *const argv[])
{
	bide_proc_opts opts = BIDE_PROC_OPTS_INIT;
	opts.file = "sh";
	opts.argv = argv;
	return opts;
}

#define SHELL(script) ((char *[]){ "sh", "-c", (char *)(uintptr_t)(script), NULL })

static bide_proc must_start(const bide_proc_opts *opts)
{
	bide_proc proc;
	must_msg(bide_proc_spawn(opts, &proc) == 0, "bide_proc_spawn: %s", strerror(errno));
	must(proc.pid > 0);
	return proc;
}

static pid_t start_shell(const char *script)
{
	bide_proc_opts opts = shell(SHELL(script));
	return must_start(&opts).pid;
}

static int must_wait(pid_t pid)
{
	int status;
	must_msg(bide_proc_wait(pid, &status) == 0, "bide_proc_wait: %s", strerror(errno));
	return status;
}

/* It left no zombie. */
static void must_be_reaped(pid_t pid)
{
	must(waitpid(pid, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* ---- bad input ------------------------------------------------------------------------------------------ */

VIRTUAL_TEST(bad_input_is_refused_and_starts_nothing)
{
	bide_proc proc;
	bide_proc_opts good = shell(SHELL("exit 0")), opts;
	int closed = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(closed);
#define REFUSED(change, err)                                                                       \
	opts = good;                                                                                   \
	opts.change;                                                                                   \
	ck_fails(bide_proc_spawn(&opts, &proc), err)
	ck_fails(bide_proc_spawn(NULL, &proc), EINVAL);
	ck_fails(bide_proc_spawn(&good, NULL), EINVAL);
	REFUSED(size = 1, EINVAL);
	REFUSED(file = NULL, EINVAL);
	REFUSED(argv = NULL, EINVAL);
	REFUSED(argv = (char *[]){ NULL }, EINVAL);
	REFUSED(flags = 0x80, EINVAL);
	REFUSED(grace = -1, EINVAL);
	REFUSED(in = -4, EINVAL);
	REFUSED(fd_count = -1, EINVAL);
	REFUSED(fd_count = 1, EINVAL);
	REFUSED(fd_count = 1000, EINVAL);
	REFUSED(out = closed, EBADF);
	if (!suite_is_under("qemu")) { /* whose child cannot tell its parent */
		REFUSED(file = "/no/such/program", ENOENT);
		REFUSED(file = "no-such-program", ENOENT);
		REFUSED(file = "/etc/passwd", EACCES);
		REFUSED(directory = "/no/such/directory", ENOENT);
	}
	ck_fails(bide_proc_wait(0, NULL), EINVAL);
	ck_fails(bide_proc_wait(-1, NULL), EINVAL);
	ck_fails(bide_proc_wait(getppid(), NULL), ECHILD);
	ck_fails(bide_proc_kill(0, SIGTERM), EINVAL);
	ck_fails(bide_proc_kill(-1, SIGTERM), EINVAL);
	ck_fails(bide_proc_kill(getppid(), 0), ESRCH);
	ck_fails(bide_proc_communicate(NULL, NULL, 0, 0, NULL), EINVAL);
	ck_fails(bide_proc_communicate(&proc, NULL, 1, 0, &(bide_proc_output){ 0 }), EINVAL);
}

START_TEST(outside_a_loop_nothing_is_started)
{
	bide_proc proc;
	bide_proc_opts opts = shell(SHELL("exit 0"));
	ck_fails(bide_proc_spawn(&opts, &proc), EPERM);
	ck_fails(bide_proc_wait(1, NULL), EPERM);
	ck_fails(bide_proc_kill(1, 0), EPERM);
}
END_TEST

static const char *const failures[] = { "pipe:EMFILE@1", "pipe:EMFILE@2", "pipe:ENFILE@3", "fcntl:EMFILE@1",
	"fcntl:EMFILE@4", "open:ENOENT", "posix_spawn:EAGAIN", "malloc:ENOMEM" };

/* All three as pipes or, for the open(), /dev/null. */
REAL_TEST(what_fails_on_the_way_leaves_nothing_open)
{
	bide_proc proc;
	bide_proc_opts opts = shell(SHELL("exit 0"));
	int fds = count_fds();
	opts.in = opts.out = BIDE_PROC_PIPE;
	opts.err = strncmp(failures[_i], "open", 4) == 0 ? BIDE_PROC_NULL : BIDE_PROC_PIPE;
	must(bide_fault(failures[_i]) == 0);
	must(bide_proc_spawn(&opts, &proc) == -1);
	must(bide_fault(NULL) == 0);
	ck_assert_int_eq(count_fds(), fds);
	must(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* ---- waiting: statement 184, scenario I5 -------------------------------------------------------------------- */

static const struct {
	const char *script;
	int exit_status, signal;
} ends[] = { { "exit 0", 0, 0 }, { "exit 7", 7, 0 }, { "kill -9 $$", 0, SIGKILL }, { "kill -15 $$", 0, SIGTERM },
	{ "sleep 0.05; exit 255", 255, 0 } };

REAL_TEST(the_status_is_that_of_waitpid)
{
	pid_t pid = start_shell(ends[_i].script);
	int status = must_wait(pid);
	if (ends[_i].signal)
		must(WIFSIGNALED(status) && WTERMSIG(status) == ends[_i].signal);
	else
		must(WIFEXITED(status) && WEXITSTATUS(status) == ends[_i].exit_status);
	must_be_reaped(pid);
	ck_fails(bide_proc_wait(pid, NULL), ECHILD);
	ck_fails(bide_proc_kill(pid, 0), ESRCH);
}

static void *wait_for_it(void *arg)
{
	note("%d", WEXITSTATUS(must_wait(*(pid_t *)arg)));
	return NULL;
}

REAL_TEST(all_who_wait_get_the_status)
{
	pid_t pid = start_shell("sleep 0.05; exit 3");
	bide_task *tasks[3];
	for (int i = 0; i < 3; i++)
		tasks[i] = must_spawn(wait_for_it, &pid);
	for (int i = 0; i < 3; i++)
		must_end_well(tasks[i]);
	expect_notes("3 3 3");
}

static int calls_left; /* until a call of the task lets others run */

static void *expect_echild(void *arg)
{
	loop_current->budget = calls_left;
	ck_fails(bide_proc_wait(*(pid_t *)arg, NULL), ECHILD);
	note("ECHILD");
	return NULL;
}

/* Wherever the call lets others run. */
REAL_TEST(one_that_was_reaped_elsewhere_is_echild)
{
	pid_t pid = start_shell("sleep 0.05");
	calls_left = _i;
	bide_task *task = must_spawn(expect_echild, &pid);
	must(bide_yield() == 0);
	must(waitpid(pid, NULL, 0) == pid);
	must_end_well(task);
	expect_notes("ECHILD");
}

static void *wait_with_calls_left(void *arg)
{
	loop_current->budget = calls_left;
	return wait_for_it(arg);
}

static void wait_for_zombie(pid_t pid)
{
	siginfo_t info;
	must(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
}

ORDERED_TEST(one_that_another_task_reaped_meanwhile_has_its_status)
{
	pid_t pid = start_shell("sleep 0.05; exit 3");
	calls_left = _i;
	bide_task *task = must_spawn(wait_with_calls_left, &pid);
	must(bide_yield() == 0);
	wait_for_zombie(pid);
	must(WEXITSTATUS(must_wait(pid)) == 3);
	must_end_well(task);
	expect_notes("3");
}

/* And nothing is sent to its number, which may be another's by now. */
ORDERED_TEST(one_that_was_reaped_after_the_cancel_and_before_the_waiters_turn_has_its_status)
{
	bide_proc_opts opts = shell(SHELL("sleep 0.05; exit 3"));
	opts.flags = BIDE_PROC_KILL;
	pid_t pid = must_start(&opts).pid;
	bide_task *task = must_spawn(wait_for_it, &pid);
	settle();
	wait_for_zombie(pid);
	must(bide_cancel(task, NULL) == 0);
	undisturbed();
	must(WEXITSTATUS(must_wait(pid)) == 3);
	must_end_well(task);
	expect_notes("3");
}

REAL_TEST(children_of_others_are_left_alone_and_can_be_waited_for_too)
{
	struct sigaction before, after;
	must(sigaction(SIGCHLD, NULL, &before) == 0);
	pid_t own = start_shell("sleep 0.05; exit 1"), foreign = fork();
	if (foreign == 0)
		_exit(2);
	must(WEXITSTATUS(must_wait(own)) == 1);
	int status = system("exit 4");
	must(WEXITSTATUS(status) == 4);
	must(WEXITSTATUS(must_wait(foreign)) == 2);
	must(sigaction(SIGCHLD, NULL, &after) == 0 && before.sa_handler == after.sa_handler);
}

REAL_TEST(a_wait_without_a_descriptor_asks_again_and_again)
{
	must(bide_fault("pidfd_open:ENOSYS") == 0);
	pid_t pid = start_shell("sleep 0.03; exit 6");
	must(WEXITSTATUS(must_wait(pid)) == 6);
	must(bide_fault(NULL) == 0);
}

REAL_TEST(a_wait_that_cannot_have_a_descriptor_fails_and_can_be_repeated)
{
	pid_t pid = start_shell("sleep 0.05; exit 6");
	must(bide_fault("pidfd_open:EMFILE@1,waitid:EINTR@1") == 0);
	ck_fails(bide_proc_wait(pid, NULL), EMFILE);
	must(bide_fault(NULL) == 0);
	must(WEXITSTATUS(must_wait(pid)) == 6);
}

/* ---- canceled waits: statement 185 --------------------------------------------------------------------------- */

static void *wait_canceled(void *arg)
{
	ck_fails(bide_proc_wait(*(pid_t *)arg, NULL), ECANCELED);
	return bide_fail(ECANCELED);
}

REAL_TEST(a_canceled_wait_leaves_the_child_to_be_waited_for)
{
	pid_t pid = start_shell("sleep 0.1; exit 5");
	bide_task *task = must_spawn(wait_canceled, &pid);
	settle();
	must(bide_cancel(task, NULL) == 0);
	must(must_join(task).err == ECANCELED);
	must(WEXITSTATUS(must_wait(pid)) == 5);
}

/* One that ends at SIGTERM, and one that has to be killed. */
static const char *const stubborn[] = { "exec sleep 60", "trap '' TERM; echo ready; while :; do sleep 0.05; done" };

static pid_t start_to_be_killed(const char *script)
{
	char byte = 0;
	bide_proc_opts opts = shell(SHELL(script));
	opts.flags = BIDE_PROC_KILL;
	opts.grace = 50 * BIDE_MSEC;
	opts.out = BIDE_PROC_PIPE;
	bide_proc proc = must_start(&opts);
	if (strstr(script, "ready"))
		must(bide_read(proc.out, &byte, 1) == 1);
	must(bide_close(proc.out) == 0);
	return proc.pid;
}

REAL_TEST(a_child_to_be_killed_is_ended_and_reaped_before_the_canceled_wait_returns)
{
	pid_t pid = start_to_be_killed(stubborn[_i]);
	bide_task *task = must_spawn(wait_canceled, &pid);
	settle();
	must(bide_cancel(task, NULL) == 0);
	must(must_join(task).err == ECANCELED);
	must_be_reaped(pid);
	must(kill(pid, 0) < 0 && errno == ESRCH);
}

REAL_TEST(a_deadline_ends_it_as_well)
{
	bide_scope scope = { { 0 } };
	pid_t pid = start_to_be_killed(stubborn[0]);
	must(bide_scope_enter(&scope, bide_after(BIDE_MSEC), 0) == 0);
	ck_fails(bide_proc_wait(pid, NULL), ETIMEDOUT);
	bide_scope_leave(&scope);
	must_be_reaped(pid);
}

static void *wait_killed(void *arg)
{
	int status = must_wait(*(pid_t *)arg);
	must(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	return NULL;
}

REAL_TEST(while_somebody_else_waits_a_cancel_kills_nobody)
{
	pid_t pid = start_to_be_killed(stubborn[0]);
	bide_task *canceled = must_spawn(wait_canceled, &pid), *other = must_spawn(wait_killed, &pid);
	settle();
	must(bide_cancel(canceled, NULL) == 0);
	must(must_join(canceled).err == ECANCELED);
	must(bide_task_state(other) == BIDE_TASK_SUSPENDED);
	must(bide_proc_kill(pid, SIGTERM) == 0);
	must_end_well(other);
}

/* ---- what the child gets: statement 186, scenario I4 ----------------------------------------------------------- */

/* What a shell script writes. */
static const char *written_by(const bide_proc_opts *wanted, char text[256])
{
	bide_proc_opts opts = *wanted;
	bide_proc_output output;
	opts.out = BIDE_PROC_PIPE;
	bide_proc proc = must_start(&opts);
	must_msg(bide_proc_communicate(&proc, NULL, 0, 0, &output) == 0, "communicate: %s", strerror(errno));
	must(!output.err && output.status == 0 && output.out_size < 256);
	strcpy(text, output.out);
	free(output.out);
	return text;
}

static void must_write_out(const bide_proc_opts *opts, const char *text)
{
	char written[256];
	ck_assert_str_eq(written_by(opts, written), text);
}

/* A mask of /proc/PID/status, without the two signals that are the C library's own. */
static unsigned long long signals_in(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	must(at);
	return strtoull(at + strlen(name), NULL, 16) & ~0x180000000ull;
}

REAL_TEST(a_child_has_no_mask_and_no_ignored_signal)
{
	sigset_t mask, old;
	char text[256];
	bide_proc_opts opts = shell(SHELL("grep -E 'SigBlk|SigIgn' /proc/self/status"));
	sigfillset(&mask);
	pthread_sigmask(SIG_BLOCK, &mask, &old);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	if (!suite_is_under("qemu")) /* where /proc tells of the emulator */
		must(signals_in(written_by(&opts, text), "SigBlk:") == 0 && signals_in(text, "SigIgn:") == 0);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

REAL_TEST(a_child_has_the_named_descriptors_and_no_other)
{
	int fds[50], named[2];
	for (int i = 0; i < 50; i++)
		fds[i] = open("/dev/null", O_RDONLY); /* not even those that are not close-on-exec */
	named[0] = open("/dev/zero", O_RDONLY);
	named[1] = fds[7];
	bide_proc_opts opts = shell(SHELL("readlink /proc/$$/fd/3 /proc/$$/fd/4; [ -e /proc/$$/fd/5 ] || echo no more"));
	opts.fds = named;
	opts.fd_count = 2;
	must_write_out(&opts, "/dev/zero\n/dev/null\nno more\n");
	for (int i = 0; i < 50; i++)
		close(fds[i]);
	close(named[0]);
}

/* Also when the number of each is just what another one is to have. */
REAL_TEST(descriptors_may_trade_places)
{
	enum { COUNT = 30, NAMED = 60 };
	int fds[COUNT], named[NAMED];
	char script[128];
	for (int i = 0; i < COUNT; i++)
		fds[i] = open(i % 2 ? "/dev/zero" : "/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < NAMED; i++)
		named[i] = fds[0];
	for (int i = 0; i < COUNT; i++)
		if (fds[i] < 3 + NAMED)
			named[fds[i] - 3] = fds[(i + 1) % COUNT];
	must(fds[7] < 3 + NAMED);
	snprintf(script, sizeof script, "readlink /proc/$$/fd/%d /proc/$$/fd/%d", fds[6], fds[7]);
	bide_proc_opts opts = shell(SHELL(script));
	opts.fds = named;
	opts.fd_count = NAMED;
	must_write_out(&opts, "/dev/zero\n/dev/null\n");
	for (int i = 0; i < COUNT; i++)
		close(fds[i]);
}

REAL_TEST(directory_and_environment_are_as_asked_for)
{
	bide_proc_opts opts = shell(SHELL("pwd; echo $WORD"));
	opts.directory = "/";
	opts.env = (char *[]){ "WORD=said", "PATH=/usr/bin:/bin", NULL };
	must_write_out(&opts, "/\nsaid\n");
}

REAL_TEST(standard_descriptors_may_be_null_or_the_callers_file)
{
	char text[64] = "";
	FILE *file = tmpfile();
	bide_proc_opts opts = shell(SHELL("cat; echo out; echo err >&2"));
	opts.in = BIDE_PROC_NULL;
	opts.out = fileno(file);
	opts.err = BIDE_PROC_NULL;
	must(WEXITSTATUS(must_wait(must_start(&opts).pid)) == 0);
	must(pread(fileno(file), text, sizeof text - 1, 0) == 4);
	ck_assert_str_eq(text, "out\n");
	fclose(file);
}

/* ---- communicate ------------------------------------------------------------------------------------------------ */

#define MUCH (1024 * 1024)

static bide_proc start_with_pipes(const char *script, unsigned flags)
{
	bide_proc_opts opts = shell(SHELL(script));
	opts.in = opts.out = opts.err = BIDE_PROC_PIPE;
	opts.flags = flags;
	return must_start(&opts);
}

/* More in each direction than a pipe holds. */
REAL_TEST(all_pipes_are_served_at_the_same_time)
{
	static char input[MUCH];
	bide_proc_output output;
	int fds = count_fds();
	for (int i = 0; i < MUCH; i++)
		input[i] = (char)('a' + i % 23);
	bide_proc proc = start_with_pipes("tee /dev/stderr; exit 9", 0);
	must(bide_proc_communicate(&proc, input, MUCH, 0, &output) == 0);
	must(WEXITSTATUS(output.status) == 9);
	must(output.out_size == MUCH && output.err_size == MUCH);
	must(memcmp(output.out, input, MUCH) == 0 && memcmp(output.err, input, MUCH) == 0);
	must(output.out[MUCH] == '\0' && output.err[MUCH] == '\0');
	must(proc.in == -1 && proc.out == -1 && proc.err == -1);
	free(output.out);
	free(output.err);
	ck_assert_int_eq(count_fds(), fds);
}

REAL_TEST(a_child_that_reads_nothing_is_no_error)
{
	static char input[MUCH];
	bide_proc_output output;
	bide_proc proc = start_with_pipes("exec <&-; echo done", 0);
	must(bide_proc_communicate(&proc, input, MUCH, 0, &output) == 0);
	ck_assert_str_eq(output.out, "done\n");
	must(output.err_size == 0 && output.err[0] == '\0');
	free(output.out);
	free(output.err);
}

REAL_TEST(more_than_the_limit_is_efbig_and_nothing_is_left_open)
{
	bide_proc_output output;
	int fds = count_fds();
	bide_proc proc = start_with_pipes("while :; do echo and so on; done", 0);
	ck_fails(bide_proc_communicate(&proc, NULL, 0, 10000, &output), EFBIG);
	must(proc.in == -1 && proc.out == -1 && proc.err == -1);
	must(bide_proc_kill(proc.pid, SIGKILL) == 0);
	must_wait(proc.pid);
	ck_assert_int_eq(count_fds(), fds);
}

static void *communicate_until_canceled(void *arg)
{
	bide_proc_output output;
	ck_fails(bide_proc_communicate(arg, NULL, 0, 0, &output), ECANCELED);
	return bide_fail(ECANCELED);
}

REAL_TEST(a_canceled_exchange_ends_a_child_that_is_to_be_killed)
{
	int fds = count_fds();
	bide_proc proc = start_with_pipes("exec sleep 60", BIDE_PROC_KILL);
	pid_t pid = proc.pid;
	bide_task *task = must_spawn(communicate_until_canceled, &proc);
	must(bide_sleep(BIDE_MSEC) == 0);
	must(bide_cancel(task, NULL) == 0);
	must(must_join(task).err == ECANCELED);
	must_be_reaped(pid);
	ck_assert_int_eq(count_fds(), fds);
}

/* ---- the loop goes on --------------------------------------------------------------------------------------------- */

static void *tick(void *arg)
{
	for (unsigned *ticks = arg;; ++*ticks)
		if (bide_sleep(BIDE_MSEC) < 0)
			return NULL;
}

REAL_TEST(a_wait_stops_nobody_else)
{
	unsigned ticks = 0;
	bide_task *ticker = must_spawn(tick, &ticks);
	must_wait(start_shell("sleep 0.2"));
	must(bide_cancel(ticker, NULL) == 0);
	must_join(ticker);
	ck_assert_uint_gt(ticks, 5);
}

int main(void)
{
	return SUITE("process", TEST(bad_input_is_refused_and_starts_nothing),
	    TEST(outside_a_loop_nothing_is_started), TABLE(what_fails_on_the_way_leaves_nothing_open, failures),
	    TABLE(the_status_is_that_of_waitpid, ends), TEST(all_who_wait_get_the_status),
	    LOOP(one_that_was_reaped_elsewhere_is_echild, 1, 5),
	    LOOP(one_that_another_task_reaped_meanwhile_has_its_status, 1, 5),
	    TEST(one_that_was_reaped_after_the_cancel_and_before_the_waiters_turn_has_its_status),
	    TEST(children_of_others_are_left_alone_and_can_be_waited_for_too),
	    TEST(a_wait_without_a_descriptor_asks_again_and_again),
	    TEST(a_wait_that_cannot_have_a_descriptor_fails_and_can_be_repeated),
	    TEST(a_canceled_wait_leaves_the_child_to_be_waited_for),
	    TABLE(a_child_to_be_killed_is_ended_and_reaped_before_the_canceled_wait_returns, stubborn),
	    TEST(a_deadline_ends_it_as_well), TEST(while_somebody_else_waits_a_cancel_kills_nobody),
	    TEST(a_child_has_no_mask_and_no_ignored_signal), TEST(a_child_has_the_named_descriptors_and_no_other),
	    TEST(descriptors_may_trade_places), TEST(directory_and_environment_are_as_asked_for),
	    TEST(standard_descriptors_may_be_null_or_the_callers_file), TEST(all_pipes_are_served_at_the_same_time),
	    TEST(a_child_that_reads_nothing_is_no_error), TEST(more_than_the_limit_is_efbig_and_nothing_is_left_open),
	    TEST(a_canceled_exchange_ends_a_child_that_is_to_be_killed), TEST(a_wait_stops_nobody_else));
}
