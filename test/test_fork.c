/* SPDX-License-Identifier: MIT
 * A process that was forked leaves its parent's loop alone: bide/loop.h, "Forks". */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runs.h"
#include "sockets.h"
#include "stack/annotate.h"

/* ThreadSanitizer forgets in a fork which fiber was synchronized with which, and AddressSanitizer's own
 * locks may be held by a thread that is not there. */
#ifdef ANNOTATE_TSAN
#define RETURNS 0
#else
#define RETURNS 2
#endif
#ifdef ANNOTATE_ASAN
#define THREADS 0
#else
#define THREADS 1
#endif

/* How a child says that something does not hold: where. */
#define EXPECT(condition) do { if (!(condition)) _exit(__LINE__ % 200 + 20); } while (0)

static int exit_status_of(pid_t pid)
{
	int status;
	must(pid > 0 && waitpid(pid, &status, 0) == pid);
	must_msg(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

static void must_exit_well(pid_t pid)
{
	int status = exit_status_of(pid);
	must_msg(status == 0, "exit status %d", status);
}

static pid_t raw_fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

/* ---- calls ------------------------------------------------------------------------------------------------ */

static void do_nothing(void *arg)
{
	(void)arg;
}

static void *unused(void *arg)
{
	return arg;
}

#define EXPECT_EPERM(call) errno = 0; EXPECT((call) < 0 && errno == EPERM)

static void expect_that_every_call_is_refused(bide_loop *loop, bide_task *other, int fd)
{
	char byte;
	EXPECT_EPERM(bide_yield());
	EXPECT_EPERM(bide_sleep(1));
	EXPECT_EPERM(bide_read(fd, &byte, 1));
	EXPECT_EPERM(bide_fd_wait(fd, POLLIN));
	EXPECT_EPERM(bide_join(other, NULL));
	EXPECT_EPERM(bide_cancel(other, NULL));
	EXPECT_EPERM(bide_call_soon(do_nothing, NULL));
	EXPECT_EPERM(bide_stop());
	errno = 0;
	EXPECT(!bide_spawn(unused, NULL) && errno == EPERM);
	EXPECT(!bide_self() && !bide_loop_self());
	EXPECT(bide_post(loop, do_nothing, NULL) < 0 && errno == ESHUTDOWN);
}

struct scene {
	int fds[2];
	bide_task *reader;
	bide_loop *loop;
};

static void begin(struct scene *scene, struct io *io)
{
	make_unix(scene->fds);
	*io = (struct io){ .fd = scene->fds[0] };
	scene->reader = io_start(io_recv, io);
	scene->loop = bide_loop_self();
}

/* The parent's reader is still registered, and woken. */
static void end(struct scene *scene, struct io *io)
{
	must_write(scene->fds[1], "x", 1);
	must(join_within(scene->reader, LONG).err == 0 && io->count == 1);
	close_pair(scene->fds);
}

REAL_TEST(calls_of_an_inherited_loop_are_refused_and_the_parent_notices_nothing)
{
	struct scene scene;
	struct io io;
	begin(&scene, &io);
	pid_t pid = _i ? raw_fork() : fork();
	if (pid == 0) {
		if (_i)
			EXPECT(bide_after_fork() == 0);
		expect_that_every_call_is_refused(scene.loop, scene.reader, scene.fds[0]);
		EXPECT(bide_after_fork() == 0);
		close(scene.fds[0]);
		_exit(0);
	}
	must_exit_well(pid);
	end(&scene, &io);
}

REAL_TEST(without_a_fork_there_is_nothing_to_do)
{
	ck_fails(bide_after_fork(), EINVAL);
	must(bide_sleep(1) == 0);
}

/* ---- a task that returns in the child ---------------------------------------------------------------------------- */

static pid_t parent, child;
static bool other_ran_in_child;

static void *run_everywhere(void *arg)
{
	for (int i = 0; i < 100; i++) {
		other_ran_in_child |= getpid() != parent;
		if (bide_yield() < 0)
			break;
	}
	return arg;
}

static void *fork_and_return(void *arg)
{
	must_spawn(run_everywhere, NULL);
	must(bide_yield() == 0);
	child = fork();
	if (child != 0)
		must_exit_well(child);
	return arg;
}

static void fork_in_callback(void *arg)
{
	child = fork();
	if (child != 0)
		must_exit_well(child);
	(void)arg;
}

static void *call_what_forks(void *arg)
{
	must_spawn(run_everywhere, NULL);
	must(bide_call_soon(fork_in_callback, NULL) == 0);
	must(bide_sleep(BIDE_MSEC) == 0);
	return arg;
}

START_TEST(when_the_task_returns_in_the_child_nothing_else_runs_there)
{
	parent = getpid();
	int result = bide_run(_i ? call_what_forks : fork_and_return, NULL, NULL, NULL);
	if (getpid() != parent) {
		EXPECT(result == -1 && errno == EPERM);
		EXPECT(!other_ran_in_child);
		EXPECT(!bide_loop_self());
		_exit(0);
	}
	ck_assert_int_eq(result, 0);
}
END_TEST

/* ---- a new loop in the child --------------------------------------------------------------------------------------- */

static void *use_a_loop(void *arg)
{
	int fds[2];
	struct io io;
	(void)arg;
	make_tcp(fds);
	io = (struct io){ .fd = fds[0] };
	bide_task *reader = io_start(io_recv, &io);
	EXPECT(bide_sleep(BIDE_MSEC) == 0);
	EXPECT(write(fds[1], "y", 1) == 1);
	EXPECT(join_within(reader, LONG).err == 0 && io.count == 1);
	close_pair(fds);
	return NULL;
}

REAL_TEST(a_new_loop_runs_in_the_child)
{
	struct scene scene;
	struct io io;
	begin(&scene, &io);
	pid_t pid = _i ? raw_fork() : fork();
	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			EXPECT(bide_run(use_a_loop, NULL, NULL, NULL) == 0);
		_exit(0);
	}
	must_exit_well(pid);
	end(&scene, &io);
}

static void *fork_again(void *arg)
{
	pid_t pid = fork();
	if (pid == 0) {
		EXPECT(bide_run(use_a_loop, arg, NULL, NULL) == 0);
		_exit(0);
	}
	int status;
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	EXPECT(bide_sleep(1) == 0);
	return NULL;
}

REAL_TEST(a_child_of_the_child_has_its_own)
{
	pid_t pid = fork();
	if (pid == 0) {
		EXPECT(bide_run(fork_again, NULL, NULL, NULL) == 0);
		_exit(0);
	}
	must_exit_well(pid);
}

/* ---- signals --------------------------------------------------------------------------------------------------------- */

/* Watched in the parent, they act by default in the child. */
REAL_TEST(signals_of_the_child_are_not_told_to_the_parents_loop)
{
	sigset_t set;
	int status;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	int handle = bide_signal_open(&set);
	must(handle >= 0);
	pid_t pid = fork();
	if (pid == 0) {
		raise(SIGUSR1);
		_exit(1);
	}
	must(waitpid(pid, &status, 0) == pid);
	must(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
	must(raise(SIGUSR1) == 0);
	must(bide_signal_wait(handle, NULL) == SIGUSR1);
}

/* ---- locks ------------------------------------------------------------------------------------------------------------ */

static atomic_bool is_over;

static void *take_locks(void *arg)
{
	while (!is_over) {
		bide_coro *coro = bide_coro_new(unused, NULL, 0);
		if (coro)
			bide_coro_close(coro);
	}
	return arg;
}

START_TEST(no_lock_is_held_in_the_child_by_a_thread_that_is_not_there)
{
	pthread_t thread;
	is_over = false;
	bide_run(unused, NULL, NULL, NULL); /* forks are noticed from the first run on */
	ck_assert_int_eq(pthread_create(&thread, NULL, take_locks, NULL), 0);
	for (int i = 0; i < suite_scaled_down(200, 20); i++) {
		pid_t pid = fork();
		if (pid == 0) {
			alarm(20);
			EXPECT(bide_run(unused, NULL, NULL, NULL) == 0);
			bide_coro *coro = bide_coro_new(unused, NULL, 0);
			EXPECT(coro && bide_coro_close(coro) == 0);
			_exit(0);
		}
		must_exit_well(pid);
	}
	is_over = true;
	pthread_join(thread, NULL);
}
END_TEST

int main(void)
{
	return SUITE("fork", LOOP(calls_of_an_inherited_loop_are_refused_and_the_parent_notices_nothing, 0, 2),
	    TEST(without_a_fork_there_is_nothing_to_do),
	    LOOP(when_the_task_returns_in_the_child_nothing_else_runs_there, 0, RETURNS),
	    LOOP(a_new_loop_runs_in_the_child, 0, 2), TEST(a_child_of_the_child_has_its_own),
	    TEST(signals_of_the_child_are_not_told_to_the_parents_loop),
	    LOOP(no_lock_is_held_in_the_child_by_a_thread_that_is_not_there, 0, THREADS));
}
