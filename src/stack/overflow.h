/* SPDX-License-Identifier: MIT
 * Layer stack: an overflow is caught and named. While any loop of the process is watched, SIGSEGV and
 * SIGBUS have a handler of ours. When a fault is that of a stack of ours that has run into its guard, it
 * writes one line to stderr: whose stack, where it is, how large, what to raise. Then, as for every
 * other fault at once, the signal goes on to the handler that was there before, or takes its default
 * action, with the same signal at the same instruction.
 *
 * The handler runs on an alternate stack, since there is no room left on the one that overflowed: that
 * of the host where the thread has one, else one of ours. It calls nothing that is not
 * async-signal-safe, takes no lock and needs about 1 KiB beside the signal's own frame. */
#ifndef STACK_OVERFLOW_H
#define STACK_OVERFLOW_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "stack/stack.h"

/* Whose stack it was. */
struct overflow_victim {
	struct stack stack;
	bool is_coroutine;
	bool has_stepped_over;  /* the fault is not in its guard, but further down */
	uint64_t task_id;       /* 0: no task */
	const char *task_name;  /* "" or NULL: none */
	uintptr_t spawn_site;   /* 0: not known */
};

/* Finds the stack of the calling thread that `is_it` says yes to. Called in a signal handler, in the
 * middle of whatever the thread was doing: it only reads. */
struct overflow_trace;
typedef bool overflow_finder(const struct overflow_trace *trace, struct overflow_victim *victim);
/* `is_running`: the thread is on `stack`, as far as the loop knows. Otherwise it may be so only in the middle
 * of a switch, which uses little of a stack; and a frame of another stack may have come down there. */
bool overflow_is_of(const struct overflow_trace *trace, const struct stack *stack, bool is_running);
/* A frame larger than the guard has moved the stack pointer from `stack` to below the guard, and faults in
 * the guard all the same, or faults elsewhere and is among other stacks of the pool: then
 * *beyond_guard. Only of a stack that the thread must be on. */
bool overflow_stepped_over(const struct overflow_trace *trace, const struct stack *stack,
    const struct stack_pool *pool, bool *beyond_guard);

/* The calling thread's share. */
struct overflow_watch {
	bool is_on;
	void *alternate; /* ours, NULL: the host's */
	size_t alternate_size;
	stack_t host;    /* what was there before */
};

/* 0, or -1 with errno and nothing changed. */
int overflow_watch(struct overflow_watch *watch, overflow_finder *finder);
/* From the same thread. Puts back what was there before, unless the host has changed it meanwhile. */
void overflow_unwatch(struct overflow_watch *watch);

#endif
