/* SPDX-License-Identifier: MIT
 * bide_dump_loop(): the tasks of a loop, for another thread, whether the loop goes on or is stuck; and SIGQUIT. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "death.h"
#include "runs.h"

static char text[1 << 16];

/* What a call writes to a file; 0 or its errno. */
static int dump_to_text(bide_loop *loop, unsigned flags)
{
	FILE *file = tmpfile();
	must(file);
	int err = bide_dump_loop(loop, fileno(file), flags) < 0 ? errno : 0;
	rewind(file);
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	return err;
}

static void must_say(const char *what)
{
	must_msg(strstr(text, what), "no '%s' in: %s", what, text);
}

/* ---- bad input -------------------------------------------------------------------------------------- */

VIRTUAL_TEST(bad_input_is_refused)
{
	bide_loop *loop = bide_loop_self();
	FILE *full = fopen("/dev/full", "w");
	ck_fails(bide_dump_loop(NULL, 2, 0), EINVAL);
	ck_fails(bide_dump_loop(loop, -1, 0), EINVAL);
	ck_fails(bide_dump_loop(loop, 2, 4), EINVAL);
	ck_fails(bide_dump_loop(loop, fileno(full), 0), ENOSPC);
	fclose(full);
	int closed = dup(2); /* the next descriptor that is opened, as by the call itself, has this number */
	must(close(closed) == 0);
	ck_fails(bide_dump_loop(loop, closed, 0), EBADF);
	must(bide_fault("open:EMFILE") == 0);
	ck_fails(bide_dump_loop(loop, 2, 0), EMFILE);
	must(bide_fault(NULL) == 0);
}

static void *name_of_loop(void *arg)
{
	*(bide_loop **)arg = bide_loop_self();
	return NULL;
}

START_TEST(a_loop_that_has_ended_is_told)
{
	bide_loop *loop;
	ck_assert_int_eq(bide_run(name_of_loop, &loop, NULL, NULL), 0);
	ck_fails(bide_dump_loop(loop, 2, 0), ESHUTDOWN);
}
END_TEST

VIRTUAL_TEST(its_own_thread_tells_where_it_stands)
{
	must(dump_to_text(bide_loop_self(), BIDE_DUMP_BACKTRACES) == 0);
	must_say("bide: the loop of thread ");
	must_say("\nbide: 1 task\n");
	must_say("\"main\" running");
	must_say("at its_own_thread_tells_where_it_stands_");
}

/* ---- another thread's -------------------------------------------------------------------------------- */

struct other {
	pthread_t thread;
	bide_fn *main_fn;
	unsigned flags;
	_Atomic(bide_loop *) loop;
	atomic_bool is_to_end;
};

static struct other other;

static void *main_of_other(void *arg)
{
	atomic_store(&other.loop, bide_loop_self());
	return other.main_fn(arg);
}

static void *run_other(void *arg)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = other.flags;
	must(bide_run(main_of_other, arg, &config, NULL) == 0);
	return NULL;
}

static bide_loop *start_other(bide_fn *main_fn, unsigned flags)
{
	other.main_fn = main_fn;
	other.flags = flags;
	atomic_store(&other.loop, NULL);
	atomic_store(&other.is_to_end, false);
	must(pthread_create(&other.thread, NULL, run_other, NULL) == 0);
	while (!atomic_load(&other.loop))
		sched_yield();
	return atomic_load(&other.loop);
}

static void end_other(void)
{
	atomic_store(&other.is_to_end, true);
	must(pthread_join(other.thread, NULL) == 0);
}

static void *sleep_until_the_end(void *arg)
{
	must_spawn_named("dreamer", forever_sleeper, NULL);
	while (!atomic_load(&other.is_to_end))
		pass(BIDE_MSEC);
	return arg;
}

/* It cannot be held, so it has answered by itself. */
START_TEST(a_loop_that_goes_on_answers)
{
	int err;
	bide_loop *loop = start_other(sleep_until_the_end, BIDE_NO_SIGNALS);
	while ((err = dump_to_text(loop, BIDE_DUMP_BACKTRACES)) == ETIMEDOUT || !strstr(text, "dreamer"))
		must(err == 0 || err == ETIMEDOUT); /* on a busy machine */
	must_say("\"main\" ");
	must_say("\"dreamer\" suspended, waits for sleep");
	must_say("at forever_sleeper (runs.c:");
	must(!strstr(text, "does not answer"));
	end_other();
}
END_TEST

/* Without calls, since on aarch64 a backtrace from a linker's stub has but one frame; ThreadSanitizer however
 * delivers signals in calls only. */
static void *spin_until_the_end(void *arg)
{
	bool calls = suite_is_for("thread");
	while (!atomic_load(&other.is_to_end))
		if (calls)
			clock_monotonic();
	return arg;
}

static void *main_of_one_that_spins(void *arg)
{
	must_spawn_named("dreamer", forever_sleeper, NULL);
	must(bide_yield() == 0);
	must_end_well(must_spawn_named("spinner", spin_until_the_end, NULL));
	return arg;
}

START_TEST(a_stuck_loop_is_held_and_told_with_where_it_stands)
{
	bide_loop *loop = start_other(main_of_one_that_spins, _i ? BIDE_DEBUG : 0);
	for (int i = 0; i < 3; i++) {
		int err;
		while ((err = dump_to_text(loop, BIDE_DUMP_BACKTRACES)) == ETIMEDOUT || !strstr(text, "spinner\" running"))
			must(err == 0 || err == ETIMEDOUT);
		must_say(", which does not answer\n");
		must_say("\"main\" suspended, waits for task ");
		must_say("\"dreamer\" suspended, waits for sleep");
		must_say("at spin_until_the_end (");
	}
	end_other();
}
END_TEST

START_TEST(a_stuck_loop_that_leaves_signals_alone_cannot_be_told)
{
	bide_loop *loop = start_other(spin_until_the_end, BIDE_NO_SIGNALS);
	ck_fails(bide_dump_loop(loop, 2, 0), ETIMEDOUT);
	end_other();
}
END_TEST

/* One long slice that changes all that a dump reads: records, names, memory, groups. */
static void *change_until_the_end(void *arg)
{
	bide_task *tasks[64] = { NULL };
	for (unsigned i = 0; !atomic_load(&other.is_to_end); i = (i + 1) % 64) {
		if (tasks[i])
			must(bide_cancel(tasks[i], "for the test") >= 0 && bide_detach(tasks[i]) == 0);
		tasks[i] = must_spawn_named("child", forever_sleeper, NULL);
		free(malloc(100 + i * 50));
		if (i == 0)
			must(bide_yield() == 0);
	}
	return arg;
}

/* Whatever it is in the middle of, the dump comes to an end, and the loop goes on. */
START_TEST(a_loop_is_told_in_the_middle_of_anything)
{
	bide_loop *loop = start_other(change_until_the_end, 0);
	for (int i = 0; i < suite_scaled_down(100, 10); i++) {
		int err = dump_to_text(loop, BIDE_DUMP_BACKTRACES | BIDE_DUMP_ALL);
		must(err == 0 || err == ETIMEDOUT);
	}
	end_other();
}
END_TEST

/* The library's write(): a loop's thread may be held up in it, as by a handler of the host's. */
static struct {
	_Atomic(pthread_t) thread; /* 0: nobody */
	atomic_int count;          /* of those who are held up, or were */
} obstacle;

__attribute__((visibility("default"))) ssize_t write(int fd, const void *from, size_t size)
{
	if (atomic_load(&obstacle.thread) == pthread_self()) {
		atomic_fetch_add(&obstacle.count, 1);
		while (atomic_load(&obstacle.thread))
			usleep(1000);
	}
	return syscall(SYS_write, fd, from, size);
}

static void be_asked_and_held_up(int expected)
{
	bide_loop *loop = start_other(sleep_until_the_end, expected ? BIDE_NO_SIGNALS : 0);
	atomic_store(&obstacle.thread, other.thread);
	int err;
	do
		err = dump_to_text(loop, 0);
	while (atomic_load(&obstacle.count) == 0); /* on a busy machine */
	ck_assert_int_eq(err, expected);
	atomic_store(&obstacle.thread, 0);
	end_other();
}

START_TEST(a_loop_that_begins_to_answer_and_does_not_go_on_is_held)
{
	be_asked_and_held_up(0);
	must_say(", which does not answer\n");
	must_say("\"main\" ");
}
END_TEST

START_TEST(one_that_may_not_be_held_is_given_up)
{
	be_asked_and_held_up(ETIMEDOUT);
}
END_TEST

START_TEST(a_reader_that_does_not_read_is_given_up)
{
	int fds[2];
	bide_loop *loop = start_other(sleep_until_the_end, 0);
	must(pipe(fds) == 0 && fcntl(fds[1], F_SETFL, O_NONBLOCK) == 0);
	while (write(fds[1], text, 4096) > 0)
		continue;
	must(fcntl(fds[1], F_SETFL, 0) == 0);
	ck_fails(bide_dump_loop(loop, fds[1], 0), EAGAIN);
	close(fds[0]);
	close(fds[1]);
	end_other();
}
END_TEST

static void *dump_that_one(void *arg)
{
	bide_loop *loop = start_other(main_of_one_that_spins, 0);
	int err = dump_to_text(loop, 0);
	must(err == 0 || err == ETIMEDOUT);
	end_other();
	return arg;
}

START_TEST(a_task_of_one_loop_tells_of_another)
{
	run_real(dump_that_one, NULL);
}
END_TEST

START_TEST(without_memory_it_fails_and_works_the_next_time)
{
	int err;
	bide_loop *loop = start_other(sleep_until_the_end, 0);
	while ((err = dump_to_text(loop, 0)) == ETIMEDOUT || !strstr(text, "\"dreamer\" suspended"))
		must(err == 0 || err == ETIMEDOUT); /* until it has all the memory that it needs */
	must(bide_fault("malloc:ENOMEM") == 0);
	err = bide_dump_loop(loop, 2, 0) < 0 ? errno : 0;
	must(bide_fault(NULL) == 0);
	must(err == ENOMEM);
	while ((err = dump_to_text(loop, 0)) == ETIMEDOUT)
		continue;
	must(err == 0);
	end_other();
}
END_TEST

/* ---- SIGQUIT ------------------------------------------------------------------------------------------ */

static atomic_int told, begun; /* loops */

/* Passes on what the library writes, and counts. */
static void *read_stderr(void *fds)
{
	char line[4096];
	FILE *in = fdopen(((int *)fds)[0], "r");
	while (fgets(line, sizeof line, in)) {
		ssize_t ignored = write(((int *)fds)[1], line, strlen(line));
		(void)ignored;
		atomic_fetch_add(&told, strstr(line, "the loop of thread ") != NULL);
	}
	return NULL;
}

static void *quit_and_wait(void *arg)
{
	must_spawn_named("dreamer", forever_sleeper, NULL);
	pass(BIDE_MSEC); /* the dreamer has run */
	atomic_fetch_add(&begun, 1);
	while (atomic_load(&begun) < 2)
		pass(BIDE_MSEC);
	if (bide_loop_number() == 0)
		kill(getpid(), SIGQUIT);
	while (atomic_load(&told) < 2)
		pass(BIDE_MSEC);
	return arg;
}

static bide_config debug_config(void)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = BIDE_DEBUG;
	config.slow_slice = config.stall = BIDE_NEVER;
	return config;
}

struct quitting {
	bide_fn *main_fn;
	unsigned loops;
};

static void quit_in_debug(void *arg)
{
	const struct quitting *quitting = arg;
	bide_config config = debug_config();
	pthread_t reader;
	int ends[2], fds[2] = { 0, dup(STDERR_FILENO) };
	signal(SIGQUIT, SIG_DFL);
	if (pipe(ends) < 0)
		_exit(1);
	dup2(ends[1], STDERR_FILENO);
	fds[0] = ends[0];
	pthread_create(&reader, NULL, read_stderr, fds);
	bide_run_many(quitting->loops, quitting->main_fn, NULL, &config, NULL);
	usleep(10000);
	raise(SIGQUIT); /* acts as it did before */
}

START_TEST(sigquit_tells_of_all_loops_and_they_go_on)
{
	if (suite_is_for("thread"))
		return; /* a child of it cannot have threads */
	struct quitting quitting = { quit_and_wait, 2 };
	struct death death = death_of(quit_in_debug, &quitting);
	ck_assert_msg(death.signal == SIGQUIT, "signal %d, status %d: %s", death.signal, death.exit_status, death.text);
	const char *first = strstr(death.text, "\"dreamer\" suspended");
	ck_assert_msg(first && strstr(first + 1, "\"dreamer\" suspended"), "%s", death.text);
}
END_TEST

static void *block(void *arg)
{
	usleep(20000);
	return arg;
}

static void *run_often(void *arg)
{
	bide_config config = debug_config();
	for (int i = 0; i < 12; i++)
		bide_run(block, NULL, &config, NULL);
	return arg;
}

static void *quit_beside_short_runs(void *arg)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run_often, NULL);
	pass(10 * BIDE_MSEC);
	kill(getpid(), SIGQUIT);
	while (atomic_load(&told) < 1)
		pass(BIDE_MSEC);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return arg;
}

START_TEST(sigquit_tells_of_the_loops_there_are_and_not_of_those_that_begin_meanwhile)
{
	if (suite_is_for("thread"))
		return; /* a child of it cannot have threads */
	struct quitting quitting = { quit_beside_short_runs, 1 };
	struct death death = death_of(quit_in_debug, &quitting);
	int count = 0;
	for (const char *at = death.text; (at = strstr(at, "the loop of thread ")); at++)
		count++;
	ck_assert_msg(death.signal == SIGQUIT && count >= 1 && count <= 3, "%d, %s", death.signal, death.text);
}
END_TEST

static void *look_at_quit(void *arg)
{
	struct sigaction now;
	sigaction(SIGQUIT, NULL, &now);
	*(bool *)arg = now.sa_handler == SIG_DFL;
	return NULL;
}

START_TEST(sigquit_is_left_alone_but_in_debug)
{
	static const unsigned flags[] = { 0, BIDE_DEBUG, BIDE_DEBUG | BIDE_NO_SIGNALS };
	bool is_default;
	struct sigaction now;
	signal(SIGQUIT, SIG_DFL);
	run_with(flags[_i], look_at_quit, &is_default);
	ck_assert_int_eq(is_default, _i != 1);
	sigaction(SIGQUIT, NULL, &now);
	ck_assert(now.sa_handler == SIG_DFL);
}
END_TEST

static void handle_quit(int number)
{
	(void)number;
}

START_TEST(a_handler_of_the_hosts_is_kept)
{
	bool is_default = true;
	signal(SIGQUIT, handle_quit);
	run_with(BIDE_DEBUG, look_at_quit, &is_default);
	ck_assert(!is_default);
	ck_assert(signal(SIGQUIT, SIG_DFL) == handle_quit);
}
END_TEST

static void *look_in_a_child(void *arg)
{
	bool is_default = false;
	int status;
	pid_t child = fork();
	if (child == 0) {
		look_at_quit(&is_default);
		_exit(is_default ? 0 : 1);
	}
	must(child > 0 && waitpid(child, &status, 0) == child);
	must(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return arg;
}

START_TEST(a_forked_process_has_the_default_action)
{
	signal(SIGQUIT, SIG_DFL);
	if (suite_is_under("valgrind"))
		return; /* to which all that other threads had is lost in the child */
	run_with(BIDE_DEBUG, look_in_a_child, NULL);
}
END_TEST

int main(void)
{
	return SUITE("dump loop", TEST(bad_input_is_refused), TEST(a_loop_that_has_ended_is_told),
	    TEST(its_own_thread_tells_where_it_stands), TEST(a_loop_that_goes_on_answers),
	    LOOP(a_stuck_loop_is_held_and_told_with_where_it_stands, 0, 2),
	    TEST(a_stuck_loop_that_leaves_signals_alone_cannot_be_told), TEST(a_loop_is_told_in_the_middle_of_anything),
	    TEST(a_loop_that_begins_to_answer_and_does_not_go_on_is_held), TEST(one_that_may_not_be_held_is_given_up),
	    TEST(a_reader_that_does_not_read_is_given_up), TEST(a_task_of_one_loop_tells_of_another), TEST(without_memory_it_fails_and_works_the_next_time),
	    TEST(sigquit_tells_of_all_loops_and_they_go_on),
	    TEST(sigquit_tells_of_the_loops_there_are_and_not_of_those_that_begin_meanwhile), LOOP(sigquit_is_left_alone_but_in_debug, 0, 3),
	    TEST(a_handler_of_the_hosts_is_kept), TEST(a_forked_process_has_the_default_action));
}
