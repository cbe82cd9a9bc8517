/* SPDX-License-Identifier: MIT
 * Scenario B10: tens of thousands of stacks, and the limits of the system they meet. Guards by mprotect()
 * are forced where the kernel has better ones, by making each madvise() fail. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "parked.h"
#include "resources.h"
#include "stack/guard.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static void *wait_with_a_mark(void *arg)
{
	volatile char mark = (char)(uintptr_t)arg;
	if (bide_await(&gate, NULL) < 0)
		return bide_fail(errno);
	return (void *)(uintptr_t)(mark == (char)(uintptr_t)arg);
}

static bide_task *spawn_small(size_t i)
{
	return spawn_sized(wait_with_a_mark, (void *)i, 16 * KIB);
}

static void *return_at_once(void *arg)
{
	return arg;
}

/* What a program does next to us still works. */
static void check_health(void)
{
	pthread_t thread;
	for (int i = 0; i < 20; i++) {
		char *block = malloc(MIB);
		must(block);
		memset(block, 1, MIB);
		char *mapping = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		must(mapping != MAP_FAILED);
		must(mprotect(mapping + 64 * KIB, 64 * KIB, PROT_NONE) == 0);
		munmap(mapping, MIB);
		free(block);
	}
	must(pthread_create(&thread, NULL, return_at_once, NULL) == 0);
	must(pthread_join(thread, NULL) == 0);
}

/* Parks as many as are given, `wanted` at most; how many. */
static int fill_up(bide_task **tasks, int wanted)
{
	int count = 0;
	while (count < wanted && (tasks[count] = spawn_small((size_t)count))) {
		if (++count % 1000 == 0)
			bide_yield();
	}
	if (count < wanted)
		must_msg(errno == ENOMEM, "after %d: %s", count, strerror(errno));
	settle();
	return count;
}

static void drain(bide_task **tasks, int count)
{
	must(bide_future_set(&gate, NULL) == 0);
	for (int i = 0; i < count; i++)
		must(must_end_well(tasks[i]) == (void *)1);
	bide_future_init(&gate, NULL);
}

struct reach {
	int wanted;
	struct reports reports;
	int reached[2];
};

static void *reach_for(void *arg)
{
	struct reach *reach = arg;
	bide_task **tasks = calloc((size_t)reach->wanted, sizeof *tasks);
	bide_future_init(&gate, NULL);
	for (int round = 0; round < 2; round++) {
		reach->reached[round] = fill_up(tasks, reach->wanted);
		check_health();
		drain(tasks, reach->reached[round]);
		check_health();
	}
	free(tasks);
	return NULL;
}

static void run_reach(struct reach *reach)
{
	bide_config config = config_with(0, &reach->reports);
	ck_assert_int_eq(bide_run(reach_for, reach, &config, NULL), 0);
}

/* How many tasks have a mapping for their guard, by the system's own figures. */
static int most_by_protection(void)
{
	return (int)(stack_mapping_limit() / 2);
}

START_TEST(sixty_thousand_parked_tasks_live_or_spawn_says_why_not)
{
	struct reach reach = { .wanted = suite_scaled_down(60000, 3000) };
	char number[32];
	if (suite_is_for("thread"))
		reach.wanted = 3000; /* ThreadSanitizer knows 8,128 fibers and no more */
	if (_i)
		bide_fault("madvise:EINVAL");
	run_reach(&reach);
	bide_fault(NULL);
	if (!_i && stack_guard_kind() == STACK_GUARD_ADVICE)
		ck_assert_int_eq(reach.reached[0], reach.wanted);
	if (_i && reach.wanted > most_by_protection()) {
		ck_assert_int_lt(reach.reached[0], most_by_protection());
		ck_assert_int_gt(reach.reached[0], most_by_protection() * 8 / 10);
		ck_assert_int_le(reach.reached[0], most_by_protection() * 15 / 16); /* some are left to others */
		ck_assert_int_ge(reach.reports.count[BIDE_REPORT_LIMIT], 1);
		snprintf(number, sizeof number, "%ld", stack_mapping_limit());
		ck_assert_ptr_nonnull(strstr(reach.reports.text[BIDE_REPORT_LIMIT], "vm.max_map_count"));
		ck_assert_ptr_nonnull(strstr(reach.reports.text[BIDE_REPORT_LIMIT], number));
	}
	/* The second round is as good as the first. */
	ck_assert_int_ge(reach.reached[1], reach.reached[0] - 64);
	ck_assert_int_eq(stack_guard_mappings(), 0);
}
END_TEST

/* Two runs one after the other in one process. */
START_TEST(a_second_run_begins_with_nothing_of_the_first)
{
	int before = count_mappings();
	for (int i = 0; i < 2; i++) {
		struct reach reach = { .wanted = suite_scaled_down(5000, 500) };
		bide_fault("madvise:EINVAL");
		run_reach(&reach);
		bide_fault(NULL);
		ck_assert_int_eq(reach.reached[0], reach.wanted);
		ck_assert_int_eq(reach.reached[1], reach.wanted);
		if (suite_is_native())
			ck_assert_int_le(count_mappings(), before + 10);
	}
}
END_TEST

/* Loops on several threads share what the process has. */
static void *reach_on_a_thread(void *arg)
{
	static __thread bide_task *tasks[500];
	(void)arg;
	for (int i = 0; i < 500; i++)
		must((tasks[i] = bide_spawn(return_at_once, NULL)) != NULL);
	for (int i = 0; i < 500; i++)
		must(bide_join(tasks[i], NULL) == 0);
	return NULL;
}

static void *run_on_a_thread(void *arg)
{
	bide_run(reach_on_a_thread, arg, NULL, NULL);
	return NULL;
}

START_TEST(the_guards_of_all_threads_are_counted_together)
{
	pthread_t threads[4];
	bide_fault("madvise:EINVAL");
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_on_a_thread, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(stack_guard_mappings(), 0);
}
END_TEST

/* The host has nearly all mappings for itself, so that the kernel's limit is met before ours: it keeps some all the
 * same, wherever in a slab the last one goes. */
static char *split_into(size_t count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(pages != MAP_FAILED);
	for (size_t i = 1; i < count; i += 2)
		must(mprotect(pages + i * page, page, PROT_NONE) == 0);
	return pages;
}

START_TEST(a_host_with_many_mappings_keeps_some_when_there_are_no_more)
{
	struct reach reach = { .wanted = 5000 };
	long limit = stack_mapping_limit();
	if (!suite_is_native() || limit < 20000 || limit > 200000)
		return;
	size_t hosts = (size_t)limit - 3000 + 7 * (size_t)_i;
	char *pages = split_into(hosts);
	bide_fault("madvise:EINVAL");
	run_reach(&reach);
	bide_fault(NULL);
	munmap(pages, hosts * (size_t)sysconf(_SC_PAGESIZE));
	ck_assert_int_gt(reach.reached[0], 1000);
	ck_assert_int_lt(reach.reached[0], 1500);
	ck_assert_int_ge(reach.reached[1], reach.reached[0] - 64);
	ck_assert_ptr_nonnull(strstr(reach.reports.text[BIDE_REPORT_LIMIT], "vm.max_map_count"));
}
END_TEST

/* ---- the report ----------------------------------------------------------------------------------- */

static void *fail_a_thousand_times(void *arg)
{
	(void)arg;
	bide_fault("madvise:EINVAL,mprotect:ENOMEM");
	for (int i = 0; i < 1000; i++) {
		ck_fails_null(spawn_sized(nothing, NULL, 256 * KIB), ENOMEM);
	}
	bide_fault(NULL);
	must_end_well(spawn_sized(nothing, NULL, 256 * KIB));
	return NULL;
}

START_TEST(the_report_comes_once_a_second_at_most_and_it_recovers)
{
	struct reports reports = { .count = { 0 } };
	bide_config config = config_with(0, &reports);
	bide_time begin = bide_now();
	ck_assert_int_eq(bide_run(fail_a_thousand_times, NULL, &config, NULL), 0);
	ck_assert_int_ge(reports.count[BIDE_REPORT_LIMIT], 1);
	ck_assert_int_le(reports.count[BIDE_REPORT_LIMIT], 1 + (int)((bide_now() - begin) / BIDE_SEC));
	ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_LIMIT], "vm.max_map_count"));
}
END_TEST

static void *fail_a_coroutine(void *arg)
{
	bide_fault("madvise:EINVAL,mprotect:ENOMEM");
	ck_fails_null(bide_coro_new(nothing, arg, 700 * KIB), ENOMEM);
	bide_fault(NULL);
	bide_coro *coro = bide_coro_new(nothing, arg, 700 * KIB);
	must(coro && bide_coro_close(coro) == 0);
	return NULL;
}

START_TEST(a_coroutine_that_cannot_be_guarded_is_reported_too)
{
	struct reports reports = { .count = { 0 } };
	bide_config config = config_with(0, &reports);
	ck_assert_int_eq(bide_run(fail_a_coroutine, NULL, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_LIMIT], 1);
}
END_TEST

/* Out of the heap is not out of mappings. */
static void *fail_for_memory(void *arg)
{
	bide_fault("malloc:ENOMEM");
	ck_fails_null(spawn_sized(nothing, arg, 300 * KIB), ENOMEM);
	bide_fault(NULL);
	return NULL;
}

START_TEST(no_limit_is_blamed_for_a_heap_that_is_empty)
{
	struct reports reports = { .count = { 0 } };
	bide_config config = config_with(0, &reports);
	ck_assert_int_eq(bide_run(fail_for_memory, NULL, &config, NULL), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_LIMIT], 0);
}
END_TEST

/* ---- other limits ------------------------------------------------------------------------------------ */

static const struct space_limit {
	int resource;
	const char *name;
} space_limits[] = { { RLIMIT_AS, "RLIMIT_AS" }, { RLIMIT_DATA, "RLIMIT_DATA" } };

static const struct space_limit *space_limit;

/* In bytes: what counts against RLIMIT_AS, and what against RLIMIT_DATA. */
static long space_used(int resource)
{
	long all = 0, data = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	must(file && fscanf(file, "%ld %*d %*d %*d %*d %ld", &all, &data) == 2);
	fclose(file);
	return (resource == RLIMIT_AS ? all : data) * sysconf(_SC_PAGESIZE);
}

static void *reach_the_end_of_the_address_space(void *arg)
{
	static bide_task *tasks[4000];
	struct rlimit old, less;
	bide_future_init(&gate, NULL);
	drain(tasks, fill_up(tasks, 4000)); /* so that the heap has records for all: stacks are what is short */
	bide_trim();
	tasks[0] = spawn_small(0);
	must(getrlimit(space_limit->resource, &old) == 0);
	less = old;
	less.rlim_cur = (rlim_t)(64 * MIB) + (rlim_t)space_used(space_limit->resource);
	must(setrlimit(space_limit->resource, &less) == 0);
	int count = 1;
	while (count < 4000 && (tasks[count] = spawn_small((size_t)count)))
		count++;
	int err = errno;
	must(setrlimit(space_limit->resource, &old) == 0);
	must(count < 4000 && err == ENOMEM);
	settle();
	tasks[count] = spawn_small((size_t)count);
	must(tasks[count]);
	drain(tasks, count + 1);
	return arg;
}

START_TEST(the_end_of_the_address_space_is_named_and_survived)
{
	struct reports reports = { .count = { 0 } };
	bide_config config = config_with(0, &reports);
	if (!suite_is_native() || suite_is_hostile())
		return; /* whose address space is not ours alone; where each stack needs memory of the heap too */
	space_limit = &space_limits[_i];
	ck_assert_int_eq(bide_run(reach_the_end_of_the_address_space, NULL, &config, NULL), 0);
	ck_assert_int_ge(reports.count[BIDE_REPORT_LIMIT], 1);
	ck_assert_msg(strstr(reports.text[BIDE_REPORT_LIMIT], space_limit->name), "%s", reports.text[BIDE_REPORT_LIMIT]);
}
END_TEST

/* ---- without guards, if the user insists ---------------------------------------------------------------- */

static void *on_unguarded_stacks(void *arg)
{
	bide_task *tasks[100];
	bide_future_init(&gate, NULL);
	for (size_t i = 0; i < 10; i++)
		must((tasks[i] = spawn_small(i)) != NULL);
	settle();
	must(stats().stacks_unguarded == 0);
	bide_fault("madvise:EINVAL,mprotect:ENOMEM");
	for (size_t i = 10; i < 100; i++)
		must((tasks[i] = spawn_small(i)) != NULL);
	bide_fault(NULL);
	settle();
	ck_assert_uint_eq(stats().stacks_in_use, 101);
	*(size_t *)arg = stats().stacks_unguarded;
	drain(tasks, 100);
	must(stats().stacks_unguarded == 0);
	return NULL;
}

START_TEST(unguarded_stacks_only_when_asked_for_and_no_other_can_be_had)
{
	size_t unguarded = 0;
	struct reports reports = { .count = { 0 } };
	bide_config config = config_with(BIDE_UNGUARDED_STACKS, &reports);
	ck_assert_int_eq(bide_run(on_unguarded_stacks, &unguarded, &config, NULL), 0);
	ck_assert_uint_ge(unguarded, 100 - 64);
	ck_assert_uint_le(unguarded, 90);
	ck_assert_int_eq(reports.count[BIDE_REPORT_LIMIT], 1);
}
END_TEST

/* What of the slab had its guard when the others failed has none either: mappings are short. */
static void *partly_unguarded(void *arg)
{
	int before = count_mappings();
	bide_fault("madvise:EINVAL,mprotect:ENOMEM@40");
	must_end_well(spawn_sized(nothing, arg, 48 * KIB + 1));
	bide_fault(NULL);
	if (suite_is_native())
		ck_assert_int_le(count_mappings(), before + 3);
	return NULL;
}

START_TEST(an_unguarded_slab_takes_no_mappings_for_guards)
{
	struct reports reports = { .count = { 0 } };
	bide_config config = config_with(BIDE_UNGUARDED_STACKS, &reports);
	ck_assert_int_eq(bide_run(partly_unguarded, NULL, &config, NULL), 0);
	ck_assert_int_eq(stack_guard_mappings(), 0);
}
END_TEST

/* A slab whose guards could not all be had is given back whole, and its mappings with it. */
static const char *const partial[] = { "madvise:EINVAL,mprotect:ENOMEM@1", "madvise:EINVAL,mprotect:ENOMEM@2",
	"madvise:EINVAL,mprotect:ENOMEM@33", "madvise:EINVAL@1,mprotect:ENOMEM@1",
	"madvise:EINVAL@20,mprotect:ENOMEM@1" };

static void *fail_partially(void *arg)
{
	int before = count_mappings();
	long guards_before = stack_guard_mappings(), size_before = space_used(RLIMIT_AS);
	bide_fault(arg);
	bide_task *task = spawn_sized(nothing, NULL, 48 * KIB + 1);
	bide_fault(NULL);
	if (task) {
		must_end_well(task); /* the one madvise() that failed was not a guard's */
		return NULL;
	}
	if (suite_is_native()) {
		ck_assert_int_le(count_mappings(), before + 1);
		ck_assert_int_lt(space_used(RLIMIT_AS) - size_before, (long)MIB); /* a slab has 4 MiB */
	}
	ck_assert_int_eq(stack_guard_mappings(), guards_before);
	must_end_well(spawn_sized(nothing, NULL, 48 * KIB + 1));
	return NULL;
}

START_TEST(guards_that_fail_midway_leave_nothing)
{
	struct reports reports = { .count = { 0 } };
	bide_config config = config_with(0, &reports);
	ck_assert_int_eq(bide_run(fail_partially, (void *)(uintptr_t)partial[_i], &config, NULL), 0);
}
END_TEST

/* The kernel may refuse to unmap part of a mapping when none is left for the rest: then the slab stays,
 * and serves again. */
static void *cannot_unmap(void *arg)
{
	enum { COUNT = 3000 };
	static bide_task *tasks[COUNT];
	(void)arg;
	bide_future_init(&gate, NULL);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < COUNT; i++)
			must((tasks[i] = spawn_small(i)) != NULL);
		settle();
		bide_fault("munmap:ENOMEM");
		drain(tasks, COUNT);
		must(bide_trim() == 0);
		bide_fault(NULL);
	}
	return NULL;
}

START_TEST(a_slab_that_cannot_be_unmapped_serves_again)
{
	run_virtual(cannot_unmap, NULL);
}
END_TEST

int main(void)
{
	return SUITE("stack_limit",
	    LOOP(sixty_thousand_parked_tasks_live_or_spawn_says_why_not, 0, 2),
	    TEST(a_second_run_begins_with_nothing_of_the_first),
	    TEST(the_guards_of_all_threads_are_counted_together),
	    LOOP(a_host_with_many_mappings_keeps_some_when_there_are_no_more, 0, 20),
	    TEST(the_report_comes_once_a_second_at_most_and_it_recovers),
	    TEST(a_coroutine_that_cannot_be_guarded_is_reported_too),
	    TEST(no_limit_is_blamed_for_a_heap_that_is_empty),
	    TABLE(the_end_of_the_address_space_is_named_and_survived, space_limits),
	    TEST(unguarded_stacks_only_when_asked_for_and_no_other_can_be_had),
	    TEST(an_unguarded_slab_takes_no_mappings_for_guards),
	    TABLE(guards_that_fail_midway_leave_nothing, partial),
	    TEST(a_slab_that_cannot_be_unmapped_serves_again));
}
