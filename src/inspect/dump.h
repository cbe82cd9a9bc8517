/* SPDX-License-Identifier: MIT
 * Layer inspect: the tree of tasks, written while nothing in it moves: on the loop's own thread, or on another
 * one while that is held. It only reads, takes no lock and allocates nothing. What it finds half changed,
 * where the loop's thread was held in the middle of something, it may tell wrongly, or leaves out and says so
 * (sound.h). */
#ifndef INSPECT_DUMP_H
#define INSPECT_DUMP_H

#include <bide/inspect.h>

#include "base/writer.h"

struct loop;
struct sound;

#define DUMP_FRAMES 48

struct dump_frames {
	uintptr_t sp; /* of a held thread */
	int count;
	uintptr_t pcs[DUMP_FRAMES];
};

/* flags are those of bide_dump(). `running` has the backtrace of what runs on the loop's thread; NULL: it is not
 * known. `sound` where the loop's thread is held; NULL: it is the calling one. modules_note() comes before. */
void dump_write(struct loop *loop, struct writer *writer, unsigned flags, const struct dump_frames *running,
    struct sound *sound);

#endif
