/* SPDX-License-Identifier: MIT
 * bide_dump(): every live task once, as a tree. Statement 189, scenario J5. */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "runs.h"
#include "sockets.h"

static char *text;

static void dump_with(unsigned flags)
{
	size_t size;
	free(text);
	text = NULL;
	FILE *out = open_memstream(&text, &size);
	must(bide_dump(out, flags) == 0);
	fclose(out);
}

static void dump(void)
{
	dump_with(0);
}

/* The line of the task of this name. */
static const char *line_of(const char *name)
{
	static char line[600];
	char quoted[64];
	snprintf(quoted, sizeof quoted, "\"%s\" ", name);
	const char *at = strstr(text, quoted);
	must_msg(at, "no %s in: %s", name, text);
	must_msg(!strstr(at + 1, quoted), "%s twice in: %s", name, text);
	snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
	return line;
}

static void must_say(const char *name, const char *what)
{
	must_msg(strstr(line_of(name), what), "no '%s' in: %s", what, line_of(name));
}

static void must_not_say(const char *name, const char *what)
{
	must_msg(!strstr(line_of(name), what), "'%s' in: %s", what, line_of(name));
}

static bide_task *spawn_named(const char *name, bide_fn *fn, void *arg)
{
	bide_task *task = must_spawn(fn, arg);
	must(bide_task_set_name(task, name) == 0);
	return task;
}

VIRTUAL_TEST(bad_input_is_refused)
{
	ck_fails(bide_dump(NULL, 0), EINVAL);
	ck_fails(bide_dump(stderr, 1u << 30), EINVAL);
	FILE *full = fopen("/dev/full", "w");
	setvbuf(full, NULL, _IONBF, 0);
	ck_fails(bide_dump(full, 0), ENOSPC);
	fclose(full);
}

START_TEST(outside_a_loop_there_is_nothing_to_dump)
{
	ck_fails(bide_dump(stderr, 0), EPERM);
}
END_TEST

VIRTUAL_TEST(a_name_from_outside_stays_in_its_line_and_its_quotes)
{
	bide_task *task = spawn_named("a\nb\" \x1b[2J\x7f\xc3\xa4", nothing, NULL);
	dump();
	must_say("a?b? ?[2J?\xc3\xa4", "spawned at");
	must(bide_join(task, NULL) == 0);
}

static bide_mutex mutex;

static void *hold(void *arg)
{
	must(bide_mutex_lock(&mutex) == 0);
	pass(100 * BIDE_SEC);
	must(bide_mutex_unlock(&mutex) == 0);
	return arg;
}

static void *want(void *arg)
{
	must(bide_mutex_lock(&mutex) == 0);
	must(bide_mutex_unlock(&mutex) == 0);
	return arg;
}

static void *join_it(void *arg)
{
	must(bide_join(arg, NULL) == 0);
	return NULL;
}

static void *read_it(void *arg)
{
	char byte;
	return bide_read(*(int *)arg, &byte, 1) == 1 ? arg : bide_fail(errno);
}

static void *sleep_in_a_scope(void *arg)
{
	bide_scope scope = { { 0 } };
	must(bide_scope_enter(&scope, bide_after(50 * BIDE_SEC), 0) == 0);
	bide_sleep(100 * BIDE_SEC);
	bide_scope_leave(&scope);
	return arg;
}

VIRTUAL_TEST(each_task_is_told_with_what_it_waits_for_and_who_holds_that)
{
	int fds[2];
	char fd_text[32], held[64];
	make_unix(fds);
	bide_task *holder = spawn_named("holder", hold, NULL);
	bide_task *tasks[] = { spawn_named("wanter", want, NULL), spawn_named("joiner", join_it, holder),
		spawn_named("reader", read_it, &fds[0]), spawn_named("dreamer", sleep_in_a_scope, NULL) };
	bide_task *new_one = spawn_named("unborn", nothing, NULL);
	must(bide_task_state(new_one) == BIDE_TASK_CREATED);
	dump();
	must_say("unborn", "created");
	must_not_say("unborn", "stack");
	settle();
	dump();
	must_say("main", "running");
	snprintf(held, sizeof held, ", held by task %llu \"holder\"", (unsigned long long)bide_task_id(holder));
	must_say("holder", "suspended, waits for sleep, until 100.000000 s from now");
	must_say("wanter", "suspended, waits for mutex");
	must_say("wanter", held);
	must_say("joiner", "suspended, waits for task ");
	must_say("joiner", "\"holder\"");
	snprintf(fd_text, sizeof fd_text, "waits for fd %d", fds[0]);
	must_say("reader", fd_text);
	must_say("dreamer", "deadline in 50.000000 s");
	must_say("dreamer", "spawned at ");
	must_say("dreamer", "stack ");
	must_msg(strncmp(text, "bide: 6 tasks\n", 14) == 0, "%s", text);
	must_write(fds[1], "x", 1);
	for (int i = 0; i < 4; i++)
		must_join(tasks[i]);
	must_join(new_one);
	dump();
	must_msg(strncmp(text, "bide: 1 task\n", 13) == 0, "%s", text);
	must(!strstr(text, "holder")); /* those that have ended are not told, joined or not */
	close_pair(fds);
}

static void *dump_children(void *arg)
{
	bide_group group = { { 0 } };
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.name = "child";
	must(bide_group_enter(&group, 0, 0) == 0);
	must(bide_group_spawn(&group, forever_sleeper, NULL, &attr));
	must(bide_yield() == 0);
	must(bide_group_cancel(&group, "for the test") == 0);
	dump();
	bide_group_leave(&group);
	return arg;
}

VIRTUAL_TEST(children_and_cancels_are_told)
{
	must_end_well(spawn_named("parent", dump_children, NULL));
	must_say("child", ", canceled: for the test");
	const char *line = strchr(strstr(text, "\"parent\" running"), '\n');
	must_msg(strncmp(line, "\n  group 0x", 11) == 0 && strstr(line, " of 1 task, canceled\n"), "%s", text);
	must(strncmp(strchr(line + 1, '\n'), "\n    task ", 10) == 0);
}

/* ---- trees -------------------------------------------------------------------------------------------- */

static void *branch_out(void *arg)
{
	size_t level = (size_t)arg;
	bide_group outer = { { 0 } }, inner = { { 0 } };
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	char name[16];
	must(bide_group_enter(&outer, 0, 0) == 0 && bide_group_enter(&inner, 0, 0) == 0);
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "%zu.%d", level, i);
		attr.name = name;
		must(bide_group_spawn(i == 2 ? &outer : &inner, level < 3 && i == 1 ? branch_out : forever_sleeper,
		    (void *)(level + 1), &attr));
	}
	bide_sleep(BIDE_NEVER);
	bide_group_leave(&inner);
	bide_group_leave(&outer);
	return NULL;
}

/* What stands before the line of this name. */
static int indent_of(const char *name)
{
	const char *line = line_of(name);
	char quoted[32];
	snprintf(quoted, sizeof quoted, "\"%s\" ", name);
	for (line = strstr(text, quoted); line[-1] != '\n'; line--)
		continue;
	return (int)strspn(line, " ");
}

static int lines_with(const char *what)
{
	int count = 0;
	for (const char *at = text; (at = strstr(at, what)); at++)
		count++;
	return count;
}

/* Each once, its children below it, the groups of each from the inner to the outer. */
ORDERED_TEST(groups_in_groups_make_a_tree)
{
	bide_task *root = spawn_named("root", branch_out, NULL), *other = spawn_named("other", forever_sleeper, NULL);
	settle();
	dump();
	must_msg(strncmp(text, "bide: 15 tasks\n", 15) == 0, "%s", text);
	must(lines_with("\n") == 1 + 15 + 8 && lines_with("group 0x") == 8);
	must(indent_of("root") == 0 && indent_of("other") == 0);
	for (int level = 0; level < 4; level++)
		for (int i = 0; i < 3; i++) {
			char name[16];
			snprintf(name, sizeof name, "%d.%d", level, i);
			must_msg(indent_of(name) == 4 * (level + 1), "%s: %s", name, text);
		}
	must(strstr(text, "\"0.0\"") < strstr(text, "\"0.1\"") && strstr(text, "\"0.1\"") < strstr(text, "\"1.0\""));
	must(strstr(text, "\"3.2\"") < strstr(text, "\"2.2\"") && strstr(text, "\"1.2\"") < strstr(text, "\"0.2\""));
	must(bide_cancel(root, NULL) == 0 && bide_cancel(other, NULL) == 0);
	must(bide_join(root, NULL) == 0 && bide_join(other, NULL) == 0);
}

static void *crowd(void *arg)
{
	bide_group group = { { 0 } };
	must(bide_group_enter(&group, 0, 0) == 0);
	for (int i = 0; i < 250; i++)
		must(bide_group_spawn(&group, i < 200 ? forever_sleeper : nothing, NULL, NULL));
	for (int i = 0; i < 120; i++)
		must(bide_detach(must_spawn(nothing, NULL)) == 0);
	dump();
	must_msg(lines_with("\n    task ") == 100 && strstr(text, "\n    and 150 more tasks: 150 created\n"), "%.3000s", text);
	must(lines_with("\ntask ") == 101 && strstr(text, "\nand 21 more tasks: 21 created\n"));
	dump_with(BIDE_DUMP_ALL);
	must(lines_with("\n    task ") == 250 && lines_with("\ntask ") == 122);
	settle();
	dump();
	must_msg(lines_with("\n    task ") == 100 && strstr(text, "\n    and 100 more tasks: 100 wait for sleep\n"), "%.3000s", text);
	must(bide_group_cancel(&group, NULL) == 0);
	bide_group_leave(&group);
	return arg;
}

/* A large program's dump stays readable; what is left out is told in numbers. */
VIRTUAL_TEST(many_are_summed_up)
{
	must_end_well(must_spawn(crowd, NULL));
}

/* ---- kinds of wait -------------------------------------------------------------------------------------- */

static bide_chan *chan;

static void *receive_it(void *arg)
{
	int item;
	return bide_chan_recv(chan, &item) == 0 ? arg : bide_fail(errno);
}

static void *lock_it(void *arg)
{
	if (bide_mutex_lock(&mutex) < 0)
		return bide_fail(errno);
	must(bide_mutex_unlock(&mutex) == 0);
	return arg;
}

static void *await_it(void *arg)
{
	return bide_join(arg, NULL) == 0 ? NULL : bide_fail(errno);
}

static void *write_it(void *arg)
{
	static const char bytes[65536];
	while (bide_write(*(int *)arg, bytes, sizeof bytes) > 0)
		continue;
	return arg;
}

static double seconds_in(const char *name, const char *before)
{
	const char *at = strstr(line_of(name), before);
	return at ? strtod(at + strlen(before), NULL) : -1;
}

/* Scenario J5: 50 parked tasks in 5 kinds of wait, each told with the right one. */
VIRTUAL_TEST(fifty_tasks_in_five_kinds_of_wait_are_listed)
{
	static const char *const waits[] = { "waits for fd ", "waits for channel 0x", "waits for sleep", "waits for mutex 0x",
		"waits for task " };
	static const char *const kinds[] = { "reader", "receiver", "sleeper", "locker", "joiner" };
	static bide_fn *const bodies[] = { read_it, receive_it, forever_sleeper, lock_it, await_it };
	bide_task *tasks[50];
	char name[32], fd_text[40];
	int fds[2];
	make_unix(fds);
	chan = bide_chan_new(sizeof(int), 0, 0, NULL);
	bide_task *writer = spawn_named("writer", write_it, &fds[0]);
	must(chan && bide_mutex_lock(&mutex) == 0);
	for (int i = 0; i < 50; i++) {
		void *args[] = { &fds[0], NULL, NULL, NULL, writer };
		snprintf(name, sizeof name, "%s %d", kinds[i % 5], i);
		tasks[i] = spawn_named(name, bodies[i % 5], args[i % 5]);
	}
	settle();
	pass(7 * BIDE_SEC);
	dump();
	must_msg(strncmp(text, "bide: 52 tasks\n", 15) == 0 && lines_with("\ntask ") == 52, "%s", text);
	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof name, "%s %d", kinds[i % 5], i);
		must_say(name, waits[i % 5]);
		must_say(name, ", spawned at must_spawn (runs.c:");
		must(seconds_in(name, ", age ") > 6.9 && seconds_in(name, ", age ") < 7.1);
		must(seconds_in(name, ", for ") > 6.9 && seconds_in(name, ", for ") < 7.1);
	}
	snprintf(fd_text, sizeof fd_text, "waits for fd %d to read", fds[0]);
	must_say("reader 0", fd_text);
	must_say("receiver 1", " to receive");
	must_say("locker 3", ", held by task 1 \"main\"");
	snprintf(fd_text, sizeof fd_text, "waits for fd %d to write", fds[0]);
	must_say("writer", fd_text);
	must(bide_mutex_unlock(&mutex) == 0);
	for (int i = 0; i < 50; i++)
		bide_cancel(tasks[i], NULL);
	bide_cancel(writer, NULL);
	for (int i = 0; i < 50; i++)
		must(bide_join(tasks[i], NULL) == 0);
	must(bide_join(writer, NULL) == 0);
	bide_chan_unref(chan);
	close_pair(fds);
}

static void *select_it(void *arg)
{
	bide_case cases[2] = { { .op = BIDE_CASE_RECV, .chan = chan }, { .op = BIDE_CASE_FD, .fd = *(int *)arg, .events = POLLIN } };
	return bide_select(cases, 2, 0) >= 0 ? arg : bide_fail(errno);
}

static bide_rwlock rwlock;

static void *write_lock(void *arg)
{
	if (bide_rwlock_wrlock(&rwlock) < 0)
		return bide_fail(errno);
	must(bide_rwlock_unlock(&rwlock) == 0);
	return arg;
}

VIRTUAL_TEST(which_way_a_wait_goes_is_told)
{
	int fds[2];
	char both[80];
	make_unix(fds);
	bide_chan *own = chan = bide_chan_new(0, 0, 0, NULL);
	bide_task *selector = spawn_named("selector", select_it, &fds[0]);
	must(bide_rwlock_rdlock(&rwlock) == 0 && bide_yield() == 0);
	chan = bide_chan_new(sizeof(int), 0, BIDE_CHAN_SHARED, NULL);
	bide_task *receiver = spawn_named("receiver", receive_it, NULL), *locker = spawn_named("locker", write_lock, NULL);
	settle();
	dump();
	must_say("receiver", "waits for shared channel 0x");
	must_say("receiver", " to receive, for ");
	must_say("locker", "waits for rwlock 0x");
	must_say("locker", " to write, for ");
	snprintf(both, sizeof both, "fd %d to read", fds[0]);
	must_say("selector", "waits for select of ");
	must_say("selector", both);
	must_say("selector", "channel 0x");
	must(bide_rwlock_unlock(&rwlock) == 0 && bide_cancel(selector, NULL) == 0 && bide_cancel(receiver, NULL) == 0);
	must(bide_join(selector, NULL) == 0 && bide_join(receiver, NULL) == 0 && bide_join(locker, NULL) == 0);
	bide_chan_unref(chan);
	bide_chan_unref(own);
	close_pair(fds);
}

/* ---- backtraces ------------------------------------------------------------------------------------------ */

static __attribute__((noinline)) void *in_a_coroutine(void *arg)
{
	bide_sleep(BIDE_SEC);
	__asm__ volatile("");
	return arg;
}

static __attribute__((noinline)) void *on_a_task(void *arg)
{
	bide_coro *coro = bide_coro_new(in_a_coroutine, NULL, 0);
	must(coro && bide_coro_resume(coro, NULL, NULL) == 0 && bide_coro_close(coro) == 0);
	return arg;
}

static const char *after(const char *from, const char *what)
{
	const char *at = strstr(from, what);
	must_msg(at, "no '%s' in: %s", what, from);
	return at + strlen(what);
}

VIRTUAL_TEST(below_each_task_are_the_calls_it_stands_in)
{
	bide_task *tower = spawn_named("tower", on_a_task, NULL), *unborn;
	settle();
	unborn = spawn_named("unborn", nothing, NULL);
	dump_with(BIDE_DUMP_BACKTRACES);
	after(after(text, "\"main\" running"), "\n    at bide_dump (dump.c:");
	const char *at = after(text, "\"tower\" suspended");
	at = after(at, "\n    at in_a_coroutine (test_dump.c:");
	at = after(after(at, "\n    in a coroutine resumed\n"), "    at on_a_task (test_dump.c:");
	at = after(after(text, "\"unborn\" created"), "\n    at nothing (runs.c:");
	must(!strstr(at, "\n    at "));
	must_end_well(tower);
	must_end_well(unborn);
}

static void *use_much(void *arg)
{
	volatile char room[8192];
	for (size_t i = 0; i < sizeof room; i += 64)
		room[i] = (char)i;
	pass(BIDE_SEC);
	return arg;
}

static void *dump_painted(void *arg)
{
	bide_task *deep = spawn_named("deep", use_much, NULL);
	must(bide_yield() == 0);
	dump();
	const char *line = line_of("deep");
	size_t now, size, most;
	must(sscanf(strstr(line, "stack "), "stack %zu of %zu bytes, %zu at most", &now, &size, &most) == 3);
	must(now > 8192 && most >= now && most < size);
	must_end_well(deep);
	return arg;
}

/* With painted stacks the high-water mark is told; of a tower, all of its stacks. */
START_TEST(the_high_water_mark_is_told_where_there_is_one)
{
	run_with(BIDE_VIRTUAL_CLOCK | BIDE_PAINT_STACKS, dump_painted, NULL);
}
END_TEST

int main(void)
{
	return SUITE("dump", TEST(bad_input_is_refused), TEST(outside_a_loop_there_is_nothing_to_dump),
	    TEST(a_name_from_outside_stays_in_its_line_and_its_quotes),
	    TEST(each_task_is_told_with_what_it_waits_for_and_who_holds_that), TEST(children_and_cancels_are_told),
	    TEST(groups_in_groups_make_a_tree), TEST(many_are_summed_up), TEST(fifty_tasks_in_five_kinds_of_wait_are_listed),
	    TEST(which_way_a_wait_goes_is_told), TEST(below_each_task_are_the_calls_it_stands_in),
	    TEST(the_high_water_mark_is_told_where_there_is_one));
}
