/* SPDX-License-Identifier: MIT
 * How deep stacks are used: high-water marks of tasks and of spawn sites (scenario B15), and the checks of
 * debug mode (scenario B16). */
#include <stdlib.h>

#include "resources.h"
#include "runs.h"
#include "stack/stack.h"

#define KIB ((size_t)1024)

/* What the library itself, its frames, and the colour of a stack take at most. */
#define OVERHEAD ((size_t)2 * KIB)

/* ---- painting, below the interface ------------------------------------------------------------------- */

static unsigned char room[64 * 1024 + 16];

static struct stack stack_of(size_t offset, size_t size)
{
	return (struct stack){ .low = (char *)room + offset, .high = (char *)room + offset + size };
}

START_TEST(a_painted_stack_is_unused_and_tells_the_lowest_word_that_changed)
{
	static const size_t offsets[] = { 0, 1, 3, 8 };
	for (size_t i = 0; i < 4; i++) {
		struct stack stack = stack_of(offsets[i], 4096);
		stack_paint(&stack);
		ck_assert_uint_eq(stack_used(&stack), 0);
		for (size_t depth = 16; depth < 4000; depth += 97) {
			stack.high[-(long)depth] ^= 1;
			size_t used = stack_used(&stack);
			must(used >= depth && used < depth + 8);
		}
		stack_repaint(&stack);
		ck_assert_uint_eq(stack_used(&stack), 0);
	}
}
END_TEST

START_TEST(a_canary_is_whole_until_a_bit_of_it_changes)
{
	struct stack stack = stack_of(3, 4096);
	memset(room, 0, sizeof room);
	stack_canary_set(&stack);
	ck_assert(stack_canary_is_whole(&stack));
	int noticed = 0;
	for (size_t i = 0; i < STACK_CANARY_SIZE + 8; i++) {
		stack.low[i] ^= 0x10;
		noticed += !stack_canary_is_whole(&stack);
		stack.low[i] ^= 0x10;
	}
	ck_assert_int_eq(noticed, STACK_CANARY_SIZE);
	ck_assert(stack_canary_is_whole(&stack));
}
END_TEST

/* ---- scenario B15 ---------------------------------------------------------------------------------------- */

static __attribute__((noinline)) int fill(size_t size)
{
	volatile char *frame = __builtin_alloca(size + 1);
	for (size_t i = 0; i <= size; i++)
		frame[i] = 1;
	return frame[size / 2];
}

static void *use(void *arg)
{
	fill((size_t)(uintptr_t)arg);
	return NULL;
}

static size_t depth_after(bide_fn *fn, size_t size)
{
	size_t used = 0;
	bide_task *task = must_spawn(fn, (void *)size);
	must(bide_task_ref(task));
	must_end_well(task);
	must(bide_stack_used(task, &used) == 0);
	bide_task_unref(task);
	return used;
}

/* Each on the stack that the one before has left. */
static void *recycled_main(void *arg)
{
	static const size_t sizes[] = { 10, 1, 20, 0, 5, 12, 30, 1 };
	(void)arg;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t used = depth_after(use, sizes[i] * KIB + 1);
		must_msg(used >= sizes[i] * KIB && used <= sizes[i] * KIB + OVERHEAD, "%zu KiB: %zu", sizes[i], used);
	}
	return NULL;
}

START_TEST(a_high_water_mark_is_exact_on_recycled_stacks_too)
{
	if (suite_is_native())
		run_with(BIDE_PAINT_STACKS | BIDE_VIRTUAL_CLOCK, recycled_main, NULL);
}
END_TEST

/* Also when the stack has been cold in between, or trimmed, which a painted one is not. */
static void *cold_main(void *arg)
{
	for (int i = 0; i < 3; i++) {
		size_t used = depth_after(use, 10 * KIB);
		must(used >= 10 * KIB);
		if (suite_is_native())
			must(used <= 12 * KIB);
		must(bide_trim() == 0);
	}
	(void)arg;
	return NULL;
}

START_TEST(or_on_stacks_that_were_given_back_in_between)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = BIDE_PAINT_STACKS;
	config.stack_cache = _i ? 1 : 0;
	ck_assert_int_eq(bide_run(cold_main, NULL, &config, NULL), 0);
}
END_TEST

static void *use_and_park(void *arg)
{
	fill((size_t)(uintptr_t)arg);
	return bide_sleep(BIDE_SEC) == 0 ? NULL : bide_fail(errno);
}

static void *alive_main(void *arg)
{
	size_t used = 1, own = 0, later = 0;
	(void)arg;
	bide_task *task = must_spawn(use_and_park, (void *)(20 * KIB));
	must(bide_stack_used(task, &used) == 0 && used == 0); /* it has not run */
	settle();
	must(bide_stack_used(task, &used) == 0);
	must(used >= 20 * KIB && (!suite_is_native() || used <= 20 * KIB + OVERHEAD));
	must(bide_trim() == 0);
	must(bide_stack_used(task, &later) == 0 && later == used);
	must_end_well(task);
	must(bide_stack_used(NULL, &own) == 0 && own > 0);
	fill(own + 8 * KIB);
	must(bide_stack_used(NULL, &later) == 0 && later >= own + 8 * KIB);
	return NULL;
}

START_TEST(a_mark_can_be_read_while_the_task_lives_and_of_the_running_one)
{
	run_with(BIDE_PAINT_STACKS | BIDE_VIRTUAL_CLOCK, alive_main, NULL);
}
END_TEST

static void *canceled_main(void *arg)
{
	size_t used = 1;
	(void)arg;
	bide_task *task = must_spawn(use, (void *)KIB);
	bide_task_ref(task);
	must(bide_cancel(task, "at once") == 0);
	must(must_join(task).err == ECANCELED);
	must(bide_stack_used(task, &used) == 0 && used == 0);
	bide_task_unref(task);
	ck_fails(bide_stack_used(task, &used), ESRCH);
	ck_fails(bide_stack_used(NULL, NULL), EINVAL);
	ck_fails(bide_stack_sites(NULL, NULL), EINVAL);
	return NULL;
}

START_TEST(one_that_never_ran_has_used_nothing)
{
	run_with(BIDE_PAINT_STACKS | BIDE_VIRTUAL_CLOCK, canceled_main, NULL);
}
END_TEST

static void count_sites(const bide_stack_site *site, void *arg)
{
	(void)site;
	++*(int *)arg;
}

VIRTUAL_TEST(without_painting_there_are_no_marks)
{
	size_t used;
	int sites = 0;
	ck_fails(bide_stack_used(NULL, &used), ENOTSUP);
	ck_fails(bide_stack_sites(count_sites, &sites), ENOTSUP);
}

START_TEST(outside_a_loop_there_are_none_either)
{
	size_t used;
	int sites = 0;
	ck_fails(bide_stack_used(NULL, &used), EPERM);
	ck_fails(bide_stack_sites(count_sites, &sites), EPERM);
}
END_TEST

/* The caller's memory and that of hooks are painted as well. */
static void *adopted_main(void *arg)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	size_t used;
	(void)arg;
	attr.stack_size = 64 * KIB - 5;
	attr.stack = malloc(64 * KIB) ;
	for (size_t i = 1; i < 4; i++) {
		bide_task *task = bide_spawn_with(use, (void *)(5 * KIB * i), &attr);
		bide_task_ref(task);
		must_end_well(task);
		must(bide_stack_used(task, &used) == 0);
		must(used >= 5 * KIB * i && (!suite_is_native() || used <= 5 * KIB * i + OVERHEAD));
		bide_task_unref(task);
	}
	free(attr.stack);
	return NULL;
}

START_TEST(marks_on_the_caller_s_own_memory)
{
	run_with(BIDE_PAINT_STACKS | BIDE_VIRTUAL_CLOCK, adopted_main, NULL);
}
END_TEST

/* ---- by spawn site ------------------------------------------------------------------------------------------ */

struct site_list {
	int count;
	bide_stack_site sites[8];
	char places[8][80];
};

static void keep_site(const bide_stack_site *site, void *arg)
{
	struct site_list *list = arg;
	must(list->count < 8);
	snprintf(list->places[list->count], sizeof list->places[0], "%s", site->place);
	list->sites[list->count++] = *site;
}

/* Two sites, wherever they are called from. The spawn is not the last thing they do: a tail call would
 * return to their callers. */
static __attribute__((noinline)) bide_task *spawn_here(size_t size)
{
	bide_task *task = bide_spawn(use, (void *)size);
	__asm__ volatile("" : "+r"(task));
	return task;
}

static __attribute__((noinline)) bide_task *spawn_there(size_t size)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.stack_size = 100 * KIB;
	bide_task *task = bide_spawn_with(use, (void *)size, &attr);
	__asm__ volatile("" : "+r"(task));
	return task;
}

static void *sites_main(void *arg)
{
	struct site_list list = { 0 };
	(void)arg;
	ck_assert_int_eq(bide_stack_sites(keep_site, &list), 0);
	for (size_t i = 0; i < 10; i++)
		must_end_well(spawn_here(i * KIB));
	uint64_t deepest = 0;
	for (size_t i = 0; i < 5; i++) {
		bide_task *task = spawn_there(i == 2 ? 40 * KIB : KIB);
		deepest = i == 2 ? bide_task_id(task) : deepest;
		must_end_well(task);
	}
	ck_assert_int_eq(bide_stack_sites(keep_site, &list), 2);
	ck_assert_int_eq(list.count, 2);
	ck_assert_uint_eq(list.sites[0].tasks, 10);
	ck_assert_uint_ge(list.sites[0].high_water, 9 * KIB);
	ck_assert_uint_eq(list.sites[1].tasks, 5);
	ck_assert_uint_ge(list.sites[1].high_water, 40 * KIB);
	ck_assert_uint_ge(list.sites[1].stack_size, 100 * KIB);
	ck_assert_uint_eq(list.sites[1].task_id, deepest);
	ck_assert_ptr_ne(list.sites[0].site, list.sites[1].site);
	ck_assert_ptr_nonnull(strstr(list.places[0], " (test_stack_depth.c:"));
	if (suite_is_native())
		ck_assert_uint_le(list.sites[0].high_water, 9 * KIB + OVERHEAD);
	return NULL;
}

START_TEST(each_spawn_site_has_the_mark_of_its_deepest_task)
{
	run_with(BIDE_PAINT_STACKS | BIDE_VIRTUAL_CLOCK, sites_main, NULL);
}
END_TEST

/* Without memory for a site nothing is noted, and nothing else is lost. */
static void *poor_main(void *arg)
{
	struct site_list list = { 0 };
	(void)arg;
	bide_task *task = spawn_here(KIB);
	bide_yield(); /* it has ended, and is not buried */
	bide_fault("malloc:ENOMEM");
	bide_yield();
	bide_fault(NULL);
	must_end_well(task);
	ck_assert_int_le(bide_stack_sites(keep_site, &list), 1);
	must_end_well(spawn_there(KIB));
	ck_assert_int_ge(bide_stack_sites(keep_site, &list), 1);
	return NULL;
}

START_TEST(a_site_for_which_there_is_no_memory_is_left_out)
{
	run_with(BIDE_PAINT_STACKS | BIDE_VIRTUAL_CLOCK, poor_main, NULL);
}
END_TEST

/* ---- scenario B16: debug mode --------------------------------------------------------------------------------- */

static char *own_low;

static void find_own_low(const bide_stack_range *range, void *arg)
{
	(void)arg;
	if (range->task == bide_self() && !range->coro)
		own_low = range->low;
}

static void *spoil_the_canary(void *arg)
{
	bide_stack_each(find_own_low, NULL);
	*(volatile char *)own_low ^= 1;
	for (int i = 0; i < *(int *)arg; i++)
		bide_yield();
	return NULL;
}

static void run_debug(bide_fn *fn, void *arg, struct reports *reports)
{
	bide_config config = config_with(BIDE_DEBUG, reports);
	ck_assert_int_eq(bide_run(fn, arg, &config, NULL), 0);
}

static void *spoil_main(void *arg)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.name = "the spoiler";
	must_end_well(bide_spawn_with(spoil_the_canary, arg, &attr));
	return NULL;
}

/* Noticed at the next switch, or at the end if there is none; once. */
static int yields[] = { 0, 1, 10 };

START_TEST(a_canary_that_is_overwritten_is_reported_once)
{
	struct reports reports = { .count = { 0 } };
	run_debug(spoil_main, &yields[_i], &reports);
	ck_assert_int_eq(reports.count[BIDE_REPORT_STACK], 1);
	ck_assert_ptr_nonnull(strstr(reports.text[BIDE_REPORT_STACK], "task 2 \"the spoiler\" overran its stack"));
}
END_TEST

/* Also among tasks that would hand over to each other without the loop. */
static void *yields_a_lot(void *arg)
{
	for (int i = 0; i < 2000; i++)
		bide_yield();
	return arg;
}

static void *spoil_among_others(void *arg)
{
	struct reports *reports = arg;
	for (int i = 0; i < 3; i++)
		bide_detach(must_spawn(yields_a_lot, NULL));
	for (int i = 0; i < 1000; i++)
		bide_yield(); /* by now the loop looks seldom */
	bide_stack_each(find_own_low, NULL);
	*(volatile char *)own_low ^= 1;
	bide_yield();
	ck_assert_int_eq(reports->count[BIDE_REPORT_STACK], 1);
	return NULL;
}

START_TEST(an_overwritten_canary_is_noticed_at_the_next_switch)
{
	struct reports reports = { .count = { 0 } };
	run_debug(spoil_among_others, &reports, &reports);
}
END_TEST

static void *return_where_it_stands(void *arg)
{
	uintptr_t address = (uintptr_t)(*(int *)arg == 1 ? arg : __builtin_frame_address(0)); /* a sanitizer moves locals */
	if (*(int *)arg == 2)
		bide_exit((void *)address);
	return (void *)address;
}

static void *join_one_that_returns_its_stack(void *arg)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.name = "careless";
	must(must_end_well(bide_spawn_with(return_where_it_stands, arg, &attr)));
	return NULL;
}

/* Statement 32. 0: its frame; 1: what is somebody else's; 2: its frame, by bide_exit(). */
START_TEST(a_result_on_the_tasks_own_stack_is_reported)
{
	struct reports reports = { .count = { 0 } };
	run_debug(join_one_that_returns_its_stack, &_i, &reports);
	ck_assert_int_eq(reports.count[BIDE_REPORT_STACK], _i == 1 ? 0 : 1);
	ck_assert(_i == 1 || strstr(reports.text[BIDE_REPORT_STACK], "task 2 \"careless\" points into the task's stack"));
}
END_TEST

/* Whatever healthy tasks do, nothing is reported: deep, on small stacks, in coroutines, trimmed, recycled. */
static void *healthy(void *arg)
{
	size_t size = (size_t)(uintptr_t)arg;
	for (int i = 0; i < 20; i++) {
		fill(size * (size_t)(i % 3) / 3 + 1);
		must((i % 4 ? bide_yield() : bide_sleep(1)) == 0);
	}
	return NULL;
}

static void *healthy_coro(void *arg)
{
	bide_coro *coro = bide_coro_new(healthy, arg, 0);
	must(coro && bide_coro_resume(coro, NULL, NULL) == 0 && bide_coro_close(coro) == 0);
	return NULL;
}

static void *healthy_main(void *arg)
{
	bide_task *tasks[60];
	(void)arg;
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 60; i++) {
			bide_task_attr attr = BIDE_TASK_ATTR_INIT;
			attr.stack_size = i % 3 == 0 ? 0 : i % 3 == 1 ? bide_stack_min() + 4 * KIB : 64 * KIB;
			attr.flags = i % 7 == 0 ? BIDE_EAGER : 0;
			tasks[i] = bide_spawn_with(i % 5 == 0 ? healthy_coro : healthy,
			    (void *)(i % 3 == 1 ? KIB : 20 * KIB), &attr);
			must(tasks[i]);
		}
		must(bide_trim() == 0);
		for (int i = 0; i < 60; i++)
			must_end_well(tasks[i]);
	}
	return NULL;
}

START_TEST(healthy_tasks_are_never_reported)
{
	struct reports reports = { .count = { 0 } };
	run_debug(healthy_main, NULL, &reports);
	ck_assert_int_eq(reports.count[BIDE_REPORT_STACK], 0);
}
END_TEST

/* Debug mode sends every switch through the loop; that changes no order. */
struct order {
	int begun, next;
	int seen[20][5];
};

static void *note_order(void *arg)
{
	struct order *order = arg;
	int me = order->begun++;
	for (int i = 0; i < 5; i++) {
		order->seen[me][i] = order->next++;
		must(bide_yield() == 0);
	}
	return NULL;
}

static void *order_main(void *arg)
{
	bide_task *tasks[20];
	for (int i = 0; i < 20; i++)
		tasks[i] = must_spawn(note_order, arg);
	for (int i = 0; i < 20; i++)
		must_end_well(tasks[i]);
	return NULL;
}

START_TEST(debug_mode_runs_tasks_in_the_same_order)
{
	static struct order plain, debug;
	memset(&plain, 0, sizeof plain);
	memset(&debug, 0, sizeof debug);
	run_with(BIDE_VIRTUAL_CLOCK, order_main, &plain);
	run_with(BIDE_VIRTUAL_CLOCK | BIDE_DEBUG, order_main, &debug);
	ck_assert_int_eq(memcmp(&plain, &debug, sizeof plain), 0);
}
END_TEST

/* Timers and descriptors are served among tasks that only yield, there too. */
static void *yield_until(void *arg)
{
	while (!*(volatile bool *)arg)
		must(bide_yield() == 0);
	return NULL;
}

static void *served_main(void *arg)
{
	static volatile bool is_over;
	bide_task *yielders[3];
	(void)arg;
	is_over = false;
	for (int i = 0; i < 3; i++)
		yielders[i] = must_spawn(yield_until, (void *)(uintptr_t)&is_over);
	int64_t begin = cpu_time();
	bide_time due = bide_after(5 * BIDE_MSEC);
	pass(5 * BIDE_MSEC);
	must(bide_now() >= due);
	int64_t used = cpu_time() - begin; /* so it does not matter how busy the machine is */
	is_over = true;
	for (int i = 0; i < 3; i++)
		must_end_well(yielders[i]);
	must_msg(used < 25 * BIDE_MSEC * suite_scale(), "after %lld ns", (long long)used);
	return NULL;
}

START_TEST(timers_are_in_time_in_debug_mode)
{
	run_with(BIDE_DEBUG, served_main, NULL);
}
END_TEST

int main(void)
{
	return SUITE("stack_depth",
	    TEST(a_painted_stack_is_unused_and_tells_the_lowest_word_that_changed),
	    TEST(a_canary_is_whole_until_a_bit_of_it_changes),
	    TEST(a_high_water_mark_is_exact_on_recycled_stacks_too),
	    LOOP(or_on_stacks_that_were_given_back_in_between, 0, 2),
	    TEST(a_mark_can_be_read_while_the_task_lives_and_of_the_running_one),
	    TEST(one_that_never_ran_has_used_nothing),
	    TEST(without_painting_there_are_no_marks),
	    TEST(outside_a_loop_there_are_none_either),
	    TEST(marks_on_the_caller_s_own_memory),
	    TEST(each_spawn_site_has_the_mark_of_its_deepest_task),
	    TEST(a_site_for_which_there_is_no_memory_is_left_out),
	    TABLE(a_canary_that_is_overwritten_is_reported_once, yields),
	    TEST(an_overwritten_canary_is_noticed_at_the_next_switch),
	    LOOP(a_result_on_the_tasks_own_stack_is_reported, 0, 3),
	    TEST(healthy_tasks_are_never_reported),
	    TEST(debug_mode_runs_tasks_in_the_same_order),
	    TEST(timers_are_in_time_in_debug_mode));
}
