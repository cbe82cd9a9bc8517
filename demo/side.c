/* SPDX-License-Identifier: MIT
 * Demo: the steps of one side, each an order to its client with readings of its server around it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "client.h"
#include "progress.h"
#include "side.h"
#include "table.h"

static const double WARM_UP = 0.3; /* seconds */

/* Readings before and after a step, in seconds of CPU time where nothing else is said. */
struct clocks {
	double server, client, machine;
	double switches; /* a number */
};

void side_start(struct side *side, const struct server_plan *plan, unsigned active)
{
	struct report report;
	struct client_plan client_plan = { .active = active };

	child_start(&side->server, side->server_name, side->serve, plan);
	report_wait(&side->server, NULL, &report);
	client_plan.port = report.count;
	if (!measure_memory(side->server.pid, &side->empty))
		die("cannot read /proc/%d/status", (int)side->server.pid);
	child_start(&side->client, side->client_name, client, &client_plan);
}

static void carry_out(struct side *side, struct order order)
{
	/* A client that has ended is noticed below. */
	if (send(side->client.control, &order, sizeof(order), MSG_NOSIGNAL) < 0 && errno != EPIPE)
		die("%s: %s", side->client_name, strerror(errno));
	for (;;) {
		report_wait(&side->client, &side->server, &side->last);
		if (side->last.kind == REPORT_DONE)
			return;
		progress_within("%s: %s of %s clients connected", side->server_name,
				count_text(side->last.count), count_text(order.connections));
	}
}

unsigned side_connect(struct side *side, unsigned count)
{
	progress_step("%s: connecting %s clients", side->server_name, count_text(count));
	carry_out(side, (struct order){ .connections = count });
	side->connect_seconds = side->last.seconds;
	if (side->last.count == 0)
		die("%s: cannot hold one connection: %s", side->server_name, side->last.text);
	if (side->last.count < count) {
		progress_end();
		printf("The %s cannot hold more than %s connections (%s): so many for both.\n\n",
		       side->server_name, count_text(side->last.count), side->last.text);
		fflush(stdout);
	}
	return side->last.count;
}

static void read_clocks(const struct side *side, struct clocks *clocks)
{
	if (!measure_cpu(side->server.pid, &clocks->server) ||
	    !measure_cpu(side->client.pid, &clocks->client) || !measure_machine(&clocks->machine))
		die("%s: cannot read CPU clocks", side->server_name);
}

static void read_switches(const struct side *side, struct clocks *clocks)
{
	if (!measure_switches(side->server.pid, &clocks->switches))
		die("%s: cannot read /proc/%d/task", side->server_name, (int)side->server.pid);
}

static void keep_figures(struct side *side, int round, const struct clocks *from,
			 const struct clocks *to)
{
	double seconds = side->last.seconds, requests = (double)side->last.requests;
	double used = to->server - from->server + to->client - from->client;

	side->rate[round] = requests / seconds;
	side->p50[round] = side->last.p50;
	side->p99[round] = side->last.p99;
	side->cpu[round] = (to->server - from->server) / requests;
	side->switches[round] = (to->switches - from->switches) / seconds;
	side->measured_seconds += seconds;
	side->others_seconds += to->machine - from->machine - used;
}

/* The warm-up sends a chat line through the traffic, to see that no line is torn; the chat line that
 * is timed has the server for itself. To read the switches of 10,000 threads takes CPU time itself:
 * done outside of the readings of the clocks. */
void side_round(struct side *side, int round, unsigned connections, double seconds)
{
	struct clocks from, to;

	progress_step("%s: round %d of %d", side->server_name, round + 1, ROUNDS);
	carry_out(side, (struct order){ connections, WARM_UP, true });
	read_switches(side, &from);
	read_clocks(side, &from);
	carry_out(side, (struct order){ connections, seconds, false });
	read_clocks(side, &to);
	read_switches(side, &to);
	keep_figures(side, round, &from, &to);
	carry_out(side, (struct order){ connections, 0, true });
	side->chat[round] = side->last.chat_seconds;
}

void side_hold(struct side *side)
{
	if (!measure_memory(side->server.pid, &side->held))
		die("%s: cannot read /proc/%d/status", side->server_name, (int)side->server.pid);
}

/* The server ends by itself, when its members are gone. */
void side_end(struct side *side)
{
	child_end(&side->client);
	child_end(&side->server);
}
