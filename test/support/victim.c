/* SPDX-License-Identifier: MIT */
#include "victim.h"

#include <pthread.h>
#include <unistd.h>

/* ---- going too deep ------------------------------------------------------------------------------- */

int (*volatile deeper)(int depth) = with_small_frames;

__attribute__((noinline)) int with_small_frames(int depth)
{
	volatile char frame[256];
	frame[depth & 255] = (char)depth;
	return deeper(depth + 1) + frame[0];
}

void overflow(void)
{
	deeper(0);
}

void *overflowing(void *arg)
{
	overflow();
	return arg;
}

void *in_a_coroutine(void *arg)
{
	bide_coro *coro = bide_coro_new(overflowing, arg, 0);
	bide_coro_resume(coro, NULL, NULL);
	return NULL;
}

void *in_a_coroutine_of_a_coroutine(void *arg)
{
	bide_coro *coro = bide_coro_new(in_a_coroutine, arg, 0);
	bide_coro_resume(coro, NULL, NULL);
	return NULL;
}

void *touch_nothing_of_ours(void *arg)
{
	static volatile int *volatile nowhere;
	nowhere = (int *)8;
	*nowhere = 1;
	return arg;
}

bool is_seen_by_memcheck(bide_fn *body)
{
	return body == touch_nothing_of_ours && suite_is_under("valgrind");
}

char *low_end;

static void note_low_end(const bide_stack_range *range, void *arg)
{
	(void)arg;
	if (range->task == bide_self() && !range->coro)
		low_end = range->low;
}

void find_low_end(void)
{
	bide_stack_each(note_low_end, NULL);
}

/* ---- a process that will die ------------------------------------------------------------------------ */

static void *park(void *arg)
{
	bide_sleep(BIDE_NEVER);
	return arg;
}

static void *spawn_victim(void *arg)
{
	const struct victim *victim = arg;
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	for (int i = 0; i < victim->parked; i++)
		bide_spawn(park, NULL);
	bide_yield();
	attr.name = "the victim";
	attr.stack_size = victim->stack_size;
	bide_join(bide_spawn_with(victim->body, NULL, &attr), NULL);
	return NULL;
}

static void *run_victim(void *arg)
{
	const struct victim *victim = arg;
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = victim->flags;
	config.allocator = victim->allocator;
	config.report = victim->report;
	if (victim->frames)
		deeper = victim->frames;
	bide_run(spawn_victim, arg, &config, NULL);
	return NULL;
}

void die(void *arg)
{
	const struct victim *victim = arg;
	pthread_t thread;
	if (!victim->is_on_a_thread) {
		run_victim(arg);
		return;
	}
	pthread_create(&thread, NULL, run_victim, arg);
	pthread_join(thread, NULL);
}

/* Dies, and an emulator's own line about it is not kept. */
struct death death_by(void (*fn)(void *), void *arg)
{
	struct death death = death_of(fn, arg);
	char *emulator = strstr(death.text, "qemu: uncaught target signal");
	if (emulator)
		*emulator = '\0';
	return death;
}

int lines_in(const char *text)
{
	int lines = 0;
	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* The line is complete, and the only one. */
void check_line(const struct death *death, const char *who, const char *raise)
{
	ck_assert_msg(died_of_access(death), "signal %d, exit status %d: %s", death->signal,
	    death->exit_status, death->text);
	ck_assert_msg(strncmp(death->text, NAMED, strlen(NAMED)) == 0, "%s", death->text);
	ck_assert_msg(strstr(death->text, who), "%s", death->text);
	ck_assert_msg(strstr(death->text, raise), "%s", death->text);
	ck_assert_int_eq(lines_in(death->text), 1);
	ck_assert_int_eq(death->text[strlen(death->text) - 1], '\n');
}

void check_named(const struct death *death)
{
	check_line(death, "task 2 \"the victim\" (spawned at ", "bide_task_attr.stack_size");
}

void say(const char *text)
{
	ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
	(void)ignored;
}
