/* SPDX-License-Identifier: MIT
 * Layer stack: the switch as the sanitizers want it told. They forbid the inline form: the function
 * that switches must not be instrumented itself. */
#include "stack/strand.h"

__thread struct exceptions *thread_exceptions;

/* Weak: without a C++ library there is nothing to keep. */
extern struct exceptions *__cxa_get_globals(void) __attribute__((weak));

struct exceptions *exceptions_find(void)
{
	static __thread struct exceptions none;
	thread_exceptions = __cxa_get_globals ? __cxa_get_globals() : &none;
	return thread_exceptions;
}

#if defined(ANNOTATE_ASAN) || defined(ANNOTATE_TSAN)

#define UNINSTRUMENTED __attribute__((noinline, no_sanitize("address"), no_sanitize("thread")))

/* Who switched here: its stack bounds are learned on arrival, also the thread's own. */
static __thread struct strand *came_from;

/* ---- leak checks ----
 *
 * AddressSanitizer keeps the frames of each stack on a fake stack beside it, and a leak check looks
 * only at that of the stack which runs. So it is told of those of stacks that were left. How large one is
 * follows from the size of its stack (libsanitizer, asan_fake_stack.h); what is not mapped of the
 * range a leak check passes over. */
#ifdef ANNOTATE_ASAN
static UNINSTRUMENTED void unroot(struct strand *strand)
{
	if (strand->rooted)
		__lsan_unregister_root_region(strand->rooted, strand->rooted_size);
	strand->rooted = NULL;
}

static UNINSTRUMENTED void root(struct strand *strand)
{
	size_t log = 16;
	if (strand->rooted == strand->fake_stack)
		return;
	unroot(strand);
	while (log < 20 && (size_t)1 << log < strand->size)
		log++;
	strand->rooted = strand->fake_stack;
	strand->rooted_size = ((size_t)11 << log) + ((size_t)1 << (log - 5)) + 4096;
	if (strand->rooted)
		__lsan_register_root_region(strand->rooted, strand->rooted_size);
}
#endif

/* ---- strands ---- */

UNINSTRUMENTED void strand_init(struct strand *strand, const struct stack *stack, char *top,
    void (*fn)(void *), void *arg)
{
	context_init(&strand->context, top, fn, arg);
#ifdef ANNOTATE_ASAN
	strand->fake_stack = strand->rooted = NULL;
	strand->low = stack->low;
	strand->size = (size_t)(stack->high - stack->low);
#endif
#ifdef ANNOTATE_TSAN
	(void)stack;
	strand->fiber = __tsan_create_fiber(0);
#endif
}

UNINSTRUMENTED void strand_begin(struct strand *self)
{
#ifdef ANNOTATE_ASAN
	const void *low;
	size_t size;
	__sanitizer_finish_switch_fiber(self->fake_stack, &low, &size);
	came_from->low = low;
	came_from->size = size;
	if (came_from->fake_stack)
		root(came_from);
#else
	(void)self;
#endif
}

static UNINSTRUMENTED void depart(struct strand *from, struct strand *to, bool for_good)
{
	came_from = from;
#ifdef ANNOTATE_ASAN
	if (for_good) {
		unroot(from);
		from->fake_stack = NULL;
	}
	__sanitizer_start_switch_fiber(for_good ? NULL : &from->fake_stack, to->low, to->size);
#else
	(void)for_good;
#endif
#ifdef ANNOTATE_TSAN
	from->fiber = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(to->fiber, 0);
#endif
	(void)to;
}

static UNINSTRUMENTED void switch_annotated(struct strand *from, struct strand *to)
{
	depart(from, to, false);
	context_switch(&from->context, &to->context);
	strand_begin(from);
}

UNINSTRUMENTED void strand_switch(struct strand *from, struct strand *to)
{
	if (is_handling_exceptions())
		strand_switch_in_handler(from, to);
	else
		switch_annotated(from, to);
}

UNINSTRUMENTED void strand_leave(struct strand *from, struct strand *to)
{
	exceptions_abandon();
	depart(from, to, true);
	context_switch(&from->context, &to->context);
	__builtin_unreachable();
}

UNINSTRUMENTED void strand_destroy(struct strand *strand)
{
#ifdef ANNOTATE_ASAN
	unroot(strand);
#endif
#ifdef ANNOTATE_TSAN
	__tsan_destroy_fiber(strand->fiber);
#else
	(void)strand;
#endif
}

UNINSTRUMENTED void strand_forget(struct strand *strand)
{
#ifdef ANNOTATE_ASAN
	unroot(strand);
#else
	(void)strand;
#endif
}

#else

static inline void switch_annotated(struct strand *from, struct strand *to)
{
	context_switch_inline(&from->context, &to->context);
}

#endif

__attribute__((noinline)) void strand_switch_in_handler(struct strand *from, struct strand *to)
{
	struct exceptions *exceptions = thread_exceptions, own = *exceptions;
	*exceptions = (struct exceptions){ NULL, 0 };
	switch_annotated(from, to);
	*exceptions = own;
}
