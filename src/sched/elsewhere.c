/* SPDX-License-Identifier: MIT
 * Layer sched: a call that is for the thread of its loop, made on another one. The report hook is the loop's, and
 * is not called on a thread that it does not know: so this goes to stderr. */
#include "sched/elsewhere.h"

#include <stdatomic.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/output.h"

static const char text[] =
	"bide: a call failed with EPERM: it is for the thread of a loop, or for another loop's. Any thread may call "
	"bide_post(), bide_post_cancel(), bide_future_post(), bide_post_signal(), bide_loop_ref(), bide_loop_unref(), "
	"bide_pool_new(), bide_pool_close() and what does not wait of a shared channel: see bide-threads(7)\n";

static atomic_int debugging;           /* runs in debug mode */
static atomic_int_least64_t silent_to; /* a moment in real time */

void elsewhere_debug(int change)
{
	atomic_fetch_add(&debugging, change);
}

static void tell(void)
{
	bide_time now = clock_monotonic();
	int_least64_t before = atomic_load(&silent_to);
	if (now < before || !atomic_compare_exchange_strong(&silent_to, &before, now + BIDE_SEC))
		return;
	output_to_stderr(text, sizeof text - 1);
}

int fail_elsewhere(void)
{
	if (atomic_load(&debugging) > 0)
		tell();
	return fail_with(EPERM);
}
