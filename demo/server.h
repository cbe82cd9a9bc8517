/* SPDX-License-Identifier: MIT
 * Demo: the two servers. They choose their port, report it, and end when their last member has left. */
#ifndef DEMO_SERVER_H
#define DEMO_SERVER_H

#include <stddef.h>

struct server_plan {
	unsigned descriptors; /* all numbers are below it: our RLIMIT_NOFILE */
	size_t stack_size;    /* of a thread; bide's tasks have their default */
};
int server_bide(int control, const void *server_plan);
int server_threads(int control, const void *server_plan);

/* What both need and what is not about waiting (server.c). */
void server_ready(int control, int listener); /* reports the port */
void server_refuse(int fd, int err);          /* says "full" and closes */

#endif
