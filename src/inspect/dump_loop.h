/* SPDX-License-Identifier: MIT
 * Layer inspect: the tree of a loop's tasks for another thread. */
#ifndef INSPECT_DUMP_LOOP_H
#define INSPECT_DUMP_LOOP_H

/* Of every loop of the process, to stderr. */
void dump_all_loops(void);

#endif
