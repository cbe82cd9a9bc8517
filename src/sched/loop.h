/* SPDX-License-Identifier: MIT
 * Layer sched: the loop of one thread. Its own context runs callbacks, looks at the clock and the
 * poller, and enters tasks; tasks hand over to each other directly as long as no look is due. */
#ifndef SCHED_LOOP_H
#define SCHED_LOOP_H

#include <stdbool.h>

#include "base/clock.h"
#include "base/hostile.h"
#include "base/slab.h"
#include "sched/board.h"
#include "sched/descriptor.h"
#include "sched/inbox.h"
#include "sched/pace.h"
#include "sched/poller.h"
#include "sched/task.h"
#include "sched/trace.h"

/* So many posts of other threads run in one go. */
#define POSTS_AT_ONCE 32

/* A task whose calls all fail by an interrupt is slowed down after so many of them in one slice. */
#define FAILING_CALLS 128

/* Rooms of the upper layers, filled and emptied by them. */
enum loop_room {
	LOOP_ROOM_AWAIT,
	LOOP_ROOM_IO,
	LOOP_ROOM_HOST,
	LOOP_ROOM_INSPECT,
	LOOP_ROOM_COUNT
};

/* A slice is what runs between two switches: a task, a callback, a post. */
struct slice_hooks {
	void (*begins)(struct loop *loop); /* of loop->entered */
	void (*ends)(struct loop *loop);   /* of the same; called again where nothing has begun since */
};

struct loop {
	/* Touched at every switch. */
	struct ready_queue ready;
	struct task *running;      /* NULL: the loop's own context runs */
	struct pace pace;          /* when it is time to look */
	int budget;                /* non-blocking calls left to the running task */
	uint32_t coarse_now;       /* the loop's time as of the latest look; for ages: see coarse_since() */
	int *errno_location;       /* of this thread */
	struct exceptions *exceptions; /* likewise */
	struct task *dead;         /* ended; its stack is put back by whoever runs next */
	struct entry *handed;      /* a callback that a task met at the head of the queue */
	struct tracer *tracer;     /* NULL: nobody listens (sched/trace.h) */
	struct strand strand;      /* the loop's own context, while a task runs */

	/* Figures. */
	struct counts {
		uint64_t parks, wakes; /* of tasks: who was not woken yet is suspended */
		uint64_t begun;        /* tasks that have run, or were canceled before */
	} counts;
	struct board *board;       /* in the inbox; board_left once that is closed */
	struct board board_left;
	bide_time looked_at;       /* the latest look, or end of a sleep, by the loop's clock */
	bide_time published_at;    /* in real time */

	struct timers timers;
	struct poller poller;
	struct descriptors descriptors;
	struct clock clock;

	struct slab tasks;
	struct stack_pool stacks;
	const struct memory *memory;
	struct random random;      /* for choices that must be fair; seeded */
	struct list settlers;      /* tasks in bide_settle() */
	unsigned outside_work;     /* what other threads have promised to bring */
	unsigned listeners;        /* tasks that wait for a signal, or at a shared channel */
	bool stop;                 /* loop_run is to return */
	bool waits_for_ever;       /* something may come of which nothing is known */

	/* What other threads bring. */
	struct inbox *inbox;       /* NULL: closed */
	bide_loop *handle;
	bool is_known;             /* its handle was given out: somebody may post, and wants to be heard soon */
	bool posts_are_due;        /* posts_entry is in the ready queue, or handed */
	struct inbox_post *posts;  /* taken out of the inbox, oldest first */
	struct inbox_post **posts_end;
	struct entry posts_entry;  /* runs them; a turn of its own for each POSTS_AT_ONCE */
	bide_time patience;        /* until when, in real time, a virtual clock waits for outside work */
	bool keeps_stacks;         /* another thread uses what lies on them: loop_destroy() leaves them */

	void (*task_main)(struct task *task);   /* a task's first function; returns when it has ended */
	void (*task_buried)(struct task *task); /* called once, on another stack, after its end */

	/* Called when nothing is ready and nothing can ever be. Returns true if it made something
	 * ready. */
	bool (*deadlocked)(struct loop *loop);

	/* Called before the loop sleeps, and at a look when sweep_at has come, in real time; sets sweep_at
	 * and sweep_wake, the time at which a sleeping loop is to wake for it. NULL: no sweeps. */
	void (*sweep)(struct loop *loop, bide_time now, bool is_idle);
	bide_time sweep_at, sweep_wake;

	/* Called at looks and before a sleep: copies to the board what is not counted there. NULL: nothing. */
	void (*publish)(struct loop *loop);

	/* In debug mode: called on the loop's stack after each slice with the task whose slice it was, and
	 * before an ended task's stack is put back. With it, or with `slices` or `tracer`, no task hands over to
	 * another directly. */
	void (*after_slice)(struct loop *loop, struct task *task);
	/* In debug mode: a descriptor was registered with the poller, for the running task. */
	void (*registered)(struct loop *loop, int fd, unsigned number);

	struct task *entered;      /* whose slice it is, NULL: a callback's; only kept for that and what follows */

	/* Called before and after each slice, of a task or of a callback. NULL: nobody times them. */
	const struct slice_hooks *slices;
	atomic_uintptr_t callback; /* the user's function that was called last on the loop's stack */

	void *rooms[LOOP_ROOM_COUNT];
};

struct loop_settings {
	size_t record_size; /* of a task: struct task and what the upper layer puts behind it */
	size_t annex_size;
	const struct memory *memory;
	const struct stack_hooks *stack_hooks;
	struct stack_options stacks;
	bool is_virtual;
	bool is_random;
	uint64_t seed;
	void (*task_main)(struct task *task);
	void (*task_buried)(struct task *task);
	bool (*deadlocked)(struct loop *loop);
	void (*publish)(struct loop *loop); /* may be NULL */
};

/* The loop of this thread, NULL outside one; and in a process that a task has forked, which must not touch
 * what it shares with its parent's loop. */
extern __thread struct loop *loop_current __attribute__((tls_model("initial-exec"), visibility("hidden")));

int loop_init(struct loop *loop, const struct loop_settings *settings); /* 0, or -1 with errno */
void loop_destroy(struct loop *loop);

/* Runs what is ready and waits for more, until loop_stop(). */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* In a process that has just been forked: this thread has no loop any more. loop_run() returns as soon as it
 * is back in control. */
void loop_forget(void);

/* The handle by which other threads know the loop. */
bide_loop *loop_handle(struct loop *loop);

static inline bide_time loop_now(const struct loop *loop)
{
	return clock_now(&loop->clock);
}

/* AGES. When a task was spawned and when it parked is noted in 32 bits: 2^24 ns, 17 ms, a unit; after two years it
 * begins anew. `now` is real time. */
static inline void loop_note_time(struct loop *loop, bide_time now)
{
	loop->coarse_now = (uint32_t)((loop->clock.is_virtual ? loop->clock.now : now) >> 24);
}

/* Nanoseconds since a time that was noted. */
static inline bide_time coarse_since(const struct loop *loop, uint32_t noted)
{
	return (bide_time)((uint32_t)(loop_now(loop) >> 24) - noted) << 24;
}

/* Arms a timer of the loop; BIDE_NEVER arms nothing. */
static inline void loop_arm(struct loop *loop, struct timer *timer, bide_time deadline)
{
	if (deadline == BIDE_NEVER)
		return;
	timer_arm(&loop->timers, timer, deadline);
	pace_expect(&loop->pace);
}

/* A function of the user's is about to be called on the loop's stack. */
static inline void loop_calls(struct loop *loop, uintptr_t fn)
{
	atomic_store_explicit(&loop->callback, fn, memory_order_relaxed);
	trace_note(loop->tracer, TRACE_CALL, NULL, (const void *)fn, 0);
}

static inline bool loop_is_watched(const struct loop *loop)
{
	return loop->after_slice || loop->slices || loop->tracer;
}

static inline void slice_begins(struct loop *loop, struct task *task)
{
	loop->entered = task;
	if (unlikely(loop->slices != NULL))
		loop->slices->begins(loop);
	trace_note(loop->tracer, task ? TRACE_RUN : TRACE_CALLBACK, task, NULL, 0);
}

static inline void slice_ends(struct loop *loop)
{
	trace_note(loop->tracer, loop->entered ? TRACE_LEAVE : TRACE_RETURN, loop->entered, NULL, 0);
	if (unlikely(loop->slices != NULL))
		loop->slices->ends(loop);
}

/* One goes over into another, without a return to the loop. */
static inline void slice_changes(struct loop *loop, struct task *task)
{
	slice_ends(loop);
	slice_begins(loop, task);
}

/* A switch was counted, and the pace is to be checked: whether control goes back to the loop. */
bool loop_takes_over(struct loop *loop);

/* Takes an entry out before its turn, also if a task has handed it to the loop already. */
static inline void loop_withdraw(struct loop *loop, struct entry *entry)
{
	if (link_is_linked(&entry->link))
		ready_remove(&loop->ready, entry);
	else if (loop->handed == entry)
		loop->handed = NULL;
}

/* The running task of this thread; NULL outside one. */
static inline struct task *task_current(void)
{
	struct loop *loop = loop_current;
	return likely(loop != NULL) ? loop->running : NULL;
}

/* The task's state as its user sees it. */
static inline enum task_state task_state(const struct task *task)
{
	return task == task->loop->running ? TASK_RUNNING : (enum task_state)task->state;
}

/* A record in state FREE with a stack of stack_size bytes reserved (0: none, the caller adopts one)
 * and a timer pledged; NULL with ENOMEM or EINVAL. */
struct task *task_new(struct loop *loop, size_t stack_size);
/* Puts a new task at the end of the ready queue. */
void task_start(struct task *task);
/* Gives the record back, in state CREATED before its start, DONE, or FREE. */
void task_free(struct task *task);

/* The scheduler's invariants, for tests; a broken one ends the process. */
void sched_check(const struct loop *loop);

#endif
