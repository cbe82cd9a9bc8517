/* SPDX-License-Identifier: MIT
 * Layer inspect: one task, in a line and a backtrace. */
#ifndef INSPECT_DUMP_TASK_H
#define INSPECT_DUMP_TASK_H

#include "await/record.h"
#include "inspect/dump.h"
#include "inspect/sound.h"

struct dump {
	struct loop *loop;
	struct writer *out;
	unsigned flags;
	const struct dump_frames *running;
	struct sound *sound;
};

/* Blanks for a line at this depth of the tree. */
void dump_indent(struct dump *dump, unsigned depth);

/* In nanoseconds, from now on. */
void dump_deadline(struct dump *dump, bide_time deadline);

void dump_task(struct dump *dump, struct await_task *task, unsigned depth);

#endif
