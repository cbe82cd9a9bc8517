/* SPDX-License-Identifier: MIT
 * Part of bide: tasks. A task is a body with a stack of its own, run by one loop on one thread; it
 * never moves to another. */
#ifndef BIDE_TASK_H
#define BIDE_TASK_H

#include <bide/api.h>

BIDE_BEGIN

/* bide_task_attr.flags */
#define BIDE_EAGER 0x1u        /* run the child at once, until its first wait; the caller goes on in the next turn */
#define BIDE_DETACHED 0x2u     /* nobody will join it; the handle is only good while the task lives */
#define BIDE_START_ALWAYS 0x4u /* canceled before its first run: enter the body all the same */

typedef struct bide_task_attr {
	size_t size;              /* sizeof(bide_task_attr) */
	const char *name;         /* copied, cut to 31 bytes; NULL: none */
	unsigned flags;           /* BIDE_EAGER ... */
	size_t stack_size;        /* bytes; 0: the loop's default. Rounded up to pages. See below */
	void *stack;              /* the caller's memory of stack_size bytes, or NULL: from the pool */
	void (*drop)(void *arg);  /* called once with arg if the body is never entered */
} bide_task_attr;

#define BIDE_TASK_ATTR_INIT { sizeof(bide_task_attr), 0, 0, 0, 0, 0 }

/* Makes a task that will run fn(arg) in the next turn, after those spawned before it. The line after
 * bide_spawn() runs first. The handle stays good until bide_join() has returned its outcome, or
 * bide_detach() gave it up; a stale handle is answered with ESRCH. Calls from tasks and callbacks
 * are allowed.
 * A task that is canceled before its first run never sees its arg: if that owns something (memory, a
 * descriptor), attr.drop must give it back.
 * Errors, with arg not consumed: EINVAL fn is NULL, attr has a wrong size or unknown flags, the
 * stack is too small or absurdly large, a stack without stack_size, BIDE_EAGER outside a task;
 * EPERM outside a loop's thread; EAGAIN config->max_tasks reached, or main has ended; ENOMEM, also
 * when the system gives no more mappings for guards: a BIDE_REPORT_LIMIT then names the limit. */
BIDE_API bide_task *bide_spawn(bide_fn *fn, void *arg);
BIDE_API bide_task *bide_spawn_with(bide_fn *fn, void *arg, const bide_task_attr *attr);

/* STACKS. A stack has address space set aside at spawn, and is taken from the pool at the first run;
 * only pages that were touched cost memory. Below it lies a guard of 16 KiB, on aarch64 of 64 KiB: a
 * program that runs into it ends by SIGSEGV, with a line that says whose stack it was (bide/loop.h,
 * "Signals"). A frame larger than the guard could step over it; compile with -fstack-clash-protection,
 * and it cannot.
 * A size is rounded up to pages, and further in steps of an eighth of the next power of two. Some
 * hundred bytes at the high end are the library's. Which size a body needs: bide-stacks(7).
 * A caller's own `stack` has no guard, needs no alignment, is used as it is, and is the caller's again
 * when the task has been joined.
 *
 * The least size accepted: what a signal may need in the middle of a first call through the dynamic
 * linker, besides a body that does next to nothing. It depends on the processor: more than
 * BIDE_STACK_MIN where its registers are large. Sizes above 64 GiB are refused too. [T] */
BIDE_API size_t bide_stack_min(void);

/* A detached task in one call: 0, or -1 with the errors above. */
BIDE_API int bide_go(bide_fn *fn, void *arg);

#define BIDE_STACK_MIN 8192

/* Parks until `task` has ended and tells how; `*out` may be NULL. 0 whatever the task's own fate:
 * -1 tells of the caller's trouble only, and then the task is still there to be joined. Returns at
 * once if it has ended. Several tasks may join one: all get the same outcome. The first join that
 * succeeds gives the handle back; a reference (below) keeps it good for more.
 * The joined task is not canceled when the joiner is.
 * Errors: EINVAL task is NULL or detached; ESRCH a stale handle; EDEADLK the task itself, or one
 * that waits for the caller, over any number of steps (bide/combine.h); EPERM another loop's task. [S] */
BIDE_API int bide_join(bide_task *task, bide_result *out);

/* Gives the handle up: the task frees itself when it ends.
 * Errors: EINVAL NULL or detached; ESRCH; EPERM another loop's task. */
BIDE_API int bide_detach(bide_task *task);

/* A further reference: the handle and the outcome stay until it is dropped. ref returns `task`, or
 * NULL with EINVAL, ESRCH or EPERM. */
BIDE_API bide_task *bide_task_ref(bide_task *task);
BIDE_API void bide_task_unref(bide_task *task);

/* The running task; NULL outside one. [T] */
BIDE_API bide_task *bide_self(void);

enum {
	BIDE_TASK_CREATED,   /* not entered yet */
	BIDE_TASK_READY,     /* in the ready queue */
	BIDE_TASK_RUNNING,
	BIDE_TASK_SUSPENDED, /* parked */
	BIDE_TASK_DONE
};
/* Errors: -1 with EINVAL, ESRCH or EPERM. */
BIDE_API int bide_task_state(const bide_task *task);

/* Counts from 1 in each loop, never used again in it; 0 with errno on error. */
BIDE_API uint64_t bide_task_id(const bide_task *task);

/* NULL is the running task. The name is copied, cut to 31 bytes; "" when there is none.
 * bide_task_name() gives memory that is good while the task is; NULL on error. */
BIDE_API int bide_task_set_name(bide_task *task, const char *name);
BIDE_API const char *bide_task_name(const bide_task *task);

/* Lets every task that is ready run once. Returns 0. [S] */
BIDE_API int bide_yield(void);

/* For `return bide_fail(err);` in a body: the task ends as failed. err must be positive (else
 * EINVAL is used). Returns a value that means nothing elsewhere. */
BIDE_API void *bide_fail(int err);

/* Ends the running task as if its body had returned `value`, from any depth of calls; the frames
 * between are left as longjmp() would leave them. Outside a task it ends the process by abort(). */
BIDE_NORETURN BIDE_API void bide_exit(void *value);

/* Registers fn(arg) to run when the task ends, however it ends: last registered first, still on the
 * task's stack, shielded from cancellation, so that it may call [S] functions.
 * Errors: EINVAL fn is NULL; EPERM outside a task; ENOMEM. */
BIDE_API int bide_defer(void (*fn)(void *arg), void *arg);

/* Takes the latest deferred call back, and runs it now if `run`. Errors: ENOENT there is none;
 * EPERM outside a task. */
BIDE_API int bide_undefer(bool run);

/* TASK-LOCAL STORAGE. A key is caller-owned and stands for itself by its address; a static all-zero
 * one will do. */
typedef struct bide_key {
	void (*drop)(void *value); /* called at the task's end, after its defers, for non-NULL values */
	unsigned flags;            /* BIDE_KEY_INHERIT */
	unsigned reserved;
} bide_key;

#define BIDE_KEY_INHERIT 0x1u /* a child starts with its spawner's value; drop is then not called in it */

/* Errors: EINVAL key is NULL; EPERM outside a task; ENOMEM. The value replaced is not dropped. */
BIDE_API int bide_local_set(const bide_key *key, void *value);
/* The value, NULL where there is none. */
BIDE_API void *bide_local_get(const bide_key *key);

BIDE_END

#endif
