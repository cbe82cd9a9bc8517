/* SPDX-License-Identifier: MIT
 * The bare coroutine: bide/coro.h. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "resources.h"
#include "runs.h"
#include "trace.h"

static bide_coro *new_coro(bide_fn *body, void *arg)
{
	bide_coro *coro = bide_coro_new(body, arg, 0);
	must_msg(coro, "bide_coro_new: %s", strerror(errno));
	return coro;
}

static void close_coro(bide_coro *coro)
{
	must_msg(bide_coro_close(coro) == 0, "bide_coro_close: %s", strerror(errno));
}

/* Numbers travel as pointers. */
static void *pointer(intptr_t n)
{
	return (void *)n;
}

static intptr_t number(void *p)
{
	return (intptr_t)p;
}

/* ---- values and states -------------------------------------------------------------------------------------- */

static void *running_sum(void *arg)
{
	intptr_t sum = number(arg);
	for (;;) {
		intptr_t in = number(bide_coro_yield(pointer(sum)));
		if (in == 0)
			return pointer(-sum);
		sum += in;
	}
}

START_TEST(values_travel_both_ways)
{
	bide_coro *coro = new_coro(running_sum, pointer(100));
	void *out = NULL;
	ck_assert_int_eq(bide_coro_resume(coro, pointer(7), &out), 1); /* the first `in` is ignored */
	ck_assert_int_eq(number(out), 100);
	ck_assert_int_eq(bide_coro_resume(coro, pointer(5), &out), 1);
	ck_assert_int_eq(number(out), 105);
	ck_assert_int_eq(bide_coro_resume(coro, pointer(20), NULL), 1); /* out may be NULL */
	ck_assert_int_eq(bide_coro_resume(coro, pointer(1), &out), 1);
	ck_assert_int_eq(number(out), 126);
	ck_assert_int_eq(bide_coro_resume(coro, pointer(0), &out), 0);
	ck_assert_int_eq(number(out), -126);
	close_coro(coro);
}
END_TEST

static bide_coro *observed;

static void *observe_my_state(void *arg)
{
	note("%d", bide_coro_state(observed));
	bide_coro_yield(NULL);
	note("%d", bide_coro_state(observed));
	return arg;
}

START_TEST(a_coroutine_has_four_states)
{
	ck_assert_int_eq(BIDE_CORO_EXECUTING, 2);
	observed = new_coro(observe_my_state, "result");
	ck_assert_int_eq(bide_coro_state(observed), BIDE_CORO_CREATED);
	ck_assert_int_eq(bide_coro_resume(observed, NULL, NULL), 1);
	ck_assert_int_eq(bide_coro_state(observed), BIDE_CORO_SUSPENDED);
	void *out = NULL;
	ck_assert_int_eq(bide_coro_resume(observed, NULL, &out), 0);
	ck_assert_str_eq(out, "result");
	ck_assert_int_eq(bide_coro_state(observed), BIDE_CORO_CLOSED);
	expect_notes("2 2");
	close_coro(observed);
}
END_TEST

START_TEST(one_that_has_ended_cannot_be_resumed)
{
	bide_coro *coro = new_coro(nothing, NULL);
	void *out = &out;
	ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 0);
	ck_fails(bide_coro_resume(coro, NULL, &out), ESRCH);
	ck_assert_ptr_eq(out, &out);
	close_coro(coro);
}
END_TEST

START_TEST(null_is_refused)
{
	ck_fails_null(bide_coro_new(NULL, NULL, 0), EINVAL);
	ck_fails(bide_coro_resume(NULL, NULL, NULL), EINVAL);
	ck_fails(bide_coro_state(NULL), EINVAL);
	ck_fails(bide_coro_close(NULL), EINVAL);
}
END_TEST

START_TEST(outside_a_coroutine_nothing_can_be_yielded)
{
	ck_fails_null(bide_coro_yield("x"), EPERM);
	ck_assert(!bide_coro_closing());
}
END_TEST

static void *take_a_null(void *arg)
{
	must(!bide_coro_yield(NULL) && !bide_coro_closing());
	return arg;
}

/* A NULL that was sent is told from the one that asks to end. */
START_TEST(a_null_that_was_sent_is_no_request_to_end)
{
	bide_coro *coro = new_coro(take_a_null, NULL);
	ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 1);
	ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 0);
	close_coro(coro);
}
END_TEST

VIRTUAL_TEST(a_task_is_no_coroutine)
{
	ck_fails_null(bide_coro_yield("x"), EPERM);
}

static void *resume_myself(void *arg)
{
	(void)arg;
	ck_fails(bide_coro_resume(observed, NULL, NULL), EBUSY);
	ck_fails(bide_coro_close(observed), EBUSY);
	return NULL;
}

START_TEST(a_running_coroutine_can_neither_be_resumed_nor_closed)
{
	observed = new_coro(resume_myself, NULL);
	ck_assert_int_eq(bide_coro_resume(observed, NULL, NULL), 0);
	close_coro(observed);
}
END_TEST

/* ---- towers --------------------------------------------------------------------------------------------------- */

static bide_coro *tower[64];
static int height;

static void *storey(void *arg)
{
	intptr_t level = number(arg);
	void *out = NULL;
	if (level == height - 1) {
		for (int i = 0; i < height; i++) {
			must(bide_coro_state(tower[i]) == BIDE_CORO_EXECUTING);
			ck_fails(bide_coro_resume(tower[i], NULL, NULL), EBUSY);
			ck_fails(bide_coro_close(tower[i]), EBUSY);
		}
		for (intptr_t i = 0;; i++)
			if (bide_coro_yield(pointer(i)) == NULL)
				return pointer(-1);
	}
	tower[level + 1] = new_coro(storey, pointer(level + 1));
	while (bide_coro_resume(tower[level + 1], "go on", &out) == 1)
		if (bide_coro_yield(pointer(number(out) + 1)) == NULL)
			break;
	close_coro(tower[level + 1]);
	return pointer(-1);
}

static void climb(void)
{
	void *out;
	tower[0] = new_coro(storey, pointer(0));
	for (intptr_t i = 0; i < 10; i++) {
		must(bide_coro_resume(tower[0], "go on", &out) == 1);
		must(number(out) == i + height - 1); /* each storey has added one */
		must(bide_coro_state(tower[height - 1]) == BIDE_CORO_SUSPENDED);
	}
	close_coro(tower[0]); /* and from there all others */
	must(!bide_coro_yield(NULL));
}

START_TEST(coroutines_nest_and_each_yields_to_its_own_resumer)
{
	for (height = 1; height <= 64; height *= 2)
		climb();
}
END_TEST

VIRTUAL_TEST(coroutines_nest_inside_a_task)
{
	for (height = 1; height <= 64; height *= 4)
		climb();
}

/* ---- inside a task ---------------------------------------------------------------------------------------------- */

static void *sleep_and_yield(void *arg)
{
	for (int i = 0; i < 3; i++) {
		pass(BIDE_SEC);
		note("%s%d@%lld", (char *)arg, i, (long long)(bide_now() / BIDE_SEC));
		bide_coro_yield(NULL);
	}
	return NULL;
}

static void *drive(void *arg)
{
	bide_coro *coro = new_coro(sleep_and_yield, arg);
	while (bide_coro_resume(coro, NULL, NULL) == 1)
		pass(BIDE_SEC);
	close_coro(coro);
	return NULL;
}

static void *count_seconds(void *arg)
{
	for (int i = 0; i < 3; i++) {
		pass(BIDE_SEC + BIDE_SEC / 2);
		note("other");
	}
	return arg;
}

ORDERED_TEST(a_suspending_call_parks_the_whole_tower_and_others_run)
{
	bide_task *a = must_spawn(drive, "a"), *b = must_spawn(drive, "b"), *c = must_spawn(count_seconds, NULL);
	must_end_well(a);
	must_end_well(b);
	must_end_well(c);
	expect_notes("a0@1 b0@1 other other a1@3 b1@3 other a2@5 b2@5");
}

static int fds[2];

static void *read_lines(void *arg)
{
	char byte[2] = "";
	(void)arg;
	while (bide_read(fds[0], byte, 1) == 1)
		bide_coro_yield(byte);
	return NULL;
}

static void *read_through_a_coroutine(void *arg)
{
	bide_coro *coro = new_coro(read_lines, NULL);
	void *out;
	while (bide_coro_resume(coro, NULL, &out) == 1)
		note("%s", (char *)out);
	close_coro(coro);
	return arg;
}

VIRTUAL_TEST(a_coroutine_reads_from_a_descriptor_as_its_task_would)
{
	ck_assert_int_eq(pipe(fds), 0);
	bide_task *task = must_spawn(read_through_a_coroutine, NULL);
	for (int i = 0; i < 3; i++) {
		settle();
		ck_assert_int_eq(write(fds[1], &"abc"[i], 1), 1);
	}
	settle();
	bide_close(fds[1]);
	must_end_well(task);
	bide_close(fds[0]);
	expect_notes("a b c");
}

static void *resume_anothers(void *arg)
{
	bide_coro *coro = arg;
	note("%d", bide_coro_state(coro));
	int expected = bide_coro_state(coro) == BIDE_CORO_EXECUTING ? EBUSY : EPERM;
	ck_fails(bide_coro_resume(coro, NULL, NULL), EPERM);
	ck_fails(bide_coro_close(coro), expected);
	return NULL;
}

static void *yield_then_park(void *arg)
{
	bide_coro_yield(NULL);
	pass(BIDE_SEC);
	return arg;
}

VIRTUAL_TEST(another_task_cannot_resume_or_close_what_this_one_began)
{
	bide_coro *coro = new_coro(yield_then_park, NULL);
	ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 1);
	must_end_well(must_spawn(resume_anothers, coro)); /* suspended */
	bide_task *task = must_spawn(resume_anothers, coro); /* and while its body has parked the task */
	ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 0);
	must_end_well(task);
	close_coro(coro);
	expect_notes("1 2");
}

static void *begin_it(void *arg)
{
	void *out;
	ck_assert_int_eq(bide_coro_resume(arg, NULL, &out), 1);
	ck_assert_int_eq(bide_coro_resume(arg, pointer(3), &out), 1);
	note("%d", (int)number(out));
	close_coro(arg);
	return NULL;
}

/* One that was only created belongs to nobody yet. */
VIRTUAL_TEST(a_coroutine_belongs_to_the_task_that_resumes_it_first)
{
	bide_coro *coro = new_coro(running_sum, pointer(4));
	must_end_well(must_spawn(begin_it, coro));
	expect_notes("7");
	close_coro(new_coro(running_sum, NULL));
}

static void *refused_in_a_callback(void *arg)
{
	ck_fails(bide_sleep(1), EPERM);
	bide_coro_yield(arg);
	return NULL;
}

static void use_in_a_callback(void *arg)
{
	bide_coro *coro = new_coro(refused_in_a_callback, arg);
	void *out;
	must(bide_coro_resume(coro, NULL, &out) == 1);
	note("%s", (char *)out);
	close_coro(coro);
}

VIRTUAL_TEST(a_callback_may_use_a_coroutine_that_does_not_suspend)
{
	must(bide_call_soon(use_in_a_callback, "callback") == 0);
	settle();
	expect_notes("callback");
}

/* ---- cancels and ends ---------------------------------------------------------------------------------------------- */

static void *be_canceled_inside(void *arg)
{
	ck_fails(bide_sleep(BIDE_NEVER), ECANCELED);
	bide_coro_yield(NULL); /* no suspending call: it works */
	ck_fails(bide_sleep(1), ECANCELED);
	return arg;
}

static void *run_what_is_canceled(void *arg)
{
	bide_coro *coro = new_coro(be_canceled_inside, NULL);
	(void)arg;
	must(bide_coro_resume(coro, NULL, NULL) == 1);
	must(bide_coro_resume(coro, NULL, NULL) == 0);
	close_coro(coro);
	ck_fails(bide_sleep(1), ECANCELED);
	return NULL;
}

VIRTUAL_TEST(a_cancel_of_the_task_reaches_the_innermost_frame)
{
	bide_task *task = must_spawn(run_what_is_canceled, NULL);
	settle();
	ck_assert_int_eq(bide_cancel(task, NULL), 0);
	ck_assert_int_eq(must_join(task).err, ECANCELED);
}

/* ---- closing --------------------------------------------------------------------------------------------------------- */

static void *never_entered(void *arg)
{
	(void)arg;
	ck_abort_msg("entered");
}

START_TEST(closing_one_that_was_only_created_never_enters_it)
{
	close_coro(new_coro(never_entered, NULL));
}
END_TEST

static void *clean_up(void *arg)
{
	int rounds = *(int *)arg;
	must(!bide_coro_closing());
	must(!bide_coro_yield("first") && errno == ECANCELED);
	must(bide_coro_closing());
	for (int i = 0; i < rounds; i++) {
		errno = 0;
		ck_fails_null(bide_coro_yield("dropped"), ECANCELED);
	}
	note("cleaned up");
	return NULL;
}

START_TEST(closing_a_suspended_one_lets_it_clean_up)
{
	static const int rounds[] = { 0, 1, 10, 999 };
	bide_coro *coro = new_coro(clean_up, (void *)(uintptr_t)&rounds[_i]);
	ck_assert_int_eq(bide_coro_resume(coro, "x", NULL), 1);
	close_coro(coro);
	expect_notes("cleaned up");
}
END_TEST

static bool may_end;

static void *yield_for_ever(void *arg)
{
	void *in = arg;
	while (!may_end)
		in = bide_coro_yield(in);
	return in;
}

START_TEST(one_that_goes_on_yielding_is_left_suspended_and_usable)
{
	bide_coro *coro = new_coro(yield_for_ever, "arg");
	void *out;
	may_end = false;
	ck_assert_int_eq(bide_coro_resume(coro, NULL, &out), 1);
	ck_fails(bide_coro_close(coro), EDEADLK);
	ck_assert_int_eq(bide_coro_state(coro), BIDE_CORO_SUSPENDED);
	ck_assert_int_eq(bide_coro_resume(coro, "again", &out), 1); /* no longer asked to end */
	ck_assert_str_eq(out, "again");
	ck_fails(bide_coro_close(coro), EDEADLK);
	may_end = true;
	close_coro(coro);
}
END_TEST

static void *sleep_while_closing(void *arg)
{
	bide_coro_yield(NULL);
	pass(BIDE_SEC);
	note("slept");
	bide_coro_yield(NULL);
	pass(BIDE_SEC);
	note("slept");
	return arg;
}

static void *close_it_too(void *arg)
{
	ck_fails(bide_coro_close(arg), EBUSY);
	note("busy");
	return NULL;
}

VIRTUAL_TEST(a_body_that_is_being_closed_may_suspend)
{
	bide_coro *coro = new_coro(sleep_while_closing, NULL);
	ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 1);
	bide_task *task = must_spawn(close_it_too, coro);
	close_coro(coro);
	must_end_well(task);
	ck_assert(bide_now() == 2 * BIDE_SEC);
	expect_notes("busy slept slept");
}

static void *close_a_sibling(void *arg)
{
	close_coro(arg);
	bide_coro_yield("closed it");
	return NULL;
}

START_TEST(a_coroutine_may_close_another_one)
{
	static const int none = 0;
	bide_coro *victim = new_coro(clean_up, (void *)(uintptr_t)&none);
	bide_coro *coro = new_coro(close_a_sibling, victim);
	void *out;
	ck_assert_int_eq(bide_coro_resume(victim, NULL, NULL), 1);
	ck_assert_int_eq(bide_coro_resume(coro, NULL, &out), 1);
	ck_assert_str_eq(out, "closed it");
	expect_notes("cleaned up");
	close_coro(coro);
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------------------------------------ */

static void *generate(void *arg)
{
	for (intptr_t i = 0;; i++)
		if (!bide_coro_yield(pointer(number(arg) + i)))
			return NULL;
}

static void *generate_on_a_thread(void *arg)
{
	enum { COROS = 20 };
	bide_coro *coros[COROS];
	void *out;
	int rounds = suite_scaled_down(500, 50);
	for (int lap = 0; lap < 5; lap++) {
		for (int i = 0; i < COROS; i++)
			coros[i] = new_coro(generate, pointer(number(arg) + i * 1000));
		for (int n = 0; n < rounds; n++)
			for (int i = 0; i < COROS; i++)
				if (bide_coro_resume(coros[i], "go on", &out) != 1 || number(out) != number(arg) + i * 1000 + n)
					return "wrong";
		for (int i = 0; i < COROS; i++)
			close_coro(coros[i]);
	}
	return NULL;
}

START_TEST(generators_run_on_several_threads_at_once)
{
	pthread_t threads[4];
	void *result;
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, generate_on_a_thread, pointer(i * 1000000)), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		ck_assert_ptr_null(result);
	}
}
END_TEST

static void on_another_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;
	must(pthread_create(&thread, NULL, fn, arg) == 0);
	pthread_join(thread, NULL);
}

static void *begin_and_end(void *arg)
{
	void *out;
	if (bide_coro_resume(arg, NULL, &out) == 1 && bide_coro_resume(arg, pointer(3), &out) == 1)
		note("%d", (int)number(out));
	bide_coro_resume(arg, pointer(0), NULL);
	return NULL;
}

START_TEST(one_created_here_may_begin_and_end_on_another_thread)
{
	bide_coro *coro = new_coro(running_sum, pointer(4));
	on_another_thread(begin_and_end, coro);
	expect_notes("7");
	ck_fails(bide_coro_resume(coro, NULL, NULL), ESRCH);
	close_coro(coro); /* it has ended: anybody may free it */
}
END_TEST

static void *close_from_here(void *arg)
{
	errno = 0;
	int status = bide_coro_close(arg);
	note("%d:%d", status, status < 0 ? errno : 0);
	return NULL;
}

static void *resume_from_here(void *arg)
{
	errno = 0;
	int status = bide_coro_resume(arg, NULL, NULL);
	note("%d:%d", status, status < 0 ? errno : 0);
	return NULL;
}

START_TEST(one_that_began_here_is_refused_to_another_thread)
{
	bide_coro *coro = new_coro(running_sum, pointer(4));
	ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 1);
	on_another_thread(resume_from_here, coro);
	on_another_thread(close_from_here, coro);
	expect_notes("-1:1 -1:1");
	ck_assert_int_eq(bide_coro_state(coro), BIDE_CORO_SUSPENDED);
	close_coro(coro);
}
END_TEST

START_TEST(one_that_did_not_begin_may_be_closed_by_another_thread)
{
	on_another_thread(close_from_here, new_coro(never_entered, NULL));
	expect_notes("0:0");
}
END_TEST

/* ---- errno ------------------------------------------------------------------------------------------------------------------ */

static void *set_errno_inside(void *arg)
{
	must(errno == EXDEV); /* it is the resumer's: one flow of control */
	errno = EDOM;
	bide_coro_yield(NULL);
	must(errno == ERANGE);
	errno = EIO;
	return arg;
}

START_TEST(errno_is_not_touched_by_resume_and_yield)
{
	bide_coro *coro = new_coro(set_errno_inside, NULL);
	errno = EXDEV;
	ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 1);
	ck_assert_int_eq(errno, EDOM);
	errno = ERANGE;
	ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 0);
	ck_assert_int_eq(errno, EIO);
	errno = EXDEV;
	close_coro(coro);
	ck_assert_int_eq(errno, EXDEV);
}
END_TEST

static void *keep_errno_over_a_park(void *arg)
{
	errno = number(arg);
	pass(BIDE_SEC);
	must(errno == number(arg));
	bide_coro_yield(NULL);
	return NULL;
}

static void *drive_errno(void *arg)
{
	bide_coro *coro = new_coro(keep_errno_over_a_park, arg);
	must(bide_coro_resume(coro, NULL, NULL) == 1);
	must(errno == number(arg));
	close_coro(coro);
	return NULL;
}

VIRTUAL_TEST(errno_of_a_tower_survives_that_its_task_parks)
{
	bide_task *a = must_spawn(drive_errno, pointer(EDOM)), *b = must_spawn(drive_errno, pointer(ERANGE));
	must_end_well(a);
	must_end_well(b);
}

/* ---- stacks and memory ---------------------------------------------------------------------------------------------------------- */

static const struct {
	size_t size;
	int err;
} sizes[] = {
	{ 0, 0 }, { 1, EINVAL }, { 4095, EINVAL }, { SIZE_MAX, EINVAL }, { SIZE_MAX / 2, EINVAL }, { (size_t)-4096, EINVAL },
	{ 64 * 1024, 0 }, { 64 * 1024 + 1, 0 }, { 1000001, 0 }, { 32 * 1024 * 1024, 0 },
};

/* scenario B9 */
START_TEST(a_stack_size_is_rounded_up_or_refused)
{
	if (sizes[_i].err) {
		ck_fails_null(bide_coro_new(running_sum, NULL, sizes[_i].size), sizes[_i].err);
		return;
	}
	bide_coro *coro = bide_coro_new(running_sum, pointer(1), sizes[_i].size);
	void *out;
	ck_assert_ptr_nonnull(coro);
	ck_assert_int_eq(bide_coro_resume(coro, NULL, &out), 1);
	ck_assert_int_eq(number(out), 1);
	close_coro(coro);
}
END_TEST

static __attribute__((noinline)) void *fill_the_stack(void *arg)
{
	size_t size = *(size_t *)arg - 4096;
	volatile char *room = __builtin_alloca(size);
	for (size_t i = size; i-- > 0;)
		room[i] = (char)i;
	bide_coro_yield(NULL);
	for (size_t i = 0; i < size; i++)
		must(room[i] == (char)i);
	return NULL;
}

START_TEST(a_coroutine_may_use_the_stack_it_asked_for)
{
	static size_t asked[] = { 64 * 1024, 200 * 1024 };
	for (int i = 0; i < 2; i++) {
		bide_coro *coro = bide_coro_new(fill_the_stack, &asked[i], asked[i]);
		ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 1);
		close_coro(coro);
	}
}
END_TEST

static const char *const failures[] = { "malloc:ENOMEM@1", "malloc:ENOMEM@2", "malloc:ENOMEM@3", "mmap:ENOMEM",
	"madvise:EINVAL,mprotect:ENOMEM" };

/* A size that no other test uses, so that no stack of it is kept. */
START_TEST(without_memory_none_is_made_and_the_next_one_works)
{
	size_t size = 5000 * 1024 + (size_t)_i * 600 * 1024;
	ck_assert_int_eq(bide_fault(failures[_i]), 0);
	ck_fails_null(bide_coro_new(running_sum, NULL, size), ENOMEM);
	bide_fault(NULL);
	bide_coro *coro = bide_coro_new(running_sum, pointer(1), size);
	ck_assert_ptr_nonnull(coro);
	ck_assert_int_eq(bide_coro_resume(coro, NULL, NULL), 1);
	close_coro(coro);
}
END_TEST

START_TEST(a_hundred_thousand_one_after_the_other_cost_nothing_in_the_end)
{
	int count = suite_scaled_down(100000, 3000);
	long before = 0;
	int mappings = 0;
	for (int i = 0; i < count; i++) {
		bide_coro *coro = new_coro(generate, NULL);
		must(bide_coro_resume(coro, NULL, NULL) == 1);
		if (i % 2)
			must(bide_coro_resume(coro, "x", NULL) == 1);
		close_coro(coro);
		if (i == count / 10) {
			before = resident_kib();
			mappings = count_mappings();
		}
	}
	if (suite_is_native()) {
		ck_assert_int_le(resident_kib(), before + 512);
		ck_assert_int_le(count_mappings(), mappings + 8);
	}
}
END_TEST

static void *run_a_loop(void *arg)
{
	bide_time second = BIDE_SEC;
	run_virtual(sleeper, &second);
	bide_coro_yield("ran one");
	run_virtual(sleeper, &second);
	return arg;
}

START_TEST(a_loop_may_run_inside_a_coroutine)
{
	bide_coro *coro = bide_coro_new(run_a_loop, "ran two", 256 * 1024);
	void *out;
	ck_assert_int_eq(bide_coro_resume(coro, NULL, &out), 1);
	ck_assert_str_eq(out, "ran one");
	ck_assert_int_eq(bide_coro_resume(coro, NULL, &out), 0);
	ck_assert_str_eq(out, "ran two");
	close_coro(coro);
}
END_TEST

int main(void)
{
	return SUITE("coro",
	    TEST(values_travel_both_ways),
	    TEST(a_coroutine_has_four_states),
	    TEST(one_that_has_ended_cannot_be_resumed),
	    TEST(null_is_refused),
	    TEST(outside_a_coroutine_nothing_can_be_yielded),
	    TEST(a_null_that_was_sent_is_no_request_to_end),
	    TEST(a_task_is_no_coroutine),
	    TEST(a_running_coroutine_can_neither_be_resumed_nor_closed),
	    TEST(coroutines_nest_and_each_yields_to_its_own_resumer),
	    TEST(coroutines_nest_inside_a_task),
	    TEST(a_suspending_call_parks_the_whole_tower_and_others_run),
	    TEST(a_coroutine_reads_from_a_descriptor_as_its_task_would),
	    TEST(another_task_cannot_resume_or_close_what_this_one_began),
	    TEST(a_coroutine_belongs_to_the_task_that_resumes_it_first),
	    TEST(a_callback_may_use_a_coroutine_that_does_not_suspend),
	    TEST(a_cancel_of_the_task_reaches_the_innermost_frame),
	    TEST(closing_one_that_was_only_created_never_enters_it),
	    LOOP(closing_a_suspended_one_lets_it_clean_up, 0, 4),
	    TEST(one_that_goes_on_yielding_is_left_suspended_and_usable),
	    TEST(a_body_that_is_being_closed_may_suspend),
	    TEST(a_coroutine_may_close_another_one),
	    TEST(generators_run_on_several_threads_at_once),
	    TEST(one_created_here_may_begin_and_end_on_another_thread),
	    TEST(one_that_began_here_is_refused_to_another_thread),
	    TEST(one_that_did_not_begin_may_be_closed_by_another_thread),
	    TEST(errno_is_not_touched_by_resume_and_yield),
	    TEST(errno_of_a_tower_survives_that_its_task_parks),
	    TABLE(a_stack_size_is_rounded_up_or_refused, sizes),
	    TEST(a_coroutine_may_use_the_stack_it_asked_for),
	    TABLE(without_memory_none_is_made_and_the_next_one_works, failures),
	    TEST(a_hundred_thousand_one_after_the_other_cost_nothing_in_the_end),
	    TEST(a_loop_may_run_inside_a_coroutine));
}
