/* SPDX-License-Identifier: MIT
 * Waits that could never end, refused when they are asked for: EDEADLK of bide/task.h, bide/future.h and
 * bide/combine.h. Statements 25 and 26, over joins, gathers, waits and groups. */
#include "runs.h"
#include "trace.h"

/* ---- every pair of waits ------------------------------------------------------------------------------- */

/* In each circle of two here, `first` waits for `second`, which then would wait for `first`. */
static bide_task *first, *second;

static int by_join(bide_task *task)
{
	return bide_join(task, NULL);
}

static int by_await(bide_task *task)
{
	return bide_await(bide_task_future(task), NULL);
}

static int by_gather(bide_task *task)
{
	return bide_gather(&task, 1, NULL, 0);
}

static int by_wait_for(bide_task *task)
{
	return bide_wait_for(task, BIDE_NEVER, NULL);
}

static int by_wait_for_all(bide_task *task)
{
	static bide_future done;
	bide_future_init(&done, NULL);
	must(bide_future_set(&done, NULL) == 0);
	bide_future *const futures[] = { &done, bide_task_future(task) };
	return bide_wait(futures, 2, BIDE_WAIT_ALL) == 2 ? 0 : -1;
}

/* More than a stack holds. */
static int by_wait_for_many(bide_task *task)
{
	bide_future *futures[30];
	for (int i = 0; i < 30; i++)
		futures[i] = bide_task_future(task);
	return bide_wait(futures, 30, BIDE_WAIT_ALL) == 30 ? 0 : -1;
}

static int by_wait_for_the_first(bide_task *task)
{
	bide_future *const futures[] = { bide_task_future(task), bide_task_future(task) };
	return bide_wait(futures, 2, BIDE_WAIT_FIRST_DONE) == 2 ? 0 : -1;
}

static int by_wait_for_a_failure(bide_task *task)
{
	bide_future *const future = bide_task_future(task);
	return bide_wait(&future, 1, BIDE_WAIT_FIRST_FAILED) == 1 ? 0 : -1;
}

static int by_select(bide_task *task)
{
	bide_case cases[3] = { { .op = BIDE_CASE_NONE } };
	cases[1] = cases[2] = (bide_case){ .op = BIDE_CASE_FUTURE, .future = bide_task_future(task) };
	return bide_select(cases, 3, 0) >= 0 ? 0 : -1;
}

typedef int wait_call(bide_task *task);

/* What closes a circle; those up to `BY_ONE` also make the first half of one. */
static wait_call *const closers[] = { by_join, by_await, by_gather, by_wait_for, by_wait_for_all, by_wait_for_many,
	by_wait_for_the_first, by_wait_for_a_failure, by_select };

enum {
	CLOSERS = sizeof closers / sizeof *closers,
	OPENERS = 6, /* of those above: what waits for one of several alternatives is not looked through */
	BY_GROUP_BODY = OPENERS,
	BY_GROUP_LEAVE,
	BY_GROUP_START,
	WAYS
};

static wait_call *closer;

static void *close_it(void *arg)
{
	(void)arg;
	second = bide_self();
	must(bide_yield() == 0);
	uint64_t turn = loop_current->ready.turn;
	ck_fails(closer(first), EDEADLK);
	must(loop_current->ready.turn == turn);
	note("refused");
	return "broken";
}

static void *open_by_call(void *arg)
{
	wait_call *const *opener = arg;
	must((*opener)(second) == 0);
	note("went on");
	return NULL;
}

static void *open_by_group(void *arg)
{
	int way = *(int *)arg;
	bide_group group;
	must(bide_group_enter(&group, 0, 0) == 0);
	if (way == BY_GROUP_START)
		ck_fails_null(bide_group_start(&group, close_it, NULL, NULL, NULL), EPIPE);
	else
		must(bide_group_spawn(&group, close_it, NULL, NULL));
	for (int i = 0; i < 3 && way == BY_GROUP_BODY; i++)
		must(bide_yield() == 0); /* it waits for nothing itself */
	must(bide_group_leave(&group) == 0);
	note("went on");
	return NULL;
}

VIRTUAL_TEST(what_closes_a_circle_fails_at_once_and_the_other_goes_on)
{
	int way = _i / CLOSERS;
	wait_call *opener = way < OPENERS ? closers[way] : NULL;
	closer = closers[_i % CLOSERS];
	if (opener) {
		first = must_spawn(open_by_call, &opener);
		second = must_spawn(close_it, NULL);
		must(bide_task_ref(second));
	} else {
		first = must_spawn(open_by_group, &way);
	}
	must_end_well(first);
	expect_notes("refused went on");
	if (opener)
		bide_task_unref(second);
	if (opener == by_await || opener == by_wait_for_all || opener == by_wait_for_many)
		must_end_well(second); /* its handle is there still */
}

static void *start_one_elsewhere(void *arg)
{
	ck_fails_null(bide_group_start(arg, close_it, NULL, NULL, NULL), EPIPE);
	note("went on");
	return NULL;
}

VIRTUAL_TEST(a_child_cannot_join_who_waits_for_it_to_start)
{
	bide_group group;
	closer = closers[_i];
	must(bide_group_enter(&group, 0, 0) == 0);
	first = must_spawn(start_one_elsewhere, &group);
	must_end_well(first);
	must(bide_group_leave(&group) == 0);
	expect_notes("refused went on");
}

VIRTUAL_TEST(nobody_waits_for_himself)
{
	ck_fails(closers[_i](bide_self()), EDEADLK);
}

/* ---- long ways round ------------------------------------------------------------------------------------- */

static bide_task *ends[4];

static void *gathers_two(void *arg)
{
	must(bide_gather(&ends[1], 2, NULL, 0) == 0);
	return arg;
}

static void *child_that_waits(void *arg)
{
	must(by_wait_for_all(ends[3]) == 0);
	return arg;
}

static void *has_a_group(void *arg)
{
	bide_group group;
	must(bide_group_enter(&group, 0, 0) == 0 && bide_group_spawn(&group, child_that_waits, NULL, NULL));
	must(bide_group_leave(&group) == 0);
	return arg;
}

static void *joins_the_last(void *arg)
{
	must(bide_join(ends[3], NULL) == 0);
	return arg;
}

static void *closes_the_round(void *arg)
{
	pass(BIDE_SEC);
	for (int i = 0; i < 3; i++) {
		bide_task *pair[2] = { bide_self(), ends[i] };
		ck_fails(bide_join(ends[i], NULL), EDEADLK);
		ck_fails(bide_gather(&pair[1], 1, NULL, 0), EDEADLK);
		ck_fails(bide_gather(pair, 2, NULL, 0), EDEADLK);
	}
	return arg;
}

/* 0 gathers 1 and 2; 1 owns a group with a child that waits for 3; 2 joins 3; 3 would join any of them. */
VIRTUAL_TEST(a_circle_is_found_over_gathers_groups_and_waits)
{
	ends[0] = must_spawn(gathers_two, NULL);
	ends[1] = must_spawn(has_a_group, NULL);
	ends[2] = must_spawn(joins_the_last, NULL);
	ends[3] = must_spawn(closes_the_round, NULL);
	must_end_well(ends[0]);
	ck_assert(bide_now() == BIDE_SEC);
}

enum {
	LAYERS = 60
};
static bide_task *layers[LAYERS][2];

static void *gather_the_next_layer(void *arg)
{
	bide_task **next = arg;
	bide_future *const futures[] = { bide_task_future(next[0]), bide_task_future(next[1]) };
	must(bide_wait(futures, 2, BIDE_WAIT_ALL) == 2);
	return NULL;
}

static void *close_over_all_layers(void *arg)
{
	pass(BIDE_SEC);
	ck_fails(bide_join(layers[0][0], NULL), EDEADLK);
	return arg;
}

/* 2^60 ways lead from the one end to the other: each task is looked at once. */
VIRTUAL_TEST(the_search_is_linear_however_many_ways_there_are)
{
	for (int i = LAYERS - 1; i >= 0; i--)
		for (int side = 0; side < 2; side++)
			layers[i][side] = i == LAYERS - 1 ? must_spawn(close_over_all_layers, NULL)
			                                  : must_spawn(gather_the_next_layer, layers[i + 1]);
	for (int i = 0; i < LAYERS; i++)
		for (int side = 0; side < 2; side++)
			must_end_well(layers[i][side]);
}

static void *gather_one(void *arg)
{
	bide_task *task = *(bide_task **)arg;
	must(bide_gather(&task, 1, NULL, 0) == 0);
	return NULL;
}

/* On stacks on which a recursion would not get far. */
VIRTUAL_TEST(a_circle_of_ten_thousand_is_found_without_recursion)
{
	enum { LENGTH = 10000 };
	static bide_task *chain[LENGTH];
	int length = suite_scaled_down(LENGTH, 1000);
	for (int i = 0; i < length; i++)
		chain[i] = i == 0 ? must_spawn(close_it, NULL) : must_spawn(gather_one, &chain[i - 1]);
	first = chain[length - 1];
	closer = by_join;
	must_end_well(first);
	expect_notes("refused");
}

/* ---- no circles ----------------------------------------------------------------------------------------- */

static bide_future other_way;

/* bit 0: by select; bit 1: when the other one waits already */
static void *wait_for_either(void *arg)
{
	int how = *(int *)arg;
	if (how & 2)
		pass(1);
	bide_future *const futures[] = { &other_way, bide_task_future(second) };
	bide_case cases[2] = { { .op = BIDE_CASE_FUTURE, .future = futures[0] }, { .op = BIDE_CASE_FUTURE, .future = futures[1] } };
	if (how & 1)
		must(bide_select(cases, 2, 0) == 0);
	else
		must(bide_wait(futures, 2, BIDE_WAIT_FIRST_DONE) == 1);
	return "the other way";
}

static void *join_the_first(void *arg)
{
	(void)arg;
	must(bide_yield() == 0);
	return must_end_well(first);
}

VIRTUAL_TEST(a_wait_that_another_may_end_closes_nothing)
{
	bide_future_init(&other_way, NULL);
	first = must_spawn(wait_for_either, &_i);
	second = must_spawn(join_the_first, NULL);
	pass(2);
	must(bide_future_set(&other_way, NULL) == 0);
	ck_assert_str_eq(must_end_well(second), "the other way");
	must(bide_future_destroy(&other_way) == 0);
}

static void *gather_or_be_canceled(void *arg)
{
	bide_future *const futures[] = { bide_task_future(second), bide_task_future(arg) };
	ck_fails(bide_wait(futures, 2, BIDE_WAIT_ALL), ECANCELED);
	must(bide_uncancel() == 0);
	pass(BIDE_SEC);
	return "free";
}

/* Who was canceled, or is woken already, depends on nobody any more. */
VIRTUAL_TEST(a_wait_that_is_over_closes_nothing)
{
	bide_task *never = must_spawn(forever_sleeper, NULL);
	second = must_spawn(forever_sleeper, NULL);
	first = must_spawn(gather_or_be_canceled, never);
	settle();
	must(bide_cancel(first, NULL) == 0);
	bide_task *other = must_spawn(join_the_first, NULL);
	must(bide_cancel(second, NULL) == 0);
	ck_assert_int_eq(must_join(second).err, ECANCELED);
	ck_assert_str_eq(must_end_well(other), "free");
	must(bide_cancel(never, NULL) == 0);
	must_join(never);
}

static bide_task *third;

static void *join_the_third_when_released(void *arg)
{
	must(bide_await(&other_way, NULL) == 0);
	return bide_task_state(first) == BIDE_TASK_READY ? must_end_well(third) : arg;
}

/* Also before it has run again, and over others. */
ORDERED_TEST(a_waiter_that_is_canceled_and_has_not_run_yet_closes_nothing)
{
	bide_future_init(&other_way, NULL);
	bide_task *never = must_spawn(forever_sleeper, NULL);
	second = must_spawn(join_the_third_when_released, NULL);
	first = must_spawn(gather_or_be_canceled, never);
	third = must_spawn(join_the_first, NULL);
	for (int i = 0; i < 3; i++)
		must(bide_yield() == 0);
	must(bide_future_set(&other_way, NULL) == 0);
	must(bide_cancel(first, NULL) == 0); /* runs behind the second */
	ck_assert_str_eq(must_end_well(second), "free");
	must(bide_cancel(never, NULL) == 0);
	must_join(never);
}

static void *join_the_uncle(void *arg)
{
	pass(BIDE_SEC);
	must_end_well(arg);
	return NULL;
}

static void *own_a_group(void *arg)
{
	bide_group group;
	must(bide_group_enter(&group, 0, 0) == 0 && bide_group_spawn(&group, join_the_uncle, arg, NULL));
	must(bide_group_leave(&group) == 0);
	return NULL;
}

static void *long_sleep(void *arg)
{
	pass(10 * BIDE_SEC);
	return arg;
}

/* Children may join whom they like but those who wait for them; siblings may wait for each other. */
VIRTUAL_TEST(children_may_wait_for_others)
{
	bide_group group;
	bide_task *uncle = must_spawn(long_sleep, NULL), *owner = must_spawn(own_a_group, uncle);
	must(bide_group_enter(&group, 0, 0) == 0);
	bide_task *child = bide_group_spawn(&group, long_sleep, NULL, NULL);
	must(child && bide_group_spawn(&group, join_the_uncle, child, NULL));
	must(bide_group_spawn(&group, join_the_uncle, owner, NULL));
	ck_assert_int_eq(bide_group_leave(&group), 0);
	ck_assert(bide_now() == 10 * BIDE_SEC);
}

int main(void)
{
	return SUITE("circle",
	    LOOP(what_closes_a_circle_fails_at_once_and_the_other_goes_on, 0, WAYS * CLOSERS),
	    LOOP(a_child_cannot_join_who_waits_for_it_to_start, 0, CLOSERS),
	    LOOP(nobody_waits_for_himself, 0, CLOSERS),
	    TEST(a_circle_is_found_over_gathers_groups_and_waits),
	    TEST(the_search_is_linear_however_many_ways_there_are),
	    TEST(a_circle_of_ten_thousand_is_found_without_recursion),
	    LOOP(a_wait_that_another_may_end_closes_nothing, 0, 4),
	    TEST(a_wait_that_is_over_closes_nothing),
	    TEST(a_waiter_that_is_canceled_and_has_not_run_yet_closes_nothing),
	    TEST(children_may_wait_for_others));
}
