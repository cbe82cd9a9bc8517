/* SPDX-License-Identifier: MIT
 * Layer await: in debug mode, what is left when a loop ends and its user should have canceled or closed: timers,
 * descriptors that are registered, coroutines and with them their stacks. Tasks see to themselves (run.c). */
#ifndef AWAIT_LEAKS_H
#define AWAIT_LEAKS_H

#include <stddef.h>
#include <stdint.h>

struct run;

#define REGISTRATION_FRAMES 12

/* A descriptor, as it was when a task of the run first waited for it. */
struct registration {
	int fd;
	unsigned number;    /* the record's, which changes when the descriptor becomes another file's */
	void *spawn_site;   /* of that task */
	int frame_count;    /* where it was waited for, to be looked at when it is told: names take a while to find */
	uintptr_t frames[REGISTRATION_FRAMES];
};

struct leaks {
	struct registration *registrations; /* by order of their first waits */
	size_t count, room;
	unsigned *numbers; /* by descriptor: of its registration, from 1 on; 0: none */
	size_t fds;        /* so many have a place there */
};

/* The run notes from now on. */
void leaks_begin(struct run *run);
/* All tasks have ended. Reports, and forgets. */
void leaks_end(struct run *run);

#endif
