/* SPDX-License-Identifier: MIT
 * Tasks: spawning, handles, names, states, stacks of the caller's, errno, exit and fail. */
#include <stdlib.h>
#include <unistd.h>

#include "await/record.h"
#include "death.h"
#include "resources.h"
#include "runs.h"
#include "trace.h"

/* Of the address sanitizer, where it is linked in. */
__attribute__((weak)) void __asan_poison_memory_region(void const volatile *start, size_t size);
__attribute__((weak)) void __asan_unpoison_memory_region(void const volatile *start, size_t size);

static void *note_task(void *arg)
{
	note_arg(arg);
	return NULL;
}

static bide_task *spawn_with(bide_fn *fn, void *arg, unsigned flags)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.flags = flags;
	bide_task *task = bide_spawn_with(fn, arg, &attr);
	must_msg(task, "bide_spawn_with: %s", strerror(errno));
	return task;
}

/* ---- order ------------------------------------------------------------------------------------------- */

/* semantics 1, 2 */
ORDERED_TEST(children_run_in_the_next_turn_in_the_order_of_their_spawning)
{
	must_spawn(note_task, "A");
	must_spawn(note_task, "B");
	must_spawn(note_task, "C");
	note("parent");
	must(bide_yield() == 0);
	expect_notes("parent A B C");
}

static void *note_and_yield(void *arg)
{
	note_arg(arg);
	must(bide_yield() == 0);
	note_arg(arg);
	return NULL;
}

/* semantics 2 */
ORDERED_TEST(an_eager_child_runs_at_once_until_its_first_wait)
{
	must_spawn(note_task, "queued");
	spawn_with(note_and_yield, "child", BIDE_EAGER);
	note("parent");
	settle();
	expect_notes("child queued parent child");
}

VIRTUAL_TEST(an_eager_child_may_end_at_once)
{
	bide_task *task = spawn_with(nothing, "value", BIDE_EAGER);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_DONE);
	ck_assert_str_eq(must_end_well(task), "value");
	task = spawn_with(note_task, "detached", BIDE_EAGER | BIDE_DETACHED);
	ck_assert_ptr_nonnull(task);
	ck_fails(bide_task_state(task), ESRCH);
	expect_notes("detached");
}

static void *spawn_eagerly(void *arg)
{
	int depth = *(int *)arg - 1;
	note("%d", depth);
	if (depth > 0)
		must_end_well(spawn_with(spawn_eagerly, &depth, BIDE_EAGER));
	note("%d", depth);
	return NULL;
}

VIRTUAL_TEST(eager_children_nest)
{
	int depth = 4;
	must_end_well(spawn_with(spawn_eagerly, &depth, BIDE_EAGER));
	expect_notes("3 2 1 0 0 1 2 3");
	sched_check(loop_current);
}

ORDERED_TEST(yield_lets_each_ready_task_run_once)
{
	must_spawn(note_and_yield, "a");
	must_spawn(note_and_yield, "b");
	must(bide_yield() == 0);
	expect_notes("a b");
	must(bide_yield() == 0);
	expect_notes("a b a b");
}

/* ---- handles ------------------------------------------------------------------------------------------ */

static bide_task *self_seen;

static void *look_at_myself(void *arg)
{
	self_seen = bide_self();
	must(bide_task_state(bide_self()) == BIDE_TASK_RUNNING);
	must(bide_sleep(BIDE_SEC) < 0);
	return arg;
}

VIRTUAL_TEST(a_handle_tells_its_task_s_state)
{
	bide_task *task = must_spawn(look_at_myself, NULL);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_CREATED);
	settle();
	ck_assert_ptr_eq(self_seen, task);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_SUSPENDED);
	ck_assert_int_eq(bide_cancel(task, NULL), 0);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_READY);
	ck_assert_int_eq(bide_task_state(bide_self()), BIDE_TASK_RUNNING);
	settle();
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_DONE);
	must_join(task);
	ck_fails(bide_task_state(task), ESRCH);
}

START_TEST(outside_a_task_there_is_no_self)
{
	ck_assert_ptr_null(bide_self());
	ck_assert_ptr_null(bide_loop_self());
}
END_TEST

VIRTUAL_TEST(ids_count_from_one_and_are_never_used_again)
{
	ck_assert_uint_eq(bide_task_id(bide_self()), 1);
	for (uint64_t id = 2; id < 1000; id++) {
		bide_task *task = must_spawn(nothing, NULL);
		must(bide_task_id(task) == id);
		must_end_well(task);
	}
}

static const struct {
	const char *given, *kept;
} names[] = {
	{ NULL, "" },
	{ "", "" },
	{ "short", "short" },
	{ "exactly thirty-one bytes long..", "exactly thirty-one bytes long.." },
	{ "exactly thirty-one bytes long..and more", "exactly thirty-one bytes long.." },
};

VIRTUAL_TEST(a_name_is_copied_and_cut)
{
	char name[64] = "";
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	if (names[_i].given) {
		strcpy(name, names[_i].given);
		attr.name = name;
	}
	bide_task *task = bide_spawn_with(nothing, NULL, &attr);
	memset(name, 'x', sizeof name - 1);
	ck_assert_str_eq(bide_task_name(task), names[_i].kept);
	ck_assert_int_eq(bide_task_set_name(task, "other"), 0);
	ck_assert_str_eq(bide_task_name(task), "other");
	ck_assert_int_eq(bide_task_set_name(task, names[_i].given), 0);
	ck_assert_str_eq(bide_task_name(task), names[_i].kept);

	ck_assert_str_eq(bide_task_name(NULL), "main");
	ck_assert_int_eq(bide_task_set_name(NULL, names[_i].given), 0);
	ck_assert_str_eq(bide_task_name(bide_self()), names[_i].kept);
}

static void check_stale(bide_task *task)
{
	ck_fails(bide_join(task, NULL), ESRCH);
	ck_fails(bide_detach(task), ESRCH);
	ck_fails(bide_cancel(task, NULL), ESRCH);
	ck_fails(bide_task_state(task), ESRCH);
	ck_fails(bide_task_set_name(task, "x"), ESRCH);
	ck_fails_null(bide_task_ref(task), ESRCH);
	ck_fails_null(bide_task_name(task), ESRCH);
	errno = 0;
	ck_assert_uint_eq(bide_task_id(task), 0);
	ck_assert_int_eq(errno, ESRCH);
	bide_task_unref(task);
}

/* scenario C10 */
VIRTUAL_TEST(a_stale_handle_is_told_also_when_its_record_is_used_again)
{
	enum { GENERATIONS = 1000 };
	static bide_task *old[GENERATIONS];
	bide_time second = BIDE_SEC;
	bide_task *task = must_spawn(nothing, NULL);
	must_end_well(task);
	check_stale(task);
	for (int i = 0; i < GENERATIONS; i++) {
		old[i] = must_spawn(nothing, NULL);
		must_end_well(old[i]);
	}
	bide_task *young = must_spawn(sleeper, &second);
	must(bide_yield() == 0);
	bool is_reused = false;
	for (int i = 0; i < GENERATIONS; i++) {
		is_reused |= ((uintptr_t)old[i] ^ (uintptr_t)young) << 16 == 0; /* the same record */
		must(old[i] != young);
		if (i % 50 == 0)
			check_stale(old[i]);
		ck_fails(bide_cancel(old[i], NULL), ESRCH);
	}
	ck_assert(is_reused);
	must_end_well(young); /* nobody canceled it */
}

/* ---- detached tasks ------------------------------------------------------------------------------------ */

/* semantics 28 */
VIRTUAL_TEST(a_detached_task_cannot_be_joined_and_frees_itself)
{
	bide_time second = BIDE_SEC;
	size_t live = loop_current->tasks.live;
	bide_task *task = _i ? spawn_with(sleeper, &second, BIDE_DETACHED) : must_spawn(sleeper, &second);
	if (!_i)
		ck_assert_int_eq(bide_detach(task), 0);
	ck_fails(bide_join(task, NULL), EINVAL);
	ck_fails(bide_detach(task), EINVAL);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_CREATED); /* the handle is good while it lives */
	ck_assert_uint_eq(loop_current->tasks.live, live + 1);
	pass(2 * BIDE_SEC);
	ck_assert_uint_eq(loop_current->tasks.live, live);
	ck_fails(bide_task_state(task), ESRCH);
}

VIRTUAL_TEST(a_detached_task_can_be_canceled)
{
	bide_task *task = spawn_with(forever_sleeper, NULL, BIDE_DETACHED);
	settle();
	ck_assert_int_eq(bide_cancel(task, NULL), 0);
	settle();
	ck_fails(bide_cancel(task, NULL), ESRCH);
}

VIRTUAL_TEST(detaching_a_task_that_has_ended_frees_it)
{
	size_t live = loop_current->tasks.live;
	bide_task *task = must_spawn(nothing, NULL);
	settle();
	ck_assert_uint_eq(loop_current->tasks.live, live + 1);
	ck_assert_int_eq(bide_detach(task), 0);
	ck_assert_uint_eq(loop_current->tasks.live, live);
	ck_fails(bide_detach(task), ESRCH);
}

/* ---- references: semantics 30 --------------------------------------------------------------------------- */

VIRTUAL_TEST(a_reference_keeps_the_outcome_after_the_join)
{
	int value;
	bide_task *task = must_spawn(nothing, &value);
	ck_assert_ptr_eq(bide_task_ref(task), task);
	ck_assert_ptr_eq(bide_task_ref(task), task);
	for (int i = 0; i < 3; i++)
		ck_assert_ptr_eq(must_end_well(task), &value);
	bide_task_unref(task);
	ck_assert_ptr_eq(must_end_well(task), &value);
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_DONE);
	bide_task_unref(task);
	ck_fails(bide_join(task, NULL), ESRCH);
}

VIRTUAL_TEST(a_reference_outlives_the_end_of_a_detached_task)
{
	bide_task *task = spawn_with(nothing, NULL, BIDE_DETACHED);
	ck_assert_ptr_eq(bide_task_ref(task), task);
	settle();
	ck_assert_int_eq(bide_task_state(task), BIDE_TASK_DONE);
	ck_fails(bide_join(task, NULL), EINVAL);
	bide_task_unref(task);
	ck_fails(bide_task_state(task), ESRCH);
}

VIRTUAL_TEST(dropping_a_reference_before_the_end_leaves_the_handle_good)
{
	int value;
	bide_task *task = must_spawn(nothing, &value);
	ck_assert_ptr_eq(bide_task_ref(task), task);
	bide_task_unref(task);
	ck_assert_ptr_eq(must_end_well(task), &value);
}

/* One reference too many dropped is a mistake, but no reason to end the host or to free what runs. */
VIRTUAL_TEST(dropping_references_that_were_never_taken_does_nothing)
{
	int value;
	bide_time second = BIDE_SEC;
	bide_task *created = must_spawn(nothing, &value), *parked = must_spawn(sleeper, &second);
	for (int i = 0; i < 5; i++)
		bide_task_unref(created);
	must(bide_yield() == 0);
	for (int i = 0; i < 5; i++) {
		bide_task_unref(created);
		bide_task_unref(parked);
		bide_task_unref(bide_self());
	}
	bide_task_unref(NULL);
	ck_assert_ptr_eq(must_end_well(created), &value);
	must_end_well(parked);
	bide_task_unref(parked);
	must_end_well(must_spawn(nothing, NULL));
}

/* ---- how many -------------------------------------------------------------------------------------------- */

static void *spawn_up_to_the_limit(void *arg)
{
	bide_time second = BIDE_SEC;
	bide_task *tasks[4];
	(void)arg;
	for (int i = 0; i < 4; i++)
		tasks[i] = must_spawn(sleeper, &second); /* and main is the fifth */
	ck_fails_null(bide_spawn(nothing, NULL), EAGAIN);
	must_end_well(tasks[0]);
	pass(BIDE_SEC);
	tasks[0] = must_spawn(nothing, NULL); /* those that have ended do not count, joined or not */
	for (int i = 0; i < 4; i++)
		must_end_well(tasks[i]);
	return NULL;
}

START_TEST(max_tasks_is_a_limit_on_those_alive)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	config.flags = BIDE_VIRTUAL_CLOCK;
	config.max_tasks = 5;
	ck_assert_int_eq(bide_run(spawn_up_to_the_limit, NULL, &config, &result), 0);
	ck_assert_int_eq(result.err, 0);
}
END_TEST

static void *add_one(void *arg)
{
	must(bide_yield() == 0);
	++*(int *)arg;
	return arg;
}

VIRTUAL_TEST(ten_thousand_tasks_run_at_once)
{
	int count = suite_scaled_down(10000, 500), sum = 0;
	bide_task **tasks = malloc((size_t)count * sizeof *tasks);
	for (int i = 0; i < count; i++)
		tasks[i] = must_spawn(add_one, &sum);
	must(bide_yield() == 0);
	sched_check(loop_current);
	for (int i = count - 1; i >= 0; i--)
		must(must_end_well(tasks[i]) == &sum);
	ck_assert_int_eq(sum, count);
	free(tasks);
}

/* ---- stacks: scenario B9, semantics 37 ---------------------------------------------------------------------- */

static const struct {
	size_t size;
	int err;
} stack_sizes[] = {
	{ 0, 0 }, { 1, EINVAL }, { 4095, EINVAL }, { 4097, EINVAL }, { SIZE_MAX, EINVAL }, { SIZE_MAX / 2, EINVAL },
	{ (size_t)-4096, EINVAL }, { 256 * 1024, 0 }, { 256 * 1024 + 1, 0 }, { 1000001, 0 }, { 16 * 1024 * 1024, 0 },
};

static int dropped;

static void count_drop(void *arg)
{
	(void)arg;
	dropped++;
}

VIRTUAL_TEST(a_stack_size_is_rounded_up_or_refused_with_the_argument_untouched)
{
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.stack_size = stack_sizes[_i].size;
	attr.drop = count_drop;
	dropped = 0;
	if (stack_sizes[_i].err) {
		ck_fails_null(bide_spawn_with(nothing, NULL, &attr), stack_sizes[_i].err);
		ck_assert_uint_eq(loop_current->tasks.live, 1);
	} else {
		bide_task *task = bide_spawn_with(nothing, "ran", &attr);
		ck_assert_ptr_nonnull(task);
		ck_assert_str_eq(must_end_well(task), "ran");
	}
	ck_assert_int_eq(dropped, 0);
}

/* Down to 4 KiB above the end. */
static __attribute__((noinline)) void *fill_the_stack(void *arg)
{
	size_t size = *(size_t *)arg - 4096;
	volatile char *room = __builtin_alloca(size);
	for (size_t i = size; i-- > 0;)
		room[i] = (char)i;
	must(bide_yield() == 0);
	for (size_t i = 0; i < size; i++)
		must(room[i] == (char)i);
	return NULL;
}

VIRTUAL_TEST(a_task_may_use_the_stack_it_asked_for)
{
	static size_t sizes[] = { 48 * 1024, 64 * 1024, 100 * 1024, 1024 * 1024 };
	bide_task *tasks[4];
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	for (int i = 0; i < 4; i++) {
		attr.stack_size = sizes[i];
		tasks[i] = bide_spawn_with(fill_the_stack, &sizes[i], &attr);
	}
	for (int i = 0; i < 4; i++)
		must_end_well(tasks[i]);
}

static const char *own_low, *own_high;

static void *stand_on_own_stack(void *arg)
{
	const char *here = __builtin_frame_address(0);
	must(here > own_low && here < own_high);
	pass(1);
	return arg;
}

/* The memory begins at an odd address: bide/task.h says it needs no alignment. */
VIRTUAL_TEST(a_task_on_the_caller_s_memory_leaves_it_alone_once_joined)
{
	enum { SIZE = 64 * 1024 };
	char *memory = malloc(SIZE + 16), *stack = memory + _i;
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.stack = stack;
	attr.stack_size = SIZE;
	own_low = stack;
	own_high = stack + SIZE;
	for (int round = 0; round < 3; round++) {
		bide_task *task = bide_spawn_with(stand_on_own_stack, "done", &attr);
		ck_assert_ptr_nonnull(task);
		must_spawn(nothing, NULL);
		ck_assert_str_eq(must_end_well(task), "done");
		memset(memory, 'm', SIZE + 16);
		if (__asan_poison_memory_region)
			__asan_poison_memory_region(memory, SIZE + 16);
		for (int i = 0; i < 20; i++)
			must_end_well(must_spawn(nothing, NULL));
		pass(1);
		if (__asan_unpoison_memory_region)
			__asan_unpoison_memory_region(memory, SIZE + 16);
		for (size_t i = 0; i < SIZE + 16; i++)
			must(memory[i] == 'm');
	}
	free(memory);
}

/* 16 KiB is enough for a body that does little, where the compiler is not asked for much. */
VIRTUAL_TEST(the_smallest_stack_will_do_for_a_small_body)
{
	if (!suite_is_native())
		return;
	char *memory = malloc(BIDE_STACK_MIN);
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.stack_size = BIDE_STACK_MIN;
	for (int i = 0; i < 2; i++) {
		attr.stack = i ? memory : NULL;
		bide_task *task = bide_spawn_with(nothing, "small", &attr);
		ck_assert_ptr_nonnull(task);
		ck_assert_str_eq(must_end_well(task), "small");
	}
	free(memory);
}

VIRTUAL_TEST(a_stack_of_the_caller_s_needs_its_size)
{
	char byte;
	bide_task_attr attr = BIDE_TASK_ATTR_INIT;
	attr.stack = &byte;
	ck_fails_null(bide_spawn_with(nothing, NULL, &attr), EINVAL);
	attr.stack_size = 100;
	ck_fails_null(bide_spawn_with(nothing, NULL, &attr), EINVAL);
	ck_assert_uint_eq(loop_current->tasks.live, 1);
}

static void *default_size_is_in_force(void *arg)
{
	struct await_task *task = handle_resolve(bide_self());
	size_t size = (size_t)(task->task.stack.high - task->task.stack.low);
	must(size >= *(size_t *)arg && size <= *(size_t *)arg + *(size_t *)arg / 8 + 4096);
	return NULL;
}

START_TEST(the_run_s_stack_size_is_the_default_of_its_tasks)
{
	size_t size = 300 * 1024;
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result;
	config.stack_size = size;
	ck_assert_int_eq(bide_run(default_size_is_in_force, &size, &config, &result), 0);
}
END_TEST

/* ---- errno: bide/api.h, "errno belongs to the task" ---------------------------------------------------------- */

static void *keep_an_errno(void *arg)
{
	int mine = *(int *)arg;
	for (int i = 0; i < 20; i++) {
		errno = mine;
		if (i % 2)
			must(bide_yield() == 0);
		else
			pass(1);
		must_msg(errno == mine, "errno was %d and is %d", mine, errno);
	}
	return NULL;
}

static void spoil_errno(void *arg)
{
	errno = EXDEV;
	if (--*(int *)arg > 0)
		must(bide_call_soon(spoil_errno, arg) == 0);
}

VIRTUAL_TEST(errno_belongs_to_the_task)
{
	int errnos[10], callbacks = 50;
	bide_task *tasks[10];
	for (int i = 0; i < 10; i++) {
		errnos[i] = i + 1;
		tasks[i] = must_spawn(keep_an_errno, &errnos[i]);
	}
	must(bide_call_soon(spoil_errno, &callbacks) == 0);
	for (int i = 0; i < 10; i++)
		must_end_well(tasks[i]);
}

static void report_and_spoil_errno(int kind, const char *text, void *ctx)
{
	count_report(kind, text, ctx);
	errno = EXDEV;
}

static void *fail_unseen(void *arg)
{
	(void)arg;
	return bide_fail(EIO);
}

static void *first_errno(void *arg)
{
	*(int *)arg = errno;
	return NULL;
}

/* The stack of a task that ended is put back, and its failure reported, on the stack of the next. */
static void *bury_on_others(void *arg)
{
	int mine[2] = { EDOM, ERANGE }, first = -1;
	bide_task *tasks[3];
	(void)arg;
	tasks[0] = must_spawn(keep_an_errno, &mine[0]);
	tasks[1] = must_spawn(keep_an_errno, &mine[1]);
	for (int i = 0; i < 30; i++) {
		spawn_with(fail_unseen, NULL, BIDE_DETACHED);
		tasks[2] = must_spawn(first_errno, &first);
		errno = EINTR;
		must(bide_yield() == 0);
		must_msg(errno == EINTR, "the spoilt errno %d got into main", errno);
		must_msg(first == 0, "the spoilt errno %d got into a new task", first);
		must_end_well(tasks[2]);
	}
	must_end_well(tasks[0]);
	must_end_well(tasks[1]);
	return NULL;
}

START_TEST(a_report_hook_cannot_change_a_task_s_errno)
{
	struct reports reports = { { 0 }, { "" } };
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	bide_result result;
	config.report = report_and_spoil_errno;
	ck_assert_int_eq(bide_run(bury_on_others, NULL, &config, &result), 0);
	ck_assert_int_eq(reports.count[BIDE_REPORT_FAILURE], 30);
}
END_TEST

/* ---- ends: semantics 23, 33 --------------------------------------------------------------------------------- */

static __attribute__((noinline)) void exit_from_depth(int depth, void *value)
{
	if (depth > 0)
		exit_from_depth(depth - 1, value);
	else if (value)
		bide_exit(value);
	note("returned");
}

static void *exit_deep_down(void *arg)
{
	exit_from_depth(20, arg);
	note("returned");
	return NULL;
}

VIRTUAL_TEST(exit_ends_the_task_from_any_depth_with_its_value)
{
	int value;
	ck_assert_ptr_eq(must_end_well(must_spawn(exit_deep_down, &value)), &value);
	expect_notes("");
}

START_TEST(exit_ends_main_too)
{
	int value;
	ck_assert_ptr_eq(run_virtual(exit_deep_down, &value), &value);
}
END_TEST

static const struct {
	int given, err;
} fails[] = { { EIO, EIO }, { 1, 1 }, { ECANCELED, ECANCELED }, { 100000, 100000 }, { 0, EINVAL }, { -EIO, EINVAL },
	{ INT32_MIN, EINVAL } };

static void *return_failing(void *arg)
{
	return bide_fail(*(int *)arg);
}

static void *exit_failing(void *arg)
{
	bide_exit(bide_fail(*(int *)arg));
}

/* semantics 23 */
VIRTUAL_TEST(fail_ends_the_task_with_an_errno_and_no_value)
{
	int given = fails[_i].given;
	bide_result result = must_join(must_spawn(return_failing, &given));
	ck_assert_int_eq(result.err, fails[_i].err);
	ck_assert_ptr_null(result.value);
	result = must_join(must_spawn(exit_failing, &given));
	ck_assert_int_eq(result.err, fails[_i].err);
	ck_assert_ptr_null(result.value);
}

START_TEST(fail_outside_a_task_is_refused)
{
	ck_fails_null(bide_fail(EIO), EPERM);
}
END_TEST

static void exit_without_a_task(void *arg)
{
	bide_exit(arg);
}

START_TEST(exit_outside_a_task_aborts)
{
	struct death death = death_of(exit_without_a_task, NULL);
	ck_assert_int_eq(death.signal, SIGABRT);
}
END_TEST

/* ---- spawning at odd moments --------------------------------------------------------------------------------- */

static void spawn_in_defer(void *arg)
{
	note("spawned %d", bide_spawn(note_task, arg) != NULL);
}

static void *spawn_at_the_end(void *arg)
{
	must(bide_defer(spawn_in_defer, arg) == 0);
	return NULL;
}

VIRTUAL_TEST(a_deferred_call_may_spawn)
{
	must_end_well(must_spawn(spawn_at_the_end, "child"));
	settle();
	expect_notes("spawned 1 child");
}

static void *refuse_after_main(void *arg)
{
	(void)arg;
	ck_fails(bide_sleep(BIDE_SEC), ECANCELED);
	ck_fails_null(bide_spawn(nothing, NULL), EAGAIN);
	note("refused");
	return NULL;
}

static void *leave_a_task(void *arg)
{
	must_spawn(refuse_after_main, NULL);
	settle();
	return arg;
}

START_TEST(after_main_has_ended_nothing_is_spawned)
{
	run_virtual(leave_a_task, NULL);
	expect_notes("refused");
}
END_TEST

/* semantics 35 has its injected failures in test_out_of_memory. */

/* ---- our own rules -------------------------------------------------------------------------------------------- */

static const struct {
	enum task_state from, to;
} moves[] = {
	{ TASK_FREE, TASK_CREATED }, { TASK_CREATED, TASK_READY }, { TASK_CREATED, TASK_DONE },
	{ TASK_CREATED, TASK_FREE }, { TASK_READY, TASK_SUSPENDED }, { TASK_READY, TASK_DONE },
	{ TASK_SUSPENDED, TASK_READY }, { TASK_DONE, TASK_FREE },
};

static bool is_legal(enum task_state from, enum task_state to)
{
	for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
		if (moves[i].from == from && moves[i].to == to)
			return true;
	return false;
}

static void move_to(void *arg)
{
	struct task task = { .state = (uint8_t)(*(int *)arg / 8) };
	task_set_state(&task, (enum task_state)(*(int *)arg % 8));
}

START_TEST(a_task_moves_between_its_states_as_drawn_in_task_h)
{
	for (int to = TASK_CREATED; to <= TASK_FREE; to++) {
		int move = _i * 8 + to;
		struct death death = death_of(move_to, &move);
		if (is_legal((enum task_state)_i, (enum task_state)to))
			ck_assert_int_eq(death.signal, 0);
		else
			ck_assert_msg(died_of_rule(&death, "a task changes state"), "%s to %s", task_state_names[_i],
			    task_state_names[to]);
	}
}
END_TEST

static void damage_a_state(void) { handle_resolve(must_spawn(nothing, NULL))->task.state = TASK_RUNNING; }
static void damage_a_link(void) { must_spawn(nothing, NULL); loop_current->ready.entries.head.prev->prev = NULL; }
static void damage_a_key(void)
{
	static bide_timer timers[3];
	for (int i = 0; i < 3; i++)
		must(bide_call_at(&timers[i], 100 + i, spoil_errno, NULL) == 0);
	heap_min(&loop_current->timers.heap)->key = 200;
}
static void damage_a_timer(void)
{
	struct task *task = &handle_resolve(must_spawn(nothing, NULL))->task;
	timer_arm(&loop_current->timers, &task->timer, 5);
}
static void damage_the_queue(void)
{
	struct task *task = &handle_resolve(must_spawn(nothing, NULL))->task;
	ready_remove(&loop_current->ready, &task->entry);
}

static const struct {
	void (*damage)(void);
	const char *rule;
} damages[] = {
	{ damage_a_state, "one task runs at most" },
	{ damage_a_link, "linked both ways" },
	{ damage_a_key, "the timer heap is in order" },
	{ damage_a_timer, "only a parked task has its timer armed" },
	{ damage_the_queue, "is in the ready queue" },
};

static void *damage_and_check(void *arg)
{
	sched_check(loop_current);
	damages[*(int *)arg].damage();
	sched_check(loop_current);
	return NULL;
}

static void run_and_damage(void *arg)
{
	run_virtual(damage_and_check, arg);
}

START_TEST(sched_check_finds_what_is_broken)
{
	struct death death = death_of(run_and_damage, &_i);
	ck_assert_msg(died_of_rule(&death, damages[_i].rule), "signal %d: %s", death.signal, death.text);
}
END_TEST

int main(void)
{
	return SUITE("task",
	    TEST(children_run_in_the_next_turn_in_the_order_of_their_spawning),
	    TEST(an_eager_child_runs_at_once_until_its_first_wait),
	    TEST(an_eager_child_may_end_at_once),
	    TEST(eager_children_nest),
	    TEST(yield_lets_each_ready_task_run_once),
	    TEST(a_handle_tells_its_task_s_state),
	    TEST(outside_a_task_there_is_no_self),
	    TEST(ids_count_from_one_and_are_never_used_again),
	    TABLE(a_name_is_copied_and_cut, names),
	    TEST(a_stale_handle_is_told_also_when_its_record_is_used_again),
	    LOOP(a_detached_task_cannot_be_joined_and_frees_itself, 0, 2),
	    TEST(a_detached_task_can_be_canceled),
	    TEST(detaching_a_task_that_has_ended_frees_it),
	    TEST(a_reference_keeps_the_outcome_after_the_join),
	    TEST(a_reference_outlives_the_end_of_a_detached_task),
	    TEST(dropping_a_reference_before_the_end_leaves_the_handle_good),
	    TEST(dropping_references_that_were_never_taken_does_nothing),
	    TEST(max_tasks_is_a_limit_on_those_alive),
	    TEST(ten_thousand_tasks_run_at_once),
	    TABLE(a_stack_size_is_rounded_up_or_refused_with_the_argument_untouched, stack_sizes),
	    TEST(a_task_may_use_the_stack_it_asked_for),
	    LOOP(a_task_on_the_caller_s_memory_leaves_it_alone_once_joined, 0, 16),
	    TEST(the_smallest_stack_will_do_for_a_small_body),
	    TEST(a_stack_of_the_caller_s_needs_its_size),
	    TEST(the_run_s_stack_size_is_the_default_of_its_tasks),
	    TEST(errno_belongs_to_the_task),
	    TEST(a_report_hook_cannot_change_a_task_s_errno),
	    TEST(exit_ends_the_task_from_any_depth_with_its_value),
	    TEST(exit_ends_main_too),
	    TABLE(fail_ends_the_task_with_an_errno_and_no_value, fails),
	    TEST(fail_outside_a_task_is_refused),
	    TEST(exit_outside_a_task_aborts),
	    TEST(a_deferred_call_may_spawn),
	    TEST(after_main_has_ended_nothing_is_spawned),
	    LOOP(a_task_moves_between_its_states_as_drawn_in_task_h, TASK_CREATED, TASK_FREE + 1),
	    TABLE(sched_check_finds_what_is_broken, damages));
}
