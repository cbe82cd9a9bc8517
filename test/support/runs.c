/* SPDX-License-Identifier: MIT */
#include "runs.h"

#include <stdio.h>

#include "base/clock.h"
#include "resources.h"

void *run_counted(struct counting *counting, unsigned flags, bide_fn *main_fn, void *arg)
{
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result = { NULL, -1 };
	config.allocator = &counting->allocator;
	config.flags = flags;
	config.seed = suite_seed();
	errno = 0;
	int status = bide_run(main_fn, arg, &config, &result);
	must_msg(status == 0, "bide_run failed: %s", strerror(errno));
	must_msg(result.err == 0, "main failed: %s", strerror(result.err));
	must(counting_is_balanced(counting));
	return result.value;
}

static void *run_as_told(unsigned flags, bide_fn *main_fn, void *arg)
{
	struct counting counting;
	counting_init(&counting, false);
	return run_counted(&counting, flags, main_fn, arg);
}

static unsigned disorder(void)
{
	return suite_is_hostile() ? BIDE_RANDOM_ORDER : 0;
}

void *run_with(unsigned flags, bide_fn *main_fn, void *arg)
{
	return run_as_told(flags | disorder(), main_fn, arg);
}

void *run_virtual_in_order(bide_fn *main_fn, void *arg)
{
	return run_as_told(BIDE_VIRTUAL_CLOCK, main_fn, arg);
}

void *run_real_in_order(bide_fn *main_fn, void *arg)
{
	return run_as_told(0, main_fn, arg);
}

void *run_virtual(bide_fn *main_fn, void *arg)
{
	return run_with(BIDE_VIRTUAL_CLOCK, main_fn, arg);
}

void *run_real(bide_fn *main_fn, void *arg)
{
	return run_with(0, main_fn, arg);
}

bide_task *must_be_spawned(bide_task *task)
{
	must_msg(task, "bide_spawn: %s", strerror(errno));
	return task;
}

bide_task *must_spawn(bide_fn *fn, void *arg)
{
	return must_be_spawned(bide_spawn(fn, arg));
}

bide_result must_join(bide_task *task)
{
	bide_result result = { NULL, -1 };
	must_msg(bide_join(task, &result) == 0, "bide_join: %s", strerror(errno));
	return result;
}

void *must_end_well(bide_task *task)
{
	bide_result result = must_join(task);
	must_msg(result.err == 0, "a task failed: %s", strerror(result.err));
	return result.value;
}

void *sleeper(void *arg)
{
	return bide_sleep(*(bide_time *)arg) == 0 ? NULL : bide_fail(errno);
}

void *forever_sleeper(void *arg)
{
	(void)arg;
	return bide_sleep(BIDE_NEVER) == 0 ? NULL : bide_fail(errno);
}

void *nothing(void *arg)
{
	return arg;
}

void pass(bide_time delay)
{
	must_msg(bide_sleep(delay) == 0, "bide_sleep: %s", strerror(errno));
}

void settle(void)
{
	must_msg(bide_settle() == 0, "bide_settle: %s", strerror(errno));
}

void undisturbed(void)
{
	loop_current->budget = 100;
}

void compute(bide_time duration)
{
	bide_time end = clock_monotonic() + duration;
	while (clock_monotonic() < end)
		;
}

void count_report(int kind, const char *text, void *ctx)
{
	struct reports *reports = ctx;
	must(kind > 0 && kind < REPORT_KINDS);
	reports->count[kind]++;
	snprintf(reports->text[kind], sizeof reports->text[kind], "%s", text);
}

bide_config config_with(unsigned flags, struct reports *reports)
{
	bide_config config = BIDE_CONFIG_INIT;
	config.flags = flags;
	config.report = count_report;
	config.report_ctx = reports;
	return config;
}
