/* SPDX-License-Identifier: MIT
 * Layer stack: a strand is a context together with what the sanitizers keep about its stack. Every
 * switch of the library, by tasks, loops and bare coroutines, goes through strand_switch(). */
#ifndef STACK_STRAND_H
#define STACK_STRAND_H

#include <stdbool.h>

#include "base/check.h"
#include "context.h"
#include "stack/annotate.h"
#include "stack/stack.h"

struct strand {
	struct context context;
#ifdef ANNOTATE_ASAN
	void *fake_stack;
	const void *low;
	size_t size;
	bool is_ours;     /* a stack of ours, of which a leak check was told when it was taken */
	struct leak_root {
		const void *start; /* NULL: none */
		size_t size;
	} fake_root, own_root; /* what else it was told of */
#endif
#ifdef ANNOTATE_TSAN
	void *fiber;
#endif
};

/* What the C++ library counts per thread and means per stack: the exceptions being handled, and those
 * on their way (Itanium C++ ABI, 2.2.2). A strand that is suspended meanwhile keeps its own. */
struct exceptions {
	void *handled;
	unsigned uncaught;
};

extern __thread struct exceptions *thread_exceptions; /* NULL: not asked for yet */
struct exceptions *exceptions_find(void);

/* Those of this thread. A loop keeps the address, which spares its switches the question. */
static inline struct exceptions *exceptions_here(void)
{
	return likely(thread_exceptions != NULL) ? thread_exceptions : exceptions_find();
}

static inline bool is_handling(const struct exceptions *exceptions)
{
	return exceptions->handled || exceptions->uncaught;
}

/* A strand that ends inside a handler leaves nothing of it to others. */
static inline void exceptions_abandon(struct exceptions *exceptions)
{
	if (unlikely(is_handling(exceptions)))
		*exceptions = (struct exceptions){ NULL, 0 };
}

/* strand_switch() for that case. */
void strand_switch_in_handler(struct strand *from, struct strand *to, struct exceptions *exceptions);

#if defined(ANNOTATE_ASAN) || defined(ANNOTATE_TSAN)

/* For a strand that will begin at fn(arg); fn must call strand_begin() first. */
void strand_init(struct strand *strand, const struct stack *stack, char *top, void (*fn)(void *), void *arg);
void strand_begin(struct strand *self);
/* Suspends the caller into *from and goes on at *to. `exceptions` are this thread's. */
void strand_switch(struct strand *from, struct strand *to, struct exceptions *exceptions);
/* Goes on at *to; *from will never be resumed. */
_Noreturn void strand_leave(struct strand *from, struct strand *to, struct exceptions *exceptions);
/* After it has left, from another strand. */
void strand_destroy(struct strand *strand);
/* Of a strand that only stood for a stack of somebody else's: it is not used any more. */
void strand_forget(struct strand *strand);
/* *from becomes *to, which is used no more as what it was. */
void strand_move(struct strand *to, struct strand *from);

#else

static inline void strand_init(struct strand *strand, const struct stack *stack, char *top,
    void (*fn)(void *), void *arg)
{
	(void)stack;
	context_init(&strand->context, top, fn, arg);
}

static inline void strand_begin(struct strand *self)
{
	(void)self;
}

static inline __attribute__((always_inline)) void strand_switch(struct strand *from, struct strand *to,
    struct exceptions *exceptions)
{
	if (unlikely(is_handling(exceptions)))
		strand_switch_in_handler(from, to, exceptions);
	else
		context_switch_inline(&from->context, &to->context);
}

static inline _Noreturn void strand_leave(struct strand *from, struct strand *to,
    struct exceptions *exceptions)
{
	(void)from;
	exceptions_abandon(exceptions);
	context_leave_inline(&to->context);
}

static inline void strand_destroy(struct strand *strand)
{
	(void)strand;
}

static inline void strand_forget(struct strand *strand)
{
	(void)strand;
}

static inline void strand_move(struct strand *to, struct strand *from)
{
	*to = *from;
}

#endif

#endif
