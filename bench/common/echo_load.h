/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the load on an echo server, from this process. */
#ifndef BENCH_ECHO_LOAD_H
#define BENCH_ECHO_LOAD_H

#include "bench.h"

#define LOAD_LARGEST (16 * 1024)

typedef struct load_plan {
	int connections; /* opened at first; each makes one request then */
	int active;      /* of them: those that go on, each with one request at a time */
	int size;        /* bytes of a request, at most LOAD_LARGEST */
	int each;        /* so many requests of each in a run, however long that takes; 0: for its duration */
	bool churn;      /* each request on a new connection; `connections` is how many at once */
} load_plan;

struct load;

/* Connects to 127.0.0.1. NULL: the server did not take all connections, or not all answered. */
struct load *load_open(int port, const load_plan *plan);

/* Makes requests for about `duration` ns, then waits for the answers that are missing: when it
 * returns, as when it was called, the server has nothing to do, so that what it used in between
 * belongs to these requests exactly. Each answer's bytes are checked. Returns how many there were;
 * `latency`, which may be NULL, receives a sample in us for each. Ends the program on any failure. */
uint64_t load_run(struct load *load, int64_t duration, bench_row *latency);

void load_close(struct load *load);

#endif
