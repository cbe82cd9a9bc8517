/* SPDX-License-Identifier: MIT
 * Layer io: the frame around every system call on a descriptor. See call.h. */
#include "io/call.h"

#include <errno.h>
#include <netinet/in.h>

#include "base/fail.h"
#include "base/system.h"

int io_begin(struct io_call *call, int fd, int direction)
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

static bool fail(struct io_call *call, int err)
{
	call->has_failed = true;
	errno = err;
	return false;
}

/* Must it stand in line, before it has tried? */
static bool others_came_first(struct io_call *call)
{
	return !call->place.ticket && descriptor_has_line(call->descriptor, call->direction);
}

/* The running task; NULL if the call fails. */
static inline struct task *check(struct io_call *call)
{
	struct task *task = checkpoint();
	if (unlikely(!task))
		fail(call, errno);
	else if (likely(call->descriptor->generation == call->generation))
		return task;
	else
		fail(call, EBADF);
	return NULL;
}

bool io_is_open(struct io_call *call)
{
	return check(call) != NULL;
}

bool io_ready(struct io_call *call)
{
	struct descriptor *descriptor = call->descriptor;
	for (;;) {
		struct task *task = check(call);
		if (!task)
			return false;
		bool must_queue = others_came_first(call);
		if (unlikely(call->never_waits))
			return must_queue ? fail(call, EAGAIN) : true;
		if (likely(descriptor->is_ready[call->direction]) && likely(!must_queue))
			return true;
		int status = descriptor_wait(call->loop, task, call->fd, call->direction,
		    call->direction == DESCRIPTOR_IN ? POLLER_IN : POLLER_OUT, &call->place);
		if (status)
			return fail(call, status);
		if (descriptor->kind == DESCRIPTOR_FILE)
			return true;
	}
}

int io_observe(struct io_call *call, uint32_t events)
{
	int status = descriptor_wait(call->loop, task_current(), call->fd, DESCRIPTOR_IN, events, NULL);
	return status ? fail_with(status) : 0;
}

bool io_again(struct io_call *call, ssize_t result)
{
	if (likely(result >= 0) || call->has_failed)
		return false;
	if (errno == EINTR)
		return true;
	if (errno != EAGAIN && errno != EWOULDBLOCK)
		return false;
	if (call->descriptor->generation == call->generation)
		call->descriptor->is_ready[call->direction] = 0;
	return !call->never_waits;
}

/* Asked once in a descriptor's life, if nobody told us. */
int io_is_tcp(struct io_call *call)
{
	struct descriptor *descriptor = call->descriptor;
	if (descriptor->is_tcp < 0) {
		int saved = errno, protocol = 0;
		socklen_t length = sizeof protocol;
		bool known = system_getsockopt(call->fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0;
		descriptor->is_tcp = known && protocol == IPPROTO_TCP;
		errno = saved;
	}
	return descriptor->is_tcp;
}

void io_note_read(struct io_call *call, ssize_t count, size_t size)
{
	struct descriptor *descriptor = call->descriptor;
	if (count <= 0 || (size_t)count >= size || descriptor->generation != call->generation)
		return;
	if (fault_is_armed()) /* it may be short on purpose */
		return;
	if (!descriptor->is_hung_up && io_is_tcp(call))
		descriptor->is_ready[DESCRIPTOR_IN] = 0;
}

int io_check(struct io_call *call)
{
	if (!checkpoint())
		return -1;
	return system_fcntl(call->fd, F_GETFD, 0) < 0 ? -1 : 0;
}

void io_end(struct io_call *call)
{
	int saved = errno;
	if (call->descriptor->generation == call->generation)
		descriptor_pass_on(call->descriptor, call->direction, &call->place);
	errno = saved;
}
