/* SPDX-License-Identifier: MIT
 * Layer inspect: what is done with every run, whoever looks at it later. See struct inspector in await/record.h. */
#include "inspect/canary.h"
#include "inspect/quit.h"
#include "inspect/trace.h"
#include "inspect/watchdog.h"

static bool answers_quit(const struct watch *watch)
{
	return (watch->run->config.flags & (BIDE_DEBUG | BIDE_NO_SIGNALS)) == BIDE_DEBUG;
}

static bool is_watched(const struct watch *watch)
{
	return watch_is_timed(watch) || answers_quit(watch);
}

static void watching_begins(const struct watch *watch)
{
	if (watch_is_timed(watch))
		canary_begin(watch);
	if (is_watched(watch))
		watchdog_begin();
	if (answers_quit(watch))
		quit_begin();
}

/* In a forked process the parent's watchdog and handlers are forgotten already. */
static void watching_ends(struct run *run)
{
	const struct watch *watch = run->watch;
	bool is_ours = watch_is_listed(watch), watched = is_watched(watch), quits = answers_quit(watch);
	run->loop.slices = NULL;
	watch_end(run);
	if (is_ours && quits)
		quit_end();
	if (is_ours && watched)
		watchdog_end();
}

static void run_begins(struct run *run)
{
	watch_begin(run);
	if (run->watch)
		watching_begins(run->watch);
	trace_loop_begins(&run->loop);
}

static void run_ends(struct run *run)
{
	trace_loop_ends(&run->loop);
	if (run->watch)
		watching_ends(run);
}

static void forked(void)
{
	watches_forget();
	watchdog_forget();
	quit_forget();
	freeze_forget();
}

const struct inspector inspector = { run_begins, run_ends, forked };
