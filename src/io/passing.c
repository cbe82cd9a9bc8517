/* SPDX-License-Identifier: MIT
 * Layer io: descriptors that travel in messages of unix sockets. A descriptor is sent with one byte of
 * data, since a stream carries nothing without. */
#include "io/passing.h"

#include <bide/net.h>

#include <errno.h>
#include <string.h>

#include <bide/io.h>

#include "base/fail.h"
#include "base/system.h"
#include "io/call.h"

#define PASSED_MAX 253 /* SCM_MAX_FD: the kernel takes no more in one message */

/* How many descriptors are in a control message. Its data need not be aligned. */
static size_t count_in(const struct cmsghdr *control)
{
	bool is_rights = control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS;
	return is_rights ? (control->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
}

static int fd_in(const struct cmsghdr *control, size_t index)
{
	int fd;
	memcpy(&fd, CMSG_DATA(control) + index * sizeof fd, sizeof fd);
	return fd;
}

#define each_control(control, message)                                                             \
	struct cmsghdr *control = CMSG_FIRSTHDR(message); control;                                     \
	control = CMSG_NXTHDR((struct msghdr *)(uintptr_t)(message), control)

void passing_note(struct loop *loop, const struct msghdr *message)
{
	if (message->msg_controllen == 0)
		return;
	for (each_control(control, message))
		for (size_t i = 0; i < count_in(control); i++)
			descriptor_fresh(loop, fd_in(control, i), DESCRIPTOR_UNKNOWN, -1);
}

int bide_send_fd(int socket, int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
	};
	if (fd < 0)
		return fail_with(EBADF);
	memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
	return bide_sendmsg(socket, &message, 0) < 0 ? -1 : 0;
}

/* The first one; those that a stranger has sent along are closed. -1 if there is none. */
static int keep_first(const struct msghdr *message)
{
	int kept = -1;
	for (each_control(control, message))
		for (size_t i = 0; i < count_in(control); i++) {
			if (kept < 0)
				kept = fd_in(control, i);
			else
				bide_close(fd_in(control, i));
		}
	return kept;
}

/* There is room for all that one message can carry, so that what comes is known and can be closed, and
 * MSG_CTRUNC means one thing: this process had no number left for it. */
int bide_recv_fd(int socket)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(PASSED_MAX * sizeof(int))];
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
	};
	ssize_t count = bide_recvmsg(socket, &message, 0);
	if (count < 0)
		return -1;
	int fd = keep_first(&message);
	if (fd >= 0)
		return fd;
	if (message.msg_flags & MSG_CTRUNC)
		return fail_with(EMFILE);
	return fail_with(count == 0 ? EPIPE : ENOMSG);
}
