/* SPDX-License-Identifier: MIT
 * Runs of a loop as the tests want them. */
#ifndef SUPPORT_RUNS_H
#define SUPPORT_RUNS_H

#include "sched/loop.h"
#include "suite.h"

/* Runs main_fn(arg) on a virtual clock; fails the test unless the run, and main, end well and all memory
 * goes back to the allocator. Returns what main returned. */
void *run_virtual(bide_fn *main_fn, void *arg);
/* The same on the real clock. */
void *run_real(bide_fn *main_fn, void *arg);
/* The same with any BIDE_ flags. */
void *run_with(unsigned flags, bide_fn *main_fn, void *arg);
/* As run_virtual and run_real, and tasks run in the order in which they became ready, also in the hostile build,
 * where that is random otherwise. For tests that state an order. */
void *run_virtual_in_order(bide_fn *main_fn, void *arg);
void *run_real_in_order(bide_fn *main_fn, void *arg);

/* With just these flags, and memory from an allocator of the test's (resources.h). */
struct counting;
void *run_counted(struct counting *counting, unsigned flags, bide_fn *main_fn, void *arg);

/* A test whose body runs in the main task of a run on a virtual clock, or on the real one. It may
 * return early; _i is that of a loop test. */
#define VIRTUAL_TEST(name) RUN_TEST_(name, run_virtual)
#define REAL_TEST(name) RUN_TEST_(name, run_real)
#define ORDERED_TEST(name) RUN_TEST_(name, run_virtual_in_order)
#define RUN_TEST_(name, run)                                                                       \
	static void name##_body(int _i);                                                               \
	static void *name##_main(void *arg)                                                            \
	{                                                                                              \
		name##_body(*(int *)arg);                                                                  \
		sched_check(loop_current);                                                                 \
		return NULL;                                                                               \
	}                                                                                              \
	START_TEST(name)                                                                               \
	{                                                                                              \
		run(name##_main, &_i);                                                                     \
	}                                                                                              \
	END_TEST                                                                                       \
	static void name##_body(int _i __attribute__((unused)))

/* In a task: spawns, or fails the test. */
bide_task *must_spawn(bide_fn *fn, void *arg);
/* The same of a task with a name. A macro, so that it is the caller that has spawned it, whatever is inlined. */
#define must_spawn_named(task_name, fn, arg)                                                       \
	must_be_spawned(bide_spawn_with(fn, arg,                                                       \
	    &(bide_task_attr){ .size = sizeof(bide_task_attr), .name = (task_name) }))
bide_task *must_be_spawned(bide_task *task);
/* In a task: joins and returns the outcome, or fails the test. */
bide_result must_join(bide_task *task);
/* Joins a task that must end well; what it returned. */
void *must_end_well(bide_task *task);

/* Bodies. sleeper: sleeps *(bide_time *)arg; forever_sleeper: until canceled. Both fail with the errno
 * of bide_sleep(). */
void *sleeper(void *arg);
void *forever_sleeper(void *arg);
void *nothing(void *arg); /* returns arg */

/* bide_sleep() and bide_settle() that must succeed. */
void pass(bide_time delay);
void settle(void);

/* In a task, before calls of which the test says that they happen at once: none of the next hundred lets others
 * run before, as a call does now and then, and in the hostile build always. */
void undisturbed(void);

/* Uses the processor for so long, in real time, without a call of the library. */
void compute(bide_time duration);

/* Reports of a run, by kind: how many, and the text of the latest. */
#define REPORT_KINDS 16
struct reports {
	int count[REPORT_KINDS];
	char text[REPORT_KINDS][1200];
};
void count_report(int kind, const char *text, void *reports);
/* A config with a virtual clock whose reports are counted. */
bide_config config_with(unsigned flags, struct reports *reports);

#endif
