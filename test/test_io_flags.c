/* SPDX-License-Identifier: MIT
 * What the library leaves as it found it: O_NONBLOCK of descriptors, and everything about SIGPIPE; and
 * that a blocking descriptor blocks nobody but its task. Statements 161, 169, 178, scenarios F15, F16. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "counted_calls.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

static void *arg_of(const void *constant)
{
	return (void *)(uintptr_t)constant;
}

/* ---- O_NONBLOCK --------------------------------------------------------------------------------------- */

struct flags_case {
	const struct fd_kind *kind;
	bool blocks;
};

static void *every_call(void *arg)
{
	const struct flags_case *c = arg;
	int fds[2], flags[2];
	c->kind->make(fds);
	for (int i = 0; i < 2; i++) {
		set_nonblocking(fds[i], !c->blocks);
		flags[i] = fcntl(fds[i], F_GETFL);
	}
	struct io reads = { .fd = fds[0] }, looks = { .fd = fds[0], .events = POLLIN };
	bide_task *reader = io_start(io_read, &reads), *observer = io_start(io_wait, &looks);
	must(fcntl(fds[0], F_GETFL) == flags[0]); /* also while it waits */
	must(bide_write(fds[1], "x", 1) == 1);
	must(join_within(reader, LONG).err == 0);
	must(bide_cancel(observer, NULL) == 0 || errno == ESRCH);
	must_join(observer);
	if (c->kind->traits & STREAM) {
		fill(fds[1]);
		struct io writes = { .fd = fds[1], .data = "x", .size = 1 };
		bide_task *writer = io_start(io_write, &writes);
		must(fcntl(fds[1], F_GETFL) == flags[1]);
		drain(fds[0]);
		must(join_within(writer, LONG).err == 0);
	}
	must(bide_fd_forget(fds[0]) == 0);
	for (int i = 0; i < 2; i++)
		must(fcntl(fds[i], F_GETFL) == flags[i]);
	close_pair(fds);
	return NULL;
}

/* Statement 178, scenario F15: they are never changed, so there is nothing that an end could fail to restore. */
START_TEST(the_flags_of_a_descriptor_are_left_as_they_were)
{
	struct flags_case c = { &fd_kinds[_i / 2], _i % 2 };
	run_real(every_call, &c);
}
END_TEST

/* ---- blocking descriptors -------------------------------------------------------------------------------- */

static void wait_for_beats(const struct heartbeat *heartbeat, int more)
{
	int beats = heartbeat->beats + more;
	while (heartbeat->beats < beats)
		must(bide_sleep(heartbeat->period) == 0);
}

static void *silent_peer(void *arg)
{
	const struct fd_kind *kind = arg;
	struct heartbeat heartbeat;
	int fds[2];
	kind->make(fds);
	struct io io = { .fd = fds[0] };
	bide_task *reader = io_start(io_read, &io);
	heartbeat_start(&heartbeat, BIDE_MSEC);
	wait_for_beats(&heartbeat, 10);
	must(io.count == -2);
	/* Woken for nothing: a blocking read(2) would stop the loop here. */
	must_write(fds[1], "x", 1);
	struct poller_event events[POLLER_BATCH];
	while (bide_task_state(reader) != BIDE_TASK_READY)
		descriptors_fire(loop_current, events, poller_wait(&loop_current->poller, events, POLLER_BATCH, 0, 0));
	must(drain(fds[0]) == 1);
	wait_for_beats(&heartbeat, 10);
	must(io.count == -2);
	must_write(fds[1], "y", 1);
	must(join_within(reader, LONG).err == 0 && io.buf[0] == 'y');
	heartbeat_stop(&heartbeat);
	close_pair(fds);
	return NULL;
}

START_TEST(a_peer_that_says_nothing_stops_nobody_else)
{
	counted.modify_is_mute = true;
	run_real(silent_peer, arg_of(&fd_kinds[_i]));
}
END_TEST

struct big_write {
	int fd;
	size_t size, done;
	ssize_t result;
};

static void *write_big(void *arg)
{
	enum { SIZE = 1 << 23 };
	static char data[SIZE];
	struct big_write *job = arg;
	pattern_fill(5, 0, data, SIZE);
	job->result = bide_write_all(job->fd, data, SIZE, &job->done);
	job->size = SIZE;
	return NULL;
}

static void *deaf_peer(void *arg)
{
	static char buf[65536];
	const struct fd_kind *kind = arg;
	struct heartbeat heartbeat;
	int fds[2];
	kind->make(fds);
	struct big_write job = { .fd = fds[1], .result = -2 };
	bide_task *writer = must_spawn(write_big, &job);
	heartbeat_start(&heartbeat, 5 * BIDE_MSEC);
	wait_for_beats(&heartbeat, 30);
	must(job.result == -2);
	for (size_t total = 0; total < 1 << 23;) {
		ssize_t count = bide_read(fds[0], buf, sizeof buf);
		must(count > 0);
		pattern_check(5, total, buf, (size_t)count);
		total += (size_t)count;
	}
	join_within(writer, LONG);
	must(job.result == (ssize_t)job.size && job.done == job.size);
	heartbeat_stop(&heartbeat);
	close_pair(fds);
	return NULL;
}

/* Statement 161: 8 MiB to a peer that reads nothing, and at least 30 beats. The naive loop: one. */
START_TEST(a_peer_that_does_not_read_stops_nobody_else)
{
	run_real(deaf_peer, arg_of(kind_with(STREAM, _i)));
}
END_TEST

/* To a terminal: there is room for one byte when poll() says so, and its flags are not ours. */
struct terminal_case {
	bool to_slave;      /* the master writes */
	bool makes_two;     /* newlines become two characters */
	const char *fault;
};

static void *stopped_terminal(void *arg)
{
	enum { SIZE = 20000 };
	static char data[SIZE], got[2 * SIZE];
	const struct terminal_case *c = arg;
	struct termios settings;
	struct heartbeat heartbeat;
	int fds[2], flags[2];
	make_pty(fds);
	must(tcgetattr(fds[0], &settings) == 0);
	if (c->makes_two)
		settings.c_oflag |= OPOST | ONLCR;
	must(tcsetattr(fds[0], TCSANOW, &settings) == 0);
	for (int i = 0; i < 2; i++)
		flags[i] = fcntl(fds[i], F_GETFL);
	memset(data, '\n', SIZE);
	if (!c->makes_two)
		pattern_fill(8, 0, data, SIZE);
	int out = fds[c->to_slave], in = fds[!c->to_slave];
	size_t wanted = c->makes_two ? 2 * SIZE : SIZE;
	heartbeat_start(&heartbeat, BIDE_MSEC);
	must(bide_fault(c->fault) == 0);
	struct io io = { .fd = out, .data = data, .size = SIZE };
	bide_task *writer = io_start(io_write_all, &io);
	wait_for_beats(&heartbeat, 10);
	must(io.count == -2);
	must(bide_read_exact(in, got, wanted, NULL) == (ssize_t)wanted);
	must(join_within(writer, LONG).err == 0 && io.count == SIZE);
	must(bide_fault(NULL) == 0);
	for (size_t i = 0; i < wanted; i++)
		must(got[i] == (c->makes_two ? "\r\n"[i % 2] : data[i]));
	heartbeat_stop(&heartbeat);
	for (int i = 0; i < 2; i++)
		must(fcntl(fds[i], F_GETFL) == flags[i]);
	close_pair(fds);
	return NULL;
}

/* Scenario F15: not even for the moment of a write. */
START_TEST(a_stopped_terminal_stops_nobody_else)
{
	static const struct terminal_case cases[] = { { false, false, NULL }, { false, true, NULL },
		{ true, false, NULL }, { false, false, "open:EACCES" } };
	counted.modify_is_mute = true;
	run_real(stopped_terminal, arg_of(&cases[_i]));
}
END_TEST

/* bide/io.h: "a background job that reads its terminal gets SIGTTIN, as any program does". */
static void *read_terminal(void *arg)
{
	char byte;
	(void)!bide_read(*(int *)arg, &byte, 1);
	return NULL;
}

/* The leader of the terminal's session; its child is the job. Exits with 0 if the job was stopped. */
static _Noreturn void lead_session(int terminal)
{
	int status = 0;
	if (setsid() < 0 || ioctl(terminal, TIOCSCTTY, 0) < 0)
		_exit(1);
	pid_t job = fork();
	if (job == 0) {
		signal(SIGTTIN, SIG_DFL);
		setpgid(0, 0);
		bide_run(read_terminal, &terminal, NULL, NULL);
		_exit(0);
	}
	bool is_stopped = waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTIN;
	kill(job, SIGKILL);
	_exit(is_stopped ? 0 : 2);
}

START_TEST(a_background_job_that_reads_its_terminal_is_stopped)
{
	int fds[2], status;
	make_pty(fds);
	pid_t leader = fork();
	if (leader == 0)
		lead_session(fds[0]);
	must_write(fds[1], "x", 1);
	ck_assert_int_eq(waitpid(leader, &status, 0), leader);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	close_pair(fds);
}
END_TEST

/* Another thread takes what poll() saw. */
struct thief {
	int fd;
	atomic_bool is_over;
};

static void *steal(void *arg)
{
	struct thief *thief = arg;
	char buf[256];
	while (!thief->is_over)
		(void)!recvfrom(thief->fd, buf, sizeof buf, MSG_DONTWAIT, NULL, NULL); /* recv() is counted */
	return NULL;
}

static void *robbed(void *arg)
{
	int fds[2];
	pthread_t thread;
	(void)arg;
	make_unix(fds);
	struct thief thief = { .fd = fds[0] };
	must(pthread_create(&thread, NULL, steal, &thief) == 0);
	/* Scenario F21: the deadline is kept through all the tries. */
	bide_scope scope;
	bide_time start = bide_now();
	must(bide_scope_enter(&scope, bide_after(100 * BIDE_MSEC), 0) == 0);
	char byte;
	do
		must_write(fds[1], "x", 1);
	while (bide_read(fds[0], &byte, 1) == 1);
	must(errno == ETIMEDOUT && bide_now() - start >= 100 * BIDE_MSEC);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	thief.is_over = true;
	pthread_join(thread, NULL);
	close_pair(fds);
	return NULL;
}

/* Statement 173, scenario F21. */
START_TEST(a_thief_of_data_cannot_stop_the_loop_or_move_a_deadline)
{
	run_real(robbed, NULL);
}
END_TEST

/* ---- SIGPIPE ---------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t sigpipes;

static void on_sigpipe(int number)
{
	(void)number;
	sigpipes++;
}

struct pipe_case {
	int kind;         /* among STREAM */
	bool by_all;
	bool is_blocked, is_pending, is_pending_for_process;
	void (*disposition)(int);
};

static bool is_pending(void)
{
	sigset_t pending;
	sigpending(&pending);
	return sigismember(&pending, SIGPIPE);
}

static void *write_to_nobody(void *arg)
{
	const struct pipe_case *c = arg;
	int fds[2];
	size_t done;
	kind_with(STREAM, c->kind)->make(fds);
	close(fds[0]);
	fds[0] = -1;
	ssize_t count;
	int tries = 0;
	do /* TCP accepts the first one, and learns from the answer */
		count = c->by_all ? bide_write_all(fds[1], "x", 1, &done) : bide_write(fds[1], "x", 1);
	while (count > 0 && ++tries < 1000);
	must(count == -1 && (errno == EPIPE || errno == ECONNRESET));
	for (int i = 0; i < 3; i++)
		ck_fails(bide_write(fds[1], "x", 1), EPIPE);
	if (kind_with(STREAM, c->kind)->traits & SOCKET)
		ck_fails(bide_send(fds[1], "x", 1, 0), EPIPE);
	close_pair(fds);
	return NULL;
}

static void check_sigpipe(const struct pipe_case *c)
{
	struct sigaction action = { .sa_handler = c->disposition, .sa_flags = SA_RESTART }, old_action, after;
	sigset_t sigpipe, old_mask, mask;
	sigemptyset(&sigpipe);
	sigaddset(&sigpipe, SIGPIPE);
	sigaction(SIGPIPE, &action, &old_action);
	pthread_sigmask(c->is_blocked ? SIG_BLOCK : SIG_UNBLOCK, &sigpipe, &old_mask);
	sigpipes = 0;
	if (c->is_pending)
		raise(SIGPIPE);
	if (c->is_pending_for_process)
		kill(getpid(), SIGPIPE);
	run_real(write_to_nobody, arg_of(c));
	/* We live, nothing was delivered, and everything is as before. */
	must(sigpipes == 0);
	must(is_pending() == (c->is_pending || c->is_pending_for_process));
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	must(sigismember(&mask, SIGPIPE) == c->is_blocked);
	sigaction(SIGPIPE, NULL, &after);
	must(after.sa_handler == c->disposition && (after.sa_flags & SA_RESTART));
	if (is_pending()) {
		struct timespec now = { 0, 0 };
		must(sigtimedwait(&sigpipe, NULL, &now) == SIGPIPE);
	}
	pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
	sigaction(SIGPIPE, &old_action, NULL);
}

/* Statement 169, scenario F16. */
START_TEST(a_write_to_nobody_is_epipe_and_no_signal)
{
	void (*const dispositions[])(int) = { SIG_DFL, SIG_IGN, on_sigpipe };
	for (int d = 0; d < 3; d++)
		for (int by_all = 0; by_all < 2; by_all++) {
			struct pipe_case c = { .kind = _i, .by_all = by_all, .disposition = dispositions[d] };
			check_sigpipe(&c);
			c.is_blocked = true;
			check_sigpipe(&c);
			if (dispositions[d] == SIG_IGN) /* never becomes pending */
				continue;
			c.is_pending = true;
			check_sigpipe(&c);
			c.is_pending = false;
			c.is_pending_for_process = true;
			check_sigpipe(&c);
		}
}
END_TEST

static void *blocked_write(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	fill(fds[1]);
	struct io io = { .fd = fds[1], .data = "x", .size = 1 };
	bide_task *writer = io_start(io_write, &io);
	must(io.count == -2);
	close(fds[0]);
	fds[0] = -1;
	bide_result result = join_within(writer, LONG);
	must(result.err == EPIPE || result.err == ECONNRESET);
	close_pair(fds);
	return NULL;
}

/* Statement 169, with SIGPIPE at its default. */
START_TEST(a_blocked_writer_whose_reader_goes_gets_epipe)
{
	struct sigaction action = { .sa_handler = SIG_DFL }, old;
	sigaction(SIGPIPE, &action, &old);
	counted.modify_is_mute = true;
	run_real(blocked_write, arg_of(kind_with(STREAM, _i)));
	ck_assert(!is_pending());
	sigaction(SIGPIPE, &old, NULL);
}
END_TEST

int main(void)
{
	return SUITE("io_flags", LOOP(the_flags_of_a_descriptor_are_left_as_they_were, 0, 2 * FD_KINDS),
	    LOOP(a_peer_that_says_nothing_stops_nobody_else, 0, FD_KINDS),
	    LOOP(a_peer_that_does_not_read_stops_nobody_else, 0, 5),
	    LOOP(a_stopped_terminal_stops_nobody_else, 0, 4), TEST(a_background_job_that_reads_its_terminal_is_stopped),
	    TEST(a_thief_of_data_cannot_stop_the_loop_or_move_a_deadline),
	    LOOP(a_write_to_nobody_is_epipe_and_no_signal, 0, 5),
	    LOOP(a_blocked_writer_whose_reader_goes_gets_epipe, 0, 5));
}
