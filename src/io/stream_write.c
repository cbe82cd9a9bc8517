/* SPDX-License-Identifier: MIT
 * Layer io: a stream's output: collected, and sent in large pieces. */
#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "io/stream.h"

/* ---- sending ----------------------------------------------------------------------------------- */

static bool has_output(const struct stream *stream)
{
	return buffer_count(&stream->out) > 0;
}

/* How many bytes the stream below took, or -1. */
static ssize_t put_below(struct stream *stream, const char *bytes, size_t size)
{
	ssize_t count = stream->ops->write(stream->ctx, bytes, size);
	if (stream->is_closed)
		return fail_with(EBADF);
	return count == 0 ? fail_with(EAGAIN) : count;
}

int stream_try_send(struct stream *stream)
{
	struct buffer *out = &stream->out;
	while (has_output(stream)) {
		ssize_t count = put_below(stream, buffer_bytes(out), buffer_count(out));
		if (count < 0)
			return -1;
		out->start += (size_t)count;
	}
	buffer_settle(stream->loop, out);
	return 0;
}

int stream_send_all(struct stream *stream)
{
	while (stream_try_send(stream) < 0)
		if (errno != EAGAIN || stream_wait(stream, POLLOUT) < 0)
			return -1;
	return 0;
}

/* ---- accepting --------------------------------------------------------------------------------- */

/* Past the buffer, which is empty. *taken is how much, also on failure. */
static int accept_directly(struct stream *stream, const char *bytes, size_t size, size_t *taken)
{
	ssize_t count = put_below(stream, bytes, size);
	if (count > 0)
		*taken = (size_t)count;
	else if (errno != EAGAIN || stream_wait(stream, POLLOUT) < 0)
		return -1;
	return 0;
}

/* One step on: into the buffer, or past it. */
static int accept_some(struct stream *stream, const char *bytes, size_t size, size_t *taken)
{
	struct buffer *out = &stream->out;
	if (!has_output(stream) && size >= BUFFER_SIZE)
		return accept_directly(stream, bytes, size, taken);
	if (buffer_reserve(stream->loop, out, BUFFER_SIZE) < 0)
		return -1;
	*taken = buffer_put(out, bytes, size);
	return *taken < size ? stream_send_all(stream) : 0;
}

static int accept_all(struct stream *stream, const struct iovec *iov, size_t *total)
{
	for (size_t done = 0, taken; done < iov->iov_len; done += taken, *total += taken) {
		taken = 0;
		if (accept_some(stream, (const char *)iov->iov_base + done, iov->iov_len - done, &taken) < 0) {
			*total += taken;
			return -1;
		}
	}
	return 0;
}

static int accept_each(struct stream *stream, const struct iovec *iov, int count, size_t *total)
{
	if (stream->has_ended)
		return fail_with(EPIPE);
	for (int i = 0; i < count; i++)
		if (accept_all(stream, &iov[i], total) < 0)
			return -1;
	return stream->is_starved ? stream_send_all(stream) : 0;
}

static bool are_valid(const struct iovec *iov, int count)
{
	size_t total = 0;
	if (count < 0 || count > IOV_MAX || (count > 0 && !iov))
		return false;
	for (int i = 0; i < count; i++) {
		if ((!iov[i].iov_base && iov[i].iov_len > 0) || iov[i].iov_len > SSIZE_MAX - total)
			return false;
		total += iov[i].iov_len;
	}
	return true;
}

/* ---- the calls --------------------------------------------------------------------------------- */

ssize_t bide_stream_writev(bide_stream *handle, const struct iovec *iov, int count, size_t *done)
{
	struct stream *stream = stream_of(handle);
	size_t total = 0;
	ssize_t result = -1;
	if (!stream || !are_valid(iov, count))
		errno = EINVAL;
	else if (stream_enter(stream, WRITING) == 0)
		result = stream_leave(stream, WRITING, accept_each(stream, iov, count, &total));
	if (done)
		*done = total;
	return result < 0 ? -1 : (ssize_t)total;
}

ssize_t bide_stream_write(bide_stream *stream, const void *buf, size_t size, size_t *done)
{
	struct iovec iov = { (void *)(uintptr_t)buf, size };
	return bide_stream_writev(stream, &iov, 1, done);
}

int bide_stream_flush(bide_stream *handle)
{
	struct stream *stream = stream_of(handle);
	if (stream_enter(stream, WRITING) < 0)
		return -1;
	return (int)stream_leave(stream, WRITING, stream_send_all(stream));
}

static int end_output(struct stream *stream)
{
	if (stream_send_all(stream) < 0)
		return -1;
	while (stream->ops->shutdown(stream->ctx) < 0)
		if (errno != EAGAIN || stream_wait(stream, POLLOUT) < 0)
			return -1;
	stream->has_ended = true;
	return 0;
}

int bide_stream_shutdown(bide_stream *handle)
{
	struct stream *stream = stream_of(handle);
	if (stream_enter(stream, WRITING) < 0)
		return -1;
	return (int)stream_leave(stream, WRITING, end_output(stream));
}
