/* SPDX-License-Identifier: MIT
 * Layer inspect: another thread of this process is held where it stands, so that what only it writes can be
 * read.
 *
 *      who wants to look                      the thread
 *      1  say "wanted", send a signal
 *      2  wait for "held"                     3  in the handler: its backtrace, then say "held"
 *      4  read                                5  wait in the handler
 *      6  say "released"                      7  go on
 *
 * The thread may own any lock, that of malloc too, and its records may be in the middle of a change. So between
 * 3 and 6 nothing may be called that takes a lock or allocates, and what is read must be doubted. Who looks gives up
 * if the thread does not answer, because it blocks the signal, stands in the kernel and cannot be interrupted, or
 * has ended; a signal that comes later finds nothing wanted.
 *
 * It is a real-time signal whose action is the default, the highest but two, or one below; it has a handler while
 * somebody may look. One that is not ours, as its value tells, acts as before. A system call that it interrupts
 * goes on (SA_RESTART), but for those that never do, as nanosleep(2) and poll(2): they fail with EINTR. */
#ifndef INSPECT_FREEZE_H
#define INSPECT_FREEZE_H

#include <stdbool.h>
#include <sys/types.h>

#include "inspect/dump.h"

/* Threads may be held from now on. False if there is no signal for it. Counted. */
bool freeze_begin(void);
void freeze_end(void);

/* In a process that has just been forked: nobody is held, and the signal acts as it did before. */
void freeze_forget(void);

/* Holds the thread, which has an alternate signal stack, until freeze_release(), and copies where it stands. Until
 * then no injected fault strikes the caller. False if it did not answer. */
bool freeze_hold(pid_t thread_id, struct dump_frames *frames);
void freeze_release(void);

/* Whether it is held now: it sleeps, but not by its own will. */
bool freeze_holds(pid_t thread_id);

/* By a thread that will not be held any more, where a freeze_hold() of it has failed: a signal that it blocks
 * must not come when nobody handles it. */
void freeze_settle(void);

#endif
