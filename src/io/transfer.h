/* SPDX-License-Identifier: MIT
 * Layer io: one attempt to read or write, on a descriptor of any kind, that does not block whatever
 * its O_NONBLOCK says, leaves its flags alone and raises no SIGPIPE. */
#ifndef IO_TRANSFER_H
#define IO_TRANSFER_H

#include <sys/uio.h>

#include "io/call.h"

/* What the descriptor is, found out once. DESCRIPTOR_UNKNOWN with errno if it is not open. */
enum descriptor_kind transfer_kind(struct io_call *call);

/* For io_again(): a count, or -1 with errno, EAGAIN where it would block. With several pieces it may
 * stop at the end of one. */
ssize_t transfer_in(struct io_call *call, const struct iovec *iov, int count);
ssize_t transfer_out(struct io_call *call, const struct iovec *iov, int count);

#endif
