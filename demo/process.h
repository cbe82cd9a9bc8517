/* SPDX-License-Identifier: MIT
 * Demo: child processes and what they tell the parent. A child runs body(control, arg) and exits with
 * what it returns. It cannot outlive the demo: it is killed and reaped at the end, also after a
 * failure or an interrupt.
 *
 * `control` is one end of a socket pair that keeps message boundaries; at its end of input the demo
 * is over. Children ignore SIGINT, which a terminal sends to all: the parent ends them. */
#ifndef DEMO_PROCESS_H
#define DEMO_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

struct child {
	const char *name;
	pid_t pid;
	int control;
};
typedef int child_body(int control, const void *arg);

void processes_init(void);
void child_start(struct child *child, const char *name, child_body *body, const void *arg);
void child_end(struct child *child); /* ends its input and expects it to exit with 0 */

/* Ends everything, prints "demo: " and the message, and exits with 1. For the parent. */
__attribute__((format(printf, 1, 2))) _Noreturn void die(const char *format, ...);

enum report_kind { REPORT_PROGRESS, REPORT_DONE, REPORT_FAILED };
struct report {
	enum report_kind kind;
	unsigned count;      /* of connections; from a server that is ready, its port */
	double seconds;      /* what the step took */
	double chat_seconds; /* from its begin until the last connection had the chat line */
	double p50, p99;     /* seconds from a request of the step to its reply */
	uint64_t requests;   /* of the step, all answered */
	uint64_t replies, chats; /* checked since the start, byte for byte */
	char text[200];      /* why it failed, or what the server refused a connection with */
};
void report_send(int control, const struct report *report);

/* Tells the parent, and returns 1 for a child's body to return. */
__attribute__((format(printf, 2, 3))) int report_failure(int control, const char *format, ...);

/* Waits for the child's next report; a failure of this child or of `other` ends the demo. */
void report_wait(struct child *child, struct child *other, struct report *report);

#endif
