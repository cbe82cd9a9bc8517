/* SPDX-License-Identifier: MIT
 * bide_run(): its beginning, its end, what it leaves behind: bide/loop.h. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "await/record.h"
#include "death.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

/* ---- outcomes ----------------------------------------------------------------------------------------- */

static void *fail_with_eio(void *arg)
{
	(void)arg;
	return bide_fail(EIO);
}

START_TEST(main_s_outcome_is_in_out)
{
	int value;
	bide_result result = { NULL, 77 };
	errno = EXDEV;
	ck_assert_int_eq(bide_run(nothing, &value, NULL, &result), 0);
	ck_assert_int_eq(errno, EXDEV);
	ck_assert_int_eq(result.err, 0);
	ck_assert_ptr_eq(result.value, &value);
	ck_assert_int_eq(bide_run(nothing, &value, NULL, NULL), 0);
}
END_TEST

START_TEST(main_s_failure_is_not_the_run_s_if_somebody_asks_for_it)
{
	bide_result result = { &result, 77 };
	ck_assert_int_eq(bide_run(fail_with_eio, NULL, NULL, &result), 0);
	ck_assert_int_eq(result.err, EIO);
	ck_assert_ptr_null(result.value);
}
END_TEST

START_TEST(main_s_failure_is_the_run_s_if_nobody_asks_for_it)
{
	ck_fails(bide_run(fail_with_eio, NULL, NULL, NULL), EIO);
}
END_TEST

static void *stop_myself(void *arg)
{
	must(bide_stop() == 0);
	return bide_sleep(BIDE_SEC) < 0 ? arg : NULL;
}

START_TEST(a_stopped_main_ends_canceled_unless_it_returns_a_value)
{
	bide_result result = { &result, 77 };
	ck_assert_int_eq(bide_run(stop_myself, NULL, NULL, &result), 0);
	ck_assert_int_eq(result.err, ECANCELED);
	ck_assert_int_eq(bide_run(stop_myself, "value", NULL, &result), 0);
	ck_assert_int_eq(result.err, 0);
	ck_assert_str_eq(result.value, "value");
}
END_TEST

static void *main_and_its_own_handle(void *arg)
{
	switch (*(int *)arg) {
	case 0: must(bide_detach(bide_self()) == 0); break;
	case 1: must(bide_task_ref(bide_self()) != NULL); break;
	case 2: must(bide_task_ref(bide_self()) != NULL); bide_task_unref(bide_self()); bide_task_unref(bide_self()); break;
	}
	pass(1);
	return arg;
}

START_TEST(main_may_do_what_it_likes_with_its_own_handle)
{
	ck_assert_ptr_eq(run_virtual(main_and_its_own_handle, &_i), &_i);
}
END_TEST

/* ---- what main leaves: semantics 7, 8 ------------------------------------------------------------------- */

static void note_clean_up(void *arg)
{
	pass(BIDE_SEC);
	note("%s cleaned up@%lld", (char *)arg, (long long)(bide_now() / BIDE_SEC));
}

static void *be_left(void *arg)
{
	must(bide_defer(note_clean_up, arg) == 0);
	ck_fails(bide_sleep(BIDE_NEVER), ECANCELED);
	note("%s canceled", (char *)arg);
	return NULL;
}

static void *never_entered(void *arg)
{
	(void)arg;
	ck_abort_msg("entered");
}

static void *leave_three(void *arg)
{
	must_spawn(be_left, "a");
	bide_task *waiting = must_spawn(be_left, "b");
	must_spawn(be_left, "c");
	settle();
	(void)waiting;
	must_spawn(never_entered, NULL);
	note("main ends");
	return arg;
}

/* semantics 7 */
START_TEST(those_left_are_canceled_clean_up_and_are_waited_for)
{
	ck_assert_str_eq(run_virtual_in_order(leave_three, "value"), "value");
	note("run ends");
	expect_notes("main ends a canceled b canceled c canceled a cleaned up@1 b cleaned up@1 c cleaned up@1 run ends");
}
END_TEST

static void *leave_three_and_fail(void *arg)
{
	leave_three(arg);
	return bide_fail(EIO);
}

START_TEST(those_left_are_waited_for_when_main_fails_too)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	config.flags = BIDE_VIRTUAL_CLOCK;
	ck_assert_int_eq(bide_run(leave_three_and_fail, NULL, &config, &result), 0);
	ck_assert_int_eq(result.err, EIO);
	ck_assert_ptr_nonnull(strstr(notes(), "c cleaned up@1"));
}
END_TEST

struct stubborn {
	bide_time longer; /* sleeps so long after its cancel, shielded */
	bool for_ever;    /* or calls on although every call fails */
};

static void sleep_longer(void *arg)
{
	pass(*(bide_time *)arg);
	note("done");
}

static bool has_returned;

static void *be_stubborn(void *arg)
{
	struct stubborn *stubborn = arg;
	if (!stubborn->for_ever)
		must(bide_defer(sleep_longer, &stubborn->longer) == 0);
	do {
		bide_sleep(3600 * BIDE_SEC);
		must(!has_returned);
	} while (stubborn->for_ever);
	return NULL;
}

static void *take_requests_back(void *arg)
{
	(void)arg;
	for (;;) {
		bide_sleep(3600 * BIDE_SEC);
		bide_uncancel();
		must(!has_returned);
	}
	return NULL;
}

static bide_fn *stubborn_body;

static void *leave_a_stubborn_one(void *arg)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.name = "mule";
	must(bide_spawn_with(stubborn_body, arg, &attr));
	must(bide_yield() == 0);
	return "value";
}

static const struct {
	bide_fn *body;
	struct stubborn stubborn;
	unsigned flags;
	bide_time grace;
	int err;
} graces[] = {
	{ be_stubborn, { 4999 * BIDE_MSEC, false }, BIDE_VIRTUAL_CLOCK, 0, 0 },    /* the default is 5 s */
	{ be_stubborn, { 5001 * BIDE_MSEC, false }, BIDE_VIRTUAL_CLOCK, 0, EBUSY },
	{ be_stubborn, { 99 * BIDE_MSEC, false }, BIDE_VIRTUAL_CLOCK, 100 * BIDE_MSEC, 0 },
	{ be_stubborn, { 101 * BIDE_MSEC, false }, BIDE_VIRTUAL_CLOCK, 100 * BIDE_MSEC, EBUSY },
	{ be_stubborn, { 0, true }, 0, 50 * BIDE_MSEC, EBUSY },
	{ be_stubborn, { 0, true }, BIDE_VIRTUAL_CLOCK, 5 * BIDE_SEC, EBUSY },
	{ take_requests_back, { 0, true }, 0, 50 * BIDE_MSEC, EBUSY },
	{ take_requests_back, { 0, true }, BIDE_VIRTUAL_CLOCK, 0, EBUSY },
};

/* semantics 8 */
START_TEST(one_that_ignores_its_cancel_is_given_up_after_the_grace)
{
	struct stubborn stubborn = graces[_i].stubborn;
	struct reports reports = { { 0 }, { "" } };
	struct counting counting;
	bide_result result = { NULL, 77 };
	bide_config config = config_with(graces[_i].flags, &reports);
	counting_init(&counting, true);
	config.allocator = &counting.allocator;
	config.shutdown_grace = graces[_i].grace;
	stubborn_body = graces[_i].body;
	has_returned = false;
	if (graces[_i].err) {
		ck_fails(bide_run(leave_a_stubborn_one, &stubborn, &config, &result), graces[_i].err);
		ck_assert_int_eq(reports.count[BIDE_REPORT_LEFTOVER], 1);
		ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_LEFTOVER], "\"mule\""));
		expect_notes("");
	} else {
		ck_assert_int_eq(bide_run(leave_a_stubborn_one, &stubborn, &config, &result), 0);
		ck_assert_int_eq(reports.count[BIDE_REPORT_LEFTOVER], 0);
		expect_notes("done");
	}
	has_returned = true;
	ck_assert_int_eq(result.err, 0); /* main had ended */
	ck_assert_str_eq(result.value, "value");
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

/* ---- again, inside, at once: semantics 11, scenario C13 --------------------------------------------------- */

static void run_in_a_callback(void *arg)
{
	bide_result result = { &result, 77 };
	ck_fails(bide_run(nothing, NULL, NULL, &result), EBUSY);
	must(result.err == EBUSY && !result.value);
	note_arg(arg);
}

static void *run_inside(void *arg)
{
	bide_result result = { &result, 77 };
	bide_loop *loop = bide_loop_self();
	ck_fails(bide_run(nothing, NULL, NULL, &result), EBUSY);
	must(result.err == EBUSY && !result.value);
	must(bide_loop_self() == loop);
	must(bide_call_soon(run_in_a_callback, "refused") == 0);
	pass(BIDE_SEC);
	must_end_well(must_spawn(nothing, NULL));
	return arg;
}

START_TEST(a_run_inside_a_run_is_refused_and_the_outer_one_unharmed)
{
	ck_assert_str_eq(run_virtual(run_inside, "fine"), "fine");
	expect_notes("refused");
}
END_TEST

static void *spawn_many(void *arg)
{
	int count = *(int *)arg;
	bide_task *last = NULL;
	for (int i = 0; i < count; i++) {
		last = must_spawn(nothing, NULL);
		if (i % 2)
			must(bide_detach(last) == 0);
	}
	for (int i = 0; i < 3; i++)
		must(bide_yield() == 0);
	return NULL;
}

static void *run_often(void *arg)
{
	int runs = suite_scaled_down(50, 5);
	for (int i = 0; i < runs; i++) {
		bide_result result;
		if (bide_run(spawn_many, arg, NULL, &result) < 0 || result.err)
			return "failed";
	}
	return NULL;
}

START_TEST(eight_threads_each_run_loops_of_their_own)
{
	pthread_t threads[8];
	int tasks = suite_scaled_down(1000, 50);
	void *result;
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_often, &tasks), 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], &result);
		ck_assert_ptr_null(result);
	}
}
END_TEST

/* ---- nothing is left: semantics 18, scenario C15 ------------------------------------------------------------ */

static void *small_program(void *arg)
{
	int fds[2];
	char byte;
	bide_time delay = 1;
	bide_task *a = must_spawn(sleeper, &delay), *b = must_spawn(nothing, NULL);
	must(pipe(fds) == 0);
	must(bide_write(fds[1], "x", 1) == 1 && bide_read(fds[0], &byte, 1) == 1);
	must_end_well(a);
	must_end_well(b);
	must_spawn(forever_sleeper, NULL);
	must(bide_close(fds[0]) == 0 && bide_close(fds[1]) == 0);
	return arg;
}

START_TEST(a_thousand_runs_leave_nothing)
{
	int runs = suite_scaled_down(1000, 50), mappings = 0;
	long resident = 0;
	int fds = count_fds(), threads = count_threads();
	for (int i = 0; i < runs; i++) {
		run_virtual(small_program, NULL);
		if (i == runs / 10) {
			mappings = count_mappings();
			resident = resident_kib();
		}
	}
	ck_assert_int_eq(count_fds(), fds);
	ck_assert_int_eq(count_threads(), threads);
	if (suite_is_native()) {
		ck_assert_int_le(count_mappings(), mappings + 2);
		ck_assert_int_le(resident_kib(), resident + 512);
	}
}
END_TEST

static int left_fds[2];

static void *wait_in_read(void *arg) { char byte; return bide_read(left_fds[0], &byte, 1) < 0 ? NULL : arg; }
static void *wait_in_join(void *arg) { return bide_join(arg, NULL) < 0 ? NULL : arg; }
static void *wait_in_acquire(void *arg) { return bide_sem_acquire(arg, 1) < 0 ? NULL : arg; }
static void *wait_in_coro(void *arg)
{
	bide_coro *coro = bide_coro_new(forever_sleeper, arg, 0);
	must(bide_coro_resume(coro, NULL, NULL) == 0);
	must(bide_coro_close(coro) == 0);
	return NULL;
}

static void *leave_a_hundred(void *arg)
{
	static bide_sem sem;
	static bide_timer timers[20];
	static bide_fn *const kinds[] = { forever_sleeper, wait_in_read, wait_in_join, wait_in_acquire, wait_in_coro };
	bide_task *target = must_spawn(forever_sleeper, NULL);
	sem = (bide_sem){ { 0 } };
	for (int i = 0; i < 100; i++)
		must_spawn(kinds[i % 5], i % 5 == 2 ? (void *)target : &sem);
	for (int i = 0; i < 20; i++)
		must(bide_call_later(&timers[i], BIDE_SEC, note_arg, "fired") == 0);
	settle();
	must_spawn(nothing, NULL);
	must(bide_call_soon(note_arg, "ran") == 0);
	return arg;
}

START_TEST(a_run_ends_with_a_hundred_parked_on_mixed_things)
{
	struct counting counting;
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	counting_init(&counting, true);
	config.flags = _i ? BIDE_VIRTUAL_CLOCK : 0;
	config.allocator = &counting.allocator;
	ck_assert_int_eq(pipe(left_fds), 0);
	ck_assert_int_eq(bide_run(leave_a_hundred, NULL, &config, &result), 0);
	ck_assert_int_eq(result.err, 0);
	close(left_fds[0]);
	close(left_fds[1]);
	ck_assert(counting_is_balanced(&counting));
	ck_assert_ptr_null(strstr(notes(), "fired"));
}
END_TEST

static void *ask_for_callbacks(void *arg)
{
	for (int i = 0; i < 10; i++)
		must(bide_call_soon(note_arg, "ran") == 0);
	return arg;
}

/* bide/loop.h: dropped, since nothing is left that would run on */
START_TEST(callbacks_that_main_asked_for_last_are_dropped_and_freed)
{
	struct counting counting;
	bide_config config = BIDE_CONFIG_INIT;
	counting_init(&counting, false);
	config.allocator = &counting.allocator;
	ck_assert_int_eq(bide_run(ask_for_callbacks, NULL, &config, NULL), 0);
	expect_notes("");
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

/* scenario I4 */
static void *look_at_own_descriptors(void *arg)
{
	int fds = *(int *)arg, found = 0;
	for (int fd = 3; fd < 200; fd++) {
		int flags = fcntl(fd, F_GETFD);
		if (flags < 0)
			continue;
		char path[64], target[64] = "";
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof target - 1) > 0 && strstr(target, "anon_inode:")) {
			found++;
			must(flags & FD_CLOEXEC);
		}
	}
	must(found >= 1);
	must(count_fds() <= fds + 3);
	return NULL;
}

START_TEST(the_loop_s_own_descriptors_are_few_and_close_on_exec)
{
	int fds = count_fds();
	run_real(look_at_own_descriptors, &fds);
}
END_TEST

/* ---- the host is left alone: scenarios I6, I7 ---------------------------------------------------------------- */

static void on_signal(int number)
{
	(void)number;
}

struct dispositions {
	struct sigaction actions[32];
	sigset_t mask;
	stack_t alternate;
};

static void look_at_signals(struct dispositions *now)
{
	memset(now, 0, sizeof *now);
	for (int i = 1; i < 32; i++)
		sigaction(i, NULL, &now->actions[i]);
	pthread_sigmask(SIG_BLOCK, NULL, &now->mask);
	sigaltstack(NULL, &now->alternate);
}

/* The C library adds one flag of its own to whatever is set. */
static int flags_of(const struct sigaction *action)
{
	return action->sa_flags & (SA_NOCLDSTOP | SA_NOCLDWAIT | SA_NODEFER | SA_ONSTACK | SA_RESETHAND | SA_RESTART | SA_SIGINFO);
}

static bool same_signals(const struct dispositions *a, const struct dispositions *b)
{
	for (int i = 1; i < 32; i++) {
		must(sigismember(&a->mask, i) == sigismember(&b->mask, i));
		must_msg(a->actions[i].sa_handler == b->actions[i].sa_handler &&
		    flags_of(&a->actions[i]) == flags_of(&b->actions[i]), "signal %d", i);
	}
	return a->alternate.ss_sp == b->alternate.ss_sp && a->alternate.ss_flags == b->alternate.ss_flags;
}

static void *mask_is_untouched(void *arg)
{
	const struct dispositions *before = arg;
	sigset_t mask;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	for (int i = 1; i < 32; i++)
		must(sigismember(&mask, i) == sigismember(&before->mask, i));
	must(write(STDERR_FILENO, "", 0) == 0);
	return NULL;
}

START_TEST(signals_are_after_a_run_what_they_were_before)
{
	struct dispositions before, after;
	struct sigaction action = { .sa_handler = on_signal }, old_segv, old_pipe;
	char *room = malloc(65536);
	stack_t alternate = { .ss_sp = room, .ss_size = 65536 }, old_alternate;
	if (_i) {
		sigaction(SIGSEGV, &action, &old_segv);
		sigaction(SIGPIPE, &action, &old_pipe);
		sigaltstack(&alternate, &old_alternate);
	}
	look_at_signals(&before);
	run_real(mask_is_untouched, &before);
	run_virtual(small_program, NULL);
	look_at_signals(&after);
	ck_assert(same_signals(&before, &after));
	if (_i) {
		sigaltstack(&old_alternate, NULL);
		sigaction(SIGSEGV, &old_segv, NULL);
		sigaction(SIGPIPE, &old_pipe, NULL);
	}
	free(room);
}
END_TEST

/* ---- exit() in a task: scenario C16 ----------------------------------------------------------------------------- */

static void at_exit(void)
{
	volatile char frame[8192];
	for (size_t i = 0; i < sizeof frame; i++)
		frame[i] = (char)i;
	fprintf(stderr, "exit handler %d %.1f\n", (int)frame[1], 0.5);
}

/* Asked by a leak checker. On exit() in a task it takes that task's stack for the thread's, and what only
 * the thread's own stack refers to for lost. */
static bool exits_in_a_task;
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return exits_in_a_task;
}

static atomic_bool job_runs;

static void *never_end(void *arg)
{
	atomic_store(&job_runs, true);
	for (;;)
		pause();
	return arg;
}

static void *offload_it(void *arg)
{
	return bide_offload(never_end, arg, 0, NULL) == 0 ? arg : bide_fail(errno);
}

static void *exit_with_3(void *arg)
{
	(void)arg;
	exit(3);
}

/* 0: with others parked, 1: beside a job on a thread, 2: in a bare coroutine besides */
static void *exit_in_a_task(void *arg)
{
	int kind = *(int *)arg;
	exits_in_a_task = true;
	must_spawn(forever_sleeper, NULL);
	if (kind > 0)
		must_spawn(offload_it, NULL);
	do
		must(bide_yield() == 0);
	while (kind > 0 && !atomic_load(&job_runs));
	atexit(at_exit);
	if (kind == 2)
		bide_coro_resume(bide_coro_new(exit_with_3, NULL, 0), NULL, NULL);
	return exit_with_3(NULL);
}

static void exit_in_a_run(void *arg)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = *(int *)arg > 0 ? BIDE_DEBUG : 0; /* where a watchdog runs too */
	bide_run(exit_in_a_task, arg, &config, NULL);
}

START_TEST(exit_in_a_task_runs_the_handlers_and_gives_its_status)
{
	int kind = _i;
	if (kind > 0 && suite_is_for("thread"))
		return; /* a child of it cannot have threads */
	struct death death = death_of(exit_in_a_run, &kind);
	ck_assert_int_eq(death.signal, 0);
	ck_assert_msg(death.exit_status == 3, "exit status %d: %s", death.exit_status, death.text);
	ck_assert_ptr_nonnull(strstr(death.text, "exit handler 1 0.5"));
}
END_TEST

static void *exit_the_thread(void *arg)
{
	pthread_exit(arg);
}

static void *run_and_exit_the_thread(void *arg)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = *(unsigned *)arg;
	bide_run(exit_the_thread, arg, &config, NULL);
	return NULL;
}

/* What bide/loop.h says of it: the thread ends, its loop stays where it is, and others go on. */
static void end_a_thread_in_a_task(void *arg)
{
	pthread_t thread;
	void *ended = NULL;
	pthread_create(&thread, NULL, run_and_exit_the_thread, arg);
	pthread_join(thread, &ended);
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = *(unsigned *)arg;
	bool is_well = ended == arg && bide_run(nothing, NULL, &config, NULL) == 0;
	raise(is_well ? SIGUSR1 : SIGKILL);
}

START_TEST(a_task_that_ends_its_thread_ends_no_other)
{
	unsigned flags = _i ? BIDE_DEBUG : 0;
	if (suite_is_for("thread")) /* which wants a thread to end on its own stack */
		return;
	struct death death = death_of(end_a_thread_in_a_task, &flags);
	ck_assert_msg(death.signal == SIGUSR1, "signal %d, status %d: %s", death.signal, death.exit_status, death.text);
}
END_TEST

/* ---- limits -------------------------------------------------------------------------------------------------------- */

START_TEST(without_descriptors_a_run_fails_cleanly_and_the_next_one_works)
{
	struct rlimit old, none;
	bide_result result = { &result, 77 };
	bide_time delay = 1;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	/* Room for `_i` descriptors more. */
	int lowest_free = dup(0), next_free = dup(0);
	close(lowest_free);
	close(next_free);
	none = old;
	none.rlim_cur = (rlim_t)(_i == 0 ? lowest_free : next_free);
	if (setrlimit(RLIMIT_NOFILE, &none) == 0) {
		int got = dup(0); /* an emulator may not enforce it */
		if (got >= 0)
			close(got);
		if (got < 0 || _i > 0) {
			int status = bide_run(nothing, NULL, NULL, &result);
			int err = errno;
			setrlimit(RLIMIT_NOFILE, &old);
			if (status < 0 || suite_is_native()) {
				ck_assert_int_eq(status, -1);
				ck_assert_int_eq(err, EMFILE);
				ck_assert_int_eq(result.err, EMFILE);
				ck_assert_ptr_null(result.value);
			}
		}
		setrlimit(RLIMIT_NOFILE, &old);
	}
	run_virtual(sleeper, &delay);
}
END_TEST

static int spawned;

static void *spawn_until_it_fails(void *arg)
{
	int limit = suite_scaled_down(200000, 1000);
	bide_task **tasks = malloc((size_t)limit * sizeof *tasks);
	bide_sem *gate = arg;
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.stack_size = 256 * 1024;
	for (spawned = 0; spawned < limit; spawned++) {
		tasks[spawned] = bide_spawn_with(wait_in_acquire, gate, &attr);
		if (!tasks[spawned])
			break;
	}
	must_msg(spawned < limit && errno == ENOMEM, "%d spawned, errno %d", spawned, errno);
	/* Those that live go on, and end; and then there is room again. */
	must(bide_yield() == 0);
	must(bide_sem_release(gate, spawned) == 0);
	for (int i = 0; i < spawned; i++)
		must(must_end_well(tasks[i]) == gate);
	for (int i = 0; i < 100; i++)
		must_end_well(must_spawn(nothing, NULL));
	free(tasks);
	return NULL;
}

static void run_in_little_address_space(void *arg)
{
	static bide_sem gate;
	struct rlimit limit;
	FILE *statm = fopen("/proc/self/statm", "r");
	long pages = 0;
	(void)arg;
	must(statm && fscanf(statm, "%ld", &pages) == 1);
	fclose(statm);
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (512 << 20);
	must(setrlimit(RLIMIT_AS, &limit) == 0);
	for (int i = 0; i < 2; i++)
		run_real(spawn_until_it_fails, &gate);
	must(spawned > 100);
}

START_TEST(without_address_space_spawning_fails_and_the_rest_runs_on)
{
	if (!suite_is_native())
		return;
	struct death death = death_of(run_in_little_address_space, NULL);
	ck_assert_msg(death.signal == 0 && death.exit_status == 0, "signal %d, exit status %d: %s", death.signal,
	    death.exit_status, death.text);
}
END_TEST

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static void *much_of_everything(void *arg)
{
	bide_task *tasks[200];
	for (int i = 0; i < 200; i++)
		tasks[i] = must_spawn(i % 2 ? forever_sleeper : nothing, NULL);
	for (int i = 0; i < 200; i++)
		must(bide_call_soon(note_arg, "") == 0);
	for (int i = 1; i < 200; i += 2)
		must(bide_cancel(tasks[i], NULL) == 0);
	for (int i = 0; i < 200; i++)
		must_join(tasks[i]);
	return arg;
}

START_TEST(all_memory_comes_from_the_allocator_and_goes_back)
{
	struct counting counting;
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	counting_init(&counting, _i);
	config.allocator = &counting.allocator;
	ck_assert_int_eq(bide_run(much_of_everything, NULL, &config, &result), 0);
	ck_assert_uint_gt(counting.allocs, 0);
	if (_i)
		ck_assert_uint_ge(counting.stack_allocs, 100);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

/* Only one of the two pairs of hooks. */
START_TEST(stacks_may_have_hooks_of_their_own)
{
	struct counting counting;
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	counting_init(&counting, true);
	counting.allocator.alloc = NULL;
	counting.allocator.free = NULL;
	config.allocator = &counting.allocator;
	ck_assert_int_eq(bide_run(much_of_everything, NULL, &config, &result), 0);
	ck_assert_uint_eq(counting.allocs, 0);
	ck_assert_uint_ge(counting.stack_allocs, 100);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

int main(void)
{
	return SUITE("run",
	    TEST(main_s_outcome_is_in_out),
	    TEST(main_s_failure_is_not_the_run_s_if_somebody_asks_for_it),
	    TEST(main_s_failure_is_the_run_s_if_nobody_asks_for_it),
	    TEST(a_stopped_main_ends_canceled_unless_it_returns_a_value),
	    LOOP(main_may_do_what_it_likes_with_its_own_handle, 0, 3),
	    TEST(those_left_are_canceled_clean_up_and_are_waited_for),
	    TEST(those_left_are_waited_for_when_main_fails_too),
	    TABLE(one_that_ignores_its_cancel_is_given_up_after_the_grace, graces),
	    TEST(a_run_inside_a_run_is_refused_and_the_outer_one_unharmed),
	    TEST(eight_threads_each_run_loops_of_their_own),
	    TEST(a_thousand_runs_leave_nothing),
	    LOOP(a_run_ends_with_a_hundred_parked_on_mixed_things, 0, 2),
	    TEST(callbacks_that_main_asked_for_last_are_dropped_and_freed),
	    TEST(the_loop_s_own_descriptors_are_few_and_close_on_exec),
	    LOOP(signals_are_after_a_run_what_they_were_before, 0, 2),
	    LOOP(exit_in_a_task_runs_the_handlers_and_gives_its_status, 0, 3),
	    LOOP(a_task_that_ends_its_thread_ends_no_other, 0, 2),
	    LOOP(without_descriptors_a_run_fails_cleanly_and_the_next_one_works, 0, 2),
	    TEST(without_address_space_spawning_fails_and_the_rest_runs_on),
	    LOOP(all_memory_comes_from_the_allocator_and_goes_back, 0, 2),
	    TEST(stacks_may_have_hooks_of_their_own));
}
