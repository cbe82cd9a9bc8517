/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the echo server on one loop and on two, each with a listener of its own at the same
 * port and on a CPU of its own; and the same with answers that take computing. */
#include <errno.h>
#include <stdint.h>

#include <bide/io.h>
#include <bide/many.h>
#include <bide/net.h>
#include <bide/task.h>

#include "echo_server.h"

#define STEPS 60000 /* some 100 us */

struct loops {
	int listeners[2];
	void (*handler)(int fd, void *arg);
};

static void echo(int fd, void *arg)
{
	char buf[ECHO_STACK_BUFFER];
	ssize_t got;
	(void)arg;
	while ((got = bide_recv(fd, buf, sizeof buf, 0)) > 0)
		if (bide_write_all(fd, buf, (size_t)got, NULL) < 0)
			break;
}

static void compute(void)
{
	uint64_t x = 88172645463325252u;
	for (int i = 0; i < STEPS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		__asm__ volatile("" : "+r"(x));
	}
}

static void compute_and_echo(int fd, void *arg)
{
	char buf[ECHO_STACK_BUFFER];
	ssize_t got;
	(void)arg;
	while ((got = bide_recv(fd, buf, sizeof buf, 0)) > 0) {
		compute();
		if (bide_write_all(fd, buf, (size_t)got, NULL) < 0)
			break;
	}
}

static void *serve(void *arg)
{
	const struct loops *loops = arg;
	int number = bide_loop_number();
	bench_pin(bench_options.cpu[number]);
	bide_serve(loops->listeners[number], loops->handler, NULL, NULL);
	return bide_fail(errno);
}

static int listen_beside(int listener)
{
	char address[BIDE_ADDRESS_MAX];
	bide_listen_opts opts = BIDE_LISTEN_OPTS_INIT;
	opts.flags = BIDE_LISTEN_REUSEPORT;
	return bide_local_address(listener, address, sizeof address) < 0 ? -1 : bide_listen_with("tcp", address, &opts);
}

/* Both listen before the first connection is accepted. */
static void run(int listener, unsigned count, void (*handler)(int fd, void *arg))
{
	struct loops loops = { { listener, -1 }, handler };
	if (count > 1 && (loops.listeners[1] = listen_beside(listener)) < 0)
		return;
	bide_run_many(count, serve, &loops, NULL, NULL);
}

static void serve_one(int listener)
{
	run(listener, 1, echo);
}

static void serve_two(int listener)
{
	run(listener, 2, echo);
}

static void compute_one(int listener)
{
	run(listener, 1, compute_and_echo);
}

static void compute_two(int listener)
{
	run(listener, 2, compute_and_echo);
}

const echo_server echo_one_loop = { .name = "1 loop", .serve = serve_one, .shares_port = true };
const echo_server echo_two_loops = { .name = "2 loops", .serve = serve_two, .shares_port = true };
const echo_server echo_computing_one = { .name = "1 loop", .serve = compute_one, .shares_port = true };
const echo_server echo_computing_two = { .name = "2 loops", .serve = compute_two, .shares_port = true };
