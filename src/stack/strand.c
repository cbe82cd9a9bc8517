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
 * A leak check looks at the stack that runs, and at the fake stack on which AddressSanitizer keeps frames
 * beside it. So it is told of those of stacks that were left, the thread's own stack included. How large
 * a fake stack is follows from the size of its stack (libsanitizer, asan_fake_stack.h); what is not
 * mapped of a range a leak check passes over. */
#ifdef ANNOTATE_ASAN
static UNINSTRUMENTED void set_root(struct leak_root *root, const void *start, size_t size)
{
	if (root->start == start)
		return;
	if (root->start)
		__lsan_unregister_root_region(root->start, root->size);
	if (start)
		__lsan_register_root_region(start, size);
	*root = (struct leak_root){ start, size };
}

static UNINSTRUMENTED size_t fake_stack_size(size_t stack_size)
{
	size_t log = 16;
	while (log < 20 && (size_t)1 << log < stack_size)
		log++;
	return ((size_t)11 << log) + ((size_t)1 << (log - 5)) + 4096;
}

static UNINSTRUMENTED void set_roots(struct strand *strand)
{
	if (strand->fake_stack)
		set_root(&strand->fake_root, strand->fake_stack, fake_stack_size(strand->size));
	if (!strand->is_ours)
		set_root(&strand->own_root, strand->low, strand->size);
}

static UNINSTRUMENTED void clear_roots(struct strand *strand)
{
	set_root(&strand->fake_root, NULL, 0);
	set_root(&strand->own_root, NULL, 0);
}
#endif

/* ---- strands ---- */

UNINSTRUMENTED void strand_init(struct strand *strand, const struct stack *stack, char *top,
    void (*fn)(void *), void *arg)
{
	context_init(&strand->context, top, fn, arg);
#ifdef ANNOTATE_ASAN
	strand->fake_stack = NULL;
	strand->low = stack->low;
	strand->size = (size_t)(stack->high - stack->low);
	strand->is_ours = true;
	strand->fake_root = strand->own_root = (struct leak_root){ NULL, 0 };
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
	set_roots(came_from);
#else
	(void)self;
#endif
}

static UNINSTRUMENTED void depart(struct strand *from, struct strand *to, bool for_good)
{
	came_from = from;
#ifdef ANNOTATE_ASAN
	if (for_good) {
		clear_roots(from);
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

UNINSTRUMENTED void strand_switch(struct strand *from, struct strand *to, struct exceptions *exceptions)
{
	if (is_handling(exceptions))
		strand_switch_in_handler(from, to, exceptions);
	else
		switch_annotated(from, to);
}

UNINSTRUMENTED void strand_leave(struct strand *from, struct strand *to, struct exceptions *exceptions)
{
	exceptions_abandon(exceptions);
	depart(from, to, true);
	context_switch(&from->context, &to->context);
	__builtin_unreachable();
}

UNINSTRUMENTED void strand_destroy(struct strand *strand)
{
#ifdef ANNOTATE_ASAN
	clear_roots(strand);
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
	clear_roots(strand);
#else
	(void)strand;
#endif
}

void strand_move(struct strand *to, struct strand *from)
{
	strand_forget(to);
	*to = *from;
	*from = (struct strand){ .context = from->context };
}

#else

static inline void switch_annotated(struct strand *from, struct strand *to)
{
	context_switch_inline(&from->context, &to->context);
}

#endif

__attribute__((noinline)) void strand_switch_in_handler(struct strand *from, struct strand *to,
    struct exceptions *exceptions)
{
	struct exceptions own = *exceptions;
	*exceptions = (struct exceptions){ NULL, 0 };
	switch_annotated(from, to);
	*exceptions = own;
}
