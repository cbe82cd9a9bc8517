/* SPDX-License-Identifier: MIT
 * What holds of every stack that is handed out, whatever the system or the user's hooks refuse meanwhile: its
 * guard, pages of its own, no huge pages; and where the memory is when tasks have ended in any order. */
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/random.h"
#include "parked.h"
#include "resources.h"
#include "stack/stack.h"

#define KIB ((size_t)1024)

static bide_task *try_spawn(size_t size, void *arg)
{
	return spawn_sized(wait_at_the_gate, arg, size);
}

static size_t random_size(struct random *random)
{
	return bide_stack_min() + random_below(random, 300 * KIB);
}

/* ---- guards: statement 36 -------------------------------------------------------------------------------- */

/* The kernel is asked to read there: it says EFAULT, and nobody dies. */
static bool is_unreadable(const char *address)
{
	static int ends[2] = { -1, -1 };
	char byte;
	if (ends[0] < 0)
		must(pipe(ends) == 0);
	errno = 0;
	ssize_t written = write(ends[1], address, 1);
	int err = errno;
	if (written == 1)
		must(read(ends[0], &byte, 1) == 1);
	bool is_last = address == NULL;
	if (is_last) {
		close(ends[0]);
		close(ends[1]);
		ends[0] = ends[1] = -1;
	}
	return written < 0 && err == EFAULT;
}

static void check_guard(const char *low)
{
	must(!is_unreadable(low)); /* or the check is worth nothing */
	for (size_t below = 1; below <= STACK_GUARD_SIZE; below += 4095)
		must_msg(is_unreadable(low - below), "%zu bytes below a stack", below);
	must(is_unreadable(low - STACK_GUARD_SIZE));
}

static void check_range(const bide_stack_range *range, void *count)
{
	check_guard(range->low);
	++*(int *)count;
}

/* How often the calls that make guards fail. Some spawns fail then; what does not fail has its guard. */
static const char *const refusals[] = { "", "madvise:EINVAL", "madvise:EINVAL%2", "madvise:EINVAL%3,mprotect:ENOMEM%5",
	"madvise:EINVAL,mprotect:ENOMEM%100", "madvise:EINVAL%7,mprotect:ENOMEM,mmap:ENOMEM%4",
	"madvise:EINVAL,mprotect:ENOMEM%64" };

#define GUARDED 600

VIRTUAL_TEST(no_stack_is_handed_out_without_its_guard)
{
	static bide_task *tasks[GUARDED];
	static bide_coro *coros[GUARDED / 10];
	struct random random = { 0x6a4d + (uint64_t)_i };
	int spawned = 0, made = 0, visited = 0;
	stack_t alternate;
	if (!suite_is_native())
		return; /* such a look is an error there */
	bide_future_init(&gate, NULL);
	must(bide_fault(refusals[_i]) == 0);
	for (int i = 0; i < GUARDED; i++) {
		bide_task *task = try_spawn(i % 3 ? random_size(&random) : 0, NULL);
		must(task || errno == ENOMEM);
		if (task)
			tasks[spawned++] = task;
		bide_coro *coro = i % 10 ? NULL : bide_coro_new(nothing, NULL, random_size(&random));
		if (coro)
			coros[made++] = coro;
	}
	bide_fault(NULL);
	settle();
	ck_assert_int_eq(bide_stack_each(check_range, &visited), spawned + made + 1);
	must(sigaltstack(NULL, &alternate) == 0);
	check_guard(alternate.ss_sp);
	is_unreadable(NULL);
	if (_i < 3)
		ck_assert_int_eq(spawned, GUARDED);
	bide_future_set(&gate, NULL);
	while (spawned > 0)
		must_end_well(tasks[--spawned]);
	while (made > 0)
		must(bide_coro_close(coros[--made]) == 0);
}

/* The kernel refuses advice for memory that is locked, as all of it is after this: protection it is. */
VIRTUAL_TEST(locked_memory_is_guarded_too)
{
	bide_task *tasks[40];
	int visited = 0;
	if (!suite_is_native() || mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		return;
	bide_future_init(&gate, NULL);
	for (int i = 0; i < 40; i++)
		must((tasks[i] = try_spawn(20 * KIB + 4 * KIB * (size_t)(i % 4), NULL)) != NULL);
	settle();
	ck_assert_int_eq(bide_stack_each(check_range, &visited), 41);
	is_unreadable(NULL);
	bide_future_set(&gate, NULL);
	for (int i = 0; i < 40; i++)
		must_end_well(tasks[i]);
	bide_trim();
	must(munlockall() == 0);
}

/* ---- pages of their own ---------------------------------------------------------------------------------- */

struct pages {
	uintptr_t first, last;
};

struct page_list {
	struct pages all[GUARDED + 16];
	int count;
	uintptr_t colours; /* cache lines within a page at which the tops lie, a bit each */
};

static void note_pages(const bide_stack_range *range, void *arg)
{
	struct page_list *list = arg;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	list->all[list->count++] = (struct pages){ (uintptr_t)range->low / page, ((uintptr_t)range->high - 1) / page };
	list->colours |= (uintptr_t)1 << ((uintptr_t)range->sp / 64 % 64);
}

static int by_first(const void *a, const void *b)
{
	const struct pages *left = a, *right = b;
	return (left->first > right->first) - (left->first < right->first);
}

static void *check_pages(void *arg)
{
	static struct page_list list;
	static bide_task *tasks[GUARDED];
	struct random random = { 0x9a6e };
	list = (struct page_list){ .count = 0 };
	bide_future_init(&gate, NULL);
	for (int i = 0; i < GUARDED; i++)
		must((tasks[i] = try_spawn(random_size(&random), arg)) != NULL);
	settle();
	ck_assert_int_eq(bide_stack_each(note_pages, &list), GUARDED + 1);
	qsort(list.all, (size_t)list.count, sizeof *list.all, by_first);
	for (int i = 1; i < list.count; i++)
		must(list.all[i - 1].last < list.all[i].first);
	ck_assert_int_ge(__builtin_popcountll(list.colours), 8);
	bide_future_set(&gate, NULL);
	for (int i = 0; i < GUARDED; i++)
		must_end_well(tasks[i]);
	return NULL;
}

/* Nor the ends of two stacks on one page, nor all tops in the same few sets of a cache. */
START_TEST(no_two_tasks_share_a_page_and_their_tops_are_spread)
{
	run_virtual(check_pages, NULL);
}
END_TEST

/* Of the mapping that has `address`: whether the kernel lists this flag for it. */
static bool mapping_has_flag(const char *address, const char *flag)
{
	char line[512];
	bool is_it = false, has = false;
	FILE *file = fopen("/proc/self/smaps", "re");
	must(file);
	while (fgets(line, sizeof line, file)) {
		unsigned long from, to;
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2 && strchr(line, '-') < strchr(line, ' '))
			is_it = (unsigned long)(uintptr_t)address - from < to - from;
		else if (is_it && strncmp(line, "VmFlags:", 8) == 0)
			has = strstr(line, flag) != NULL;
	}
	fclose(file);
	return has;
}

static void note_low(const bide_stack_range *range, void *arg)
{
	if (range->task != bide_self())
		*(char **)arg = range->low;
}

/* Huge pages would make a page of a stack cost 2 MiB. */
VIRTUAL_TEST(stacks_are_never_huge_pages)
{
	char *low = NULL;
	bide_future_init(&gate, NULL);
	bide_task *task = try_spawn(4 * 1024 * KIB, NULL);
	settle();
	bide_stack_each(note_low, &low);
	must(low);
	if (suite_is_native() && access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0)
		ck_assert(mapping_has_flag(low, " nh"));
	bide_future_set(&gate, NULL);
	must_end_well(task);
}

/* ---- hooks that fail -------------------------------------------------------------------------------------- */

struct moody {
	struct random random;
	int refused, given, freed;
	unsigned of_a_hundred; /* refused */
};

static void *moody_alloc(size_t size, void *ctx)
{
	struct moody *moody = ctx;
	if (random_below(&moody->random, 100) < moody->of_a_hundred) {
		moody->refused++;
		return NULL;
	}
	moody->given++;
	return aligned_alloc((size_t)sysconf(_SC_PAGESIZE), size);
}

static void moody_free(void *memory, size_t size, void *ctx)
{
	((struct moody *)ctx)->freed++;
	memset(memory, 0xdd, size);
	free(memory);
}

static void *live_with_moods(void *arg)
{
	static bide_task *tasks[500];
	struct moody *moody = arg;
	int rounds = suite_scaled_down(20, 3);
	moody->of_a_hundred = 30;
	for (int round = 0; round < rounds; round++) {
		int spawned = 0, failed = 0, before = moody->refused;
		bide_future_init(&gate, NULL);
		for (int i = 0; i < 500; i++) {
			bide_task *task = try_spawn(random_size(&moody->random), tasks);
			must(task || errno == ENOMEM);
			if (task)
				tasks[spawned++] = task;
			else
				failed++;
			if (task && i % 7 == 0)
				bide_cancel(task, "some never run, some wait");
			if (i % 50 == 0)
				must(bide_yield() == 0);
		}
		ck_assert_int_eq(failed, moody->refused - before);
		bide_trim();
		bide_future_set(&gate, NULL);
		while (spawned > 0) {
			bide_result result = must_join(tasks[--spawned]);
			must(result.err == ECANCELED || result.value == tasks);
		}
	}
	ck_assert_int_gt(moody->refused, rounds * 50);
	moody->of_a_hundred = 0;
	return NULL;
}

START_TEST(hooks_that_fail_at_random_cost_the_spawn_that_asked_and_nothing_else)
{
	struct moody moody = { .random = { 0x300d } };
	bide_allocator hooks = { .stack_alloc = moody_alloc, .stack_free = moody_free, .ctx = &moody };
	bide_config config = BIDE_CONFIG_INIT;
	config.allocator = &hooks;
	config.flags = BIDE_VIRTUAL_CLOCK;
	ck_assert_int_eq(bide_run(live_with_moods, &moody, &config, NULL), 0);
	ck_assert_int_eq(moody.given, moody.freed);
}
END_TEST

/* ---- ends in any order: scenario B12 ----------------------------------------------------------------------- */

static void shuffle(bide_task **tasks, int count, struct random *random)
{
	for (int i = count - 1; i > 0; i--) {
		int other = (int)random_below(random, (uint64_t)i + 1);
		bide_task *task = tasks[i];
		tasks[i] = tasks[other];
		tasks[other] = task;
	}
}

/* One after the other is canceled, anywhere in the slabs; trims go on meanwhile; then nothing is left but what
 * may be kept. */
VIRTUAL_TEST(tasks_that_end_in_any_order_leave_nothing_behind)
{
	int count = suite_scaled_down(20000, 1000);
	bide_task **tasks = calloc((size_t)count, sizeof *tasks);
	struct random random = { 0x0dd };
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < count; i++)
			tasks[i] = must_spawn(forever_sleeper, NULL);
		settle();
		shuffle(tasks, count, &random);
		for (int i = 0; i < count; i++) {
			must(bide_cancel(tasks[i], "its turn") == 0);
			must(must_join(tasks[i]).err == ECANCELED);
			if (i % (count / 8) == 0)
				must(bide_trim() == 0);
		}
		must(bide_trim() == 0);
		bide_stats left = stats();
		ck_assert_uint_eq(left.stacks_in_use, 1);
		ck_assert_uint_eq(left.stacks_warm, 0);
		/* Slabs are unmapped but for some that are as large as one allows. */
		ck_assert_uint_le(left.stack_bytes, 4 * 4096 * KIB);
		if (suite_is_native())
			ck_assert_uint_le(left.stack_resident, 1024 * KIB);
	}
	free(tasks);
}

int main(void)
{
	return SUITE("stack_safety",
	    TABLE(no_stack_is_handed_out_without_its_guard, refusals),
	    TEST(locked_memory_is_guarded_too),
	    TEST(no_two_tasks_share_a_page_and_their_tops_are_spread),
	    TEST(stacks_are_never_huge_pages),
	    TEST(hooks_that_fail_at_random_cost_the_spawn_that_asked_and_nothing_else),
	    TEST(tasks_that_end_in_any_order_leave_nothing_behind));
}
