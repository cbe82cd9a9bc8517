/* SPDX-License-Identifier: MIT
 * Layer io: system calls that raise SIGPIPE in the calling thread, made without it. The signal's
 * disposition belongs to the program and is not touched. */
#ifndef IO_SIGPIPE_H
#define IO_SIGPIPE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct sigpipe {
	sigset_t old_mask;
	bool was_pending;
};

/* Blocks the signal for the moment of one system call. */
void sigpipe_block(struct sigpipe *sigpipe);
/* The call returned `count`, with errno: takes back the signal that it raised, if it did, and unblocks.
 * errno is kept. */
void sigpipe_unblock(const struct sigpipe *sigpipe, ssize_t count);

#endif
