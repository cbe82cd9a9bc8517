/* SPDX-License-Identifier: MIT
 * Part of bide: looking into a running program: its tasks, figures, and stacks. Nothing here suspends. */
#ifndef BIDE_INSPECT_H
#define BIDE_INSPECT_H

#include <stdio.h>

#include <bide/api.h>
#include <bide/coro.h>
#include <bide/time.h>

BIDE_BEGIN

/* ---- tasks ---------------------------------------------------------------------------------------- */

/* Flags of bide_dump(). */
enum {
	BIDE_DUMP_BACKTRACES = 1, /* below each task the calls it stands in, innermost first */
	BIDE_DUMP_ALL = 2         /* every task, however many there are */
};

/* Writes the tree of this thread's tasks that have not ended: a line for each task, below it its groups, below
 * each of those its children. A line has id and name, state, what it waits for and who holds that, when the
 * wait ends by itself and how long it has lasted, the nearest deadline, whether it is canceled, its age, how
 * much of its stack it stands on (with BIDE_PAINT_STACKS also the most it ever used) and where it was spawned,
 * as "function (file.c:12)". Of a group with more than 100 children, and of more than 100 tasks without a
 * group, the rest is told in one line, how many wait for what, unless BIDE_DUMP_ALL is given. Ages are good to
 * a tenth of a second. It needs no memory, but for out's.
 * Returns 0. Errors: EINVAL out is NULL, or unknown flags; EPERM outside a loop's thread; those of writing. */
BIDE_API int bide_dump(FILE *out, unsigned flags);

/* The same of a loop of any thread, to a descriptor, behind a line that says which thread it is. The loop is asked,
 * and tells between two of its tasks. If it does not answer within 100 ms, a task is stuck: then its thread is
 * held for as long as it takes to read the tree, where it stands, and the line says so (bide/loop.h, "Slow slices").
 * A thread that is held may be in the middle of a change: what cannot be followed then is left out, and the last line
 * says so. The caller waits meanwhile, but no loop waits for whoever reads fd, and the caller not for one who reads
 * nothing for a second. With BIDE_DEBUG this is what SIGQUIT does, where its action was the default: it tells of every
 * loop of the process, to stderr, and the process goes on.
 * Returns 0. Errors: EINVAL loop is NULL, fd is negative, or unknown flags; ESHUTDOWN the loop has ended; ETIMEDOUT
 * it does not answer and its thread cannot be held; EAGAIN nobody reads fd, which a part was written to; ENOMEM, EMFILE,
 * ENFILE; those of writing. [T] */
BIDE_API int bide_dump_loop(bide_loop *loop, int fd, unsigned flags);

/* ---- figures --------------------------------------------------------------------------------------- */

/* How stacks of this process are guarded. */
enum {
	BIDE_GUARD_ADVICE,  /* marks in the page tables (Linux 6.13 and later): no limit but memory */
	BIDE_GUARD_PROTECT  /* protected pages: two mappings a stack, of which vm.max_map_count are there */
};

#define BIDE_HISTOGRAM_COUNTS 24

/* How long something took, and how often. */
typedef struct bide_histogram {
	uint64_t total;          /* how many there were: the sum of all counts */
	uint64_t sum_ns;         /* how long they took together */
	uint64_t counts[BIDE_HISTOGRAM_COUNTS]; /* [i]: of 2^i microseconds at most, and more than those
	                            of [i - 1]; the last one: all that took longer */
} bide_histogram;

typedef struct bide_stats {
	size_t size;             /* sizeof(bide_stats): set it before the call */
	size_t tasks_alive;      /* that have not ended */
	uint64_t tasks_spawned;  /* since the loop began */

	/* The stacks of the loop's tasks, but for those on the caller's own memory or from its hooks. */
	int stack_guard;         /* BIDE_GUARD_... */
	size_t stacks_in_use;    /* tasks that have run and not ended */
	size_t stacks_warm;      /* kept for the next tasks, with the pages they have */
	size_t stacks_cold;      /* address space only */
	size_t stacks_unguarded; /* of those in use: only with BIDE_UNGUARDED_STACKS */
	size_t stack_bytes;      /* of address space, guards included */
	size_t stack_resident;   /* of memory: an estimate from a sample of the stacks */
	size_t stack_mappings;   /* at most; the kernel makes one of neighbours where it can */
	size_t mapping_limit;    /* vm.max_map_count: what the whole process may have */

	/* The stacks of bare coroutines, of all threads. */
	size_t coro_stacks_in_use;
	size_t coro_stack_bytes;
	size_t coro_stack_resident;

	/* Tasks by state; of tasks_alive, each is in one of them. */
	uint64_t tasks_created;    /* not yet begun */
	uint64_t tasks_ready;      /* one of them may be running */
	uint64_t tasks_suspended;
	uint64_t tasks_ended;      /* since the loop began, as all that follows but what is said to be now */

	uint64_t turns;            /* each runs what was ready at its beginning */
	uint64_t switches;         /* to tasks and callbacks */
	uint64_t parks;            /* a task began to wait */
	uint64_t looks;            /* at descriptors, timers and posts, between turns */
	uint64_t sleeps;           /* in the kernel, while nothing was ready */
	uint64_t polls;            /* calls of epoll_wait(2) */
	uint64_t events;           /* that these told of */
	uint64_t posts;            /* of other threads, run */
	uint64_t timers_armed;     /* also those of sleeps and deadlines */
	uint64_t timers_fired;
	uint64_t timers_pending;   /* now */
	uint64_t descriptor_waits; /* now: tasks that wait for a descriptor */
	uint64_t jobs;             /* given to other threads, by bide_offload() or for files and names */
	uint64_t jobs_pending;     /* now: of these, not back */
	uint64_t slow_slices;      /* that took bide_config.slow_slice and more, where it is on (bide/loop.h) */

	/* Of CLOCK_MONOTONIC: the loop's latest look, or the end of its latest sleep. 0: it is asleep. Read from
	 * another thread, an old moment means a task that does not give control back. */
	bide_time busy_since;

	/* Loop lag. timer_lag: how late timers fired, by the loop's clock; one that was armed for a time that was
	 * over is late from the look before. look_gap: from one look, or the end of a sleep, to the next: so long at
	 * most what an event or another thread brought had to wait. */
	bide_histogram timer_lag;
	bide_histogram look_gap;
} bide_stats;

/* The figures of `loop`, NULL for the calling thread's. Those of another thread's loop are as of a look or the
 * beginning of its sleep: while its tasks run, a fifth of a millisecond or one slice ago at most, whichever is
 * longer. Each is whole; two of them may be of two looks, but of a loop that sleeps all are of now. Of another
 * thread's loop stacks_unguarded, stack_resident, stack_mappings and what is of coroutines, which can only be
 * had by walking, are 0; reading the others takes no lock and does not disturb the loop. For the own loop all
 * is of now, and that takes some ten microseconds, mostly for stack_resident.
 * Errors: EINVAL stats is NULL or has a wrong size; EPERM loop is NULL and this thread has none;
 * ESHUTDOWN the loop has ended. [T] */
BIDE_API int bide_stats_get(bide_loop *loop, bide_stats *stats);

/* Writes the figures of `count` loops in Prometheus' text format, which other monitors read as well (HTTP:
 * Content-Type: text/plain; version=0.0.4), but for those that can only be had by walking. Every sample has the
 * label loop="n" for loops[n]. A loop that has ended, or NULL, is left out. loops NULL with count 0 is the calling
 * thread's loop, with its bide_loop_number(). Of the names none is ever given another meaning: bide_tasks,
 * bide_switches_total, bide_timer_lag_seconds and so on; a HELP line says what each is.
 * Several loops of one bide_run_many(): let each main note its bide_loop_self() under its number.
 * A task that serves a health page writes into an open_memstream(3), which does not block.
 * Returns 0. Errors: EINVAL out is NULL, or loops is and count is not 0; EPERM count is 0 and this thread has no
 * loop; ESHUTDOWN none of the loops runs any more: nothing was written; those of writing. [T] */
BIDE_API int bide_stats_write(FILE *out, bide_loop *const loops[], unsigned count);

/* ---- every stack ----------------------------------------------------------------------------------- */

/* What a garbage collector needs to know of a stack: everything that lives on it lies from sp up to
 * high. A stack that has not been entered yet has sp == high. */
typedef struct bide_stack_range {
	void *low;
	void *sp;        /* where its flow of control stands, or stood when it was left */
	void *high;      /* exclusive */
	void *frame;     /* the frame-pointer register of a stack that was left, which may hold a pointer
	                    of its own; every other register is on the stack */
	bide_task *task; /* whose stack it is, or whose coroutine's; NULL for a coroutine that belongs to none
	                    now. No reference */
	bide_coro *coro; /* NULL: a task's own stack */
} bide_stack_range;

/* Calls visit for each stack of the calling thread: of the tasks of its loop, on memory of whatever
 * origin, and of the bare coroutines that it began, or made and nobody has begun. The thread's own stack,
 * on which the loop runs, is not among them. `range` is good during the call. visit must not spawn, switch
 * or make or close coroutines. Returns how many there were. Errors: EINVAL visit is NULL. */
BIDE_API int bide_stack_each(void (*visit)(const bide_stack_range *range, void *arg), void *arg);

/* ---- how deep stacks are used ----------------------------------------------------------------------- */

/* With BIDE_PAINT_STACKS: the most bytes of its stack that `task` (NULL: the running one) has used so far,
 * or had used when it ended; exact to the word, on a recycled stack too, the library's own part included.
 * A stack_size must be larger than that: leave a quarter for what did not happen this time, and for
 * a signal's frame. 0 for a task that has not run.
 * Errors: ENOTSUP stacks are not painted; EINVAL high_water is NULL; EPERM outside a task (NULL), or
 * another loop's; ESRCH a stale handle. */
BIDE_API int bide_stack_used(const bide_task *task, size_t *high_water);

/* With BIDE_PAINT_STACKS: the same for all tasks that one place in the program has spawned. */
typedef struct bide_stack_site {
	void *site;          /* the address behind the call of bide_spawn() */
	const char *place;   /* the call, as "function (file.c:12)" */
	uint64_t tasks;      /* whose stacks were measured: those that have run and ended */
	size_t high_water;   /* the most that one of them used */
	size_t stack_size;   /* of the one that used the most */
	uint64_t task_id;    /* and which it was */
} bide_stack_site;

/* Calls visit for each such place, in the order of their first ends. `site` is good during the call.
 * Returns how many there are. Errors: ENOTSUP stacks are not painted; EINVAL visit is NULL; EPERM
 * outside a loop's thread. */
BIDE_API int bide_stack_sites(void (*visit)(const bide_stack_site *site, void *arg), void *arg);

BIDE_END

#endif
