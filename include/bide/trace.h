/* SPDX-License-Identifier: MIT
 * Part of bide: a trace of what a program's loops and tasks do, to be looked at in ui.perfetto.dev. Nothing here
 * suspends. */
#ifndef BIDE_TRACE_H
#define BIDE_TRACE_H

#include <bide/api.h>

BIDE_BEGIN

/* WHAT IS IN IT. A loop that is traced notes each spawn, each slice of a task (run), why it ended (park, with
 * what is waited for, until when, and from which lines; ready, after a yield; end), each wake with its reason and
 * who brought it, each cancel with its reason, timers, the poller's sleeps and answers, callbacks, posts, futures
 * and jumps of a virtual clock. The last 65,536 notes of a loop are kept (BIDE_TRACE_EVENTS in the environment:
 * another number, up to 16 million), 64 bytes each; older ones are overwritten, and how many is told. A note
 * takes some 30 ns. While nothing is traced, none is taken.
 *
 * The file is in the JSON form of Chrome's trace viewer, which ui.perfetto.dev opens as it is: one process, a
 * track for each loop and for each task, on a task's track when it ran, was ready and waited for what, arrows
 * from who woke it to where it went on. Times are real ones; a virtual clock has a counter of its own.
 *
 * FROM OUTSIDE. BIDE_TRACE=file in the environment traces every bide_run() of a program, without a change to it,
 * and writes the file when the program ends by exit() or by main's return. A program that is ended by a
 * signal or by _exit() leaves the file as it was begun, without events.
 *
 * FIFOS. A FIFO is opened when the trace ends, and somebody must have it open for reading by then: nobody waits for a
 * reader. If it reads nothing for a second the rest is lost.
 *
 * PROCESSES. In a path "%p" stands for the process's number. A process that was forked is not traced with its
 * parent; it is by BIDE_TRACE only if the path has a %p, since it would overwrite the parent's file else. */

/* Begins to trace: the calling thread's loop, if it is inside bide_run(), from here on, and every loop of the
 * process that begins from now on, on any thread. Writes a file without events to `path`, unless that is a FIFO, so that
 * one that cannot be written is told here; a relative one means the directory of now also when the trace ends. Returns 0. [T]
 * Errors: EINVAL path is NULL or empty; ENAMETOOLONG; EALREADY something is being traced, perhaps by
 * BIDE_TRACE; ENOMEM no memory for the calling loop's notes; those of open(2), access(2) and write(2). */
BIDE_API int bide_trace_start(const char *path);

/* Ends the trace and writes the file, of all loops that took part, also of those that have ended. Takes about a
 * microsecond a note, in which the calling loop stands still. Returns 0. If it fails the trace is over
 * all the same, and the file has no events. It is called at exit() if nobody did before. [T]
 * Errors: EINVAL nothing is being traced; ENOMEM; ENXIO nobody has the FIFO open for reading; EAGAIN its reader reads
 * nothing; those of open(2) and write(2). */
BIDE_API int bide_trace_stop(void);

BIDE_END

#endif
