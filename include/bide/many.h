/* SPDX-License-Identifier: MIT
 * Part of bide: several loops, one on each processor.
 *
 * Tasks never leave their loop, so what a loop's tasks share needs no locks; loops share nothing but what you
 * give them, and reach each other by bide/post.h and by shared channels (bide/chan.h). A server lets each loop
 * listen for itself, with BIDE_LISTEN_REUSEPORT (bide/net.h): the kernel shares out the connections. */
#ifndef BIDE_MANY_H
#define BIDE_MANY_H

#include <bide/loop.h>

BIDE_BEGIN

/* Runs main_fn(arg) in `count` loops, each on a thread of its own (one of them the caller's), and returns
 * when all have ended. count 0: as many as there are processors for this process.
 * A loop whose main fails, or whose run fails, ends all: the other mains are canceled, with the reason
 * "another loop failed". One whose main just returns leaves the others alone; SIGINT and SIGTERM cancel
 * all (bide/loop.h), and a loop that had not begun then does not begin: its outcome is ECANCELED, which is no
 * failure.
 * out (may be NULL) receives `count` outcomes, as bide_run() has them, if count > 0.
 * Returns 0 if all ended well. Errors: that of the first failure, a main's or a run's; EINVAL main_fn or
 * config is not as bide_run() wants it; EBUSY this thread is inside bide_run(); ENOMEM, EAGAIN a loop or its
 * thread could not be had: those that had begun were canceled. */
BIDE_API int bide_run_many(unsigned count, bide_fn *main_fn, void *arg, const bide_config *config,
    bide_result out[]);

/* Which of the loops this thread's is, from 0 on; 0 for a loop of bide_run(). -1 with EPERM outside. */
BIDE_API int bide_loop_number(void);

BIDE_END

#endif
