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

#include <errno.h>
#include <sys/types.h>

#include "base/fail.h"
#include "base/fault.h"
#include "sched/loop.h"
#include "sched/park.h"

struct io_call {
	struct loop *loop;
	struct descriptor *descriptor;
	uint32_t generation; /* of the descriptor, when the call began */
	int fd;
	int direction;
	bool never_waits;    /* the caller wants EAGAIN */
	bool has_failed;     /* not by the system call */
	struct place place;
};

/* 0, or -1 with EPERM, EBADF or ENOMEM. */
static inline int io_begin(struct io_call *call, int fd, int direction)
{
	struct task *task = task_current();
	if (!task)
		return fail_with(EPERM);
	*call = (struct io_call){ .loop = task->loop, .fd = fd, .direction = direction };
	call->descriptor = descriptor_get(task->loop, fd);
	if (!call->descriptor)
		return -1;
	call->generation = call->descriptor->generation;
	return 0;
}

/* True if the system call may be tried now; parks until then. False with errno if the whole call
 * fails: an interrupt, EBADF, ENOMEM. An interrupt that is pending is found before the first try. */
bool io_ready(struct io_call *call);
/* The same for a call of which most have to wait: a level of calls less, and of returns, which are
 * mispredicted after a switch, and less stack that was cold for long. */
static inline bool io_ready_inline(struct io_call *call);

/* True if the system call, which returned `result` with errno, is to be tried again. */
bool io_again(struct io_call *call, ssize_t result);

/* The beginning of io_ready alone: false with errno if the whole call fails. */
bool io_is_open(struct io_call *call);

/* Parks, in no line, until one of `events` (POLLER_ bits), hang-up or an error may have come.
 * 0, or -1 with errno. A file that cannot be polled: 0 at once, and its kind is FILE. */
int io_observe(struct io_call *call, uint32_t events);

/* A call that has nothing to do: 0, or -1 with errno as io_ready. Checks that fd is open. */
int io_check(struct io_call *call);

/* Whatever became of the call: the next in line has its turn. errno is kept. */
static inline void io_end(struct io_call *call)
{
	if (call->descriptor->generation == call->generation)
		descriptor_pass_on(call->descriptor, call->direction, &call->place);
}

/* ---- waiting ------------------------------------------------------------------------------------ */

bool io_fail(struct io_call *call, int err);

/* Must it stand in line, before it has tried? */
static inline bool io_must_queue(struct io_call *call)
{
	return !call->place.ticket && descriptor_has_line(call->descriptor, call->direction);
}

/* The running task; NULL if the call fails. */
static inline struct task *io_check_open(struct io_call *call)
{
	struct task *task = checkpoint();
	if (unlikely(!task))
		io_fail(call, errno);
	else if (likely(call->descriptor->generation == call->generation))
		return task;
	else
		io_fail(call, EBADF);
	return NULL;
}

/* Parks until fd may be ready for `events`, in the line of `direction` or, with no place, in none. 0, or
 * the errno with which the wait, or the registration, failed. */
static inline int io_wait(struct io_call *call, struct task *task, int direction, uint32_t events,
    struct place *place)
{
	struct descriptors *descriptors = &call->loop->descriptors;
	struct wait *wait = wait_begin(task, NULL, WAIT_FD, call->descriptor);
	wait->detail = call->fd;
	int err = descriptor_enqueue(call->loop, wait, direction, events, place);
	if (unlikely(err))
		return err == EALREADY ? 0 : err;
	int status = park(task, BIDE_NEVER);
	descriptor_leave(descriptors, wait, place);
	return status;
}

static inline __attribute__((always_inline)) bool io_ready_inline(struct io_call *call)
{
	struct descriptor *descriptor = call->descriptor;
	for (;;) {
		struct task *task = io_check_open(call);
		if (!task)
			return false;
		bool must_queue = io_must_queue(call);
		if (unlikely(call->never_waits))
			return must_queue ? io_fail(call, EAGAIN) : true;
		if (descriptor->is_ready[call->direction] && likely(!must_queue))
			return true;
		int status = io_wait(call, task, call->direction,
		    call->direction == DESCRIPTOR_IN ? POLLER_IN : POLLER_OUT, &call->place);
		if (unlikely(status))
			return io_fail(call, status);
		if (unlikely(descriptor->kind == DESCRIPTOR_FILE))
			return true;
	}
}

/* ---- what calls tell of a descriptor ------------------------------------------------------------ */

int io_ask_tcp(struct descriptor *descriptor, int fd);

/* 1 if it is a TCP socket, else 0. Asked once in a descriptor's life, if nobody told us. */
static inline int io_is_tcp(struct descriptor *descriptor, int fd)
{
	return likely(descriptor->is_tcp >= 0) ? descriptor->is_tcp : io_ask_tcp(descriptor, fd);
}

/* A read asked for `size` and has just got `count`: on TCP the rest is not there yet, so the next read
 * need not try before it waits. */
static inline void io_note_read(struct descriptor *descriptor, int fd, ssize_t count, size_t size)
{
	if (count <= 0 || (size_t)count >= size || fault_is_armed()) /* a fault makes it short on purpose */
		return;
	if (!descriptor->is_hung_up && io_is_tcp(descriptor, fd))
		descriptor->is_ready[DESCRIPTOR_IN] = 0;
}

/* ---- at once ------------------------------------------------------------------------------------ */

/* The short way for a call whose descriptor is ready and that nobody else has to do with: it needs no
 * frame, for while it does not suspend nothing changes that would have to be noticed at its end.
 *
 *	struct descriptor *descriptor = io_at_once(fd, DESCRIPTOR_IN);
 *	if (descriptor) {
 *		ssize_t count = system_recv(fd, ...);
 *		if (io_is_over(descriptor, DESCRIPTOR_IN, count, never_waits))
 *			return count;
 *	}
 *	... as above
 *
 * The record; NULL if the call has to go the long way. */
static inline struct descriptor *io_at_once(int fd, int direction)
{
	struct loop *loop = loop_current;
	if (unlikely(!loop) || unlikely(!loop->running) || unlikely(loop->running->interrupt))
		return NULL;
	struct descriptor *descriptor = descriptor_find(&loop->descriptors, fd);
	if (unlikely(!descriptor) || !descriptor_is_free(descriptor, direction) || unlikely(loop->budget <= 1))
		return NULL;
	loop->budget--;
	return descriptor;
}

/* True if what the system call returned is what the whole call returns. */
static inline bool io_is_over(struct descriptor *descriptor, int direction, ssize_t count, bool never_waits)
{
	if (likely(count >= 0))
		return true;
	if (errno != EAGAIN)
		return errno != EINTR;
	descriptor->is_ready[direction] = 0;
	return never_waits;
}

#endif
