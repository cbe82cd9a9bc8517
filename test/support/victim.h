/* SPDX-License-Identifier: MIT
 * Tasks that overflow their stacks, in a child process, and the line that this is to leave on stderr. */
#ifndef SUPPORT_VICTIM_H
#define SUPPORT_VICTIM_H

#include "death.h"
#include "runs.h"

#define NAMED "bide: stack overflow in "

/* Goes too deep. Volatile, so that no compiler sees that it does not end, or that frames are not needed. */
extern int (*volatile deeper)(int depth);
int with_small_frames(int depth);
void overflow(void);

/* Bodies. */
void *overflowing(void *arg);
void *in_a_coroutine(void *arg); /* it is a coroutine of the task that overflows */
void *in_a_coroutine_of_a_coroutine(void *arg);

void *touch_nothing_of_ours(void *arg); /* by a pointer that is hardly more than NULL */
/* memcheck makes an exit status of its own of a wild access that it saw. */
bool is_seen_by_memcheck(bide_fn *body);

/* The low end of the running task's own stack, for code that is to come near it. */
extern char *low_end;
void find_low_end(void);

/* For a frame that the compiler is not to touch on the way down. */
#if defined(__clang__) || !defined(__GNUC__)
#define UNPROTECTED
#else
#define UNPROTECTED __attribute__((optimize("no-stack-clash-protection")))
#endif

/* A process that will die. */
struct victim {
	bide_fn *body;
	int (*frames)(int); /* NULL: small ones */
	size_t stack_size;  /* 0: the default */
	unsigned flags;     /* of the run */
	bool is_on_a_thread;
	int parked;         /* tasks beside it */
	const bide_allocator *allocator;
	void (*report)(int kind, const char *text, void *ctx); /* NULL: the default */
};

/* Runs the victim: a task "the victim", the latest that main has spawned. */
void die(void *victim);
/* In a child; what an emulator itself says about it is not kept. */
struct death death_by(void (*fn)(void *), void *arg);

/* The line is complete, and the only one; it says so and so. */
void check_line(const struct death *death, const char *who, const char *raise);
/* For a victim without others beside it. */
void check_named(const struct death *death);
int lines_in(const char *text);

/* In a handler: to stderr. */
void say(const char *text);

#endif
