/* SPDX-License-Identifier: MIT
 * The switch in all its forms, tasks and coroutines, where the processor insists on landing pads. Scenario
 * A7. A plain program, since libcheck is linked in and was not built with them. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bide.h>

#include "context.h"
#include "landing_pads.h"

static int passed, failed;

static void check(const char *sentence, bool holds)
{
	if (holds) {
		passed++;
	} else {
		failed++;
		printf("switch_landing_pads: not true: %s\n", sentence);
	}
}

/* ---- the bare switch --------------------------------------------------------------------------- */

typedef void form_fn(struct context *from, const struct context *to);

static __attribute__((noinline)) void by_inline(struct context *from, const struct context *to)
{
	context_switch_inline(from, to);
}

static CONTEXT_RETURNS_BY_JUMP __attribute__((noinline)) void by_jump(struct context *from,
    const struct context *to)
{
	static volatile int switches;
	context_switch_inline(from, to);
	switches++;
}

static form_fn *const forms[] = { context_switch, by_inline, by_jump };
#define FORMS 3

static struct context here, there;
static form_fn *back;
static int visits;

static void visit(void *arg)
{
	(void)arg;
	for (;;) {
		visits++;
		back(&there, &here);
	}
}

static void switch_by(form_fn *out, form_fn *other)
{
	static char stack[65536];
	back = other;
	visits = 0;
	context_init(&there, stack + sizeof stack, visit, NULL);
	for (int i = 0; i < 3; i++)
		out(&here, &there);
	check("a context is entered, and resumed", visits == 3);
}

/* ---- the library ------------------------------------------------------------------------------- */

static void note_call(void *arg)
{
	++*(int *)arg;
}

static void *yield_values(void *arg)
{
	for (intptr_t i = 0; i < 3; i++) {
		bide_yield();
		bide_coro_yield((void *)i);
	}
	return arg;
}

static void *live(void *arg)
{
	void *out = NULL;
	bide_coro *coro = bide_coro_new(yield_values, arg, 0);
	bide_defer(note_call, arg);
	while (bide_coro_resume(coro, NULL, &out) == 1)
		bide_sleep(BIDE_MSEC);
	bide_coro_close(coro);
	return out;
}

static void *run_all(void *arg)
{
	int calls = 0;
	bide_timer timer = { { 0 } };
	bide_task *tasks[3];
	for (int i = 0; i < 3; i++)
		tasks[i] = bide_spawn(live, &calls);
	bide_call_soon(note_call, &calls);
	bide_call_later(&timer, 1, note_call, &calls);
	for (int i = 0; i < 3; i++) {
		bide_result result = { NULL, -1 };
		bide_join(tasks[i], &result);
		check("a task returns its value", result.err == 0 && result.value == &calls);
	}
	check("deferred calls, callbacks and timers ran", calls == 5);
	return arg;
}

/* ---- without one ------------------------------------------------------------------------------- */

static void check_that_a_miss_traps(void)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		close(STDERR_FILENO); /* an emulator would tell of it */
		landing_pads_miss(NULL);
		_exit(0);
	}
	int status = 0;
	check("a jump to where there is none traps",
	    waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGILL);
}

int main(void)
{
	if (landing_pads_enforce())
		check_that_a_miss_traps();
	else
		printf("note: landing pads are not enforced here\n");
	for (int out = 0; out < FORMS; out++)
		for (int other = 0; other < FORMS; other++)
			switch_by(forms[out], forms[other]);
	check("a run ends well", bide_run(run_all, NULL, NULL, NULL) == 0);
	printf("switch_landing_pads: %d passed, %d failed\n", passed, failed);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
