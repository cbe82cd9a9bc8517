/* SPDX-License-Identifier: MIT
 * Signals as something to wait for, and those that end a run: bide/signal.h, bide/loop.h. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "death.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

static int open_signals(int first, int second)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, first);
	sigaddset(&set, second);
	int handle = bide_signal_open(&set);
	must_msg(handle >= 0, "bide_signal_open: %s", strerror(errno));
	return handle;
}

static void close_signals(int handle)
{
	must(bide_signal_close(handle) == 0);
}

static void must_get(int handle, int number)
{
	bide_signal_info info;
	int got = bide_signal_wait(handle, &info);
	must_msg(got == number, "signal %d", got);
	must(info.number == number);
}

/* Nothing is waiting to be told. */
static void must_get_nothing(int handle)
{
	bide_scope scope = { { 0 } };
	must(bide_scope_enter(&scope, bide_after(BIDE_MSEC), 0) == 0);
	ck_fails(bide_signal_wait(handle, NULL), ETIMEDOUT);
	bide_scope_leave(&scope);
}

/* ---- bad input ----------------------------------------------------------------------------------------- */

static const int not_to_be_caught[] = { SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

VIRTUAL_TEST(bad_input_is_refused_and_changes_nothing)
{
	sigset_t set;
	struct sigaction now;
	sigemptyset(&set);
	ck_fails(bide_signal_open(NULL), EINVAL);
	ck_fails(bide_signal_open(&set), EINVAL);
	for (size_t i = 0; i < sizeof not_to_be_caught / sizeof *not_to_be_caught; i++) {
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		sigaddset(&set, not_to_be_caught[i]);
		ck_fails(bide_signal_open(&set), EINVAL);
		must(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
	}
	ck_fails(bide_signal_wait(-1, NULL), EBADF);
	ck_fails(bide_signal_close(-1), EBADF);
	int handle = open_signals(SIGUSR1, SIGUSR1);
	close_signals(handle);
	ck_fails(bide_signal_wait(handle, NULL), EBADF);
	ck_fails(bide_signal_close(handle), EBADF);
}

START_TEST(outside_a_loop_there_is_nothing_to_watch_for)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	ck_fails(bide_signal_open(&set), EPERM);
	ck_fails(bide_signal_wait(0, NULL), EPERM);
	ck_fails(bide_signal_close(0), EPERM);
}
END_TEST

static void *open_or_fail(void *arg)
{
	sigset_t set;
	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	int handle = bide_signal_open(&set);
	if (handle < 0)
		return bide_fail(errno);
	must(raise(SIGUSR2) == 0);
	must_get(handle, SIGUSR2);
	return NULL;
}

/* Of the loop's memory each allocation fails in turn, and each system call. */
START_TEST(without_memory_nothing_is_watched_and_nothing_leaks)
{
	struct sigaction now;
	for (size_t i = 1;; i++) {
		struct counting counting;
		bide_config config = BIDE_CONFIG_INIT;
		bide_result result;
		counting_init(&counting, false);
		counting.fail_at = i;
		config.allocator = &counting.allocator;
		int status = bide_run(open_or_fail, NULL, &config, &result);
		must(counting_is_balanced(&counting));
		must(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
		if (status == 0 && result.err == 0)
			break;
		must(status < 0 ? errno == ENOMEM : result.err == ENOMEM);
	}
}
END_TEST

/* How many calls of sigaction() a run makes by itself is not said, so all of them fail in turn. */
START_TEST(a_signal_that_cannot_be_watched_is_said_and_nothing_is_left)
{
	struct sigaction before, now;
	bool is_done = false;
	must(sigaction(SIGINT, NULL, &before) == 0);
	for (int i = 1; !is_done; i++) {
		char spec[64];
		bide_result result;
		snprintf(spec, sizeof spec, "sigaction:EINVAL@%d", i);
		must(bide_fault(spec) == 0);
		int status = bide_run(open_or_fail, NULL, NULL, &result);
		must(bide_fault(NULL) == 0);
		is_done = status == 0 && result.err == 0 && i > 4;
		must(status == 0 ? result.err == 0 || result.err == EINVAL : errno == EINVAL);
		must(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
		must(sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == before.sa_handler);
	}
}
END_TEST

/* ---- nothing is lost: statement 181, scenario I1 ---------------------------------------------------------- */

REAL_TEST(a_signal_that_came_before_the_wait_is_told)
{
	int handle = open_signals(SIGUSR1, SIGUSR2);
	must(raise(SIGUSR1) == 0);
	must_get(handle, SIGUSR1);
	must_get_nothing(handle);
	close_signals(handle);
}

REAL_TEST(of_a_flood_each_number_is_told_after_its_last)
{
	int handle = open_signals(SIGUSR1, SIGUSR2);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 10000; i++) {
			must(raise(SIGUSR1) == 0);
			if (i == 5000)
				must(raise(SIGUSR2) == 0);
		}
		must_get(handle, SIGUSR1);
		must_get(handle, SIGUSR2);
		must_get_nothing(handle);
	}
	close_signals(handle);
}

static void *raise_often(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		kill(getpid(), i % 2 ? SIGUSR1 : SIGUSR2);
		if (i % 100 == 0)
			usleep(1000);
	}
	*(atomic_bool *)arg = true;
	kill(getpid(), SIGUSR1); /* so that nobody waits who has not seen that it is over */
	return NULL;
}

/* The handlers run on any thread; the loop sleeps between. */
REAL_TEST(signals_of_another_thread_wake_a_sleeping_loop)
{
	int handle = open_signals(SIGUSR1, SIGUSR2), last = 0;
	atomic_bool is_over = false;
	pthread_t thread;
	must(pthread_create(&thread, NULL, raise_often, &is_over) == 0);
	while (!is_over) {
		last = bide_signal_wait(handle, NULL);
		must(last == SIGUSR1 || last == SIGUSR2);
	}
	must(pthread_join(thread, NULL) == 0);
	close_signals(handle);
	ck_assert_int_gt(last, 0);
}

static void *wait_and_note(void *arg)
{
	bide_signal_info info;
	int number = bide_signal_wait(*(int *)arg, &info);
	note("%s", number == SIGUSR1 ? "one" : number == SIGUSR2 ? "two" : strerrorname_np(errno));
	must(number < 0 || (info.pid == getpid() && info.uid == getuid()));
	return NULL;
}

REAL_TEST(who_waits_first_is_told_first)
{
	int handle = open_signals(SIGUSR1, SIGUSR2);
	bide_task *tasks[3];
	for (int i = 0; i < 3; i++) {
		tasks[i] = must_spawn(wait_and_note, &handle);
		must(bide_yield() == 0);
	}
	must(bide_cancel(tasks[0], NULL) == 0);
	must(raise(SIGUSR2) == 0);
	must_join(tasks[0]);
	must_end_well(tasks[1]);
	must(bide_task_state(tasks[2]) == BIDE_TASK_SUSPENDED);
	must(raise(SIGUSR1) == 0);
	must_end_well(tasks[2]);
	must_get_nothing(handle);
	close_signals(handle);
	expect_notes("ECANCELED two one");
}

/* Two that share a signal are both told; closing one leaves it to the other. */
REAL_TEST(each_handle_is_told)
{
	int one = open_signals(SIGUSR1, SIGUSR2), two = open_signals(SIGUSR1, SIGUSR1);
	must(raise(SIGUSR1) == 0);
	must(raise(SIGUSR2) == 0);
	must_get(one, SIGUSR1);
	must_get(two, SIGUSR1);
	close_signals(one);
	must_get_nothing(two);
	must(raise(SIGUSR1) == 0);
	must_get(two, SIGUSR1);
	close_signals(two);
}

VIRTUAL_TEST(close_wakes_who_waits)
{
	int handle = open_signals(SIGUSR1, SIGUSR2);
	bide_task *tasks[2];
	for (int i = 0; i < 2; i++)
		tasks[i] = must_spawn(wait_and_note, &handle);
	settle();
	close_signals(handle);
	for (int i = 0; i < 2; i++)
		must_end_well(tasks[i]);
	expect_notes("EBADF EBADF");
}

/* A wait for a signal is no deadlock, and does not stop a virtual clock. */
VIRTUAL_TEST(who_waits_for_a_signal_holds_up_nothing)
{
	int handle = open_signals(SIGUSR1, SIGUSR2);
	bide_task *task = must_spawn(wait_and_note, &handle);
	pass(3600 * BIDE_SEC);
	must(raise(SIGUSR1) == 0);
	must_end_well(task);
	close_signals(handle);
	expect_notes("one");
}

static void *other_loop(void *arg)
{
	sigset_t set;
	(void)arg;
	for (int i = 0; i < 20; i++) {
		int handle = open_signals(SIGUSR1, SIGUSR2);
		must(raise(SIGUSR1) == 0);
		int number = bide_signal_wait(handle, NULL);
		must(number == SIGUSR1 || number == SIGUSR2);
		close_signals(handle);
	}
	sigemptyset(&set);
	return NULL;
}

static void *run_other_loop(void *arg)
{
	for (int i = 0; i < 10; i++)
		must(bide_run(other_loop, arg, NULL, NULL) == 0);
	return NULL;
}

/* Watches are used again, by other threads, while handlers run. */
START_TEST(loops_on_several_threads_watch_at_the_same_time)
{
	pthread_t threads[3];
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_other_loop, NULL), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	struct sigaction now;
	must(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
}
END_TEST

/* ---- the host's handlers: scenario I7 ------------------------------------------------------------------------- */

static volatile sig_atomic_t host_calls;

static void host_handler(int number)
{
	host_calls += number == SIGUSR1;
}

static void host_action(int number, siginfo_t *info, void *context)
{
	host_calls += number == SIGUSR1 && info->si_pid == getpid() && context;
}

static void *with_a_host_handler(void *arg)
{
	(void)arg;
	int handle = open_signals(SIGUSR1, SIGUSR2);
	must(raise(SIGUSR1) == 0);
	must_get(handle, SIGUSR1);
	return NULL; /* the loop's end closes it */
}

START_TEST(a_handler_of_the_host_is_called_and_comes_back)
{
	struct sigaction plain = { .sa_handler = host_handler };
	struct sigaction full = { .sa_sigaction = host_action, .sa_flags = SA_SIGINFO | SA_NODEFER }, now;
	must(sigaction(SIGUSR1, _i ? &full : &plain, NULL) == 0);
	for (int i = 1; i <= 3; i++) {
		host_calls = 0;
		run_real(with_a_host_handler, NULL);
		must(raise(SIGUSR1) == 0);
		ck_assert_int_eq(host_calls, 2);
		must(sigaction(SIGUSR1, NULL, &now) == 0);
		must(_i ? now.sa_sigaction == host_action : now.sa_handler == host_handler);
	}
	signal(SIGUSR1, SIG_DFL);
}
END_TEST

static void *host_changes_its_mind(void *arg)
{
	(void)arg;
	int handle = open_signals(SIGUSR1, SIGUSR2);
	signal(SIGUSR1, host_handler);
	close_signals(handle);
	return NULL;
}

START_TEST(a_handler_that_the_host_sets_meanwhile_stays)
{
	struct sigaction now;
	run_real(host_changes_its_mind, NULL);
	must(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == host_handler);
	signal(SIGUSR1, SIG_DFL);
}
END_TEST

/* ---- what ends a run: statements 182, 183, scenario I6 ------------------------------------------------------ */

struct ending {
	int number;
	const char *reason;
	unsigned flags;
	bool has_handler; /* of the host's, for it */
	bool is_watched;  /* by a task */
	int times;
};

static void *be_ended(void *arg)
{
	const struct ending *ending = arg;
	if (ending->is_watched)
		open_signals(ending->number, ending->number);
	for (int i = 0; i < ending->times; i++)
		must(kill(getpid(), ending->number) == 0);
	if (bide_sleep(20 * BIDE_MSEC) == 0)
		return "slept";
	must(errno == ECANCELED && bide_canceling() == 1);
	must(strcmp(bide_cancel_reason(), ending->reason) == 0);
	must(bide_uncancel() == 0);
	must(bide_sleep(BIDE_MSEC) == 0); /* it was one cancel */
	return "canceled";
}

/* As exit status: 1 if main was canceled, 2 if not. */
static void run_ending(void *arg)
{
	struct ending *ending = arg;
	struct sigaction before, after;
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result = { NULL, 0 };
	config.flags = ending->flags;
	if (ending->has_handler)
		signal(ending->number, host_handler);
	sigaction(ending->number, NULL, &before);
	if (bide_run(be_ended, ending, &config, &result) < 0 || result.err)
		_exit(9);
	sigaction(ending->number, NULL, &after);
	_exit(before.sa_handler != after.sa_handler ? 8 : strcmp(result.value, "canceled") == 0 ? 1 : 2);
}

static const struct {
	struct ending ending;
	int exit_status, signal;
} endings[] = {
	{ { SIGINT, "SIGINT", 0, false, false, 1 }, 1, 0 },
	{ { SIGTERM, "SIGTERM", 0, false, false, 1 }, 1, 0 },
	{ { SIGINT, "SIGINT", 0, false, false, 2 }, 0, SIGINT },
	{ { SIGTERM, "SIGTERM", 0, false, false, 2 }, 0, SIGTERM },
	{ { SIGINT, "SIGINT", BIDE_NO_SIGNALS, false, false, 1 }, 0, SIGINT },
	{ { SIGTERM, "SIGTERM", BIDE_NO_SIGNALS, false, false, 1 }, 0, SIGTERM },
	{ { SIGINT, "SIGINT", 0, true, false, 3 }, 2, 0 },
	{ { SIGINT, "SIGINT", 0, false, true, 3 }, 2, 0 },
	{ { SIGTERM, "SIGTERM", BIDE_NO_SIGNALS, false, true, 3 }, 2, 0 },
};

START_TEST(a_signal_to_end_cancels_main_once_and_then_acts_by_default)
{
	struct ending ending = endings[_i].ending;
	struct death death = death_of(run_ending, &ending);
	ck_assert_msg(death.signal == endings[_i].signal, "signal %d: %s", death.signal, death.text);
	ck_assert_msg(death.exit_status == endings[_i].exit_status, "exit status %d: %s", death.exit_status,
	    death.text);
}
END_TEST

static void *never_look(void *arg)
{
	must(raise(SIGINT) == 0);
	must(raise(SIGINT) == 0); /* no loop has turned in between */
	return arg;
}

static void run_never_look(void *arg)
{
	bide_run(never_look, arg, NULL, NULL);
}

START_TEST(the_second_one_ends_even_a_loop_that_is_stuck)
{
	struct death death = death_of(run_never_look, NULL);
	ck_assert_int_eq(death.signal, SIGINT);
}
END_TEST

static void *wait_for_the_end(void *arg)
{
	(void)arg;
	return bide_sleep(60 * BIDE_SEC) < 0 && errno == ECANCELED ? NULL : bide_fail(EPROTO);
}

static void *run_on_a_thread(void *arg)
{
	bide_result result;
	*(int *)arg = bide_run(wait_for_the_end, NULL, NULL, &result) == 0 ? result.err : -1;
	return NULL;
}

static void end_two_loops(void *arg)
{
	pthread_t threads[2];
	int errs[2];
	(void)arg;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run_on_a_thread, &errs[i]);
	usleep(100000);
	kill(getpid(), SIGTERM);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	_exit(errs[0] == ECANCELED && errs[1] == ECANCELED ? 0 : 1);
}

START_TEST(one_signal_ends_all_loops_of_the_process)
{
	struct death death = death_of(end_two_loops, NULL);
	ck_assert_msg(death.signal == 0 && death.exit_status == 0, "signal %d, exit status %d: %s", death.signal,
	    death.exit_status, death.text);
}
END_TEST

int main(void)
{
	return SUITE("signal", TEST(bad_input_is_refused_and_changes_nothing),
	    TEST(outside_a_loop_there_is_nothing_to_watch_for),
	    TEST(without_memory_nothing_is_watched_and_nothing_leaks),
	    TEST(a_signal_that_cannot_be_watched_is_said_and_nothing_is_left),
	    TEST(a_signal_that_came_before_the_wait_is_told),
	    TEST(of_a_flood_each_number_is_told_after_its_last),
	    TEST(signals_of_another_thread_wake_a_sleeping_loop), TEST(who_waits_first_is_told_first),
	    TEST(each_handle_is_told), TEST(close_wakes_who_waits),
	    TEST(who_waits_for_a_signal_holds_up_nothing),
	    TEST(loops_on_several_threads_watch_at_the_same_time),
	    LOOP(a_handler_of_the_host_is_called_and_comes_back, 0, 2),
	    TEST(a_handler_that_the_host_sets_meanwhile_stays),
	    TABLE(a_signal_to_end_cancels_main_once_and_then_acts_by_default, endings),
	    TEST(the_second_one_ends_even_a_loop_that_is_stuck),
	    TEST(one_signal_ends_all_loops_of_the_process));
}
