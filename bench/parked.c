/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: what a parked task costs, against a parked thread and against what other
 * runtimes park.
 *
 * Each case runs in a process of its own, which parks so many tasks and asks the kernel what it holds
 * then: its resident pages, its page tables, its mappings, and what the kernel itself has for it. The
 * loop, or the runtime, and the array of handles are there before the first look. Then all are woken
 * and joined. The time to make and park one, and to wake and join one, is CPU time.
 *
 * A process for each round, and one round unless there are few tasks: memory does not vary as time does,
 * and a million tasks take their time. Threads stop at what the system gives, which is said. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bide.h>

#include "common/bench.h"
#include "common/footprint.h"
#include "common/scripts.h"

#define THREAD_STACK ((size_t)PTHREAD_STACK_MIN)
#define DEEP (32 * 1024)

/* What a process measured. */
typedef struct measured {
	bench_footprint each;
	double mappings; /* in all */
	double count;    /* so many were parked */
	double park, wake; /* ns each */
} measured;

/* ---- tasks --------------------------------------------------------------------------------------- */

typedef struct task_case {
	size_t stack_size;
	bide_fn *body;
	bool by_future; /* woken by a future, else canceled in their sleep */
	bool trims;
} task_case;

static bide_future gate;

static void *sleep_long(void *arg)
{
	bide_sleep(3600 * BIDE_SEC);
	return arg;
}

static void *wait_for_gate(void *arg)
{
	bide_await(&gate, NULL);
	return arg;
}

static BENCH_NOINLINE void go_deep(void)
{
	volatile char frame[DEEP];
	for (size_t i = 0; i < sizeof frame; i += 64)
		frame[i] = 1;
}

static void *sleep_after_depth(void *arg)
{
	go_deep();
	return sleep_long(arg);
}

struct job {
	const task_case *tasks;
	long count;
	measured *result;
};

static void spawn_all(const struct job *job, bide_task **tasks)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.stack_size = job->tasks->stack_size;
	for (long i = 0; i < job->count; i++) {
		tasks[i] = bide_spawn_with(job->tasks->body, tasks, &attr);
		if (!tasks[i])
			bench_fail("bide_spawn of task %ld: %s", i, strerror(errno));
		if (i % 1000 == 999)
			bide_yield(); /* as a server does, which has not all of them ready at once */
	}
	bide_settle();
}

static void wake_all(const struct job *job, bide_task **tasks)
{
	if (job->tasks->by_future)
		bide_future_set(&gate, NULL);
	else
		for (long i = 0; i < job->count; i++)
			bide_cancel(tasks[i], "the end");
	for (long i = 0; i < job->count; i++) {
		bide_result outcome;
		if (bide_join(tasks[i], &outcome) != 0 || outcome.value != tasks)
			bench_fail("task %ld was not as it should be", i);
	}
}

static void *park_tasks(void *arg)
{
	const struct job *job = arg;
	size_t size = (size_t)job->count * sizeof(bide_task *);
	bide_task **tasks = malloc(size);
	if (!tasks)
		bench_fail("out of memory");
	memset(tasks, 1, size); /* resident before the first look */
	bench_footprint before = bench_footprint_now();
	int64_t start = bench_now(BENCH_CPU);
	spawn_all(job, tasks);
	job->result->park = (double)(bench_now(BENCH_CPU) - start) / (double)job->count;
	if (job->tasks->trims)
		bide_trim();
	bench_footprint after = bench_footprint_now();
	job->result->each = bench_footprint_each(&before, &after, (double)job->count);
	job->result->mappings = after.mappings - before.mappings;
	job->result->count = (double)job->count;
	start = bench_now(BENCH_CPU);
	wake_all(job, tasks);
	job->result->wake = (double)(bench_now(BENCH_CPU) - start) / (double)job->count;
	free(tasks);
	return arg;
}

static void run_tasks(const void *arg, long count, measured *result)
{
	struct job job = { arg, count, result };
	bide_result outcome;
	if (bide_run(park_tasks, &job, NULL, &outcome) != 0 || outcome.value != &job)
		bench_fail("bide_run: %s", strerror(errno));
}

/* ---- threads --------------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_over = PTHREAD_COND_INITIALIZER;
static bool over;

static void *wait_until_over(void *arg)
{
	pthread_mutex_lock(&lock);
	while (!over)
		pthread_cond_wait(&is_over, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static long start_threads(pthread_t *threads, long count)
{
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], &attr, wait_until_over, NULL) != 0)
			return i;
	return count;
}

static void run_threads(const void *arg, long count, measured *result)
{
	pthread_t *threads = malloc((size_t)count * sizeof *threads);
	(void)arg;
	if (!threads)
		bench_fail("out of memory");
	memset(threads, 1, (size_t)count * sizeof *threads);
	bench_footprint before = bench_footprint_now();
	int64_t start = bench_now(BENCH_CPU);
	count = start_threads(threads, count);
	if (count == 0)
		bench_fail("pthread_create: %s", strerror(errno));
	usleep(200 * 1000); /* so that the last ones wait too */
	result->park = (double)(bench_now(BENCH_CPU) - start) / (double)count;
	bench_footprint after = bench_footprint_now();
	result->each = bench_footprint_each(&before, &after, (double)count);
	result->mappings = after.mappings - before.mappings;
	result->count = (double)count;
	start = bench_now(BENCH_CPU);
	pthread_mutex_lock(&lock);
	over = true;
	pthread_cond_broadcast(&is_over);
	pthread_mutex_unlock(&lock);
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	result->wake = (double)(bench_now(BENCH_CPU) - start) / (double)count;
	free(threads);
}

/* ---- cases ------------------------------------------------------------------------------------------- */

static const task_case sleepers = { 0, sleep_long, false, false };
static const task_case waiters = { 0, wait_for_gate, true, false };
static task_case small_sleepers = { 0, sleep_long, false, false };
static const task_case once_deep = { 0, sleep_after_depth, false, true };

typedef struct parked_case {
	const char *name;
	void (*run)(const void *arg, long count, measured *result);
	const void *arg;
	long most; /* more are not tried; 0: no limit */
	bool has_bar;
} parked_case;

static void run_go(const void *arg, long count, measured *result)
{
	(void)arg;
	script_result got = script_go(count);
	*result = (measured){ .each = { got.resident, got.page_tables, 0, 0 }, .count = (double)count,
		.park = got.park, .wake = got.wake };
}

static void run_asyncio(const void *arg, long count, measured *result)
{
	(void)arg;
	script_result got = script_asyncio(count);
	*result = (measured){ .each = { got.resident, got.page_tables, 0, 0 }, .count = (double)count,
		.park = got.park, .wake = got.wake };
}

static const parked_case cases[] = {
	{ "task, default stack, sleeping", run_tasks, &sleepers, 0, true },
	{ "task, default stack, at a future", run_tasks, &waiters, 0, true },
	{ "task, smallest stack, sleeping", run_tasks, &small_sleepers, 0, true },
	{ "task, once 32 KiB deep, trimmed", run_tasks, &once_deep, 200000, false },
	{ "thread, smallest stack, waiting", run_threads, NULL, 32000, false },
	{ "goroutine, sleeping", run_go, NULL, 0, false },
	{ "asyncio task, sleeping", run_asyncio, NULL, 200000, false },
};

#define CASES (sizeof cases / sizeof *cases)
#define BAR 4505.6 /* 4.4 KiB */

typedef struct row_set {
	bench_row *memory, *resident, *page_tables, *kernel, *mappings, *park, *wake;
} row_set;

static bench_row *new_row(const char *name, const char *what, const char *unit, bench_clock clock)
{
	char full[80];
	snprintf(full, sizeof full, "%s: %s", name, what);
	return bench_row_new(full, unit, clock, NULL);
}

static row_set make_rows(const char *name)
{
	return (row_set){
		.memory = new_row(name, "memory and page tables", "B", BENCH_NO_CLOCK),
		.resident = new_row(name, "resident pages", "B", BENCH_NO_CLOCK),
		.page_tables = new_row(name, "page tables", "B", BENCH_NO_CLOCK),
		.kernel = new_row(name, "kernel memory", "B", BENCH_NO_CLOCK),
		.mappings = new_row(name, "mappings, in all", "1", BENCH_NO_CLOCK),
		.park = new_row(name, "make and park", "ns", BENCH_CPU),
		.wake = new_row(name, "wake and join", "ns", BENCH_CPU),
	};
}

static void add_and_end(bench_row *row, double value)
{
	bench_row_add(row, value);
	bench_row_end_round(row);
}

static void add_result(const row_set *rows, const measured *result)
{
	add_and_end(rows->memory, result->each.resident + result->each.page_tables);
	add_and_end(rows->resident, result->each.resident);
	add_and_end(rows->page_tables, result->each.page_tables);
	add_and_end(rows->kernel, result->each.kernel);
	add_and_end(rows->mappings, result->mappings);
	add_and_end(rows->park, result->park);
	add_and_end(rows->wake, result->wake);
}

static void print_rows(const parked_case *parked, const row_set *rows, bool is_script)
{
	bench_table_head(parked->name);
	bench_row_print(rows->memory);
	bench_row_print(rows->resident);
	bench_row_print(rows->page_tables);
	if (!is_script) {
		bench_row_print(rows->kernel);
		bench_row_print(rows->mappings);
	}
	bench_row_print(rows->park);
	bench_row_print(rows->wake);
}

/* In a process of its own, from which only the result comes back. */
static measured run_apart(const parked_case *parked, long count)
{
	int ends[2], status;
	measured result;
	if (pipe(ends) != 0)
		bench_fail("pipe: %s", strerror(errno));
	fflush(NULL);
	pid_t child = fork();
	if (child < 0)
		bench_fail("fork: %s", strerror(errno));
	if (child == 0) {
		memset(&result, 0, sizeof result);
		parked->run(parked->arg, count, &result);
		_exit(write(ends[1], &result, sizeof result) == sizeof result ? 0 : 1);
	}
	close(ends[1]);
	bool got = read(ends[0], &result, sizeof result) == sizeof result;
	close(ends[0]);
	if (waitpid(child, &status, 0) != child || status != 0 || !got)
		bench_fail("%s: its process failed", parked->name);
	return result;
}

static void measure(const parked_case *parked, long count, int rounds)
{
	bool is_script = parked->run == run_go || parked->run == run_asyncio;
	const char *missing = parked->run == run_go ? script_missing_go() : parked->run == run_asyncio ?
		script_missing_asyncio() : NULL;
	if (!bench_wants(parked->name))
		return;
	if (missing) {
		bench_note("\n%s: not measured: %s", parked->name, missing);
		return;
	}
	long wanted = parked->most && count > parked->most ? parked->most : count;
	row_set rows = make_rows(parked->name);
	measured result = { .count = 0 };
	for (int i = 0; i < rounds; i++) {
		result = run_apart(parked, wanted);
		add_result(&rows, &result);
	}
	print_rows(parked, &rows, is_script);
	if (result.count < (double)count)
		bench_note("  %.0f of %ld: %s", result.count, count,
			   result.count < (double)wanted ? "the system gives no more" : "enough for a figure");
	if (parked->has_bar) {
		char name[80];
		snprintf(name, sizeof name, "%s: memory and page tables", parked->name);
		bench_bar(strdup(name), BENCH_MEDIAN_AT_MOST, BAR);
	}
}

int main(int argc, char **argv)
{
	long count = 0;
	bench_option("tasks", &count, "how many; 100000, or 10000 with --quick");
	bench_begin(argc, argv, "parked", "what a parked task holds, against a thread");
	if (count == 0)
		count = bench_options.quick ? 10000 : 100000;
	small_sleepers.stack_size = bide_stack_min();
	bench_note("  parked   %ld", count);
	for (size_t i = 0; i < CASES; i++)
		measure(&cases[i], count, bench_options.quick || count > 200000 ? 1 : 3);
	return bench_end();
}
