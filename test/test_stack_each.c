/* SPDX-License-Identifier: MIT
 * Every stack: enumeration with hooks (scenario B19), and what sanitizers and valgrind make of stacks that
 * come and go (scenarios J1 to J3). */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "death.h"
#include "parked.h"
#include "resources.h"
#include "stack/annotate.h"

#define KIB ((size_t)1024)
#define MAGIC 0x6269646573746163u

/* ---- scenario B19: enumeration ------------------------------------------------------------------------- */

static __attribute__((noinline)) void *wait_with(volatile unsigned long *local)
{
	must(bide_await(&gate, NULL) == 0);
	return (void *)(uintptr_t)*local;
}

/* A magic word lives on the stack, and nowhere else. */
static void *keep_magic(void *arg)
{
	volatile unsigned long local = MAGIC ^ (unsigned long)(uintptr_t)arg;
	return wait_with(&local);
}

static void *yield_magic(void *arg)
{
	volatile unsigned long local = MAGIC ^ (unsigned long)(uintptr_t)arg;
	bide_coro_yield(NULL);
	return (void *)(uintptr_t)local;
}

/* Two stacks: its own, and a coroutine's on top of it. */
static void *keep_magic_twice(void *arg)
{
	volatile unsigned long local = MAGIC ^ (unsigned long)(uintptr_t)arg;
	bide_coro *coro = bide_coro_new(keep_magic, (void *)((uintptr_t)arg + 1), 0);
	must(coro && bide_coro_resume(coro, NULL, NULL) == 0 && bide_coro_close(coro) == 0);
	return (void *)(uintptr_t)local;
}

#define SEEN_MAX 512

struct seen {
	int ranges, coros, without_task;
	bool magic[SEEN_MAX];
	bool is_wrong;
	const char *here; /* of the caller */
};

ANNOTATE_UNCHECKED static void search(const bide_stack_range *range, void *arg)
{
	struct seen *seen = arg;
	const volatile unsigned long *word = (void *)(((uintptr_t)range->sp + 7) & ~(uintptr_t)7);
	seen->ranges++;
	seen->coros += range->coro != NULL;
	seen->without_task += range->task == NULL;
	seen->is_wrong |= (char *)range->sp < (char *)range->low || (char *)range->sp > (char *)range->high;
	annotate_readable(range->sp, range->high);
	for (; (char *)(uintptr_t)(word + 1) <= (char *)range->high; word++)
		if ((*word ^ MAGIC) < SEEN_MAX)
			seen->magic[*word ^ MAGIC] = true;
}

static void check_all_seen(const struct seen *seen, int from, int to)
{
	must(!seen->is_wrong);
	/* Where AddressSanitizer keeps frames elsewhere, locals are not on the stack. */
	if (suite_is_for("address"))
		return;
	for (int i = from; i < to; i++)
		must_msg(seen->magic[i], "number %d was not found", i);
}

static void *enumerate_main(void *arg)
{
	enum { COUNT = 100, TWICE = 20 };
	static bide_task *tasks[COUNT + TWICE];
	struct seen seen = { 0 };
	bide_coro *suspended = bide_coro_new(yield_magic, (void *)400, 0), *fresh = bide_coro_new(nothing, NULL, 0);
	bide_future_init(&gate, NULL);
	for (size_t i = 0; i < COUNT; i++)
		tasks[i] = must_spawn(keep_magic, (void *)i);
	for (size_t i = 0; i < TWICE; i++)
		tasks[COUNT + i] = must_spawn(keep_magic_twice, (void *)(200 + 2 * i));
	must(bide_coro_resume(suspended, NULL, NULL) == 1);
	settle();
	bide_task *created = must_spawn(nothing, NULL);
	ck_assert_int_eq(bide_stack_each(search, &seen), seen.ranges);
	/* main, those parked, the coroutines on top of twenty of them, two more. One that has not run has no
	 * stack of the pool yet; hooks have given it one. */
	int wanted = 1 + COUNT + 2 * TWICE + 2 + (arg ? 1 : 0);
	ck_assert_int_eq(seen.ranges, wanted);
	ck_assert_int_eq(seen.coros, TWICE + 2);
	ck_assert_int_eq(seen.without_task, 2);
	check_all_seen(&seen, 0, COUNT);
	check_all_seen(&seen, 200, 200 + 2 * TWICE);
	check_all_seen(&seen, 400, 401);
	bide_future_set(&gate, NULL);
	for (int i = 0; i < COUNT + TWICE; i++)
		must_end_well(tasks[i]);
	must_end_well(created);
	must(bide_coro_close(suspended) == 0 && bide_coro_close(fresh) == 0);
	struct seen after = { 0 };
	ck_assert_int_eq(bide_stack_each(search, &after), 1);
	ck_fails(bide_stack_each(NULL, NULL), EINVAL);
	return NULL;
}

START_TEST(every_stack_is_visited_with_where_it_was_left)
{
	run_virtual(enumerate_main, NULL);
}
END_TEST

START_TEST(and_those_of_hooks)
{
	struct counting counting;
	bide_config config = BIDE_CONFIG_INIT;
	counting_init(&counting, true);
	config.allocator = &counting.allocator;
	config.flags = BIDE_VIRTUAL_CLOCK;
	ck_assert_int_eq(bide_run(enumerate_main, &counting, &config, NULL), 0);
	ck_assert_uint_ge(counting.stack_allocs, 121);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

/* 10,000 tasks on stacks of hooks: as many freed as given, each with the size it was asked for. */
static void *many_main(void *arg)
{
	int count = *(int *)arg;
	for (int done = 0; done < count; done += 20) {
		bide_task *tasks[20];
		for (int i = 0; i < 20; i++) {
			bide_task_attr attr = BIDE_TASK_ATTR_INIT;
			attr.stack_size = bide_stack_min() + (size_t)i * 3000;
			tasks[i] = bide_spawn_with(nothing, NULL, &attr);
			must(tasks[i]);
		}
		for (int i = 0; i < 20; i++) {
			if (i == 7)
				bide_cancel(tasks[i], "before it runs, or not");
			must_join(tasks[i]);
		}
	}
	return NULL;
}

START_TEST(hooks_get_back_what_they_gave)
{
	struct counting counting;
	bide_config config = BIDE_CONFIG_INIT;
	int count = suite_scaled_down(10000, 1000) / 20 * 20;
	counting_init(&counting, true);
	config.allocator = &counting.allocator;
	ck_assert_int_eq(bide_run(many_main, &count, &config, NULL), 0);
	ck_assert_uint_eq(counting.stack_allocs, (size_t)count + 1);
	ck_assert(counting_is_balanced(&counting));
}
END_TEST

/* Outside a loop there are the coroutines of the thread; those of another thread are not visited. */
static void *count_on_another_thread(void *arg)
{
	struct seen seen = { 0 };
	*(int *)arg = bide_stack_each(search, &seen);
	return NULL;
}

static void *enumerate_inside(void *arg)
{
	struct seen *seen = arg;
	bide_stack_each(search, seen);
	return NULL;
}

START_TEST(a_thread_s_coroutines_are_visited_outside_a_loop_too)
{
	struct seen seen = { 0 }, inside = { 0 };
	int others = -1;
	pthread_t thread;
	bide_coro *one = bide_coro_new(yield_magic, (void *)7, 0), *other = bide_coro_new(enumerate_inside, &inside, 0);
	ck_assert_int_eq(bide_coro_resume(one, NULL, NULL), 1);
	ck_assert_int_eq(bide_stack_each(search, &seen), 2);
	ck_assert_int_eq(seen.without_task, 2);
	check_all_seen(&seen, 7, 8);
	ck_assert_int_eq(bide_coro_resume(other, NULL, NULL), 0);
	ck_assert_int_eq(inside.ranges, 2); /* itself, running, and the suspended one */
	pthread_create(&thread, NULL, count_on_another_thread, &others);
	pthread_join(thread, NULL);
	ck_assert_int_eq(others, 0);
	ck_assert_int_eq(bide_coro_close(one), 0);
	ck_assert_int_eq(bide_coro_close(other), 0);
}
END_TEST

/* A coroutine belongs to the thread that begins it, whoever made it. */
static void *begin_it(void *arg)
{
	struct seen seen = { 0 };
	bide_coro *coro = arg;
	must(bide_coro_resume(coro, NULL, NULL) == 1);
	int visited = bide_stack_each(search, &seen);
	must(bide_coro_resume(coro, NULL, NULL) == 0);
	return (void *)(uintptr_t)visited;
}

START_TEST(a_coroutine_is_of_the_thread_that_begins_it)
{
	struct seen seen = { 0 };
	void *visited;
	pthread_t thread;
	bide_coro *coro = bide_coro_new(yield_magic, (void *)7, 0);
	ck_assert_int_eq(bide_stack_each(search, &seen), 1);
	pthread_create(&thread, NULL, begin_it, coro);
	pthread_join(thread, &visited);
	ck_assert_ptr_eq(visited, (void *)1);
	ck_assert_int_eq(bide_stack_each(search, &seen), 0);
	ck_assert_int_eq(bide_coro_close(coro), 0);
}
END_TEST

/* ---- scenario J1: AddressSanitizer -------------------------------------------------------------------------- */

#ifdef ANNOTATE_ASAN
static void *overrun_a_local(void *arg)
{
	char local[16];
	char *volatile at = local; /* so that no other sanitizer is quicker */
	(void)arg;
	bide_yield();
	at[16] = 1;
	return NULL;
}

static char *volatile dangling;

static void *leave_a_pointer(void *arg)
{
	char local[64];
	dangling = local;
	bide_yield();
	return arg;
}

static void *use_after_return(void *arg)
{
	must_end_well(bide_spawn(leave_a_pointer, arg));
	dangling[3] = 1;
	return NULL;
}

static void *exit_from_deep_below(void *arg)
{
	volatile char local[512];
	for (size_t i = 0; i < sizeof local; i++)
		local[i] = 1;
	bide_exit(local[5] ? arg : NULL);
}

static void die_of(void *arg)
{
	bide_run(*(bide_fn **)arg, NULL, NULL, NULL);
}

struct finding {
	bide_fn *body;
	const char *what, *where;
};

static const struct finding findings[] = {
	{ overrun_a_local, "stack-buffer-overflow", "overrun_a_local" },
	{ use_after_return, "stack-use-after-return", "use_after_return" },
};

START_TEST(what_is_wrong_on_a_task_s_stack_is_found_and_shown)
{
	const struct finding *finding = &findings[_i];
	bide_fn *body = finding->body;
	struct death death = death_of(die_of, &body);
	ck_assert(death.exit_status != 0 || died_of_access(&death));
	if (died_of_access(&death))
		return; /* the fake stack of a task that has ended is no longer mapped */
	ck_assert_msg(strstr(death.text, finding->what), "%s", death.text);
	ck_assert_msg(strstr(death.text, finding->where), "%s", death.text);
}
END_TEST

/* A stack that was left without returning, recycled and as the caller's own memory, is clean for the next. */
static void *recycle_main(void *arg)
{
	char *mine = malloc(32 * KIB);
	for (int i = 0; i < 50; i++) {
		bide_task_attr attr = BIDE_TASK_ATTR_INIT;
		attr.stack = i % 2 ? mine : NULL;
		attr.stack_size = 32 * KIB;
		must(must_join(bide_spawn_with(exit_from_deep_below, arg, &attr)).value == arg);
		memset(mine, i, 32 * KIB);
	}
	free(mine);
	return NULL;
}

START_TEST(stacks_that_were_left_by_exit_are_clean_for_the_next)
{
	run_virtual(recycle_main, &gate);
}
END_TEST
#endif

/* ---- scenarios J2 and J3: many come and go -------------------------------------------------------------------- */

/* Under ThreadSanitizer each has a fiber, under valgrind a registered stack: neither may pile up. */
static void *come_and_go(void *arg)
{
	int count = *(int *)arg;
	long after_first = 0;
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < count; i++) {
			must_end_well(must_spawn(nothing, NULL));
			if (i % 10)
				continue;
			bide_coro *coro = bide_coro_new(nothing, NULL, 0);
			must(coro && bide_coro_resume(coro, NULL, NULL) == 0 && bide_coro_close(coro) == 0);
		}
		if (round == 0)
			after_first = resident_kib();
	}
	long grown = resident_kib() - after_first;
	/* AddressSanitizer keeps freed memory for a while. */
	if (!suite_is_for("address"))
		must_msg(grown < 4096, "%ld KiB more after %d tasks", grown, 3 * count);
	return NULL;
}

START_TEST(a_million_short_lives_leave_nothing_behind)
{
	int count = suite_scaled_down(250000, 2000);
	if (suite_is_for("thread"))
		count /= 20; /* each fiber is mapped and unmapped */
	run_virtual(come_and_go, &count);
}
END_TEST

#ifdef ANNOTATE_TSAN
/* A real race between tasks of two threads is found, whatever was told about fibers. */
static int contended;
static pthread_barrier_t both_run; /* else the end of one run may come before the beginning of the other */

static void *race(void *arg)
{
	pthread_barrier_wait(&both_run);
	for (int i = 0; i < 1000; i++) {
		contended++;
		bide_yield();
	}
	return arg;
}

static void *race_on_a_thread(void *arg)
{
	bide_run(race, arg, NULL, NULL);
	return NULL;
}

static void race_two_threads(void *arg)
{
	pthread_t threads[2];
	(void)arg;
	pthread_barrier_init(&both_run, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, race_on_a_thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

START_TEST(a_race_between_tasks_of_two_threads_is_found)
{
	struct death death = death_of(race_two_threads, NULL);
	ck_assert_msg(strstr(death.text, "data race"), "%s", death.text);
}
END_TEST
#endif

int main(void)
{
	return SUITE("stack_each",
	    TEST(every_stack_is_visited_with_where_it_was_left),
	    TEST(and_those_of_hooks),
	    TEST(hooks_get_back_what_they_gave),
	    TEST(a_thread_s_coroutines_are_visited_outside_a_loop_too),
	    TEST(a_coroutine_is_of_the_thread_that_begins_it),
#ifdef ANNOTATE_ASAN
	    TABLE(what_is_wrong_on_a_task_s_stack_is_found_and_shown, findings),
	    TEST(stacks_that_were_left_by_exit_are_clean_for_the_next),
#endif
#ifdef ANNOTATE_TSAN
	    TEST(a_race_between_tasks_of_two_threads_is_found),
#endif
	    TEST(a_million_short_lives_leave_nothing_behind));
}
