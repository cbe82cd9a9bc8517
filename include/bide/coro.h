/* SPDX-License-Identifier: MIT
 * Part of bide: the bare coroutine, a body that is resumed by hand and hands values both ways. It
 * needs no loop; inside a task it may call [S] functions, and then the whole tower of frames parks
 * with the task. */
#ifndef BIDE_CORO_H
#define BIDE_CORO_H

#include <bide/api.h>

BIDE_BEGIN

typedef struct bide_coro bide_coro;

/* stack_size as in bide_task_attr; 0 is the default, as in bide_config. The body starts at the first
 * resume.
 * Errors: EINVAL body is NULL or the size is out of range; ENOMEM. [T] */
BIDE_API bide_coro *bide_coro_new(bide_fn *body, void *arg, size_t stack_size);

/* Runs the coroutine until it yields or returns. `in` becomes what its bide_coro_yield() returns;
 * the first resume starts the body and `in` is ignored (the body has its arg). `*out` (may be NULL)
 * receives what it yielded or returned.
 * Returns 1 if it yielded, 0 if it returned. Whoever resumes it first, a task, or a thread outside its
 * tasks, owns it: nobody else may resume it, also not when the owner has ended.
 * bide_exit() in the body of a coroutine ends it, and likewise each one below it down to the task.
 * Errors: EINVAL coro is NULL; EBUSY it is running, or has resumed others that run; ESRCH it has
 * ended; EPERM it has another owner, or its owner has ended; ENOMEM or EAGAIN, only at the first resume
 * outside a task: the thread could not be marked as an owner. */
BIDE_API int bide_coro_resume(bide_coro *coro, void *in, void **out);

/* Hands `out` to the resumer and parks until the next resume; returns that one's `in`.
 * NULL with EPERM outside a coroutine; NULL with ECANCELED when bide_coro_close() asks it to end,
 * and at each call after that. errno is not touched otherwise. */
BIDE_API void *bide_coro_yield(void *out);

/* True in a body that bide_coro_close() has asked to end: NULL from bide_coro_yield() was not sent by a
 * resumer. For generators that are sent nothing: `while (!bide_coro_closing())`. */
BIDE_API bool bide_coro_closing(void);

enum {
	BIDE_CORO_CREATED,
	BIDE_CORO_SUSPENDED,
	BIDE_CORO_EXECUTING, /* it runs, or something it resumed does */
	BIDE_CORO_CLOSED     /* it returned */
};
/* -1 with EINVAL if coro is NULL. */
BIDE_API int bide_coro_state(const bide_coro *coro);

/* Ends and frees the coroutine. A suspended body is resumed until it returns: its yields fail with
 * ECANCELED; what it yields after that is dropped. One whose owner has ended belongs to who closes it.
 * One that a task was in the middle of when it ended for good (a run's end after the grace, see
 * bide_run), or a thread that ended by pthread_exit(), is just freed. If the body answers with bide_exit(),
 * the caller exits too, and the coroutine, which has ended, is still to be closed.
 * Errors: EINVAL coro is NULL; EBUSY it is running; EPERM it has another owner; EDEADLK the body went on
 * yielding (1,000 times): the coroutine is left suspended, not freed; ENOMEM as bide_coro_resume. */
BIDE_API int bide_coro_close(bide_coro *coro);

BIDE_END

#endif
