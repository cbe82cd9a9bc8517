/* SPDX-License-Identifier: MIT
 * Layer io: the frame around every system call on a descriptor. See call.h. */
#include "io/call.h"

#include <netinet/in.h>

#include "base/fail.h"
#include "base/system.h"

bool io_fail(struct io_call *call, int err)
{
	call->has_failed = true;
	errno = err;
	return false;
}

bool io_is_open(struct io_call *call)
{
	return io_check_open(call) != NULL;
}

bool io_ready(struct io_call *call)
{
	return io_ready_inline(call);
}

int io_observe(struct io_call *call, uint32_t events)
{
	int status = io_wait(call, task_current(), DESCRIPTOR_IN, events, NULL);
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

int io_ask_tcp(struct descriptor *descriptor, int fd)
{
	int saved = errno, protocol = 0;
	socklen_t length = sizeof protocol;
	bool known = system_getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0;
	descriptor->is_tcp = known && protocol == IPPROTO_TCP;
	errno = saved;
	return descriptor->is_tcp;
}

int io_check(struct io_call *call)
{
	if (!checkpoint())
		return -1;
	return system_fcntl(call->fd, F_GETFD, 0) < 0 ? -1 : 0;
}
