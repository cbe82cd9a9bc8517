/* SPDX-License-Identifier: MIT
 * Layer inspect: the tree of a loop's tasks for another thread. */
#ifndef INSPECT_DUMP_LOOP_H
#define INSPECT_DUMP_LOOP_H

#include <bide/api.h>

/* To stderr, with backtraces; what nobody reads is cut. */
void dump_loop_to_stderr(bide_loop *loop);
/* Of every loop of the process. */
void dump_all_loops(void);

#endif
