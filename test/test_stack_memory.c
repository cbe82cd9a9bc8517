/* SPDX-License-Identifier: MIT
 * What stacks cost, and how it is given back: fresh ones, after a burst, when parked for long. Resident
 * pages are counted with mincore() where a limit must be exact, and as VmRSS where the whole process is
 * meant; neither means much under an emulator or a sanitizer, so there only the values are checked. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "await/record.h"
#include "parked.h"
#include "resources.h"

#define KIB ((size_t)1024)

/* ---- counting ------------------------------------------------------------------------------------- */

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Bytes of [low, high) that are resident. */
static size_t resident_in(const char *low, const char *high)
{
	unsigned char vector[4096];
	size_t page = page_size(), pages = (size_t)(high - low) / page, count = 0;
	must(pages <= sizeof vector);
	if (mincore((void *)(uintptr_t)low, (size_t)(high - low), vector) < 0)
		return 0;
	for (size_t i = 0; i < pages; i++)
		count += vector[i] & 1;
	return count * page;
}

struct sum {
	int tasks, coros;
	size_t resident, largest;
};

static void add_range(const bide_stack_range *range, void *arg)
{
	struct sum *sum = arg;
	if (range->task == bide_self())
		return;
	size_t resident = resident_in(range->low, range->high);
	sum->tasks += !range->coro;
	sum->coros += range->coro != NULL;
	sum->resident += resident;
	if (resident > sum->largest)
		sum->largest = resident;
}

static struct sum sum_of_stacks(void)
{
	struct sum sum = { 0 };
	bide_stack_each(add_range, &sum);
	return sum;
}

/* ---- bodies ------------------------------------------------------------------------------------------ */

static __attribute__((noinline)) int touch(size_t size)
{
	volatile char *frame = __builtin_alloca(size);
	for (size_t i = 0; i < size; i += 512)
		frame[i] = (char)i;
	return frame[0];
}

static bide_task *must_spawn_sized(bide_fn *fn, void *arg, size_t stack_size)
{
	bide_task *task = spawn_sized(fn, arg, stack_size);
	must_msg(task, "bide_spawn_with: %s", strerror(errno));
	return task;
}

static void join_all(bide_task **tasks, int count)
{
	for (int i = 0; i < count; i++)
		must_end_well(tasks[i]);
}

/* ---- scenario B14: fresh and parked ------------------------------------------------------------------- */

static const size_t sizes[] = { 0, 16 * KIB, 256 * KIB, 1024 * KIB };

REAL_TEST(a_fresh_parked_task_costs_at_most_two_pages)
{
	int count = suite_scaled_down(10000, 500);
	bide_task **tasks = calloc((size_t)count, sizeof *tasks);
	bide_future_init(&gate, NULL);
	long before = resident_kib();
	for (int i = 0; i < count; i++)
		tasks[i] = must_spawn_sized(wait_at_the_gate, NULL, sizes[_i]);
	settle();
	long grown = resident_kib() - before;
	struct sum sum = sum_of_stacks();
	ck_assert_int_eq(sum.tasks, count);
	if (suite_is_native()) {
		ck_assert_uint_le(sum.largest, 2 * page_size());
		ck_assert_msg(grown <= 9L * count, "%ld KiB for %d tasks", grown, count);
	}
	bide_future_set(&gate, NULL);
	join_all(tasks, count);
	free(tasks);
}

/* ---- scenario B12: after a burst ------------------------------------------------------------------------- */

static void *touch_and_wait(void *arg)
{
	touch((size_t)(uintptr_t)arg);
	return wait_at_the_gate(arg);
}

static void burst(int count, size_t depth, size_t stack_size)
{
	bide_task **tasks = calloc((size_t)count, sizeof *tasks);
	bide_future_init(&gate, NULL);
	for (int i = 0; i < count; i++)
		tasks[i] = must_spawn_sized(touch_and_wait, (void *)depth, stack_size);
	settle();
	bide_future_set(&gate, NULL);
	for (int i = 0; i < count; i++)
		must_join(tasks[i]);
	free(tasks);
}

struct cap {
	size_t bytes; /* bide_config.stack_cache */
	bool trims;
};

static const struct cap caps[] = { { 0, false }, { 1, false }, { 4 * 1024 * KIB, false }, { 0, true } };

static void *main_of_burst(void *arg)
{
	const struct cap *cap = arg;
	int count = suite_scaled_down(20000, 1000);
	burst(count / 10, 32 * KIB, 0); /* so that records and the like are there */
	bide_trim();
	long before = resident_kib();
	burst(count, 32 * KIB, 0);
	if (cap->trims)
		bide_trim();
	long limit = cap->trims ? 0 : cap->bytes ? (long)(cap->bytes / 1024) : 16 * 1024;
	long after = resident_kib();
	/* The records of 20,000 tasks stay: 10 MiB or so. */
	if (suite_is_native())
		ck_assert_msg(after <= before + before / 10 + limit + 16 * 1024, "%ld KiB before, %ld after", before, after);
	bide_stats now = stats();
	ck_assert_uint_eq(now.stacks_in_use, 1);
	if (cap->trims)
		ck_assert_uint_eq(now.stacks_warm, 0);
	ck_assert_uint_le(now.stack_bytes, (256 + 64) * 1024 * KIB); /* most slabs are unmapped */
	return NULL;
}

START_TEST(after_a_burst_the_memory_goes_back)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.stack_cache = caps[_i].bytes;
	ck_assert_int_eq(bide_run(main_of_burst, (void *)(uintptr_t)&caps[_i], &config, NULL), 0);
}
END_TEST

/* A pool that breathes: the second burst must not be dearer for what the first one gave back. */
REAL_TEST(bursts_may_follow_each_other)
{
	int count = suite_scaled_down(3000, 300);
	size_t mapped = 0;
	for (int i = 0; i < 5; i++) {
		burst(count, 2 * KIB, 0);
		bide_stats now = stats();
		if (i > 0)
			ck_assert_uint_eq(now.stack_bytes, mapped);
		mapped = now.stack_bytes;
		ck_assert(now.stacks_warm > 0 || suite_is_hostile());
	}
}

/* ---- scenario B13: parked, and far less deep than once ------------------------------------------------------ */

#define LOCALS 64

struct deep {
	int in[2];     /* a pipe to be parked on */
	bool in_coro;
	unsigned seed;
};

static __attribute__((noinline)) void *park_with_locals(const struct deep *deep)
{
	volatile unsigned locals[LOCALS];
	char byte;
	for (unsigned i = 0; i < LOCALS; i++)
		locals[i] = deep->seed * 1000 + i;
	must(bide_read(deep->in[0], &byte, 1) == 1);
	for (unsigned i = 0; i < LOCALS; i++)
		must(locals[i] == deep->seed * 1000 + i);
	return NULL;
}

static void *deep_then_parked(void *arg)
{
	const struct deep *deep = arg;
	volatile unsigned mark = deep->seed;
	touch(128 * KIB);
	park_with_locals(deep);
	must(mark == deep->seed);
	touch(128 * KIB);
	return NULL;
}

/* The task's own stack was deep once, and is parked shallow below a coroutine of which the same holds. */
static void *deep_in_a_coroutine(void *arg)
{
	struct deep *deep = arg;
	volatile unsigned mark = deep->seed;
	touch(128 * KIB);
	bide_coro *coro = bide_coro_new(deep_then_parked, deep, 256 * KIB);
	must(coro && bide_coro_resume(coro, NULL, NULL) == 0);
	must(bide_coro_close(coro) == 0);
	must(mark == deep->seed);
	return NULL;
}

static struct deep *deeps;
static bide_task **deep_tasks;
static int deep_count;

static void start_deep(int count)
{
	deeps = calloc((size_t)count, sizeof *deeps);
	deep_tasks = calloc((size_t)count, sizeof *deep_tasks);
	deep_count = count;
	for (int i = 0; i < count; i++) {
		deeps[i].seed = (unsigned)i;
		must(pipe(deeps[i].in) == 0);
		deep_tasks[i] = must_spawn_sized(i % 4 == 3 ? deep_in_a_coroutine : deep_then_parked, &deeps[i], 256 * KIB);
	}
	settle();
}

static void end_deep(void)
{
	for (int i = 0; i < deep_count; i++)
		must(write(deeps[i].in[1], "x", 1) == 1);
	join_all(deep_tasks, deep_count);
	for (int i = 0; i < deep_count; i++)
		must(bide_close(deeps[i].in[0]) == 0 && bide_close(deeps[i].in[1]) == 0);
	free(deeps);
	free(deep_tasks);
}

static int deep_tasks_to_start(void)
{
	return suite_scaled_down(400, 40); /* two descriptors each */
}

REAL_TEST(a_trim_gives_back_what_parked_tasks_do_not_use_and_nothing_else)
{
	start_deep(deep_tasks_to_start());
	struct sum deep = sum_of_stacks();
	ck_assert_int_eq(deep.coros, deep_count / 4);
	ck_assert_int_eq(bide_trim(), 0);
	struct sum trimmed = sum_of_stacks();
	if (suite_is_native()) {
		ck_assert_uint_ge(deep.resident, (size_t)(deep_count + deep.coros) * 128 * KIB);
		ck_assert_uint_le(trimmed.resident, deep.resident / 5);
		ck_assert_uint_le(trimmed.largest, 2 * page_size());
	}
	end_deep(); /* which finds all locals as they were */
}

/* Again and again, in the middle of whatever they do. */
static void *trims_often(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++) {
		must(bide_trim() == 0);
		must(bide_yield() == 0);
	}
	return NULL;
}

static void *goes_up_and_down(void *arg)
{
	volatile unsigned long locals[32];
	for (unsigned long round = 0; round < 60; round++) {
		for (unsigned long i = 0; i < 32; i++)
			locals[i] = round * 100 + i + (unsigned long)(uintptr_t)arg;
		touch((round * 7919 + (size_t)(uintptr_t)arg) % (40 * KIB) + 1);
		must((round % 3 ? bide_yield() : bide_sleep(1)) == 0);
		for (unsigned long i = 0; i < 32; i++)
			must(locals[i] == round * 100 + i + (unsigned long)(uintptr_t)arg);
	}
	return NULL;
}

VIRTUAL_TEST(trims_at_any_moment_change_nothing_that_lives)
{
	int rounds = suite_scaled_down(600, 100);
	bide_task *tasks[20];
	for (size_t i = 0; i < 20; i++)
		tasks[i] = bide_spawn(goes_up_and_down, (void *)(i + 1));
	must_end_well(bide_spawn(trims_often, &rounds));
	join_all(tasks, 20);
}

/* Code that switches stacks by itself inside a task: where it left the task's own stack is not known, so
 * that stays as it is. The saved stack pointer is made to look like that. */
static void *deep_and_parked(void *arg)
{
	touch(64 * KIB);
	must(bide_sleep(BIDE_SEC) == 0);
	return arg;
}

static void remember_low(const bide_stack_range *range, void *arg)
{
	if (range->task && range->task != bide_self())
		*(char **)arg = range->low;
}

VIRTUAL_TEST(what_was_left_on_a_stack_nobody_knows_is_not_trimmed)
{
	static char elsewhere[64];
	char *low = NULL;
	bide_task *task = must_spawn_sized(deep_and_parked, NULL, 128 * KIB);
	settle();
	bide_stack_each(remember_low, &low);
	low[0] = 'k';
	void **sp = &handle_resolve(task)->task.strand.context.sp, *saved = *sp;
	*sp = elsewhere;
	bide_trim();
	*sp = saved;
	must(low[0] == 'k');
	bide_trim();
	if (suite_is_native())
		must(low[0] == 0);
	must_end_well(task);
}

/* The caller's memory is the caller's. */
VIRTUAL_TEST(adopted_memory_is_not_trimmed)
{
	size_t size = 128 * KIB;
	char *memory = aligned_alloc(page_size(), size);
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	memset(memory, 'm', size);
	attr.stack = memory;
	attr.stack_size = size;
	bide_task *task = bide_spawn_with(forever_sleeper, NULL, &attr);
	settle();
	bide_trim();
	must(memory[0] == 'm' && memory[16 * KIB] == 'm');
	must(bide_cancel(task, "enough") == 0);
	must(must_join(task).err == ECANCELED);
	free(memory);
}

START_TEST(outside_a_loop_a_trim_is_for_the_stacks_of_coroutines)
{
	bide_coro *coros[30];
	for (int i = 0; i < 30; i++)
		coros[i] = bide_coro_new(nothing, NULL, 0);
	for (int i = 0; i < 30; i++)
		ck_assert_int_eq(bide_coro_close(coros[i]), 0);
	ck_assert_int_eq(bide_trim(), 0);
	ck_assert_int_eq(bide_trim(), 0);
}
END_TEST

/* ---- trim_after ------------------------------------------------------------------------------------------- */

#define AFTER (100 * BIDE_MSEC)

static bide_config trimming_config(void)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.trim_after = AFTER * suite_scale();
	return config;
}

static void run_trimming(bide_fn *main_fn)
{
	bide_config config = trimming_config();
	ck_assert_int_eq(bide_run(main_fn, &config, &config, NULL), 0);
}

/* What the deep ones hold as long as nothing was trimmed. It is reckoned: a busy machine may take longer to start
 * them than a trim waits. */
static size_t deep_size(void)
{
	return (size_t)(deep_count + deep_count / 4) * 128 * KIB;
}

/* After some time, of which a busy machine may need more. */
static size_t resident_when_trimmed(bide_time after, size_t limit)
{
	size_t resident = 0;
	for (int i = 0; i < 100; i++) {
		pass(4 * after);
		resident = sum_of_stacks().resident;
		if (resident <= limit)
			break;
	}
	return resident;
}

/* Nothing runs at all: the loop wakes for it once and never again. */
static void *idle_main(void *arg)
{
	bide_time after = ((bide_config *)arg)->trim_after;
	start_deep(deep_tasks_to_start());
	long sleeps = voluntary_switches();
	int64_t used = cpu_time();
	pass(8 * after);
	sleeps = voluntary_switches() - sleeps;
	ck_assert_int_lt(cpu_time() - used, 2 * after); /* it does not spin meanwhile */
	size_t trimmed = sum_of_stacks().resident;
	if (suite_is_native()) {
		ck_assert_uint_le(trimmed, deep_size() / 5);
		/* One for the end of this sleep, one for the trim; page faults and the like may add some. */
		ck_assert_int_le(sleeps, 6);
	}
	end_deep();
	return NULL;
}

START_TEST(an_idle_loop_trims_its_parked_tasks_and_wakes_once_for_it)
{
	run_trimming(idle_main);
}
END_TEST

/* Something runs all the time: tasks that stay parked are trimmed all the same, those that do not are not. */
static void *keeps_busy(void *arg)
{
	while (!*(volatile bool *)arg)
		must(bide_yield() == 0);
	return NULL;
}

static volatile bool is_enough;
static bide_time longest_nap;

/* Deep at each waking, so that a trim in between shows. */
static void *wakes_often(void *arg)
{
	bide_time nap = *(bide_time *)arg / 4;
	while (!is_enough) {
		touch(64 * KIB);
		bide_time begin = bide_now();
		must(bide_sleep(nap) == 0);
		if (bide_now() - begin > longest_nap)
			longest_nap = bide_now() - begin;
	}
	return NULL;
}

/* One that a busy machine has let sleep for as long as a trim waits may have been trimmed. */
static void check_waker(size_t resident, bide_time after)
{
	if (suite_is_native() && longest_nap < after)
		ck_assert_uint_ge(resident, 64 * KIB);
}

struct wanted {
	bide_task *task;
	size_t resident;
};

static void find_resident_of(const bide_stack_range *range, void *arg)
{
	struct wanted *wanted = arg;
	if (range->task == wanted->task && !range->coro)
		wanted->resident = resident_in(range->low, range->high);
}

static void *busy_main(void *arg)
{
	bide_time after = ((bide_config *)arg)->trim_after;
	struct wanted waker = { NULL, 0 };
	is_enough = false;
	longest_nap = 0;
	start_deep(deep_tasks_to_start());
	bide_task *yielder = must_spawn(keeps_busy, (void *)(uintptr_t)&is_enough);
	waker.task = must_spawn_sized(wakes_often, &after, 128 * KIB);
	size_t limit = deep_size() / 5 + 128 * KIB, trimmed = resident_when_trimmed(after, limit);
	bide_stack_each(find_resident_of, &waker);
	is_enough = true;
	must_end_well(yielder);
	must_end_well(waker.task);
	if (suite_is_native())
		ck_assert_uint_le(trimmed, limit);
	check_waker(waker.resident, after);
	end_deep();
	return NULL;
}

START_TEST(a_busy_loop_trims_those_that_stay_parked_and_not_those_that_do_not)
{
	run_trimming(busy_main);
}
END_TEST

/* A wait that ended and another one that began are not one long wait: the mark of a sweep is gone. */
static void *short_waits_main(void *arg)
{
	bide_time after = ((bide_config *)arg)->trim_after;
	struct wanted waker = { NULL, 0 };
	size_t least = SIZE_MAX;
	is_enough = false;
	longest_nap = 0;
	waker.task = must_spawn_sized(wakes_often, &after, 128 * KIB);
	for (int i = 0; i < 40; i++) {
		pass(after / 8);
		bide_stack_each(find_resident_of, &waker);
		if (waker.resident < least)
			least = waker.resident;
	}
	is_enough = true;
	must_end_well(waker.task);
	check_waker(least, after);
	return NULL;
}

START_TEST(many_short_waits_are_not_a_long_one)
{
	run_trimming(short_waits_main);
}
END_TEST

/* A deadline, and a descriptor, are served in time while the sweeps go on. */
static void *beside_main(void *arg)
{
	bide_time after = ((bide_config *)arg)->trim_after;
	start_deep(deep_tasks_to_start());
	for (int i = 0; i < 100; i++) {
		int64_t used = cpu_time();
		pass(after / 20);
		used = cpu_time() - used; /* what the machine does beside us makes us late, but is not in it */
		must_msg(used < after / 20 + 50 * BIDE_MSEC * suite_scale(), "%lld ns of work before it", (long long)used);
	}
	end_deep();
	return NULL;
}

START_TEST(sweeps_do_not_make_others_late)
{
	run_trimming(beside_main);
}
END_TEST

/* An idle loop that was trimmed, woken, and idle again: each time, once. */
static void *again_main(void *arg)
{
	bide_time after = ((bide_config *)arg)->trim_after;
	for (int i = 0; i < 3; i++) {
		bide_task *task = must_spawn_sized(deep_then_parked, (deeps = calloc(1, sizeof *deeps)), 256 * KIB);
		must(pipe(deeps->in) == 0);
		bide_time begin = bide_now();
		settle();
		size_t deep = sum_of_stacks().resident;
		if (suite_is_native() && bide_now() - begin < after)
			ck_assert_uint_ge(deep, 128 * KIB);
		size_t trimmed = resident_when_trimmed(after, 8 * KIB);
		if (suite_is_native())
			ck_assert_uint_le(trimmed, 8 * KIB);
		must(write(deeps->in[1], "x", 1) == 1);
		must_end_well(task);
		must(bide_close(deeps->in[0]) == 0 && bide_close(deeps->in[1]) == 0);
		free(deeps);
	}
	return NULL;
}

START_TEST(after_something_ran_the_next_idle_time_counts_anew)
{
	run_trimming(again_main);
}
END_TEST

START_TEST(a_deadlock_is_still_noticed)
{
	bide_config config = trimming_config();
	struct reports reports = { .count = { 0 } };
	config.report = count_report;
	config.report_ctx = &reports;
	bide_future_init(&gate, NULL);
	ck_fails(bide_run(wait_at_the_gate, NULL, &config, NULL), EDEADLK);
	ck_assert_int_eq(reports.count[BIDE_REPORT_DEADLOCK], 1);
}
END_TEST

START_TEST(a_negative_time_is_refused)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.trim_after = -1;
	ck_fails(bide_run(nothing, NULL, &config, NULL), EINVAL);
}
END_TEST

/* ---- figures -------------------------------------------------------------------------------------------------- */

REAL_TEST(figures_tell_what_there_is)
{
	enum { COUNT = 300 };
	static bide_task *tasks[COUNT];
	bide_stats before = stats();
	ck_assert_uint_eq(before.stacks_in_use, 1);
	ck_assert_uint_eq(before.tasks_alive, 1);
	bide_future_init(&gate, NULL);
	for (int i = 0; i < COUNT; i++)
		tasks[i] = must_spawn(wait_at_the_gate, NULL);
	ck_assert_uint_eq(stats().stacks_in_use, 1); /* none has run */
	settle();
	bide_stats full = stats();
	ck_assert_uint_eq(full.stacks_in_use, COUNT + 1);
	ck_assert_uint_eq(full.tasks_alive, COUNT + 1);
	ck_assert_uint_eq(full.tasks_spawned, before.tasks_spawned + COUNT);
	ck_assert_uint_ge(full.stack_bytes, (COUNT + 1) * 64 * KIB);
	ck_assert_uint_eq(full.stacks_unguarded, 0);
	ck_assert_uint_gt(full.mapping_limit, 1000);
	if (full.stack_guard == BIDE_GUARD_ADVICE) /* in the hostile build each stack is mapped alone */
		ck_assert_uint_le(full.stack_mappings, suite_is_hostile() ? COUNT + 1 : full.stack_bytes / (2 * 1024 * KIB));
	else
		ck_assert_uint_ge(full.stack_mappings, 2 * COUNT);
	if (suite_is_native()) {
		size_t exact = sum_of_stacks().resident;
		ck_assert_uint_ge(full.stack_resident, exact / 2);
		ck_assert_uint_le(full.stack_resident, 2 * exact);
	}
	bide_future_set(&gate, NULL);
	join_all(tasks, COUNT);
	bide_stats after = stats();
	ck_assert_uint_eq(after.stacks_in_use, 1);
	if (suite_is_hostile()) {
		ck_assert_uint_eq(after.stacks_warm + after.stacks_cold, 0);
		return;
	}
	ck_assert_uint_ge(after.stacks_warm, 100);
	ck_assert_uint_eq(after.stacks_warm + after.stacks_cold + 1, full.stacks_cold + full.stacks_warm + COUNT + 1);
}

REAL_TEST(coroutines_are_counted_apart)
{
	bide_stats before = stats();
	bide_coro *coro = bide_coro_new(nothing, NULL, 0);
	bide_stats with = stats();
	ck_assert_uint_eq(with.coro_stacks_in_use, before.coro_stacks_in_use + 1);
	ck_assert_uint_ge(with.coro_stack_bytes, 64 * KIB);
	ck_assert_uint_eq(with.stacks_in_use, before.stacks_in_use);
	ck_assert_int_eq(bide_coro_close(coro), 0);
	ck_assert_uint_eq(stats().coro_stacks_in_use, before.coro_stacks_in_use);
}

REAL_TEST(figures_refuse_what_is_wrong)
{
	bide_stats stats = { .size = sizeof stats - 1 };
	ck_fails(bide_stats_get(NULL, NULL), EINVAL);
	ck_fails(bide_stats_get(NULL, &stats), EINVAL);
	stats.size = sizeof stats;
	ck_assert_int_eq(bide_stats_get(bide_loop_self(), &stats), 0);
}

START_TEST(figures_are_of_a_loop)
{
	bide_stats stats = { .size = sizeof stats };
	ck_fails(bide_stats_get(NULL, &stats), EPERM);
}
END_TEST

int main(void)
{
	return SUITE("stack_memory",
	    TABLE(a_fresh_parked_task_costs_at_most_two_pages, sizes),
	    TABLE(after_a_burst_the_memory_goes_back, caps),
	    TEST(bursts_may_follow_each_other),
	    TEST(a_trim_gives_back_what_parked_tasks_do_not_use_and_nothing_else),
	    TEST(trims_at_any_moment_change_nothing_that_lives),
	    TEST(what_was_left_on_a_stack_nobody_knows_is_not_trimmed),
	    TEST(adopted_memory_is_not_trimmed),
	    TEST(outside_a_loop_a_trim_is_for_the_stacks_of_coroutines),
	    TEST(an_idle_loop_trims_its_parked_tasks_and_wakes_once_for_it),
	    TEST(a_busy_loop_trims_those_that_stay_parked_and_not_those_that_do_not),
	    TEST(many_short_waits_are_not_a_long_one),
	    TEST(sweeps_do_not_make_others_late),
	    TEST(after_something_ran_the_next_idle_time_counts_anew),
	    TEST(a_deadlock_is_still_noticed),
	    TEST(a_negative_time_is_refused),
	    TEST(figures_tell_what_there_is),
	    TEST(coroutines_are_counted_apart),
	    TEST(figures_refuse_what_is_wrong),
	    TEST(figures_are_of_a_loop));
}
