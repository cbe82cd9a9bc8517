/* SPDX-License-Identifier: MIT
 * Part of bide: looking into a running program: its tasks, figures, and stacks. Nothing here suspends. */
#ifndef BIDE_INSPECT_H
#define BIDE_INSPECT_H

#include <stdio.h>

#include <bide/api.h>
#include <bide/coro.h>

BIDE_BEGIN

/* ---- tasks ---------------------------------------------------------------------------------------- */

/* Flags of bide_dump(). */
enum {
	BIDE_DUMP_BACKTRACES = 1, /* below each task the calls it stands in, innermost first */
	BIDE_DUMP_ALL = 2         /* every task, however many there are */
};

/* Writes the tree of this thread's tasks that have not ended: a line for each task, below it its groups, below each
 * of those its children. A line has id and name, state, what it waits for and who holds that, when the wait ends by
 * itself and how long it has lasted, the nearest deadline, whether it is canceled, its age, how much of its stack it
 * stands on (with BIDE_PAINT_STACKS also the most it ever used) and where it was spawned, as "function (file.c:12)".
 * Of a group with more than 100 children, and of more than 100 tasks without a group, the rest is told in one line, how
 * many wait for what, unless BIDE_DUMP_ALL is given. Ages are good to 20 ms. It needs no memory, but for out's.
 * Returns 0. Errors: EINVAL out is NULL, or unknown flags; EPERM outside a loop's thread; those of writing. */
BIDE_API int bide_dump(FILE *out, unsigned flags);

/* ---- figures --------------------------------------------------------------------------------------- */

/* How stacks of this process are guarded. */
enum {
	BIDE_GUARD_ADVICE,  /* marks in the page tables (Linux 6.13 and later): no limit but memory */
	BIDE_GUARD_PROTECT  /* protected pages: two mappings a stack, of which vm.max_map_count are there */
};

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
} bide_stats;

/* Takes some ten microseconds, mostly for stack_resident. `loop` NULL is the calling thread's.
 * Errors: EINVAL stats is NULL or has a wrong size; EPERM outside a loop's thread, or another loop. */
BIDE_API int bide_stats_get(bide_loop *loop, bide_stats *stats);

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
