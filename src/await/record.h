/* SPDX-License-Identifier: MIT
 * Layer await: the whole task record, handles to it, and the run it belongs to. */
#ifndef AWAIT_RECORD_H
#define AWAIT_RECORD_H

#include <errno.h>

#include <bide/loop.h>
#include <bide/task.h>

#include "await/future.h"
#include "await/leaks.h"
#include "await/scope.h"
#include "await/stackwatch.h"
#include "await/trim.h"
#include "sched/loop.h"
#include "sched/park.h"

#define TASK_NAME_SIZE 32

struct deferred;
struct local;
struct scratch;
struct bide_coro;
struct child;
struct run;
struct signal_watch;

/* What lies behind struct task in the same record. A million parked tasks have a million of these: what is
 * not needed by a task that is just parked belongs into the annex. docs/notes/stack.md has the sum. */
struct await_task {
	struct task task;

	/* Identity. */
	uint64_t id;
	unsigned references;     /* the runtime's until the task is buried; the handle's until it is
	                            joined or detached; bide_task_ref's */
	uint16_t generation;     /* of the record: a handle names one */
	union {
		struct {
			bool is_detached : 1;
			bool is_joined : 1;       /* the handle's reference is gone */
			bool starts_always : 1;
			bool is_entered : 1;      /* its body: arg is gone, coro is there */
			bool is_outcome_read : 1;
			bool is_ending : 1;       /* its cancel requests do not interrupt it */
			bool was_nearly_full : 1; /* its stack, and that was reported */
			bool has_annex : 1;       /* the annex means something */
		};
		uint16_t flags;
	};
	void *spawn_site;        /* the return address of bide_spawn */

	bide_fn *fn;
	union {
		void *arg;
		struct bide_coro *coro; /* the innermost one that runs in this task */
	};

	struct scope *scope;     /* the innermost one */
	struct child *child;     /* its place in the group that owns it; NULL: free-standing */
};

#if !defined(ANNOTATE_ASAN) && !defined(ANNOTATE_TSAN) && !defined(BIDE_VALGRIND)
_Static_assert(sizeof(struct await_task) <= 256, "a parked task costs little more than its stack's page");
#endif

/* What a task needs that is waited for, canceled, named or more: apart from the record, in memory that is
 * not touched before. */
struct annex {
	/* Looked at whenever a task ends. */
	struct future done;        /* its completion */
	uint64_t end_number;       /* how many of the run had ended with it */
	unsigned cancel_count;
	unsigned group_depth;      /* groups it has entered and not left */
	unsigned held_locks;       /* mutexes; counted by the layer sync */
	unsigned user_references;  /* bide_task_ref's alone: no more than these can be dropped by unref */
	struct deferred *deferred; /* the latest one (ending.c) */
	struct local *locals;
	struct list coros;         /* that belong to it (coro.c) */

	struct scratch *scratch;   /* memory of the calls in which it waits (scratch.c) */
	uintptr_t held_addresses;  /* of all locks held, xor */
	const char *cancel_reason;
	void (*drop)(void *arg);   /* for an arg whose body is never entered */
	int fail_err;              /* what bide_fail() was told */
	struct timer scope_timer;  /* armed for the nearest deadline in force; pledged (scope.c) */
	struct await_task *circle_next; /* of circle.c, while it searches ... */
	uint64_t circle_search;         /* ... and the search that has found it last */
	char name[TASK_NAME_SIZE];
};

extern const struct annex no_annex;
void annex_begin(struct await_task *task);

/* To write to; made if need be. */
static inline struct annex *annex_of(struct await_task *task)
{
	if (!task->has_annex)
		annex_begin(task);
	return task->task.annex;
}

/* To read; all zero if nothing was ever written. */
static inline const struct annex *annex_peek(const struct await_task *task)
{
	return task->has_annex ? task->task.annex : &no_annex;
}

/* The task's completion, to wait for; and how it stands. */
static inline struct future *task_future(struct await_task *task)
{
	return &annex_of(task)->done;
}

static inline const struct future *task_outcome(const struct await_task *task)
{
	return &annex_peek(task)->done;
}

/* What the layer sync, above, knows of locks. */
struct lock_hooks {
	/* A task ends with held_locks > 0. */
	void (*abandoned)(struct await_task *task);
	/* Who holds what a task waits for; NULL: nobody, or that is not known. */
	const struct await_task *(*holder)(const struct run *run, enum wait_kind kind, const void *object);
	/* In debug mode: a task's slice is over. */
	void (*slice_ended)(struct await_task *task);
	/* The run is over: what is noted of it goes. */
	void (*run_ended)(struct run *run);
};

/* What the layer host, above, has to do with a run's end. */
struct host_hooks {
	/* Ends jobs and threads, until a moment in real time at the latest. How many could not be ended; the
	 * report of them is made. */
	unsigned (*end)(struct run *run, bide_time until);
};

/* What the layer inspect, above, does with every run, since it may be looked at at any time. It defines the one
 * there is: this is the only call upwards that nobody has asked for before. */
struct inspector {
	void (*run_begins)(struct run *run); /* on its thread, before anything runs */
	void (*run_ends)(struct run *run);   /* while it is still whole; in a forked process too, of a parent's run */
	void (*forked)(void);                /* this is another process: all runs are the parent's */
};

extern const struct inspector inspector;

/* A bide_run(), in LOOP_ROOM_AWAIT of its loop. */
struct run {
	struct loop loop;
	struct memory memory;
	bide_config config;      /* with the defaults filled in */
	struct await_task *main;
	uint64_t serial;         /* of this run in the process: tells its tasks from those of others */
	uint64_t next_id;
	unsigned alive;          /* tasks that have not ended */
	bool is_main_done;
	bool is_deadlocked;
	unsigned deadlock_rounds;
	uint64_t ends;           /* tasks that have ended, ever */
	uint64_t circle_searches; /* how many there were (circle.c) */
	struct list soons;       /* callbacks of bide_call_soon that have not run */
	struct list done_callbacks; /* of bide_on_done, likewise */
	struct sites sites;      /* where stacks are painted */
	struct leaks leaks;      /* in debug mode */
	const struct lock_hooks *locks; /* NULL: no lock was ever taken or waited for */
	struct list os_mutexes;  /* that tasks hold, in debug mode; the layer sync's */
	const struct host_hooks *host;   /* NULL: no job was ever given to another thread */
	struct watch *watch;     /* of the layer inspect; NULL: there was no memory */
	struct list outside_waits; /* of tasks, that other threads may look at ... */
	void (*abandon_outside_waits)(struct run *run); /* ... until this; NULL: there never was one */
	struct sweep sweep;
	struct overflow_watch overflow_watch;
	struct signal_watch *stop_signals; /* stop.c; NULL: they are left alone */
	bide_time limit_reported_at; /* real time */
};

static inline struct await_task *await_task_of(struct task *task)
{
	return container_of(task, struct await_task, task);
}

/* When it was spawned, by loop.coarse_now: noted where the record has four bytes left. */
static inline uint32_t task_born(const struct await_task *task)
{
	return task->task.timer.node.note;
}

static inline struct run *run_of(struct loop *loop)
{
	return container_of(loop, struct run, loop);
}

/* The running task; NULL with EPERM outside one. */
static inline struct await_task *await_current(void)
{
	struct task *task = task_current();
	if (!task)
		errno = EPERM;
	return task ? await_task_of(task) : NULL;
}

/* A record in use? For walks over all of a loop's. */
static inline bool record_is_live(const struct await_task *task)
{
	return task->task.loop && task->task.state != TASK_FREE;
}

/* HANDLES. A bide_task * is the record's address with the generation above bit 47, where no user
 * address has a bit (x86_64 and aarch64 give addresses above it only to who asks for them). So a
 * handle whose task is gone is told from one of the task that got its record. In the bits that a
 * record's alignment leaves free it has the number of its run, so that one of another loop, or of a
 * run that is over and whose memory is gone, is told without looking there, unless a multiple of 64
 * runs lies between. */
#define HANDLE_SHIFT 48
#define HANDLE_RUN_MASK 63

static inline unsigned handle_number(const struct run *run)
{
	return (unsigned)run->serial & HANDLE_RUN_MASK;
}

static inline bide_task *handle_of(const struct await_task *task)
{
	return (bide_task *)((uintptr_t)task | (uintptr_t)task->generation << HANDLE_SHIFT |
	    handle_number(run_of(task->task.loop)));
}

/* The record of a handle that is good, or NULL: handle_resolve() knows why. Looks at no record before the
 * handle says that it is of this loop's run. */
static inline struct await_task *handle_look(const bide_task *handle)
{
	uintptr_t bits = (uintptr_t)handle;
	struct loop *loop = loop_current;
	if (unlikely(!handle) || unlikely(!loop))
		return NULL;
	unsigned number = handle_number(run_of(loop));
	struct await_task *task = (void *)((bits & (((uintptr_t)1 << HANDLE_SHIFT) - 1)) - number);
	bool is_good = (bits & HANDLE_RUN_MASK) == number && task->task.loop == loop &&
	    task->generation == bits >> HANDLE_SHIFT && task->task.state != TASK_FREE;
	return likely(is_good) ? task : NULL;
}

/* NULL with EINVAL (NULL), EPERM (not this thread's loop) or ESRCH. */
struct await_task *handle_resolve(const bide_task *handle);

/* The last reference is gone. */
void task_release(struct await_task *task);

static inline void task_hold(struct await_task *task)
{
	task->references++;
}

static inline void task_drop(struct await_task *task)
{
	CHECK(task->references > 0, "a reference is dropped once");
	if (--task->references == 0)
		task_release(task);
}

/* Reports a failure that nobody read. */
void report_unread(struct await_task *task);

/* The scheduler's two ways into life.c: a task's first function, and what is done after its end. */
void life_main(struct task *task);
void life_buried(struct task *task);

void task_name_copy(char name[TASK_NAME_SIZE], const char *from);

/* As handle_resolve, and EINVAL if it is detached. */
struct await_task *task_resolve_joinable(const bide_task *handle);
/* The outcome was read: the handle's reference is gone with it. */
void task_give_handle_back(struct await_task *task);

/* Runs the deferred calls, latest first, then the locals' drops; on the task's own stack. */
void ending_run(struct await_task *task);
/* Gives a spawner's inheritable locals to its child. 0 or -1 with ENOMEM. */
int locals_inherit(struct await_task *child, const struct await_task *spawner);
/* For tasks that will never run again: nothing is called. */
void deferred_free(struct await_task *task);
void locals_free(struct await_task *task);

void cancel_request(struct await_task *task, const char *reason);

/* bide_spawn_with for the library itself: the record, in the ready queue; flags of attr but EAGER are
 * obeyed. NULL with errno. */
struct await_task *task_spawn(bide_fn *fn, void *arg, const bide_task_attr *attr, void *site);

/* One line, or a few, to config.report, or to stderr. printf-like; cut to 1 KiB. */
__attribute__((format(printf, 3, 4))) void run_report(struct run *run, int kind, const char *format, ...);

/* The same with a text of any size, in a room that has some to spare for what is added to each report. */
void run_tell(struct run *run, int kind, char *text, size_t size);

/* For texts: the task's name in quotes behind its id, cut to size. */
#define TASK_LABEL_SIZE (TASK_NAME_SIZE + 32)
const char *task_label(const struct await_task *task, char label[TASK_LABEL_SIZE]);

#endif
