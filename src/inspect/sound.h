/* SPDX-License-Identifier: MIT
 * Layer inspect: whether what the records of a held loop point to may be followed. Its thread was stopped anywhere: a
 * link may lead to what has been freed, a record may be half made. So a pointer is followed only to memory that can be
 * read, as the kernel says, and to what says of itself that it is what it should be; and so many steps are taken at most,
 * since links may go round. What is not sound is left out, and that it was is told.
 *
 * Where the loop's own thread tells, nothing is in the middle of a change: it has no struct sound (NULL), and all is
 * sound, at no cost. */
#ifndef INSPECT_SOUND_H
#define INSPECT_SOUND_H

#include "await/group.h"
#include "await/record.h"

#define SOUND_PAGES 64

struct sound {
	const struct loop *loop;
	int file;                     /* the kernel writes bytes into it, if they can be read */
	size_t steps;                 /* left */
	bool met_nonsense;
	uintptr_t pages[SOUND_PAGES]; /* that can be read, by their numbers (0: none), as long as the thread is held */
};

/* Before the thread is held. 0, or -1 with errno. */
int sound_begin(struct sound *sound, const struct loop *loop);
void sound_end(struct sound *sound);

/* How many steps there may be in a loop of so many tasks; none before. */
void sound_limit(struct sound *sound, size_t tasks);

bool sound_memory(struct sound *sound, const void *start, size_t size);
/* A record of the loop's. */
bool sound_task(struct sound *sound, const struct await_task *task);
/* In use, by a task and in a group. */
bool sound_child(struct sound *sound, const struct child *child);
/* That the task is in. */
bool sound_scope(struct sound *sound, const struct await_task *task, const struct scope *scope);
bool sound_group(struct sound *sound, const struct await_task *owner, const struct group *group);
/* What a parked task waits for can be described. */
bool sound_wait(struct sound *sound, const struct wait *wait);
/* The task's coroutines. */
bool sound_tower(struct sound *sound, const struct await_task *task);
/* From where it was left. */
bool sound_stack(struct sound *sound, const struct stack *stack, const void *sp);

#endif
