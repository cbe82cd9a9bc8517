/* SPDX-License-Identifier: MIT
 * Demo: one side of the comparison, a server and its client, and what was measured of them. */
#ifndef DEMO_SIDE_H
#define DEMO_SIDE_H

#include "measure.h"
#include "process.h"
#include "server.h"

enum { ROUNDS = 5 };

struct side {
	const char *server_name, *client_name;
	child_body *serve;
	struct child server, client;
	struct memory empty, held; /* with no connection, with all of them after the last round */
	double connect_seconds;
	struct report last;

	/* Of each round. */
	double rate[ROUNDS], p50[ROUNDS], p99[ROUNDS]; /* requests per second, seconds */
	double cpu[ROUNDS], switches[ROUNDS];          /* seconds per request, per second */
	double chat[ROUNDS];                           /* seconds */

	/* Of all rounds: their length, and the CPU time that other programs used meanwhile. */
	double measured_seconds, others_seconds;
};

/* In this order. */
void side_start(struct side *side, const struct server_plan *plan, unsigned active);
unsigned side_connect(struct side *side, unsigned count); /* how many it holds: perhaps fewer */
void side_round(struct side *side, int round, unsigned connections, double seconds);
void side_hold(struct side *side);                        /* reads the memory */
void side_end(struct side *side);

#endif
