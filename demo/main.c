/* SPDX-License-Identifier: MIT
 * Demo: a chat server holding 10,000 TCP connections, once with bide and once with a thread for each
 * connection; each server and each one's client is a process of its own. This file is the plot. Read
 * server_bide.c next, and server_threads.c beside it. */
#include <stdio.h>
#include <unistd.h>

#include "limits.h"
#include "measure.h"
#include "options.h"
#include "process.h"
#include "progress.h"
#include "results.h"
#include "server.h"
#include "side.h"
#include "table.h"

static struct side with_bide = { .server_name = "bide server", .client_name = "client of bide",
				 .serve = server_bide };
static struct side with_threads = { .server_name = "threads server",
				    .client_name = "client of threads", .serve = server_threads };

/* The size of one kernel stack, from what those of so many threads take together; the usual 16 KiB
 * where other programs blur that. */
static double kernel_stack_size(double all, double threads)
{
	double size = all / threads;

	for (double known = 8 << 10; known <= 64 << 10; known *= 2)
		if (size > 0.9 * known && size < 1.1 * known)
			return known;
	return 16 << 10;
}

static size_t thread_stack_size(void)
{
	long lowest = sysconf(_SC_THREAD_STACK_MIN);
	size_t size = 64 << 10;

	return lowest > 0 && (size_t)lowest > size ? (size_t)lowest : size;
}

static void print_plan(const struct options *options, unsigned wanted, const char *reason,
		       const struct server_plan *plan)
{
	printf("A chat server that holds %s TCP connections, twice:\n"
	       "  bide      one thread, and a task for each connection\n"
	       "  threads   a thread for each connection, with a stack of %zu KiB\n",
	       count_text(options->connections), plan->stack_size >> 10);
	if (options->connections < wanted)
		printf("Not %s, because of %s.\n", count_text(wanted), reason);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct options options;
	char reason[100];
	int64_t start_time = now_ns();

	options_parse(&options, argc, argv);
	processes_init();
	unsigned wanted = options.connections;
	options.connections = limits_connections(wanted, reason, sizeof(reason));
	if (options.connections == 0)
		die("not one connection is possible here, because of %s", reason);
	struct server_plan plan = { limits_set_descriptors(options.connections),
				    thread_stack_size() };
	print_plan(&options, wanted, reason, &plan);

	/* All processes before all connections: at a limit of threads nothing more can be started. */
	side_start(&with_bide, &plan, options.active);
	side_start(&with_threads, &plan, options.active);

	/* Threads first, since they meet their limit first. */
	double kernel_stacks = measure_kernel_stacks();
	unsigned count = side_connect(&with_threads, options.connections);
	double kernel_stack = kernel_stack_size(measure_kernel_stacks() - kernel_stacks, count);
	count = side_connect(&with_bide, count);

	/* In turn, so that what else the machine does falls on both. */
	for (int round = 0; round < ROUNDS; round++) {
		side_round(&with_bide, round, count, options.seconds / ROUNDS);
		side_round(&with_threads, round, count, options.seconds / ROUNDS);
	}
	side_hold(&with_bide);
	side_hold(&with_threads);

	progress_step("closing the connections");
	side_end(&with_bide);
	side_end(&with_threads);
	progress_end();

	results_print(&with_bide, &with_threads, kernel_stack, options.active);
	results_print_summary(&with_bide, &with_threads, (double)(now_ns() - start_time) * 1e-9);
	return 0;
}
