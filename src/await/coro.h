/* SPDX-License-Identifier: MIT
 * Layer await: the bare coroutine inside, for coro.c, which runs them, and tower.c, which looks at them. */
#ifndef AWAIT_CORO_H
#define AWAIT_CORO_H

#include <bide/coro.h>

#include "await/tower.h"

struct bide_coro {
	struct strand strand;   /* its own, while SUSPENDED */
	struct strand resumer;  /* who resumed it, while EXECUTING */
	void *transfer;         /* the value on its way: in at a resume, out at a yield */
	struct bide_coro *below; /* the coroutine its resumer runs in, NULL if none */
	struct bide_coro **top; /* the chain it is in: a task's, or the thread's; NULL before the start;
	                           &nobody after the owner's end */
	int state;
	bool is_closing;
	bool has_exited;        /* its body called bide_exit() */
	bide_fn *body;
	void *arg;
	struct stack stack;
	struct link all;        /* in coro_pool.coros */
	struct link owned;      /* in its owner's list, from the first resume to the end */
	const void *thread;     /* as its &thread_coro: that owns it, or, before that, made it. Changed under
	                           the pool's lock: from then on no walk of another thread looks at it */
	uint64_t run_serial;    /* in which it was made; 0: in none */
	const void *site;       /* the return address of bide_coro_new() */
};

/* The innermost one of this thread, outside its loop's tasks. */
extern __thread struct bide_coro *thread_coro __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Coroutines of a thread without a loop, and those that outlive one, have stacks of a pool of their
 * own. Under LOCK_COROS. */
struct coro_pool {
	struct stack_pool stacks;
	struct list coros;
};

extern struct coro_pool coro_pool;
/* Comes before its first use. */
void coro_pool_begin(void);

#endif
