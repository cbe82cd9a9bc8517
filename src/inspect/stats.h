/* SPDX-License-Identifier: MIT
 * Layer inspect: a loop's figures as its user sees them. */
#ifndef INSPECT_STATS_H
#define INSPECT_STATS_H

#include <bide/inspect.h>

/* All that needs no walk and no system call, the rest of *stats is 0. NULL is this thread's loop. 0, or -1 with
 * EPERM, ESHUTDOWN. */
int stats_read(bide_loop *loop, bide_stats *stats);

#endif
