/* SPDX-License-Identifier: MIT
 * Demo: the client of one server. Carries out one order after the other and reports each. */
#ifndef DEMO_CLIENT_H
#define DEMO_CLIENT_H

#include <stdbool.h>

struct client_plan {
	unsigned port;
	unsigned active; /* so many connections send requests, when an order says so */
};
struct order {
	unsigned connections; /* hold so many: connect, or close the last ones */
	double seconds;       /* then let the active ones talk for so long; 0: no requests */
	bool chat;            /* and send a line to all, while they talk */
};
int client(int control, const void *client_plan);

#endif
