/* SPDX-License-Identifier: MIT
 * Layer base: the knobs of the hostile build (`make HOSTILE=1`): the same library, made to give bugs a
 * chance. What is a matter of speed alone goes to its worst value, so that whoever relied on luck loses:
 * a pointer into a stack that was given back, a list that is changed while others run, an event that came
 * with another one. Nothing that is promised changes.
 *
 * The rest is in test/support: the random order of ready tasks (runs.h), and system calls that are
 * interrupted (suite.c). */
#ifndef BASE_HOSTILE_H
#define BASE_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#ifdef BIDE_HOSTILE
#define KNOB(normal, hostile) (hostile)
#else
#define KNOB(normal, hostile) (normal)
#endif

#define IS_HOSTILE KNOB(false, true)

/* Switches between two looks at timers and descriptors, at most. Hostile: each switch goes by the loop, and
 * what falls due or ready is met at each. */
#define LOOK_SWITCHES KNOB(64, 1)

/* A task whose calls never block lets others run before each n-th of them. Hostile: before each second one; not
 * before each, since a task that has just been woken has a call left in any build. */
#define CALL_BUDGET KNOB(128, 2)

/* Events that one question to the kernel may bring. Hostile: others run between any two. */
#define POLLER_BATCH KNOB(128, 1)

/* Bytes that warm stacks may hold, where the user does not say. Hostile: none is kept. */
#define STACK_WARM_DEFAULT KNOB((size_t)16 << 20, (size_t)0)

/* Stacks cut from one slab, at most, and the address space and slabs of each class that are kept though they are
 * free. Hostile: each stack is a slab of its own, unmapped as soon as it is given back: whoever still looks there
 * gets a fault. */
#define STACK_SLAB_DEFAULT KNOB(64, 1)
#define STACK_SPARE_DEFAULT KNOB((size_t)256 << 20, (size_t)0)
#define STACK_SPARE_SLABS_DEFAULT KNOB(2, 0)

/* What memory is filled with before it is given back, and where it is not all zero from the start. */
static inline void poison(void *memory, size_t size)
{
	if (IS_HOSTILE)
		memset(memory, 0xdb, size);
}

#endif
