/* SPDX-License-Identifier: MIT
 * Layer await: a process that was forked leaves its parent's loops alone. */
#ifndef AWAIT_FORK_H
#define AWAIT_FORK_H

/* Before a loop begins: forks are noticed from now on, and one that was not is now. 0, or -1 with ENOMEM. */
int fork_watch(void);

#endif
