/* SPDX-License-Identifier: MIT
 * setjmp and longjmp within one task or coroutine, as libpng and others use them, with the checks of a
 * fortified build, which look at where the stack pointer is. Scenario A12. */
#undef _FORTIFY_SOURCE
#ifdef __OPTIMIZE__
#define _FORTIFY_SOURCE 3 /* an older C library takes it for 2 */
#endif

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "runs.h"
#include "suite.h"

typedef void suspend_fn(void);

static void yield_task(void)
{
	must(bide_yield() == 0);
}

static void park_task(void)
{
	must(bide_sleep(1) == 0);
}

static void yield_coro(void)
{
	bide_coro_yield(NULL);
}

struct jump {
	jmp_buf target;
	suspend_fn *suspend;
	int value;
};

typedef void down_fn(struct jump *jump, int depth);
static down_fn *volatile deeper; /* go_down(), which the compiler need not know */

static void go_down(struct jump *jump, int depth)
{
	if (depth == 4) {
		jump->suspend();
		longjmp(jump->target, jump->value);
	}
	deeper(jump, depth + 1);
	__asm__ volatile(""); /* not a tail call */
}

static void *jump_around(void *arg)
{
	deeper = go_down;
	struct jump jump = { .suspend = *(suspend_fn **)arg };
	volatile int local = 7;
	for (volatile int round = 1; round <= 20; round++) {
		int value = setjmp(jump.target);
		if (value == 0) {
			jump.suspend();
			local++;
			jump.value = round;
			deeper(&jump, 1);
		}
		must(value == round);
		must(local == 7 + round);
		jump.suspend();
	}
	return arg;
}

static void *jump_in_two_tasks(void *arg)
{
	bide_task *first = must_spawn(jump_around, arg), *second = must_spawn(jump_around, arg);
	must(must_end_well(first) == arg && must_end_well(second) == arg);
	return NULL;
}

static suspend_fn *const ways[] = { yield_task, park_task };

START_TEST(longjmp_works_within_a_task) /* A12 */
{
	suspend_fn *suspend = ways[_i];
	run_virtual(jump_in_two_tasks, &suspend);
}
END_TEST

START_TEST(longjmp_works_within_a_coroutine) /* A12 */
{
	suspend_fn *suspend = yield_coro;
	bide_coro *coro = bide_coro_new(jump_around, &suspend, 0);
	void *out = NULL;
	while (bide_coro_resume(coro, NULL, &out) == 1)
		;
	must(out == &suspend);
	must(bide_coro_close(coro) == 0);
}
END_TEST

int main(void)
{
	return SUITE("switch_longjmp",
	    TABLE(longjmp_works_within_a_task, ways),
	    TEST(longjmp_works_within_a_coroutine));
}
