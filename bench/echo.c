/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: what a request costs an echo server.
 *
 * Each server runs in a process of its own pinned to one CPU, the load in this process on another.
 * The cost is the server's CPU time over a window divided by the requests of that window: it is
 * steadier than throughput and does not depend on how fast the load is. A window begins and ends
 * with nothing under way, so neither side of the division has a rim. The servers are compared in
 * turn, each with a fresh process; connecting is outside the window, except under churn, where it is
 * what is measured. Memory is what the server grew by while it took the connections, when each had
 * made a request. System calls are counted where the kernel lets us, in the warm-up. All traffic is on
 * loopback. */
#include <stdio.h>
#include <sys/resource.h>

#include "common/bench.h"
#include "common/echo_load.h"
#include "common/echo_server.h"
#include "common/syscalls.h"

#define SPARE_DESCRIPTORS 64

struct setting {
	const echo_server *const *servers; /* NULL at the end; the first one is what the others are compared with */
	load_plan plan;
	int pipelined; /* messages in a request; 0: it is one */
	double quick; /* also with --quick: what share of its time is gone when it is done; 0: not */
	bool brief;   /* and then without the threads, whose connections take long to make */
};

static const echo_server *const plain[] = {
	&echo_epoll, &echo_bide, &echo_bide_own, &echo_threads, &echo_libev, &echo_libuv, &echo_go, &echo_asyncio, NULL
};

/* Several messages under way on each connection: what it brings to send their answers together. */
static const echo_server *const pipelined[] = { &echo_flushed, &echo_stream, &echo_epoll, NULL };

#define SERVERS_MAX 8

static const struct setting settings[] = {
	{ plain, .plan = { .connections = 1, .active = 1, .size = 64 } },
	{ plain, .plan = { .connections = 100, .active = 100, .size = 64 }, .quick = 0.3 },
	{ plain, .plan = { .connections = 1000, .active = 1000, .size = 64 } },
	{ plain, .plan = { .connections = 10000, .active = 10000, .size = 64 } },
	{ plain, .plan = { .connections = 100, .active = 100, .size = 16384 } },
	{ plain, .plan = { .connections = 1000, .active = 1000, .size = 16384 }, .quick = 0.6, .brief = true },
	{ plain, .plan = { .connections = 10100, .active = 100, .size = 64 } },
	{ pipelined, .plan = { .connections = 100, .active = 100, .size = ECHO_MESSAGE }, .pipelined = 1 },
	{ pipelined, .plan = { .connections = 100, .active = 100, .size = 16 * ECHO_MESSAGE }, .pipelined = 16,
	  .quick = 0.8 },
	{ plain, .plan = { .connections = 100, .active = 100, .size = 64, .churn = true }, .quick = 1,
	  .brief = true },
};

/* One server in one setting. */
struct contest {
	const echo_server *server;
	bench_row *cpu, *latency;
	bench_row *memory; /* NULL where there are few connections */
	bench_row *calls;  /* system calls a request */
	bool calls_told;   /* the kernel told them */
	bool out;          /* it could not hold the connections */
};

/* Of a round. Several short windows rather than one: the median passes over those in which another
 * process got in the way. */
static int64_t window_ns;
static int windows;

static void name_setting(char *name, size_t size, const load_plan *plan, int messages)
{
	const char *unit = plan->size < 1024 ? "B" : "KiB";
	int amount = plan->size < 1024 ? plan->size : plan->size / 1024;
	if (messages)
		snprintf(name, size, "%d x %d pipelined x %d B", plan->connections, messages, ECHO_MESSAGE);
	else if (plan->churn)
		snprintf(name, size, "churn, %d at once x %d %s", plan->active, amount, unit);
	else if (plan->active < plan->connections)
		snprintf(name, size, "%d idle + %d active x %d %s", plan->connections - plan->active,
			 plan->active, amount, unit);
	else
		snprintf(name, size, "%d x %d %s", plan->connections, amount, unit);
}

static bench_row *new_row(const char *setting, const echo_server *server, const char *what,
			  const char *unit, bench_clock clock, bench_row *vs)
{
	char name[160];
	snprintf(name, sizeof name, "%s: %s%s", setting, server->name, what);
	return bench_row_new(name, unit, clock, vs);
}

static struct contest new_contest(const char *setting, const load_plan *plan, const echo_server *server,
				  const struct contest *reference)
{
	struct contest contest = { .server = server };
	contest.cpu = new_row(setting, server, "", "us", BENCH_CPU, reference ? reference->cpu : NULL);
	contest.latency = new_row(setting, server, ", latency", "us", BENCH_WALL,
				  reference ? reference->latency : NULL);
	if (!plan->churn && plan->connections >= 1000)
		contest.memory = new_row(setting, server, ", memory", "KiB", BENCH_NO_CLOCK, NULL);
	contest.calls = new_row(setting, server, ", system calls", "calls", BENCH_NO_CLOCK,
				reference ? reference->calls : NULL);
	return contest;
}

/* Also shows that the server works, and lets it make what it makes at its first connection. */
static double memory_before(const echo_process *process)
{
	const load_plan one = { .connections = 1, .active = 1, .size = LOAD_LARGEST };
	struct load *load = load_open(process->port, &one);
	if (!load)
		bench_fail("a server does not answer");
	load_close(load);
	return echo_memory(process);
}

/* The warm-up. Counting slows the server's system calls a little, so what is counted is not timed. */
static void count_calls(struct contest *contest, struct load *load, const echo_process *process, int counter)
{
	echo_cpu_when_idle(process);
	syscalls_start(counter);
	uint64_t requests = load_run(load, window_ns, NULL);
	echo_cpu_when_idle(process);
	int64_t calls = syscalls_stop(counter);
	bench_row_add(contest->calls, (double)calls / (double)requests);
	contest->calls_told = calls > 0;
}

static void measure_windows(struct contest *contest, struct load *load, const echo_process *process)
{
	int64_t before = echo_cpu_when_idle(process);
	for (int i = 0; i < windows; i++) {
		uint64_t requests = load_run(load, window_ns, contest->latency);
		int64_t after = echo_cpu_when_idle(process);
		bench_row_add(contest->cpu, (double)(after - before) / 1e3 / (double)requests);
		before = after;
	}
}

static void end_round(struct contest *contest)
{
	bench_row_end_round(contest->cpu);
	bench_row_end_round(contest->latency);
	bench_row_end_round(contest->calls);
	if (contest->memory)
		bench_row_end_round(contest->memory);
}

static void measure(struct contest *contest, const echo_process *process, const load_plan *plan)
{
	int counter = syscalls_open(process->pid);
	double before = memory_before(process);
	struct load *load = load_open(process->port, plan);
	if (load) {
		count_calls(contest, load, process, counter);
		if (contest->memory)
			bench_row_add(contest->memory, (echo_memory(process) - before) / plan->connections);
		measure_windows(contest, load, process);
		end_round(contest);
		load_close(load);
	}
	contest->out = !load;
	syscalls_close(counter);
}

static void run_round(struct contest *contest, const load_plan *plan)
{
	echo_process process = echo_start(contest->server);
	measure(contest, &process, plan);
	echo_stop(&process);
	if (!contest->out)
		return;
	if (!contest->server->limited)
		bench_fail("%s could not hold %d connections", contest->server->name, plan->connections);
	bench_note("  %s could not hold %d connections", contest->server->name, plan->connections);
}

static void print_contest(const struct contest *contest)
{
	if (contest->out)
		return;
	bench_row_print(contest->cpu);
	bench_row_print(contest->latency);
	if (contest->memory)
		bench_row_print(contest->memory);
	if (contest->calls_told)
		bench_row_print(contest->calls);
}

/* What the kernel and a few lines of C need no more than 5 s for. */
static bool is_quick(const struct setting *what, const echo_server *server)
{
	return what->pipelined || server == &echo_epoll || server == &echo_bide ||
	       (server == &echo_threads && !what->brief);
}

/* Said once. */
static bool is_missing(const echo_server *server)
{
	static const echo_server *told[SERVERS_MAX];
	const char *why = server->missing ? server->missing() : NULL;
	for (size_t i = 0; why && i < SERVERS_MAX && told[i] != server; i++)
		if (!told[i]) {
			told[i] = server;
			bench_note("  without %s: %s", server->name, why);
		}
	return why != NULL;
}

static bool takes_part(const char *setting, const struct setting *what, const echo_server *server)
{
	char name[160];
	snprintf(name, sizeof name, "%s: %s", setting, server->name);
	if (bench_options.quick && !bench_options.filter && !is_quick(what, server))
		return false;
	return bench_wants(name) && !is_missing(server);
}

/* The reference takes part whenever one of the others does. */
static size_t choose(const char *setting, const struct setting *what, const load_plan *plan,
		     struct contest *contests)
{
	size_t count = 0;
	for (size_t i = 0; what->servers[i]; i++) {
		if (!takes_part(setting, what, what->servers[i]))
			continue;
		if (count == 0)
			contests[count++] = new_contest(setting, plan, what->servers[0], NULL);
		if (i > 0)
			contests[count++] = new_contest(setting, plan, what->servers[i], &contests[0]);
	}
	return count;
}

static void run_setting(const struct setting *setting, const load_plan *plan)
{
	struct contest contests[SERVERS_MAX];
	char name[80];
	name_setting(name, sizeof name, plan, setting->pipelined);
	size_t count = choose(name, setting, plan, contests);
	if (count == 0)
		return;
	for (int round = 0; bench_more_rounds(round, setting->quick); round++)
		for (size_t i = 0; i < count; i++)
			if (!contests[i].out)
				run_round(&contests[i], plan);
	bench_table_head(name);
	for (size_t i = 0; i < count; i++)
		print_contest(&contests[i]);
}

/* Each process holds one end of every connection. */
static int connection_limit(void)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur > 1000000 ? 1000000 : (int)limit.rlim_cur - SPARE_DESCRIPTORS;
}

static load_plan scaled(load_plan plan, int limit)
{
	if (plan.connections <= limit)
		return plan;
	bench_note("  the descriptor limit allows %d connections, not %d", limit, plan.connections);
	plan.connections = limit;
	if (plan.active > limit)
		plan.active = limit;
	return plan;
}

static bool same_plan(const load_plan *a, const load_plan *b)
{
	return a->connections == b->connections && a->active == b->active && a->size == b->size &&
	       a->churn == b->churn;
}

static void declare_bars(void)
{
	bench_bar("100 x 64 B: bide", BENCH_RATIO_AT_MOST, 1.03);
	bench_bar("10000 x 64 B: bide", BENCH_RATIO_AT_MOST, 1.03);
	bench_bar("1000 x 64 B: bide", BENCH_RATIO_AT_MOST, 1.06);
	bench_bar("1000 x 16 KiB: bide", BENCH_RATIO_AT_MOST, 1.06);
	bench_bar("10000 idle + 100 active x 64 B: bide", BENCH_RATIO_AT_MOST, 1.06);
	bench_bar("churn, 100 at once x 64 B: bide", BENCH_RATIO_AT_MOST, 1.02);
	bench_bar("10000 idle + 100 active x 64 B: bide, memory", BENCH_MEDIAN_AT_MOST, 4.4);
	bench_bar("100 x 64 B: bide, system calls", BENCH_RATIO_AT_MOST, 1.05);
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "echo", "what a request costs an echo server");
	window_ns = bench_options.quick ? 10 * 1000 * 1000 : 80 * 1000 * 1000;
	windows = bench_options.quick ? 2 : 4;
	bench_pin(bench_options.cpu[1]);
	if (!bench_options.json)
		printf("           servers on CPU %d, load on CPU %d\n", bench_options.cpu[0],
		       bench_options.cpu[1]);

	int limit = connection_limit();
	load_plan previous = { 0 };
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		if (bench_options.quick && settings[i].quick == 0)
			continue;
		load_plan plan = scaled(settings[i].plan, limit);
		if (settings[i].pipelined || !same_plan(&plan, &previous))
			run_setting(&settings[i], &plan);
		previous = plan;
	}
	declare_bars();
	return bench_end();
}
