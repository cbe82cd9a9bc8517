/* SPDX-License-Identifier: MIT
 * Layer io: a stream's input: fetched in large pieces, taken in those that are asked for. When none is
 * ready the output is sent, before the wait. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>

#include "io/stream.h"

/* ---- fetching ---------------------------------------------------------------------------------- */

/* Where input goes: to the caller, or into the buffer until `wanted` bytes could be there. */
struct goal {
	void *buf; /* NULL: the buffer */
	size_t size;
	size_t wanted;
};

static ssize_t take_from_below(struct stream *stream, const struct goal *goal)
{
	struct buffer *in = &stream->in;
	if (goal->buf)
		return stream->ops->read(stream->ctx, goal->buf, goal->size);
	if (buffer_reserve(stream->loop, in, goal->wanted) < 0)
		return -1;
	ssize_t count = stream->ops->read(stream->ctx, in->bytes + in->end, buffer_room(in));
	if (count > 0)
		in->end += (size_t)count;
	buffer_settle(stream->loop, in);
	return count;
}

/* One try. Bytes that came although the stream was closed meanwhile are nobody's. */
static ssize_t try_fetch(struct stream *stream, const struct goal *goal)
{
	ssize_t count = take_from_below(stream, goal);
	if (likely(!stream->is_closed))
		return count;
	return fail_with(EBADF);
}

/* Is there output, and nobody else about to send it? Then the turn to write is taken. */
static bool has_output_to_send(struct stream *stream)
{
	return buffer_count(&stream->out) > 0 && turn_try(&stream->turns[WRITING]);
}

/* No more input will come. */
static int send_at_the_end(struct stream *stream)
{
	if (!has_output_to_send(stream))
		return 0;
	int result = stream_send_all(stream);
	turn_give(&stream->turns[WRITING]);
	return result;
}

/* No more input is ready. 0, or the errno with which sending failed; EAGAIN if some must wait. */
static int send_before_the_wait(struct stream *stream)
{
	if (!has_output_to_send(stream))
		return 0;
	int err = stream_try_send(stream) < 0 ? errno : 0;
	turn_give(&stream->turns[WRITING]);
	return err;
}

/* Parks until input may be there, or until output that is left may be sent. */
static int wait_for_input(struct stream *stream, bool has_rest)
{
	stream->is_starved = true;
	int result = stream_wait(stream, has_rest ? POLLIN | POLLOUT : POLLIN);
	stream->is_starved = false;
	return result;
}

/* Brings input: its count, 0 at its end, or -1. What is there although sending failed comes first. */
static ssize_t fetch(struct stream *stream, struct goal goal)
{
	int err = 0; /* of sending */
	for (;;) {
		ssize_t count = try_fetch(stream, &goal);
		if (likely(count > 0))
			return count;
		if (err)
			return fail_with(err);
		if (count == 0)
			return send_at_the_end(stream);
		if (errno != EAGAIN)
			return -1;
		err = send_before_the_wait(stream);
		if (err && err != EAGAIN)
			continue;
		if (wait_for_input(stream, err == EAGAIN) < 0)
			return -1;
		err = 0;
	}
}

static ssize_t fetch_more(struct stream *stream, size_t wanted)
{
	return fetch(stream, (struct goal){ .wanted = wanted });
}

/* ---- reading ----------------------------------------------------------------------------------- */

static ssize_t read_some(struct stream *stream, void *buf, size_t size)
{
	struct buffer *in = &stream->in;
	if (buffer_count(in) == 0) {
		bool is_direct = size >= BUFFER_SIZE;
		ssize_t count = is_direct ? fetch(stream, (struct goal){ .buf = buf, .size = size })
		                          : fetch_more(stream, 1);
		if (count <= 0 || is_direct)
			return count;
	}
	size_t count = buffer_get(in, buf, size);
	buffer_settle(stream->loop, in);
	return (ssize_t)count;
}

static int check_target(const void *stream, const void *buf, size_t size)
{
	if (stream && (buf || size == 0) && size <= SSIZE_MAX)
		return 0;
	return fail_with(EINVAL);
}

ssize_t bide_stream_read(bide_stream *handle, void *buf, size_t size)
{
	struct stream *stream = stream_of(handle);
	if (check_target(stream, buf, size) < 0 || stream_enter(stream, READING) < 0)
		return -1;
	return stream_leave(stream, READING, size > 0 ? read_some(stream, buf, size) : 0);
}

static ssize_t read_all(struct stream *stream, char *buf, size_t size, size_t *total)
{
	ssize_t count = 1;
	while (*total < size && count > 0) {
		count = read_some(stream, buf + *total, size - *total);
		if (count > 0)
			*total += (size_t)count;
	}
	return count;
}

ssize_t bide_stream_read_exact(bide_stream *handle, void *buf, size_t size, size_t *done)
{
	struct stream *stream = stream_of(handle);
	size_t total = 0;
	ssize_t result = -1;
	if (check_target(stream, buf, size) == 0 && stream_enter(stream, READING) == 0)
		result = stream_leave(stream, READING, read_all(stream, buf, size, &total));
	if (done)
		*done = total;
	return result < 0 ? -1 : (ssize_t)total;
}

/* ---- looking ----------------------------------------------------------------------------------- */

struct delimiter {
	const void *bytes;
	size_t size;
};

/* How many bytes up to and with the delimiter, of the first `limit`; 0: it is not there. The first
 * `scanned` have been looked at. */
static size_t find(const struct buffer *in, struct delimiter delimiter, size_t limit, size_t scanned)
{
	size_t from = scanned >= delimiter.size ? scanned - delimiter.size + 1 : 0;
	if (limit <= from)
		return 0;
	const char *start = buffer_bytes(in);
	const char *found = memmem(start + from, limit - from, delimiter.bytes, delimiter.size);
	return found ? (size_t)(found - start) + delimiter.size : 0;
}

/* Waits until the first `size` bytes have a delimiter, are all there, or the input ends. How many bytes the
 * reader is to get, or -1. */
static ssize_t await_delimiter(struct stream *stream, struct delimiter delimiter, size_t size)
{
	const struct buffer *in = &stream->in;
	size_t scanned = 0;
	for (;;) {
		size_t count = buffer_count(in), limit = count < size ? count : size;
		size_t found = find(in, delimiter, limit, scanned);
		if (found)
			return (ssize_t)found;
		if (count >= size)
			return fail_with(EMSGSIZE);
		scanned = limit;
		ssize_t more = fetch_more(stream, count + 1);
		if (more <= 0)
			return more < 0 ? -1 : (ssize_t)count;
	}
}

static ssize_t read_until(struct stream *stream, void *buf, size_t size, struct delimiter delimiter)
{
	ssize_t length = await_delimiter(stream, delimiter, size);
	if (length > 0)
		buffer_get(&stream->in, buf, (size_t)length);
	buffer_settle(stream->loop, &stream->in);
	return length;
}

ssize_t bide_stream_read_until(bide_stream *handle, void *buf, size_t size, const void *delimiter,
    size_t delimiter_size)
{
	struct stream *stream = stream_of(handle);
	if (check_target(stream, buf, size) < 0)
		return -1;
	if (size == 0 || !delimiter || delimiter_size == 0)
		return fail_with(EINVAL);
	if (stream_enter(stream, READING) < 0)
		return -1;
	return stream_leave(stream, READING,
	    read_until(stream, buf, size, (struct delimiter){ delimiter, delimiter_size }));
}

static ssize_t look(struct stream *stream, const void **data, size_t least)
{
	const struct buffer *in = &stream->in;
	ssize_t more = 1;
	while (buffer_count(in) < least && more > 0)
		more = fetch_more(stream, least);
	if (more < 0)
		return -1;
	*data = in->bytes ? buffer_bytes(in) : "";
	return (ssize_t)buffer_count(in);
}

ssize_t bide_stream_peek(bide_stream *handle, const void **data, size_t least)
{
	struct stream *stream = stream_of(handle);
	if (check_target(stream, data, least) < 0 || !data)
		return fail_with(EINVAL);
	if (stream_enter(stream, READING) < 0)
		return -1;
	return stream_leave(stream, READING, look(stream, data, least));
}

int bide_stream_skip(bide_stream *handle, size_t count)
{
	struct stream *stream = stream_of(handle);
	if (stream_check(stream) < 0)
		return -1;
	if (stream->turns[READING].is_taken || count > buffer_count(&stream->in))
		return fail_with(stream->turns[READING].is_taken ? EBUSY : EINVAL);
	stream->in.start += count;
	buffer_settle(stream->loop, &stream->in);
	return 0;
}
