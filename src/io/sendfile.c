/* SPDX-License-Identifier: MIT
 * Layer io: sendfile. The system's own would block where the receiving descriptor is not O_NONBLOCK, and
 * its flags are not ours to change: there the bytes are copied. */
#include <bide/io.h>

#include <errno.h>

#include "base/fail.h"
#include "base/system.h"
#include "host/file.h"
#include "io/sigpipe.h"
#include "io/transfer.h"

#define SIZE_AT_ONCE (128 * 1024) /* others want to run too */
#define COPY_AT_ONCE 4096         /* on the stack */

static ssize_t send_file(int out, int in, off_t *offset, size_t count)
{
	struct sigpipe sigpipe;
	sigpipe_block(&sigpipe);
	ssize_t sent = system_sendfile(out, in, offset, count < SIZE_AT_ONCE ? count : SIZE_AT_ONCE);
	sigpipe_unblock(&sigpipe, sent);
	return sent;
}

/* Of what was read only that counts which was written. */
static ssize_t copy_file(struct io_call *call, int in, off_t *offset, size_t count)
{
	char bytes[COPY_AT_ONCE];
	off_t from = offset ? *offset : system_lseek(in, 0, SEEK_CUR);
	if (from < 0)
		return -1;
	struct iovec iov = { bytes, 0 };
	ssize_t got = system_pread(in, bytes, count < sizeof bytes ? count : sizeof bytes, from);
	if (got <= 0)
		return got;
	iov.iov_len = (size_t)got;
	ssize_t sent = transfer_out(call, &iov, 1);
	if (sent > 0 && offset)
		*offset += sent;
	else if (sent > 0)
		system_lseek(in, from + sent, SEEK_SET);
	return sent;
}

static ssize_t send_some(struct io_call *call, int in, off_t *offset, size_t count)
{
	int flags = system_fcntl(call->fd, F_GETFL, 0);
	enum descriptor_kind kind = transfer_kind(call);
	if (flags < 0 || kind == DESCRIPTOR_UNKNOWN)
		return -1;
	if ((flags & O_NONBLOCK) || kind == DESCRIPTOR_FILE)
		return send_file(call->fd, in, offset, count);
	return copy_file(call, in, offset, count);
}

/* So that the kernel does not wait for a disk on the loop's thread. */
static int load(int in, const off_t *offset, size_t count)
{
	off_t from = offset ? *offset : system_lseek(in, 0, SEEK_CUR);
	if (from < 0)
		return errno == ESPIPE ? 0 : -1; /* what is no file, sendfile(2) may take or refuse */
	file_load(in, from, count < SIZE_AT_ONCE ? count : SIZE_AT_ONCE);
	return 0;
}

ssize_t bide_sendfile(int out, int in, off_t *offset, size_t count)
{
	struct io_call call;
	ssize_t sent;
	if (in < 0)
		return fail_with(EBADF);
	if (offset && *offset < 0)
		return fail_with(EINVAL);
	if (io_begin(&call, out, DESCRIPTOR_OUT) < 0)
		return -1;
	if (count == 0)
		return io_check(&call);
	if (load(in, offset, count) < 0)
		return -1;
	do
		sent = io_ready(&call) ? send_some(&call, in, offset, count) : -1;
	while (io_again(&call, sent));
	io_end(&call);
	return sent;
}
