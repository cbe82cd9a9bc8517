/* SPDX-License-Identifier: MIT
 * Layer io: the frame around every system call on a descriptor: try, and if it would block, wait for
 * readiness and try again. Deadlines and cancels, descriptors closed meanwhile, the order among
 * several waiters and what a short count tells are dealt with here, once.
 *
 *	struct io_call call;
 *	ssize_t count = -1;
 *	if (io_begin(&call, fd, DESCRIPTOR_IN) == 0) {
 *		do
 *			count = io_ready(&call) ? system_recv(fd, ...) : -1;
 *		while (io_again(&call, count));
 *		io_end(&call);
 *	}
 *	return count; */
#ifndef IO_CALL_H
#define IO_CALL_H

#include <sys/types.h>

#include "sched/loop.h"
#include "sched/park.h"

struct io_call {
	struct loop *loop;
	struct descriptor *descriptor;
	uint32_t generation; /* of the descriptor, when the call began */
	int fd;
	int direction;
	struct place place;
	bool never_waits;    /* the caller wants EAGAIN */
	bool has_failed;     /* not by the system call */
};

/* 0, or -1 with EPERM, EBADF or ENOMEM. */
int io_begin(struct io_call *call, int fd, int direction);

/* True if the system call may be tried now; parks until then. False with errno if the whole call
 * fails: an interrupt, EBADF, ENOMEM. An interrupt that is pending is found before the first try. */
bool io_ready(struct io_call *call);

/* True if the system call, which returned `result` with errno, is to be tried again. */
bool io_again(struct io_call *call, ssize_t result);

/* The beginning of io_ready alone: false with errno if the whole call fails. */
bool io_is_open(struct io_call *call);

/* Parks, in no line, until one of `events` (POLLER_ bits), hang-up or an error may have come.
 * 0, or -1 with errno. A file that cannot be polled: 0 at once, and its kind is FILE. */
int io_observe(struct io_call *call, uint32_t events);

/* A call that has nothing to do: 0, or -1 with errno as io_ready. Checks that fd is open. */
int io_check(struct io_call *call);

/* 1 if the descriptor is a TCP socket, else 0. */
int io_is_tcp(struct io_call *call);

/* A read asked for `size` and got `count`: on TCP the rest is not there yet, so the next read need not
 * try before it waits. */
void io_note_read(struct io_call *call, ssize_t count, size_t size);

/* Whatever became of the call: the next in line has its turn. errno is kept. */
void io_end(struct io_call *call);

#endif
