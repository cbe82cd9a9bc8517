/* SPDX-License-Identifier: MIT
 * Layer inspect: what is done with every run, whoever looks at it later. See struct inspector in await/record.h. */
#include "inspect/watchdog.h"

#include "inspect/trace.h"
#include "inspect/watch.h"

static void run_begins(struct run *run)
{
	watch_begin(run);
	if (run->watch && watch_is_timed(run->watch))
		watchdog_begin(run->watch);
	trace_loop_begins(&run->loop);
}

static void run_ends(struct run *run)
{
	bool is_timed = run->watch && watch_is_timed(run->watch);
	trace_loop_ends(&run->loop);
	run->loop.slices = NULL;
	watch_end(run);
	if (is_timed)
		watchdog_end();
}

static void forked(void)
{
	watches_forget();
	watchdog_forget();
	freeze_forget();
}

const struct inspector inspector = { run_begins, run_ends, forked };
