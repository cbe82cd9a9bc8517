/* SPDX-License-Identifier: MIT
 * bide_trace_start(), bide_trace_stop(), BIDE_TRACE: a file that is JSON whatever happens, and says what did. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bide/trace.h>

#include "death.h"
#include "json.h"
#include "runs.h"
#include "sockets.h"

static char path[64];
static char *text; /* what is in the file */

static void begin(void)
{
	snprintf(path, sizeof path, "/tmp/bide-trace.%d", (int)getpid());
	must(bide_trace_start(path) == 0);
}

static void look(void)
{
	free(text);
	text = json_read(path);
	must_msg(text, "no file %s", path);
	const char *flaw = json_flaw(text);
	must_msg(!flaw, "not JSON from here: %.200s", flaw);
}

static void end(void)
{
	must(bide_trace_stop() == 0);
	look();
	unlink(path);
}

/* The number of the track of this name, which is its task's number and its name. */
static int track_of(const char *name)
{
	char ending[80];
	snprintf(ending, sizeof ending, " %s\"}", name);
	const char *line = json_line(text, NULL, "thread_name", ending, NULL);
	must_msg(line, "no track %s in: %s", name, text);
	must_msg(!json_line(text, line, "thread_name", ending, NULL), "two tracks %s", name);
	return (int)json_number(line, "tid");
}

static const char *on_track(const char *name, const char *what)
{
	char tid[32];
	snprintf(tid, sizeof tid, "\"tid\":%d,", track_of(name));
	return json_line(text, NULL, tid, what, NULL);
}

static const char *about(const char *name, const char *what)
{
	char task[32];
	snprintf(task, sizeof task, "\"task\":%d,", track_of(name));
	return json_line(text, NULL, task, what, NULL);
}

#define MARK(name) "\"i\",\"name\":\"" name "\""

static bide_task *spawn_named(const char *name, bide_fn *fn, void *arg)
{
	bide_task *task = must_spawn(fn, arg);
	must(bide_task_set_name(task, name) == 0);
	return task;
}

/* ---- bad input ---------------------------------------------------------------------------------- */

START_TEST(bad_input_is_refused)
{
	char long_path[8192];
	memset(long_path, 'x', sizeof long_path - 1);
	long_path[sizeof long_path - 1] = '\0';
	ck_fails(bide_trace_start(NULL), EINVAL);
	ck_fails(bide_trace_start(""), EINVAL);
	ck_fails(bide_trace_start(long_path), ENAMETOOLONG);
	ck_fails(bide_trace_start("/nowhere/at/all"), ENOENT);
	ck_fails(bide_trace_start("/"), EISDIR);
	ck_fails(bide_trace_start("/dev/full"), ENOSPC);
	ck_fails(bide_trace_stop(), EINVAL);
}
END_TEST

START_TEST(there_is_one_trace_at_a_time)
{
	begin();
	look(); /* it is a file already */
	ck_assert_int_eq(json_count(text, "\"ph\":\"i\"", ""), 0);
	ck_fails(bide_trace_start("/tmp/bide-trace.other"), EALREADY);
	ck_assert_int_ne(access("/tmp/bide-trace.other", F_OK), 0);
	end();
	ck_fails(bide_trace_stop(), EINVAL);
	begin();
	end();
}
END_TEST

START_TEST(a_relative_path_means_the_directory_of_the_beginning)
{
	char directory[sizeof path - sizeof "/trace.json"];
	snprintf(directory, sizeof directory, "/tmp/bide-trace.%d.d", (int)getpid());
	snprintf(path, sizeof path, "%s/%s", directory, "trace.json");
	must(mkdir(directory, 0700) == 0 && chdir(directory) == 0);
	must(bide_trace_start("trace.json") == 0);
	must(chdir("/tmp") == 0);
	run_virtual(nothing, NULL);
	end();
	must(on_track("main", "\"end\""));
	must(chdir(directory) == 0 && rmdir(directory) == 0);
	ck_fails(bide_trace_start("trace.json"), ENOENT);
	must(chdir("/tmp") == 0);
}
END_TEST

static int trace_with_fault(const char *spec)
{
	must(bide_fault(spec) == 0);
	int result = bide_trace_stop(), err = errno;
	must(bide_fault(NULL) == 0);
	errno = err;
	return result;
}

static void *yield_often(void *arg)
{
	for (int i = 0; i < 1000; i++)
		bide_yield();
	return arg;
}

/* The first write is all of a small file; of a large one there are more. */
START_TEST(a_full_disk_is_told_and_leaves_a_file_without_events)
{
	static const struct {
		const char *spec;
		int err;
	} faults[] = { { "write:ENOSPC@1", ENOSPC }, { "write:ENOSPC@3", ENOSPC }, { "open:EACCES@1", EACCES },
		{ "close:EIO", EIO }, { "malloc:ENOMEM@1", ENOMEM }, { "malloc:ENOMEM@2", ENOMEM },
		{ "malloc:ENOMEM@3", ENOMEM } };
	begin();
	run_virtual(yield_often, NULL);
	ck_fails(trace_with_fault(faults[_i].spec), faults[_i].err);
	look();
	ck_assert_int_eq(json_count(text, "\"ph\":\"i\"", ""), 0);
	unlink(path);
	ck_fails(bide_trace_stop(), EINVAL);
}
END_TEST

START_TEST(an_interrupted_write_goes_on_and_a_full_pipe_is_waited_for)
{
	static const char *const faults[] = { "write:EINTR%2", "write:EAGAIN@1", "write:EAGAIN@3" };
	begin();
	run_virtual(yield_often, NULL);
	must(trace_with_fault(faults[_i]) == 0);
	look();
	ck_assert_int_gt(json_count(text, "\"ph\":\"i\"", ""), 0);
	unlink(path);
}
END_TEST

/* ---- FIFOs ---------------------------------------------------------------------------------------- */

static void begin_fifo(void)
{
	snprintf(path, sizeof path, "/tmp/bide-trace.%d", (int)getpid());
	must(mkfifo(path, 0600) == 0 && bide_trace_start(path) == 0);
	run_virtual(yield_often, NULL);
}

static void end_fifo(int fd, int err)
{
	ck_fails(bide_trace_stop(), err);
	ck_fails(bide_trace_stop(), EINVAL);
	close(fd);
	unlink(path);
}

START_TEST(a_fifo_needs_a_reader_when_the_trace_ends)
{
	begin_fifo();
	end_fifo(-1, ENXIO);
}
END_TEST

START_TEST(a_reader_of_a_fifo_that_does_not_read_is_given_up)
{
	begin_fifo();
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	must(fd >= 0);
	end_fifo(fd, EAGAIN);
}
END_TEST

START_TEST(a_fifo_that_may_not_be_written_is_told_at_the_beginning)
{
	snprintf(path, sizeof path, "/tmp/bide-trace.%d", (int)getpid());
	must(mkfifo(path, 0600) == 0 && bide_fault("stat:EACCES@2") == 0);
	ck_fails(bide_trace_start(path), EACCES);
	must(bide_fault(NULL) == 0);
	unlink(path);
}
END_TEST

static void *read_fifo(void *fd)
{
	size_t size = 0;
	FILE *in = fdopen(*(int *)fd, "r");
	free(text);
	text = NULL;
	must(in && getdelim(&text, &size, '\0', in) > 0);
	fclose(in);
	return fd;
}

START_TEST(who_reads_a_fifo_has_one_trace)
{
	pthread_t reader;
	begin_fifo();
	int both = open(path, O_RDWR), fd = open(path, O_RDONLY); /* in this order neither waits for another */
	must(both >= 0 && fd >= 0 && pthread_create(&reader, NULL, read_fifo, &fd) == 0);
	must(bide_trace_stop() == 0);
	close(both);
	must(pthread_join(reader, NULL) == 0);
	must(text && !json_flaw(text));
	ck_assert_int_gt(json_count(text, "\"ph\":\"i\"", ""), 0);
	unlink(path);
}
END_TEST

static void *start_without_memory(void *arg)
{
	snprintf(path, sizeof path, "/tmp/bide-trace.%d", (int)getpid());
	for (int i = 1; i <= 3; i++) {
		char spec[40];
		snprintf(spec, sizeof spec, "malloc:ENOMEM@%d", i);
		must(bide_fault(spec) == 0);
		ck_fails(bide_trace_start(path), ENOMEM);
		must(bide_fault(NULL) == 0);
		ck_fails(bide_trace_stop(), EINVAL);
	}
	begin();
	end();
	return arg;
}

START_TEST(without_memory_it_does_not_begin)
{
	run_virtual(start_without_memory, NULL);
}
END_TEST

/* ---- what is told ------------------------------------------------------------------------------- */

static void *read_byte(void *arg)
{
	char byte;
	return bide_read(*(int *)arg, &byte, 1) == 1 ? arg : bide_fail(errno);
}

static bide_future future;

static void *await_it(void *arg)
{
	must(bide_await(&future, NULL) == 0);
	return arg;
}

static void call_back(void *arg)
{
	(void)arg;
}

static void *do_everything(void *arg)
{
	static bide_time second = BIDE_SEC;
	int fds[2];
	make_unix(fds);
	bide_task *reader = spawn_named("reader", read_byte, &fds[0]);
	bide_task *sleeping = spawn_named("sleeping", sleeper, &second);
	bide_task *awaiting = spawn_named("awaiting", await_it, NULL);
	bide_task *stuck = spawn_named("stuck", forever_sleeper, NULL);
	bide_task *unborn = spawn_named("unborn", nothing, NULL);
	must(bide_cancel(unborn, "too late") == 0);
	must(bide_call_soon(call_back, NULL) == 0);
	must(bide_yield() == 0);
	settle();
	must(bide_future_set(&future, arg) == 0);
	must(bide_cancel(stuck, "a \"reason\"") == 0);
	must_end_well(sleeping);
	must_write(fds[1], "x", 1);
	must_end_well(reader);
	must_end_well(awaiting);
	must(must_join(stuck).err == ECANCELED && must_join(unborn).err == ECANCELED);
	must(bide_future_destroy(&future) == 0);
	close_pair(fds);
	return arg;
}

START_TEST(everything_that_happens_is_told)
{
	begin();
	run_virtual(do_everything, NULL);
	end();
	must(json_line(text, NULL, "\"loop\"", "\"clock\":0", NULL));
	must(about("reader", "spawn") && on_track("reader", "\"run\"") && on_track("reader", "\"end\""));
	must(json_line(on_track("reader", "\"park\""), NULL, "\"for\":\"fd\",\"fd\":", "\"events\":\"in\"", NULL));
	must(on_track("reader", "wait: fd"));
	must(json_line(on_track("sleeping", "\"park\""), NULL, "\"for\":\"sleep\",\"until\":1000000000", NULL));
	must(json_line(text, NULL, "\"clock\"", "\"now\":1000000000", NULL));
	must(json_line(text, NULL, "\"timer\"", "\"deadline\":1000000000", NULL));
	must(json_number(about("sleeping", "\"wake\""), "err") == 0);
	must(on_track("awaiting", "\"for\":\"future\""));
	must(on_track("main", "\"future\"") && on_track("main", MARK("ready")));
	must(json_count(text, MARK("at"), "\"at\":\"") == 2); /* of the cancels */
	must(json_line(about("stuck", "\"cancel\""), NULL, "\"reason\":\"a \\u0022reason\\u0022\"", NULL));
	must(json_line(about("stuck", "\"wake\""), NULL, "\"err\":\"ECANCELED\"", NULL));
	must(strstr(on_track("stuck", "\"end\""), "\"err\":\"ECANCELED\""));
	must(about("unborn", "too late") && on_track("unborn", "\"end\"") && !on_track("unborn", "\"run\""));
	must(json_line(text, NULL, "\"call\"", "\"fn\":", NULL) && json_line(text, NULL, "\"callback\"", NULL));
	must(strstr(text, "\"lost\":0"));
}
END_TEST

/* Slices of the tasks of one loop, and of the loop itself, lie behind each other. */
static void check_slices(void)
{
	double end_of_run = 0;
	int runs = 0;
	for (const char *line = NULL; (line = json_line(text, line, "\"X\"", "\"run\"", NULL)); runs++) {
		must_msg(json_number(line, "ts") >= end_of_run - 0.0005, "a slice within another: %.200s", line);
		end_of_run = json_number(line, "ts") + json_number(line, "dur");
	}
	must(runs > 0);
}

/* Each arrow begins once, and ends once at most, on another line of the same number, later. */
static void check_arrows(void)
{
	int ends = 0;
	for (const char *line = NULL; (line = json_line(text, line, "\"ph\":\"f\"", NULL)); ends++) {
		char id[40];
		snprintf(id, sizeof id, "\"id\":%.0f,", json_number(line, "id"));
		const char *from = json_line(text, NULL, "\"ph\":\"s\"", id, NULL);
		if (!from) {
			snprintf(id, sizeof id, "\"id\":%.0f}", json_number(line, "id"));
			from = json_line(text, NULL, "\"ph\":\"s\"", id, NULL);
		}
		must_msg(from && from < line, "no beginning of %.200s", line);
		must(json_number(from, "ts") <= json_number(line, "ts"));
	}
	must(ends > 0);
}

START_TEST(slices_follow_each_other_and_arrows_lead_from_wakes_to_runs)
{
	begin();
	run_virtual(do_everything, NULL);
	end();
	check_slices();
	check_arrows();
}
END_TEST

static void *enter_eagerly(void *arg)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.name = "eager";
	attr.flags = BIDE_EAGER;
	bide_task *task = bide_spawn_with(forever_sleeper, NULL, &attr);
	must(task && bide_cancel(task, NULL) == 0);
	must(must_join(task).err == ECANCELED);
	return arg;
}

START_TEST(an_eager_child_interrupts_its_parents_slice)
{
	begin();
	run_virtual_in_order(enter_eagerly, NULL);
	end();
	check_slices();
	double spawned = json_number(about("eager", "\"spawn\""), "ts");
	double parent_left = json_number(on_track("main", MARK("ready")), "ts");
	double ran = json_number(on_track("eager", "\"run\""), "ts");
	must(spawned <= parent_left && parent_left <= ran);
}
END_TEST

static void *trace_in_the_middle(void *arg)
{
	bide_task *sleeping = spawn_named("there before", forever_sleeper, NULL);
	settle();
	bide_task *created = spawn_named("created", nothing, NULL);
	begin();
	must_end_well(created);
	must(bide_cancel(sleeping, NULL) == 0);
	must(must_join(sleeping).err == ECANCELED);
	end();
	must(json_line(about("there before", "\"spawn\""), NULL, "\"known\":1", NULL));
	must(on_track("there before", "\"park\"") && on_track("there before", "\"end\""));
	must(json_line(about("created", "\"spawn\""), NULL, "\"known\":1", NULL) && on_track("created", "\"run\""));
	must(on_track("main", "\"run\""));
	check_slices();
	pass(BIDE_SEC); /* the loop goes on without */
	return arg;
}

START_TEST(a_trace_may_begin_and_end_in_the_middle_of_a_run)
{
	run_virtual(trace_in_the_middle, NULL);
}
END_TEST

/* ---- where ---------------------------------------------------------------------------------------- */

static __attribute__((noinline)) int yield_deeply(int depth)
{
	int result = depth > 0 ? yield_deeply(depth - 1) : bide_yield();
	__asm__ volatile(""); /* no tail call */
	return result;
}

static void *yield_from_two_lines(void *arg)
{
	for (int i = 0; i < 100; i++) {
		must(bide_yield() == 0);
		must(yield_deeply(i % 5) == 0);
		char *room = __builtin_alloca((size_t)(16 + 16 * (i % 7))); /* a frame that is not always as large */
		memset(room, i, 16);
		__asm__ volatile("" : : "r"(room) : "memory");
		must(yield_deeply(2) == 0);
	}
	return arg;
}

/* What the unwinder found for a place is read from the stack from then on: the same must come out. */
START_TEST(where_a_task_left_is_told_by_function_and_line)
{
	int marks = 0;
	if (suite_is_for("address") || suite_is_for("thread"))
		return; /* the library's functions are not in one piece */
	begin();
	run_virtual(yield_from_two_lines, NULL);
	end();
	for (const char *line = NULL; (line = json_line(text, line, MARK("ready"), NULL)); marks++) {
		const char *at = strstr(line, "\"at\":\"");
		must_msg(at && at < strchr(line, '\n'), "no place in %.200s", line);
		must_msg(strncmp(at, "\"at\":\"yield_", 12) == 0 && strstr(at, "(test_trace.c:"), "%.200s", line);
	}
	ck_assert_int_ge(marks, 300);
}
END_TEST

/* ---- names -------------------------------------------------------------------------------------- */

static void *end_under_a_name(void *arg)
{
	must(bide_task_set_name(NULL, arg) == 0);
	return arg;
}

START_TEST(any_name_is_written_as_json_that_may_stand_in_html)
{
	static const struct {
		char *name;
		const char *written;
	} names[] = {
		{ "plain", "plain" },
		{ "\"quoted\" \\ / ", "\\u0022quoted\\u0022 \\u005c / " },
		{ "line\nbell\a\x7f", "line\\u000abell\\u0007\\u007f" },
		{ "</script>&", "\\u003c/script\\u003e\\u0026" },
		{ "Z\xc3\xbcrich \xe6\x97\xa5\xf0\x9f\x98\x80", "Z\xc3\xbcrich \xe6\x97\xa5\xf0\x9f\x98\x80" },
		{ "latin \xfc one", "latin \\ufffd one" },
		{ "\xc0\xaf \xed\xa0\x80 \xf5\x80\x80\x80", "\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\\ufffd\\ufffd" },
		{ "cut after the 31st byte, here: \xc3\xbc", "cut after the 31st byte, here: " },
		{ "cut in a character of UTF-8...\xc3\xbc", "cut in a character of UTF-8...\\ufffd" },
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		begin();
		run_virtual(end_under_a_name, names[i].name);
		end();
		track_of(names[i].written);
	}
}
END_TEST

/* ---- the ring ----------------------------------------------------------------------------------- */

START_TEST(of_many_events_the_last_are_kept_and_the_others_counted)
{
	setenv("BIDE_TRACE_EVENTS", "100", 1); /* 128: and one slot is for who writes */
	begin();
	run_virtual_in_order(yield_often, NULL);
	end();
	unsetenv("BIDE_TRACE_EVENTS");
	const char *lost = strstr(text, "\"lost\":");
	must_msg(lost && atol(lost + 7) >= 2000 - 128, "%s", lost ? lost : text);
	must(on_track("main", "\"run\""));
	must_msg(json_count(text, "\"n\":", "") <= 127, "%d", json_count(text, "\"n\":", ""));
	check_slices();
}
END_TEST

static void *run_until_forgotten(void *arg)
{
	bide_task *old = spawn_named("an old one", forever_sleeper, NULL);
	for (int i = 0; i < 200; i++)
		must(bide_yield() == 0);
	must(bide_cancel(old, NULL) == 0);
	must(bide_trace_stop() == 0);
	must(must_join(old).err == ECANCELED);
	return arg;
}

START_TEST(a_name_is_told_although_its_event_is_lost)
{
	setenv("BIDE_TRACE_EVENTS", "64", 1);
	begin();
	run_virtual(run_until_forgotten, NULL);
	unsetenv("BIDE_TRACE_EVENTS");
	look();
	unlink(path);
	must(about("an old one", "\"cancel\"") && !about("an old one", "\"spawn\""));
}
END_TEST

START_TEST(runs_one_after_the_other_have_tracks_of_their_own)
{
	begin();
	for (int i = 0; i < 3; i++)
		run_virtual(yield_often, NULL);
	end();
	for (int i = 1; i <= 3; i++) {
		char name[32];
		snprintf(name, sizeof name, "\"loop %d\"", i);
		ck_assert_int_eq(json_count(text, "thread_name", name), 1);
	}
	ck_assert_int_eq(json_count(text, "thread_name", "1 main"), 3);
}
END_TEST

/* ---- several loops ------------------------------------------------------------------------------ */

START_TEST(each_of_several_loops_is_told)
{
	begin();
	ck_assert_int_eq(bide_run_many(3, yield_often, NULL, NULL, NULL), 0);
	end();
	ck_assert_int_eq(json_count(text, "thread_name", "1 main"), 3);
	ck_assert_int_eq(json_count(text, "thread_name", "\"loop "), 3);
}
END_TEST

static atomic_bool is_running, may_end;

static void *yield_until_told(void *arg)
{
	while (!atomic_load(&may_end)) {
		bide_yield();
		atomic_store(&is_running, true);
	}
	return arg;
}

static void *run_on_a_thread(void *arg)
{
	return bide_run(yield_until_told, arg, NULL, NULL) == 0 ? NULL : arg;
}

/* And a new trace may begin: the loop, which found the old one over, is not part of it. */
START_TEST(a_trace_may_end_while_a_loop_of_another_thread_goes_on)
{
	pthread_t thread;
	void *failed;
	setenv("BIDE_TRACE_EVENTS", "256", 1);
	for (int i = 0; i < 5; i++) {
		atomic_store(&is_running, false);
		atomic_store(&may_end, false);
		begin();
		must(pthread_create(&thread, NULL, run_on_a_thread, NULL) == 0);
		while (!atomic_load(&is_running))
			continue;
		end();
		check_slices();
		begin();
		end();
		atomic_store(&may_end, true);
		must(pthread_join(thread, &failed) == 0 && !failed);
	}
	unsetenv("BIDE_TRACE_EVENTS");
}
END_TEST

/* ---- processes ---------------------------------------------------------------------------------- */

static void *fork_and_go_on(void *arg)
{
	pid_t child = fork();
	if (child == 0)
		exit(bide_trace_stop() < 0 && errno == EINVAL ? 0 : 1); /* with exit handlers */
	int status;
	must(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	must(bide_yield() == 0);
	return arg;
}

START_TEST(a_forked_process_leaves_its_parents_trace_alone)
{
	if (suite_is_for("thread"))
		return; /* it loses track after a fork in a task */
	begin();
	run_real(fork_and_go_on, NULL);
	end();
	must(on_track("main", MARK("ready")) && on_track("main", "\"end\""));
}
END_TEST

static void trace_a_child(void *arg)
{
	(void)arg;
	begin();
	run_virtual(yield_often, NULL);
	end();
	must(on_track("main", "\"end\""));
}

START_TEST(a_forked_process_may_have_a_trace_of_its_own)
{
	begin();
	run_virtual(yield_often, NULL);
	struct death death = death_of(trace_a_child, NULL);
	must_msg(death.signal == 0 && death.exit_status == 0, "%s", death.text);
	snprintf(path, sizeof path, "/tmp/bide-trace.%d", (int)getpid());
	end();
	must(on_track("main", "\"end\""));
}
END_TEST

static void *exit_in_a_task(void *arg)
{
	must(bide_yield() == 0);
	if (arg)
		_exit(0);
	exit(0);
}

static void run_by_environment(void *arg)
{
	setenv("BIDE_TRACE", path, 1);
	bide_run(exit_in_a_task, arg, NULL, NULL);
	_exit(1);
}

static void look_at_child(struct death death)
{
	must_msg(death.signal == 0 && death.exit_status == 0 && !*death.text, "%d %d %s", death.signal,
	    death.exit_status, death.text);
	look();
	unlink(path);
}

START_TEST(by_the_environment_it_is_written_at_exit_also_from_inside_a_task)
{
	snprintf(path, sizeof path, "/tmp/bide-trace.%d", (int)getpid());
	look_at_child(death_of(run_by_environment, NULL));
	must(on_track("main", MARK("ready")) && on_track("main", "\"run\""));
}
END_TEST

START_TEST(a_process_that_skips_its_exit_handlers_leaves_valid_json)
{
	snprintf(path, sizeof path, "/tmp/bide-trace.%d", (int)getpid());
	look_at_child(death_of(run_by_environment, path));
	ck_assert_int_eq(json_count(text, "\"ph\":\"i\"", ""), 0);
}
END_TEST

static void run_with_a_wrong_path(void *arg)
{
	setenv("BIDE_TRACE", arg, 1);
	for (int i = 0; i < 2; i++)
		if (bide_run(nothing, arg, NULL, NULL) < 0)
			_exit(1);
}

START_TEST(by_the_environment_what_fails_is_told_once_and_the_program_runs)
{
	struct death death = death_of(run_with_a_wrong_path, "/nowhere/trace.json");
	ck_assert_int_eq(death.exit_status, 0);
	ck_assert_str_eq(death.text, "bide: no trace in /nowhere/trace.json: No such file or directory\n");
}
END_TEST

static void run_and_fork(void *arg)
{
	int status;
	setenv("BIDE_TRACE", arg, 1);
	bide_run(nothing, NULL, NULL, NULL);
	pid_t child = fork();
	if (child == 0) {
		bide_run(yield_often, NULL, NULL, NULL);
		exit(0);
	}
	must(waitpid(child, &status, 0) == child && status == 0);
	if (strstr(arg, "%p")) {
		snprintf(path, sizeof path, "/tmp/bide-trace.child.%d", (int)child);
		look();
		unlink(path);
		must(on_track("main", MARK("ready")));
	}
	snprintf(path, sizeof path, "/tmp/bide-trace.child.%d", (int)getpid());
	must(bide_trace_stop() == 0);
	if (strstr(arg, "%p")) {
		look();
		unlink(path);
		must(!on_track("main", MARK("ready")) && on_track("main", "\"end\""));
	}
}

START_TEST(by_the_environment_a_forked_process_is_traced_to_a_path_of_its_own)
{
	char shared[64];
	snprintf(shared, sizeof shared, "/tmp/bide-trace.%d", (int)getpid());
	must(death_of(run_and_fork, "/tmp/bide-trace.child.%p").exit_status == 0);
	must(death_of(run_and_fork, shared).exit_status == 0);
	snprintf(path, sizeof path, "%s", shared);
	look();
	unlink(path);
	must(!on_track("main", MARK("ready"))); /* it is the parent's */
}
END_TEST

int main(void)
{
	return SUITE("trace", TEST(bad_input_is_refused), TEST(there_is_one_trace_at_a_time),
	    TEST(a_relative_path_means_the_directory_of_the_beginning),
	    LOOP(a_full_disk_is_told_and_leaves_a_file_without_events, 0, 7),
	    LOOP(an_interrupted_write_goes_on_and_a_full_pipe_is_waited_for, 0, 3), TEST(without_memory_it_does_not_begin),
	    TEST(a_fifo_needs_a_reader_when_the_trace_ends), TEST(a_reader_of_a_fifo_that_does_not_read_is_given_up),
	    TEST(a_fifo_that_may_not_be_written_is_told_at_the_beginning), TEST(who_reads_a_fifo_has_one_trace),
	    TEST(everything_that_happens_is_told),
	    TEST(slices_follow_each_other_and_arrows_lead_from_wakes_to_runs),
	    TEST(an_eager_child_interrupts_its_parents_slice),
	    TEST(a_trace_may_begin_and_end_in_the_middle_of_a_run),
	    TEST(where_a_task_left_is_told_by_function_and_line), TEST(any_name_is_written_as_json_that_may_stand_in_html),
	    TEST(of_many_events_the_last_are_kept_and_the_others_counted),
	    TEST(a_name_is_told_although_its_event_is_lost), TEST(runs_one_after_the_other_have_tracks_of_their_own),
	    TEST(each_of_several_loops_is_told), TEST(a_trace_may_end_while_a_loop_of_another_thread_goes_on),
	    TEST(a_forked_process_leaves_its_parents_trace_alone),
	    TEST(a_forked_process_may_have_a_trace_of_its_own),
	    TEST(by_the_environment_it_is_written_at_exit_also_from_inside_a_task),
	    TEST(a_process_that_skips_its_exit_handlers_leaves_valid_json),
	    TEST(by_the_environment_what_fails_is_told_once_and_the_program_runs),
	    TEST(by_the_environment_a_forked_process_is_traced_to_a_path_of_its_own));
}
