/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: what a second loop brings a server.
 *
 * An echo server in a process of its own, once with a loop on the first CPU and once with a second loop on the
 * second, in turn. The load is this process, on the second CPU, and takes from the second loop what it needs for
 * itself. So four rows:
 *   busiest loop  the CPU time that the busiest thread of the server needed, for a request. Its inverse is what the
 *                 server can do where each loop has a CPU for itself: half of it is twice as much. It counts how
 *                 unevenly the kernel shares out connections, and is blind to what else runs on the machine
 *   server CPU    of all loops, for a request. Two should need no more than one: they share nothing
 *   all CPU       for a request, the load's included. Two CPUs have two seconds of it each second, so that on
 *                 them requests a second cannot be more than 2 / this
 *   a second      requests a second of real time, with all that, and with what other programs take
 * An echo costs the load as much as the server: one loop and the load fill two CPUs, and a second loop can hardly
 * win in the last row. When an answer takes computing the load is small beside it, and it can. */
#include <stdio.h>

#include "common/bench.h"
#include "common/echo_load.h"
#include "common/echo_server.h"

#define LOOPS_MAX 2

struct setting {
	const char *name;
	const echo_server *servers[LOOPS_MAX]; /* the second one is compared with the first */
	load_plan plan;
};

static const struct setting settings[] = {
	{ "echo, 100 x 64 B", { &echo_one_loop, &echo_two_loops }, { .connections = 100, .active = 100, .size = 64, .each = 40 } },
	{ "computing, 64 x 64 B", { &echo_computing_one, &echo_computing_two },
	  { .connections = 64, .active = 64, .size = 64, .each = 8 } },
};

struct contest {
	const echo_server *server;
	bench_row *busiest, *server_cpu, *all_cpu, *rate;
	bool busiest_told; /* the kernel told it */
};

static int windows;

static bench_row *new_row(const char *setting, const echo_server *server, const char *what, const char *unit,
			  bench_clock clock, bench_row *vs)
{
	char name[120];
	snprintf(name, sizeof name, "%s: %s, %s", setting, server->name, what);
	return bench_row_new(name, unit, clock, vs);
}

static struct contest new_contest(const char *setting, const echo_server *server, const struct contest *vs)
{
	return (struct contest){
		.server = server,
		.busiest = new_row(setting, server, "busiest loop", "us", BENCH_CPU, vs ? vs->busiest : NULL),
		.server_cpu = new_row(setting, server, "server CPU", "us", BENCH_CPU, vs ? vs->server_cpu : NULL),
		.all_cpu = new_row(setting, server, "all CPU", "us", BENCH_CPU, vs ? vs->all_cpu : NULL),
		.rate = new_row(setting, server, "a second", "requests", BENCH_WALL, vs ? vs->rate : NULL),
	};
}

/* Of a window that began when the threads' clocks showed `before`; 0: not told. */
static double busiest_since(const int64_t before[], const echo_process *process)
{
	int64_t now[LOOPS_MAX], most = 0;
	int count = echo_threads_cpu(process, now, LOOPS_MAX);
	for (int i = 0; i < count; i++)
		if (now[i] - before[i] > most)
			most = now[i] - before[i];
	return (double)most;
}

/* It begins and ends with nothing under way, as in bench/echo. Each connection makes as many requests as any other:
 * else those whose loop has the freer CPU would make more, and the busiest loop's part would be the machine's. */
static void measure_window(struct contest *contest, struct load *load, const echo_process *process)
{
	int64_t threads[LOOPS_MAX] = { 0 };
	int64_t server_cpu = echo_cpu_when_idle(process);
	contest->busiest_told = echo_threads_cpu(process, threads, LOOPS_MAX) > 0;
	int64_t load_cpu = bench_now(BENCH_CPU), start = bench_now(BENCH_WALL);
	double requests = (double)load_run(load, 0, NULL);
	int64_t passed = bench_now(BENCH_WALL) - start;
	load_cpu = bench_now(BENCH_CPU) - load_cpu;
	server_cpu = echo_cpu_when_idle(process) - server_cpu;
	bench_row_add(contest->busiest, busiest_since(threads, process) / 1e3 / requests);
	bench_row_add(contest->server_cpu, (double)server_cpu / 1e3 / requests);
	bench_row_add(contest->all_cpu, (double)(server_cpu + load_cpu) / 1e3 / requests);
	bench_row_add(contest->rate, requests * 1e9 / (double)passed);
}

static void run_round(struct contest *contest, const load_plan *plan)
{
	const load_plan one = { .connections = 1, .active = 1, .size = 64 };
	echo_process process = echo_start(contest->server);
	struct load *first = load_open(process.port, &one); /* answered: so both loops listen */
	struct load *load = first ? load_open(process.port, plan) : NULL;
	if (!load)
		bench_fail("a server does not answer");
	load_run(load, 0, NULL);
	for (int i = 0; i < windows; i++)
		measure_window(contest, load, &process);
	bench_row_end_round(contest->busiest);
	bench_row_end_round(contest->server_cpu);
	bench_row_end_round(contest->all_cpu);
	bench_row_end_round(contest->rate);
	load_close(load);
	load_close(first);
	echo_stop(&process);
}

static void run_setting(const struct setting *setting, double share)
{
	struct contest contests[LOOPS_MAX];
	if (!bench_wants(setting->name))
		return;
	for (int i = 0; i < LOOPS_MAX; i++)
		contests[i] = new_contest(setting->name, setting->servers[i], i > 0 ? &contests[0] : NULL);
	for (int round = 0; bench_more_rounds(round, share); round++)
		for (int i = 0; i < LOOPS_MAX; i++)
			run_round(&contests[i], &setting->plan);
	bench_table_head(setting->name);
	for (int i = 0; i < LOOPS_MAX; i++) {
		if (contests[i].busiest_told)
			bench_row_print(contests[i].busiest);
		bench_row_print(contests[i].server_cpu);
		bench_row_print(contests[i].all_cpu);
		bench_row_print(contests[i].rate);
	}
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "loops", "what a second loop brings a server");
	windows = bench_options.quick ? 2 : 8;
	if (bench_options.cpus < 2) {
		bench_note("  one CPU only: nothing to compare");
		return bench_end();
	}
	bench_pin(bench_options.cpu[1]);
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		run_setting(&settings[i], (double)(i + 1) / 2);
	bench_bar("echo, 100 x 64 B: 2 loops, server CPU", BENCH_RATIO_AT_MOST, 1.10);
	bench_bar("echo, 100 x 64 B: 2 loops, busiest loop", BENCH_RATIO_AT_MOST, 0.65);
	bench_bar("computing, 64 x 64 B: 2 loops, busiest loop", BENCH_RATIO_AT_MOST, 0.6);
	bench_bar("computing, 64 x 64 B: 2 loops, a second", BENCH_RATIO_AT_LEAST, 1.8);
	return bench_end();
}
