/* SPDX-License-Identifier: MIT
 * Layer await: the bare coroutine. Its resumer lends it the thread, or the task: resume and yield are
 * a switch between two stacks of one flow of control, and the scheduler does not notice. When a
 * suspending call parks the task, it saves the context of whatever stack it is on, and so the whole
 * tower parks.
 *
 * Coroutines that run in one task form a chain: the innermost is the task's `coro`, each knows the one that
 * resumed it. On a thread outside any task the chain starts in thread_coro.
 *
 * A coroutine belongs to whoever resumed it first: to the chain `top` points to. The owner lists what
 * belongs to it, and lets go of it at its own end; so no other task that gets the same record, and no other
 * thread in the same place, takes it for its own. What was let go of can only be closed. */
#include <bide/coro.h>

#include <errno.h>
#include <pthread.h>

#include "await/coro.h"
#include "base/fail.h"
#include "base/locks.h"

#define CLOSE_ROUNDS_MAX 1000

const struct coro_layout coro_layout = { offsetof(struct bide_coro, below),
	offsetof(struct bide_coro, resumer.context) };

static struct bide_coro *nobody;
static __thread struct list thread_coros;
__thread struct bide_coro *thread_coro __attribute__((tls_model("initial-exec")));

/* The place where the innermost running coroutine of the caller's flow of control is noted. */
static inline struct bide_coro **chain(void)
{
	struct task *task = task_current();
	return task ? &await_task_of(task)->coro : &thread_coro;
}

static _Noreturn void leave(struct bide_coro *coro)
{
	coro->state = BIDE_CORO_CLOSED;
	*coro->top = coro->below;
	link_remove(&coro->owned);
	strand_leave(&coro->strand, &coro->resumer, exceptions_here());
}

static void coro_main(void *arg)
{
	struct bide_coro *coro = arg;
	strand_begin(&coro->strand);
	coro->transfer = coro->body(coro->arg);
	leave(coro);
}

/* ---- owners -------------------------------------------------------------------------------------- */

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key; /* its destructor runs at a thread's end */
static int key_err;

static void disown(struct list *list)
{
	struct link *link;
	while ((link = list_pop_head(list)))
		container_of(link, struct bide_coro, owned)->top = &nobody;
}

/* The flow of control ends in the middle of a tower, whose frames are left as longjmp() would leave them.
 * Returns the strand that stands for the stack below it, NULL if there is no tower. */
static struct strand *abandon_tower(struct bide_coro *coro)
{
	struct strand *below = NULL;
	for (; coro; coro = coro->below) {
		coro->state = BIDE_CORO_CLOSED;
		below = &coro->resumer;
	}
	return below;
}

static void thread_ends(void *list)
{
	struct strand *own = abandon_tower(thread_coro);
	if (own)
		strand_forget(own);
	thread_coro = NULL;
	disown(list);
}

static void init_key(void)
{
	key_err = pthread_key_create(&thread_key, thread_ends);
}

/* The list of what belongs to the caller; NULL with errno. */
static struct list *own_list(void)
{
	struct task *task = task_current();
	if (task)
		return &annex_of(await_task_of(task))->coros;
	pthread_once(&key_once, init_key);
	int err = key_err ? key_err : pthread_setspecific(thread_key, &thread_coros);
	if (!err)
		return &thread_coros;
	errno = err;
	return NULL;
}

/* It was made, or owned, on another thread. */
static void take_over(struct bide_coro *coro)
{
	lock_take(LOCK_COROS);
	coro->thread = &thread_coro;
	lock_release(LOCK_COROS);
}

static bool own(struct bide_coro *coro, struct bide_coro **top)
{
	struct list *list = own_list();
	if (!list)
		return false;
	if (coro->thread != &thread_coro)
		take_over(coro);
	coro->top = top;
	list_push_tail(list, &coro->owned);
	return true;
}

/* Of a task that ends, on its own stack, or that will never run again. */
void coros_disown(struct await_task *task)
{
	struct strand *own = abandon_tower(task->is_entered ? task->coro : NULL);
	if (own)
		strand_move(&task->task.strand, own);
	disown(&annex_of(task)->coros);
}

_Noreturn void coro_exit(struct bide_coro *coro, void *value)
{
	coro->has_exited = true;
	coro->transfer = value;
	leave(coro);
}

/* ---- making and freeing -------------------------------------------------------------------------- */

/* A stack of the shared pool, and where to begin on it; NULL with errno. */
static char *take_stack(struct bide_coro *coro, size_t size)
{
	struct stack_pool *stacks = &coro_pool.stacks;
	char *top = NULL;
	coro_pool_begin();
	lock_take(LOCK_COROS);
	if (stack_reserve(stacks, size ? size : STACK_SIZE_DEFAULT, &coro->stack) == 0) {
		stack_get(stacks, &coro->stack);
		top = stack_top(stacks, &coro->stack);
		list_push_tail(&coro_pool.coros, &coro->all);
	}
	enum stack_trouble trouble = stacks->trouble;
	stacks->trouble = STACK_TROUBLE_NONE;
	lock_release(LOCK_COROS);
	if (trouble != STACK_TROUBLE_NONE && loop_current)
		report_limit(run_of(loop_current), &trouble);
	return top;
}

__attribute__((noinline)) bide_coro *bide_coro_new(bide_fn *body, void *arg, size_t stack_size)
{
	if (!body) {
		errno = EINVAL;
		return NULL;
	}
	struct bide_coro *coro = memory_alloc(&memory_default, sizeof *coro);
	if (!coro)
		return NULL;
	coro->state = BIDE_CORO_CREATED;
	coro->thread = &thread_coro;
	coro->run_serial = loop_current ? run_of(loop_current)->serial : 0;
	coro->site = __builtin_return_address(0);
	char *top = take_stack(coro, stack_size);
	if (!top) {
		memory_free(&memory_default, coro, sizeof *coro);
		return NULL;
	}
	strand_init(&coro->strand, &coro->stack, top, coro_main, coro);
	coro->body = body;
	coro->arg = arg;
	return coro;
}

static void coro_free(struct bide_coro *coro)
{
	strand_destroy(&coro->strand);
	strand_forget(&coro->resumer);
	lock_take(LOCK_COROS);
	link_remove(&coro->all);
	stack_put(&coro_pool.stacks, &coro->stack);
	lock_release(LOCK_COROS);
	memory_free(&memory_default, coro, sizeof *coro);
}

/* ---- resuming ------------------------------------------------------------------------------------ */

/* Why `coro` cannot be resumed by who is not known to own it; 0 if it can. */
static int why_not(const struct bide_coro *coro, struct bide_coro *const *top)
{
	if (!coro)
		return EINVAL;
	if (coro->state == BIDE_CORO_CLOSED)
		return ESRCH;
	if (coro->state == BIDE_CORO_CREATED)
		return 0;
	return coro->top == top ? EBUSY : EPERM;
}

/* The first resume, or one that is refused. */
static __attribute__((noinline, cold)) bool begin(struct bide_coro *coro, struct bide_coro **top)
{
	int err = why_not(coro, top);
	if (!err)
		return own(coro, top);
	errno = err;
	return false;
}

/* Returns when it yields or ends, unless its body called bide_exit(): then its resumer does so too. */
static inline void switch_into(struct bide_coro *coro, struct bide_coro **top)
{
	coro->below = *top;
	coro->state = BIDE_CORO_EXECUTING;
	*top = coro;
	strand_switch(&coro->resumer, &coro->strand, exceptions_here());
	if (unlikely(coro->state != BIDE_CORO_SUSPENDED) && unlikely(coro->has_exited))
		bide_exit(coro->transfer);
}

CONTEXT_RETURNS_BY_JUMP int bide_coro_resume(bide_coro *coro, void *in, void **out)
{
	struct bide_coro **top = chain();
	if (unlikely(!coro || coro->state != BIDE_CORO_SUSPENDED || coro->top != top) && !begin(coro, top))
		return -1;
	coro->transfer = in;
	switch_into(coro, top);
	if (out)
		*out = coro->transfer;
	return coro->state == BIDE_CORO_SUSPENDED;
}

CONTEXT_RETURNS_BY_JUMP void *bide_coro_yield(void *out)
{
	struct bide_coro **top = chain();
	struct bide_coro *coro = *top;
	if (unlikely(!coro)) {
		errno = EPERM;
		return NULL;
	}
	coro->transfer = out;
	coro->state = BIDE_CORO_SUSPENDED;
	*top = coro->below;
	strand_switch(&coro->strand, &coro->resumer, exceptions_here());
	if (unlikely(coro->is_closing)) {
		errno = ECANCELED;
		return NULL;
	}
	return coro->transfer;
}

bool bide_coro_closing(void)
{
	const struct bide_coro *coro = *chain();
	return coro && coro->is_closing;
}

int bide_coro_state(const bide_coro *coro)
{
	if (!coro)
		return fail_with(EINVAL);
	return coro->state;
}

/* Whether the caller may close it; what nobody owns becomes the caller's. */
static bool may_close(struct bide_coro *coro, struct bide_coro **top)
{
	if (!coro || coro->state == BIDE_CORO_EXECUTING)
		errno = coro ? EBUSY : EINVAL;
	else if (coro->state != BIDE_CORO_SUSPENDED || coro->top == top)
		return true;
	else if (coro->top != &nobody)
		errno = EPERM;
	else
		return own(coro, top);
	return false;
}

int bide_coro_close(bide_coro *coro)
{
	struct bide_coro **top = chain();
	if (!may_close(coro, top))
		return -1;
	coro->is_closing = true;
	for (int rounds = 0; coro->state == BIDE_CORO_SUSPENDED; rounds++) {
		if (rounds == CLOSE_ROUNDS_MAX) {
			coro->is_closing = false;
			return fail_with(EDEADLK);
		}
		coro->transfer = NULL;
		switch_into(coro, top);
	}
	coro_free(coro);
	return 0;
}
