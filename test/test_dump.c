/* SPDX-License-Identifier: MIT
 * bide_dump(): every live task once. Statement 189. */
#include <stdlib.h>
#include <unistd.h>

#include "runs.h"
#include "sockets.h"

static char *text;

static void dump(void)
{
	size_t size;
	free(text);
	text = NULL;
	FILE *out = open_memstream(&text, &size);
	must(bide_dump(out, 0) == 0);
	fclose(out);
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
	ck_fails(bide_dump(stderr, 1), EINVAL);
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
	char owner[64];
	bide_task *parent = spawn_named("parent", dump_children, NULL);
	snprintf(owner, sizeof owner, ", child of task %llu \"parent\"", (unsigned long long)bide_task_id(parent));
	must_end_well(parent);
	must_say("child", owner);
	must_say("child", ", canceled: for the test");
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
	    TEST(each_task_is_told_with_what_it_waits_for_and_who_holds_that), TEST(children_and_cancels_are_told),
	    TEST(the_high_water_mark_is_told_where_there_is_one));
}
