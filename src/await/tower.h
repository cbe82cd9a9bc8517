/* SPDX-License-Identifier: MIT
 * Layer await: towers. The stacks of one flow of control stand on each other: a task's own, on it that of
 * a coroutine the task resumed, on that the one which that coroutine resumed, and so on. When the task
 * parks, all of them park; only the innermost one's stack pointer is in the task's own context. */
#ifndef AWAIT_TOWER_H
#define AWAIT_TOWER_H

#include "await/record.h"

/* Where the flow of control left a stack. */
struct leave_point {
	void *sp;    /* NULL: not known, it runs there */
	void *frame; /* the frame-pointer register */
	void *resume; /* where the code goes on */
};

static inline struct leave_point left_at(const struct strand *strand)
{
	return (struct leave_point){ strand->context.sp, strand->context.fp, strand->context.resume };
}

/* coro NULL: the task's own stack, or that of the thread, which is then NULL too. */
typedef void tower_visitor(const struct stack *stack, struct leave_point left, struct bide_coro *coro, void *arg);

/* From the innermost coroutine (NULL: none) down to `base`; `left` is where the whole tower was left.
 * Reads only, so that a signal handler may call it. */
void tower_each(struct bide_coro *innermost, const struct stack *base, struct leave_point left,
    tower_visitor *visit, void *arg);
void tower_of_task(const struct await_task *task, tower_visitor *visit, void *arg);

/* Of the thread itself, outside its loop's tasks. */
struct bide_coro *tower_of_thread(void);

/* Ends the innermost coroutine of the running task; in its resumer bide_exit(value) goes on. */
_Noreturn void coro_exit(struct bide_coro *coro, void *value);
/* The task ends, or never runs again: its coroutines belong to nobody. */
void coros_disown(struct await_task *task);

/* How many coroutines were made in this run and are not closed; of the first `max` where they were made. */
size_t coros_left_by(const struct run *run, const void **sites, size_t max);

/* Every coroutine of this thread that is in no tower: made, or suspended. visit must not make or close
 * any. */
void coros_each_idle(tower_visitor *visit, void *arg);

/* Where a debugger finds in struct bide_coro what lies below it: the coroutine, and where its resumer goes on. */
struct coro_layout {
	uint32_t below, resumer;
};
extern const struct coro_layout coro_layout;

/* The pool that all coroutines have their stacks from; and what this thread's idle ones can spare. */
void coros_trim(void);
void coros_figures(struct stack_figures *figures);

#endif
