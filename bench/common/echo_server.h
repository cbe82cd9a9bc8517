/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the echo servers that are compared, and the process each runs in. */
#ifndef BENCH_ECHO_SERVER_H
#define BENCH_ECHO_SERVER_H

#include <sys/types.h>
#include <time.h>

#include "bench.h"

/* More than the largest message, so that a read that takes all there is comes back short, and the
 * servers that know that a short read has drained the socket need not look again. */
#define ECHO_SHARED_BUFFER (64 * 1024)
#define ECHO_STACK_BUFFER (16 * 1024)

typedef struct echo_server {
	const char *name;
	void (*serve)(int listener); /* returns only when it cannot go on, with errno set */
	bool limited;                /* may be unable to hold ten thousand connections */
	bool shares_port;            /* its listener lets others listen at its port */
	const char *(*missing)(void); /* why it cannot be run here; NULL, or returns NULL: it can */
} echo_server;

extern const echo_server echo_epoll;    /* a raw edge-triggered loop: the floor */
extern const echo_server echo_bide;     /* a task a connection, one buffer for all */
extern const echo_server echo_bide_own; /* a task a connection, a buffer on each stack */
extern const echo_server echo_threads;  /* a thread a connection, a buffer on each stack */

/* For requests that are messages of ECHO_MESSAGE bytes, each read and answered by itself. */
#define ECHO_MESSAGE 64
extern const echo_server echo_stream;   /* a buffered stream a connection, never flushed by hand */
extern const echo_server echo_flushed;  /* the same, flushed after each message */

/* One loop on the first CPU; a second one, with a listener of its own, on the second. Those that compute do so for
 * some 100 us before each answer. */
extern const echo_server echo_one_loop, echo_two_loops, echo_computing_one, echo_computing_two;

/* Of other libraries and languages (bench/peers). */
extern const echo_server echo_libuv, echo_libev, echo_go, echo_asyncio;

/* A server in a process of its own, pinned to the first CPU; it dies with this one. */
typedef struct echo_process {
	pid_t pid;
	int port; /* on 127.0.0.1 */
	clockid_t cpu_clock;
} echo_process;

echo_process echo_start(const echo_server *server);
void echo_stop(const echo_process *process);

/* ns it has used so far, all its threads, once it has nothing more to do: the last answers may be
 * there before the server has closed their connections and gone to sleep. */
int64_t echo_cpu_when_idle(const echo_process *process);

/* The same of each of its threads, in the order in which they were made, up to `most`. How many; 0: not told. */
int echo_threads_cpu(const echo_process *process, int64_t ns[], int most);

double echo_memory(const echo_process *process); /* KiB: resident pages and page tables */

#endif
