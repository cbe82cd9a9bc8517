/* SPDX-License-Identifier: MIT
 * A switch makes no system call: they are counted from outside, by ptrace. Scenario A13.
 * valgrind: skip (it and emulators have no ptrace) */
#include <stdio.h>
#include <sys/syscall.h>

#include "runs.h"
#include "suite.h"
#include "traced.h"

static int yields;

static void *yield_often(void *arg)
{
	for (int i = 0; i < yields / 2; i++)
		must(bide_yield() == 0);
	return arg;
}

static void *yield_in_two_tasks(void *arg)
{
	bide_task *first = must_spawn(yield_often, NULL), *second = must_spawn(yield_often, NULL);
	must(bide_yield() == 0);
	traced_mark();
	must_end_well(first);
	must_end_well(second);
	traced_mark();
	return arg;
}

static void *yield_values(void *arg)
{
	for (int i = 0; i <= yields / 2; i++)
		bide_coro_yield(arg);
	return arg;
}

static void run_tasks(void)
{
	run_real(yield_in_two_tasks, NULL);
}

static void run_coros(void)
{
	bide_coro *coro = bide_coro_new(yield_values, NULL, 0);
	bide_coro_resume(coro, NULL, NULL);
	traced_mark();
	for (int i = 0; i < yields / 2; i++)
		must(bide_coro_resume(coro, NULL, NULL) == 1);
	traced_mark();
}

static const struct {
	void (*run)(void);
	int most_percent;
} cases[] = {
	{ run_tasks, 1 }, /* the loop looks at its descriptors now and then */
	{ run_coros, 0 },
};

START_TEST(a_switch_makes_no_system_call) /* A13 */
{
	struct traced traced;
	yields = suite_scaled_down(1000000, 10000);
	if (!traced_run(cases[_i].run, &traced))
		return;
	ck_assert_int_eq(traced.of[SYS_rt_sigprocmask], 0);
	must_msg(traced.calls <= (long)yields / 100 * cases[_i].most_percent, "%ld system calls in %d switches",
	    traced.calls, yields);
}
END_TEST

int main(void)
{
	return SUITE("switch_syscalls", TABLE(a_switch_makes_no_system_call, cases));
}
