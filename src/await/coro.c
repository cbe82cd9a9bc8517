/* SPDX-License-Identifier: MIT
 * Layer await: the bare coroutine. Its resumer lends it the thread, or the task: resume and yield are
 * a switch between two stacks of one flow of control, and the scheduler does not notice. When a
 * suspending call parks the task, it saves the context of whatever stack it is on, and so the whole
 * tower parks.
 *
 * Coroutines of one task form a chain: the innermost is the task's `coro`, each knows the one that
 * resumed it. On a thread outside any task the chain starts in thread_coro. */
#include <bide/coro.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "await/tower.h"
#include "base/fail.h"

#define CLOSE_ROUNDS_MAX 1000

struct bide_coro {
	struct strand strand;   /* its own, while SUSPENDED */
	struct strand resumer;  /* who resumed it, while EXECUTING */
	void *transfer;         /* the value on its way: in at a resume, out at a yield */
	struct bide_coro *below; /* the coroutine its resumer runs in, NULL if none */
	struct bide_coro **top; /* the chain it is in: a task's, or the thread's; NULL before the start */
	int state;
	bool is_closing;
	bide_fn *body;
	void *arg;
	struct stack stack;
	struct link all;        /* in shared_pool.coros */
	_Atomic(const void *) owner; /* the thread that began it, or, before that, made it; as its &thread_coro */
};

static __thread struct bide_coro *thread_coro __attribute__((tls_model("initial-exec")));

/* Coroutines of a thread without a loop, and those that outlive one, have stacks of a pool of their
 * own. */
struct thread_pool {
	struct stack_pool stacks;
	struct list coros;
	pthread_mutex_t lock;
};

static pthread_once_t pool_once = PTHREAD_ONCE_INIT;
static struct thread_pool shared_pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void init_pool(void)
{
	stack_pool_init(&shared_pool.stacks, &memory_default, NULL);
}

/* The place where the innermost running coroutine of the caller's flow of control is noted. */
static inline struct bide_coro **chain(void)
{
	struct task *task = task_current();
	return task ? &await_task_of(task)->coro : &thread_coro;
}

static void coro_main(void *arg)
{
	struct bide_coro *coro = arg;
	strand_begin(&coro->strand);
	atomic_store_explicit(&coro->owner, &thread_coro, memory_order_relaxed);
	coro->transfer = coro->body(coro->arg);
	coro->state = BIDE_CORO_CLOSED;
	*coro->top = coro->below;
	strand_leave(&coro->strand, &coro->resumer);
}

/* A stack of the shared pool, and where to begin on it; NULL with errno. */
static char *take_stack(struct bide_coro *coro, size_t size)
{
	struct stack_pool *stacks = &shared_pool.stacks;
	char *top = NULL;
	pthread_once(&pool_once, init_pool);
	pthread_mutex_lock(&shared_pool.lock);
	if (stack_reserve(stacks, size ? size : STACK_SIZE_DEFAULT, &coro->stack) == 0) {
		stack_get(stacks, &coro->stack);
		top = stack_top(stacks, &coro->stack);
		list_push_tail(&shared_pool.coros, &coro->all);
	}
	enum stack_trouble trouble = stacks->trouble;
	stacks->trouble = STACK_TROUBLE_NONE;
	pthread_mutex_unlock(&shared_pool.lock);
	if (trouble != STACK_TROUBLE_NONE && loop_current)
		report_limit(run_of(loop_current), &trouble);
	return top;
}

bide_coro *bide_coro_new(bide_fn *body, void *arg, size_t stack_size)
{
	if (!body) {
		errno = EINVAL;
		return NULL;
	}
	struct bide_coro *coro = memory_alloc(&memory_default, sizeof *coro);
	if (!coro)
		return NULL;
	char *top = take_stack(coro, stack_size);
	if (!top) {
		memory_free(&memory_default, coro, sizeof *coro);
		return NULL;
	}
	strand_init(&coro->strand, &coro->stack, top, coro_main, coro);
	coro->state = BIDE_CORO_CREATED;
	coro->body = body;
	coro->arg = arg;
	atomic_init(&coro->owner, &thread_coro);
	return coro;
}

static void coro_free(struct bide_coro *coro)
{
	strand_destroy(&coro->strand);
	strand_forget(&coro->resumer);
	pthread_mutex_lock(&shared_pool.lock);
	link_remove(&coro->all);
	stack_put(&shared_pool.stacks, &coro->stack);
	pthread_mutex_unlock(&shared_pool.lock);
	memory_free(&memory_default, coro, sizeof *coro);
}

/* Why `coro` cannot be resumed from the flow of control with this chain; 0 if it can. */
static __attribute__((noinline, cold)) int why_not(const struct bide_coro *coro,
    struct bide_coro *const *top)
{
	if (!coro)
		return EINVAL;
	if (coro->state == BIDE_CORO_CLOSED)
		return ESRCH;
	if (coro->top != top && coro->state != BIDE_CORO_CREATED)
		return EPERM;
	return EBUSY;
}

static inline void switch_into(struct bide_coro *coro, struct bide_coro **top)
{
	coro->below = *top;
	coro->state = BIDE_CORO_EXECUTING;
	*top = coro;
	strand_switch(&coro->resumer, &coro->strand);
}

CONTEXT_RETURNS_BY_JUMP int bide_coro_resume(bide_coro *coro, void *in, void **out)
{
	struct bide_coro **top = chain();
	if (unlikely(!coro || coro->state > BIDE_CORO_SUSPENDED ||
	    (coro->top != top && coro->state != BIDE_CORO_CREATED))) {
		errno = why_not(coro, top);
		return -1;
	}
	coro->top = top;
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
	strand_switch(&coro->strand, &coro->resumer);
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

int bide_coro_close(bide_coro *coro)
{
	struct bide_coro **top = chain();
	if (!coro || coro->state == BIDE_CORO_EXECUTING ||
	    (coro->state == BIDE_CORO_SUSPENDED && coro->top != top)) {
		errno = !coro ? EINVAL : coro->state == BIDE_CORO_EXECUTING ? EBUSY : EPERM;
		return -1;
	}
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

/* ---- towers -------------------------------------------------------------------------------------- */

void tower_each(struct bide_coro *innermost, const struct stack *base, struct leave_point left,
    tower_visitor *visit, void *arg)
{
	for (struct bide_coro *coro = innermost; coro; coro = coro->below) {
		visit(&coro->stack, left, coro, arg);
		left = left_at(&coro->resumer);
	}
	visit(base, left, NULL, arg);
}

void tower_of_task(const struct await_task *task, tower_visitor *visit, void *arg)
{
	bool runs = task->task.loop->running == &task->task;
	struct leave_point left = runs ? (struct leave_point){ NULL, NULL } : left_at(&task->task.strand);
	tower_each(task->is_entered ? task->coro : NULL, &task->task.stack, left, visit, arg);
}

struct bide_coro *tower_of_thread(void)
{
	return thread_coro;
}

void coros_each_idle(tower_visitor *visit, void *arg)
{
	pthread_mutex_lock(&shared_pool.lock);
	list_each(link, &shared_pool.coros) {
		struct bide_coro *coro = container_of(link, struct bide_coro, all);
		if (atomic_load_explicit(&coro->owner, memory_order_relaxed) != &thread_coro)
			continue;
		if (coro->state == BIDE_CORO_CREATED || coro->state == BIDE_CORO_SUSPENDED)
			visit(&coro->stack, left_at(&coro->strand), coro, arg);
	}
	pthread_mutex_unlock(&shared_pool.lock);
}

static void trim_one(const struct stack *stack, struct leave_point left, struct bide_coro *coro, void *arg)
{
	(void)arg;
	/* One that has not begun has nothing to give back, and another thread may begin it just now. */
	if (coro->state == BIDE_CORO_SUSPENDED)
		stack_trim(&shared_pool.stacks, stack, left.sp);
}

void coros_trim(void)
{
	pthread_once(&pool_once, init_pool);
	coros_each_idle(trim_one, NULL);
	pthread_mutex_lock(&shared_pool.lock);
	stack_pool_trim(&shared_pool.stacks);
	pthread_mutex_unlock(&shared_pool.lock);
}

void coros_figures(struct stack_figures *figures)
{
	pthread_once(&pool_once, init_pool);
	pthread_mutex_lock(&shared_pool.lock);
	stack_pool_figures(&shared_pool.stacks, figures);
	pthread_mutex_unlock(&shared_pool.lock);
}
