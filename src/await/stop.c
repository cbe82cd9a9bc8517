/* SPDX-License-Identifier: MIT
 * Layer await: what ends a run before its time: bide_stop() and two signals. See stop.h. */
#include "await/stop.h"

#include <signal.h>

#include "base/fail.h"
#include "sched/signals.h"

static int stop(struct run *run, const char *reason)
{
	if (!run->main || run->main->task.state == TASK_DONE)
		return fail_with(ESRCH);
	cancel_request(run->main, reason);
	return 0;
}

static void heard(struct signal_watch *watch, void *arg)
{
	int number;
	while ((number = signals_take(watch)))
		stop(arg, number == SIGINT ? "SIGINT" : "SIGTERM");
}

int stop_watch_begin(struct run *run)
{
	run->stop_signals = signals_watch(&run->loop, signal_bit(SIGINT) | signal_bit(SIGTERM), true, heard, run);
	return run->stop_signals ? 0 : -1;
}

void stop_watch_end(struct run *run)
{
	if (run->stop_signals)
		signals_unwatch(&run->loop, run->stop_signals);
	run->stop_signals = NULL;
}

int bide_stop(void)
{
	return loop_current ? stop(run_of(loop_current), "bide_stop") : fail_with(EPERM);
}
