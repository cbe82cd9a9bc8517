/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: 64 different bodies, since a thousand tasks with one body flatter:
 * every return after a switch then goes to the same address and is predicted, as it never is in a
 * server whose tasks are at different places of different functions. */
#ifndef BENCH_BODIES_H
#define BENCH_BODIES_H

#include <bide/api.h>

#define BODY_KINDS 64

extern bide_fn *const bodies_direct[BODY_KINDS]; /* each calls bide_yield() itself */
extern bide_fn *const bodies_below[BODY_KINDS];  /* each calls it below a helper of its own */
extern bide_fn *const bodies_deep[BODY_KINDS];   /* each below one to four helpers of its own */

#endif
