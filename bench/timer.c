/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: arming, canceling and firing timers, and sleeping.
 *
 * Costs are CPU time, lateness is wall time. The timers are memory of the program's own and cost
 * nothing to make; spawning the sleeping tasks, and joining them, is in the clock. Each part checks
 * what it did: every cancel prevented its callback, timers fired in order, no sleep ended early. Where the go tool
 * is found, as many goroutines sleep on one CPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bide/loop.h>
#include <bide/task.h>
#include <bide/time.h>

#include "common/bench.h"
#include "common/go.h"
#include "common/random.h"

#define ARMED 1000000
#define PAIRS 200000
#define FIRING 100000
#define SLEEPERS "100000 tasks asleep 0 to 1 s, all of it"
#define NAP (200 * BIDE_USEC)

/* Runs main_fn(arg) in a loop of its own; it returns arg if all went well. */
static void in_loop(const char *name, bide_fn *main_fn, void *arg)
{
	bide_result result;
	if (bide_run(main_fn, arg, NULL, &result) != 0 || result.value != arg)
		bench_fail("%s: failed", name);
}

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);
	if (!memory)
		bench_fail("out of memory");
	memset(memory, 0, count * size); /* touched here, not in the clock */
	return memory;
}

static void do_nothing(void *arg)
{
	(void)arg;
}

/* A MILLION TIMERS: all armed, pairs of arm and cancel among them, all canceled in random order. */

static struct million {
	bide_timer *timers;
	uint32_t *order;
	bench_row *arm, *pair, *timeout, *cancel;
} million;

/* Far off, so that none of them fires. */
static bide_time random_deadline(bench_random *random, bide_time now)
{
	return now + BIDE_SEC * 3600 + (bide_time)bench_random_below(random, UINT32_MAX) * 1000;
}

static void shuffle(uint32_t *order, uint32_t count, bench_random *random)
{
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (uint32_t i = count - 1; i > 0; i--) {
		uint32_t j = (uint32_t)bench_random_below(random, i + 1), kept = order[i];
		order[i] = order[j];
		order[j] = kept;
	}
}

static bool arm_all(bench_random *random)
{
	bool worked = true;
	bide_time now = bide_now();
	int64_t start = bench_now(BENCH_CPU);
	for (uint32_t i = 0; i < ARMED; i++)
		worked &= bide_call_at(&million.timers[i], random_deadline(random, now), do_nothing,
				       NULL) == 0;
	bench_row_add(million.arm, (double)(bench_now(BENCH_CPU) - start) / ARMED);
	return worked;
}

static bool arm_and_cancel(bench_random *random)
{
	static bide_timer timers[64];
	bool worked = true;
	bide_time now = bide_now();
	int64_t start = bench_now(BENCH_CPU);
	for (unsigned i = 0; i < PAIRS; i++) {
		bide_timer *timer = &timers[i % 64];
		worked &= bide_call_at(timer, random_deadline(random, now), do_nothing, NULL) == 0;
		worked &= bide_timer_cancel(timer) == 1;
	}
	bench_row_add(million.pair, (double)(bench_now(BENCH_CPU) - start) / PAIRS);
	return worked;
}

/* The common case: a timeout of 30 s, taken back when the answer came. */
static bool arm_and_cancel_timeout(void)
{
	static bide_timer timer;
	bool worked = true;
	int64_t start = bench_now(BENCH_CPU);
	for (unsigned i = 0; i < PAIRS; i++) {
		worked &= bide_call_later(&timer, 30 * BIDE_SEC, do_nothing, NULL) == 0;
		worked &= bide_timer_cancel(&timer) == 1;
	}
	bench_row_add(million.timeout, (double)(bench_now(BENCH_CPU) - start) / PAIRS);
	return worked;
}

static bool cancel_all(void)
{
	bool worked = true;
	int64_t start = bench_now(BENCH_CPU);
	for (uint32_t i = 0; i < ARMED; i++)
		worked &= bide_timer_cancel(&million.timers[million.order[i]]) == 1;
	bench_row_add(million.cancel, (double)(bench_now(BENCH_CPU) - start) / ARMED);
	return worked;
}

static void *million_main(void *arg)
{
	bench_random random = { 1 };
	bool worked = arm_all(&random) && arm_and_cancel(&random) && arm_and_cancel_timeout() && cancel_all();
	return worked ? arg : NULL;
}

static void million_round(void)
{
	in_loop("a million timers", million_main, &million);
	bench_row_end_round(million.arm);
	bench_row_end_round(million.pair);
	bench_row_end_round(million.timeout);
	bench_row_end_round(million.cancel);
}

static void million_open(void)
{
	bench_random random = { 2 };
	million.timers = allocate(ARMED, sizeof *million.timers);
	million.order = allocate(ARMED, sizeof *million.order);
	shuffle(million.order, ARMED, &random);
	million.arm = bench_row_new("arm 1000000, each", "ns", BENCH_CPU, NULL);
	million.pair = bench_row_new("arm + cancel, 1000000 armed", "ns", BENCH_CPU, NULL);
	million.timeout = bench_row_new("arm + cancel a 30 s timeout, 1000000 armed", "ns", BENCH_CPU, NULL);
	million.cancel = bench_row_new("cancel 1000000 in random order, each", "ns", BENCH_CPU, NULL);
}

static void million_print(void)
{
	bench_row_print(million.arm);
	bench_row_print(million.pair);
	bench_row_print(million.timeout);
	bench_row_print(million.cancel);
	free(million.timers);
	free(million.order);
}

/* FIRING: deadlines in random order within 10 ms, all past before the loop gets to look. */

struct alarm {
	bide_timer timer;
	bide_time deadline;
};

static struct firing {
	struct alarm *alarms;
	bench_row *row;
	bide_time last; /* deadline of the one that fired last */
	uint32_t fired;
	bool in_order;
} firing;

static void note_alarm(void *arg)
{
	const struct alarm *alarm = arg;
	firing.in_order &= alarm->deadline >= firing.last;
	firing.last = alarm->deadline;
	firing.fired++;
}

static void *firing_main(void *arg)
{
	bench_random random = { 3 };
	bide_time from = bide_after(60 * BIDE_MSEC), until = from + 10 * BIDE_MSEC;
	bool worked = true;
	firing.last = 0;
	firing.fired = 0;
	firing.in_order = true;
	for (uint32_t i = 0; i < FIRING; i++) {
		struct alarm *alarm = &firing.alarms[i];
		alarm->deadline = from + (bide_time)bench_random_below(&random, 10 * BIDE_MSEC);
		worked &= bide_call_at(&alarm->timer, alarm->deadline, note_alarm, alarm) == 0;
	}
	while (bide_now() <= until) {
	}
	int64_t start = bench_now(BENCH_CPU);
	while (firing.fired < FIRING)
		bide_sleep(0);
	bench_row_add(firing.row, (double)(bench_now(BENCH_CPU) - start) / FIRING);
	return worked && firing.in_order ? arg : NULL;
}

static void firing_open(void)
{
	firing.alarms = allocate(FIRING, sizeof *firing.alarms);
	firing.row = bench_row_new("fire 100000 due ones in order, each", "ns", BENCH_CPU, NULL);
}

static void firing_round(void)
{
	in_loop("firing", firing_main, &firing);
	bench_row_end_round(firing.row);
}

static void firing_print(void)
{
	bench_row_print(firing.row);
	free(firing.alarms);
}

/* SLEEPERS: many tasks, each asleep for a random time; spawning, sleeping, joining, all of it. */

static struct sleepers {
	unsigned tasks;
	bide_time longest;
	bide_task **handles;
	bench_row *row, *go;
} sleepers;

static const char go_program[] =
	"package main\n"
	"import (\"fmt\"; \"math/rand\"; \"os\"; \"runtime\"; \"strconv\"; \"sync\"; \"syscall\"; \"time\")\n"
	GO_SPENT
	"func main() {\n"
	"	runtime.GOMAXPROCS(1)\n"
	"	count, _ := strconv.Atoi(os.Args[1])\n"
	"	longest, _ := strconv.ParseInt(os.Args[2], 10, 64)\n"
	"	var ended sync.WaitGroup\n"
	"	start := spent()\n"
	"	ended.Add(count)\n"
	"	for i := 0; i < count; i++ {\n"
	"		delay := time.Duration(rand.Int63n(longest))\n"
	"		go func() {\n"
	"			begin := time.Now()\n"
	"			time.Sleep(delay)\n"
	"			if time.Since(begin) < delay { os.Exit(1) }\n"
	"			ended.Done()\n"
	"		}()\n"
	"	}\n"
	"	ended.Wait()\n"
	"	fmt.Println(spent() - start)\n"
	"}\n";

static void *sleep_random(void *arg)
{
	bench_random random = { (uintptr_t)arg };
	bide_time delay = (bide_time)bench_random_below(&random, (uint64_t)sleepers.longest);
	bide_time deadline = bide_after(delay);
	bool worked = bide_sleep_until(deadline) == 0 && bide_now() >= deadline;
	return worked ? &sleepers : NULL;
}

static void *sleepers_main(void *arg)
{
	bool worked = true;
	int64_t start = bench_now(BENCH_CPU);
	for (unsigned i = 0; i < sleepers.tasks; i++)
		sleepers.handles[i] = bide_spawn(sleep_random, (void *)(uintptr_t)i);
	for (unsigned i = 0; i < sleepers.tasks; i++) {
		bide_result result;
		worked &= bide_join(sleepers.handles[i], &result) == 0 && result.value;
	}
	bench_row_add(sleepers.row, (double)(bench_now(BENCH_CPU) - start) / 1e6);
	return worked ? arg : NULL;
}

static void sleepers_open(void)
{
	sleepers.tasks = bench_options.quick ? 10000 : 100000;
	sleepers.longest = bench_options.quick ? BIDE_SEC / 10 : BIDE_SEC;
	sleepers.handles = allocate(sleepers.tasks, sizeof *sleepers.handles);
	const char *name = bench_options.quick ? "10000 tasks asleep 0 to 0.1 s, all of it" : SLEEPERS;
	if (go_build(go_program))
		sleepers.go = bench_row_new("Go, as many goroutines", "ms", BENCH_CPU, NULL);
	sleepers.row = bench_row_new(name, "ms", BENCH_CPU, sleepers.go);
}

static void go_round(void)
{
	char arguments[100];
	snprintf(arguments, sizeof arguments, "%u %lld", sleepers.tasks, (long long)sleepers.longest);
	double spent = go_run(arguments);
	if (spent < 0)
		bench_fail("Go's sleepers: failed");
	bench_row_add(sleepers.go, spent / 1e6);
	bench_row_end_round(sleepers.go);
}

static void sleepers_round(void)
{
	if (sleepers.go)
		go_round();
	in_loop("sleepers", sleepers_main, &sleepers);
	bench_row_end_round(sleepers.row);
}

static void sleepers_print(void)
{
	if (sleepers.go)
		bench_row_print(sleepers.go);
	bench_row_print(sleepers.row);
	free(sleepers.handles);
}

/* LATENESS of short sleeps, one task, against one thread. Both have the kernel's slack, 50 us. */

static struct lateness {
	int naps;
	bench_row *task, *thread;
} lateness;

static double microseconds_late(bide_time deadline)
{
	bide_time late = bide_now() - deadline;
	if (late < 0)
		bench_fail("a sleep ended %lld ns early", (long long)-late);
	return (double)late / 1e3;
}

static void *naps_main(void *arg)
{
	for (int i = 0; i < lateness.naps; i++) {
		bide_time deadline = bide_after(NAP);
		if (bide_sleep_until(deadline) != 0)
			return NULL;
		bench_row_add(lateness.task, microseconds_late(deadline));
	}
	return arg;
}

static void thread_naps(void)
{
	for (int i = 0; i < lateness.naps; i++) {
		bide_time deadline = bide_after(NAP);
		struct timespec until = { deadline / BIDE_SEC, deadline % BIDE_SEC };
		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
			bench_fail("clock_nanosleep failed");
		bench_row_add(lateness.thread, microseconds_late(deadline));
	}
}

static void lateness_open(void)
{
	lateness.naps = bench_options.quick ? 50 : 500;
	lateness.thread = bench_row_new("clock_nanosleep of 200 us, how late", "us", BENCH_WALL, NULL);
	lateness.task = bench_row_new("bide_sleep of 200 us, how late", "us", BENCH_WALL, lateness.thread);
}

static void lateness_round(void)
{
	in_loop("naps", naps_main, &lateness);
	bench_row_end_round(lateness.task);
	thread_naps();
	bench_row_end_round(lateness.thread);
}

static void lateness_print(void)
{
	bench_row_print(lateness.task);
	bench_row_print(lateness.thread);
}

static const struct part {
	const char *name;
	double share; /* of the time --quick has, gone when this part is done */
	void (*open)(void);
	void (*round)(void);
	void (*print)(void);
} parts[] = {
	{ "arm cancel 1000000", 0.6, million_open, million_round, million_print },
	{ "fire", 0.75, firing_open, firing_round, firing_print },
	{ "tasks asleep", 0.95, sleepers_open, sleepers_round, sleepers_print },
	{ "200 us, how late", 1, lateness_open, lateness_round, lateness_print },
};

int main(int argc, char **argv)
{
	bench_begin(argc, argv, "timer", "arming, canceling and firing timers, and sleeping");
	bench_table_head("timers, and tasks asleep");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (!bench_wants(parts[i].name))
			continue;
		parts[i].open();
		bench_discard(true);
		parts[i].round();
		bench_discard(false);
		for (int round = 0; bench_more_rounds(round, parts[i].share); round++)
			parts[i].round();
		parts[i].print();
	}
	bench_bar("arm + cancel, 1000000 armed", BENCH_MEDIAN_AT_MOST, 100);
	bench_bar(SLEEPERS, BENCH_RATIO_AT_MOST, 0.6); /* of Go's */
	return bench_end();
}
