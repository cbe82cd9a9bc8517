/* SPDX-License-Identifier: MIT
 * Buffered streams, whatever they are over: bide/stream.h. Statements 39, 40, 53, 73, 162, 175; scenarios
 * E8, E9, F10. */
#include <limits.h>
#include <poll.h>

#include "elsewhere.h"
#include "io/buffer.h"
#include "resources.h"
#include "runs.h"
#include "sockets.h"
#include "streams.h"
#include "trace.h"

static bide_stream *streams[2]; /* of the running test */

static void open_kind(int i)
{
	streams_open(&stream_kinds[i], streams);
}

static void open_memory(size_t capacity)
{
	must(bide_stream_pair(streams, capacity) == 0);
}

static void drop(void)
{
	streams_abort(streams);
}

/* ---- calls of a task of its own ------------------------------------------------------------------------- */

struct call {
	const char *name; /* what is noted when it returns */
	bide_stream *stream;
	const void *data;
	size_t size, done;
	char buf[64];
	ssize_t count;
	int err;
};

static void *finish(struct call *call, ssize_t count)
{
	call->err = errno;
	call->count = count;
	if (call->name)
		note("%s", call->name);
	return count < 0 ? bide_fail(call->err) : NULL;
}

static void *read_one(void *arg)
{
	struct call *call = arg;
	return finish(call, bide_stream_read(call->stream, call->buf, call->size));
}

static void *read_line(void *arg)
{
	struct call *call = arg;
	return finish(call, bide_stream_read_until(call->stream, call->buf, sizeof call->buf, "\n", 1));
}

static void *read_so_many(void *arg)
{
	struct call *call = arg;
	return finish(call, bide_stream_read_exact(call->stream, call->buf, call->size, &call->done));
}

static void *peek_so_many(void *arg)
{
	struct call *call = arg;
	return finish(call, bide_stream_peek(call->stream, &call->data, call->size));
}

static void *write_all(void *arg)
{
	struct call *call = arg;
	return finish(call, bide_stream_write(call->stream, call->data, call->size, &call->done));
}

static void *flush(void *arg)
{
	struct call *call = arg;
	return finish(call, bide_stream_flush(call->stream));
}

static void *shut(void *arg)
{
	struct call *call = arg;
	return finish(call, bide_stream_shutdown(call->stream));
}

static void *close_it(void *arg)
{
	struct call *call = arg;
	return finish(call, bide_stream_close(call->stream));
}

static bide_task *start(bide_fn *fn, struct call *call)
{
	call->count = -2;
	bide_task *task = must_spawn(fn, call);
	settle();
	return task;
}

static void expect_failure(bide_task *task, int err)
{
	bide_result result = must_join(task);
	must_msg(result.err == err, "%s instead of %s", strerror(result.err), strerror(err));
}

/* ---- bad input ------------------------------------------------------------------------------------------ */

static ssize_t no_bytes(void *ctx, void *buf, size_t size)
{
	(void)ctx, (void)buf, (void)size;
	return 0;
}

static ssize_t take_none(void *ctx, const void *buf, size_t size)
{
	(void)ctx, (void)buf, (void)size;
	errno = EIO;
	return -1;
}

static int wait_none(void *ctx, int events)
{
	(void)ctx, (void)events;
	return 0;
}

static int do_nothing(void *ctx)
{
	(void)ctx;
	return 0;
}

VIRTUAL_TEST(bad_input_is_refused_and_has_no_effect)
{
	char buf[8];
	const void *data = buf;
	struct iovec iov[2] = { { NULL, 1 }, { buf, 1 } }, huge[2] = { { buf, SSIZE_MAX }, { buf, 1 } };
	size_t done = 9;
	ck_fails(bide_stream_read(NULL, buf, 1), EINVAL);
	ck_fails(bide_stream_read_exact(NULL, buf, 1, &done), EINVAL);
	ck_fails(bide_stream_read_until(NULL, buf, 1, "\n", 1), EINVAL);
	ck_fails(bide_stream_peek(NULL, &data, 1), EINVAL);
	ck_fails(bide_stream_skip(NULL, 0), EINVAL);
	ck_fails(bide_stream_write(NULL, buf, 1, &done), EINVAL);
	must(done == 0);
	ck_fails(bide_stream_writev(NULL, iov, 1, NULL), EINVAL);
	ck_fails(bide_stream_flush(NULL), EINVAL);
	ck_fails(bide_stream_shutdown(NULL), EINVAL);
	ck_fails(bide_stream_close(NULL), EINVAL);
	ck_fails(bide_stream_abort(NULL), EINVAL);
	ck_fails(bide_stream_fd(NULL), EINVAL);
	ck_fails(bide_stream_pair(NULL, 0), EINVAL);
	ck_fails(bide_stream_pair(streams, SIZE_MAX), EINVAL);
	ck_fails_null(bide_stream_open(-1), EBADF);
	ck_fails_null(bide_stream_open(1000000), EBADF);
	open_memory(0);
	ck_fails(bide_stream_read(streams[0], NULL, 1), EINVAL);
	ck_fails(bide_stream_read(streams[0], buf, SIZE_MAX), EINVAL);
	ck_fails(bide_stream_read_exact(streams[0], NULL, 1, &done), EINVAL);
	ck_fails(bide_stream_read_until(streams[0], buf, 0, "\n", 1), EINVAL);
	ck_fails(bide_stream_read_until(streams[0], buf, 1, "\n", 0), EINVAL);
	ck_fails(bide_stream_read_until(streams[0], buf, 1, NULL, 1), EINVAL);
	ck_fails(bide_stream_read_until(streams[0], NULL, 1, "\n", 1), EINVAL);
	ck_fails(bide_stream_peek(streams[0], NULL, 1), EINVAL);
	ck_fails(bide_stream_peek(streams[0], &data, SIZE_MAX), EINVAL);
	ck_fails(bide_stream_skip(streams[0], 1), EINVAL);
	ck_fails(bide_stream_write(streams[0], NULL, 1, NULL), EINVAL);
	ck_fails(bide_stream_write(streams[0], buf, SIZE_MAX, NULL), EINVAL);
	ck_fails(bide_stream_writev(streams[0], NULL, 1, NULL), EINVAL);
	ck_fails(bide_stream_writev(streams[0], iov, -1, NULL), EINVAL);
	ck_fails(bide_stream_writev(streams[0], iov, 2, NULL), EINVAL);
	ck_fails(bide_stream_writev(streams[0], huge, 2, NULL), EINVAL);
	ck_fails(bide_stream_fd(streams[0]), ENOTSUP);
	must(bide_stream_read(streams[0], NULL, 0) == 0 && bide_stream_write(streams[0], NULL, 0, NULL) == 0);
	must(bide_stream_writev(streams[0], NULL, 0, &done) == 0 && done == 0);
	must(bide_stream_peek(streams[1], &data, 0) == 0);
	drop();
}

VIRTUAL_TEST(functions_must_be_complete)
{
	static const bide_stream_ops whole = { sizeof whole, no_bytes, take_none, wait_none, do_nothing, do_nothing };
	bide_stream_ops ops = whole;
	ck_fails_null(bide_stream_open_with(NULL, NULL), EINVAL);
	ops.size--;
	ck_fails_null(bide_stream_open_with(&ops, NULL), EINVAL);
	ops = whole, ops.read = NULL;
	ck_fails_null(bide_stream_open_with(&ops, NULL), EINVAL);
	ops = whole, ops.write = NULL;
	ck_fails_null(bide_stream_open_with(&ops, NULL), EINVAL);
	ops = whole, ops.wait = NULL;
	ck_fails_null(bide_stream_open_with(&ops, NULL), EINVAL);
	ops = whole, ops.shutdown = NULL;
	ck_fails_null(bide_stream_open_with(&ops, NULL), EINVAL);
	ops = whole, ops.close = NULL;
	ck_fails_null(bide_stream_open_with(&ops, NULL), EINVAL);
	bide_stream *stream = bide_stream_open_with(&whole, NULL);
	must(stream && bide_stream_write(stream, "x", 1, NULL) == 1);
	ck_fails(bide_stream_fd(stream), ENOTSUP);
	ck_fails(bide_stream_close(stream), EIO);
}

static int use_elsewhere(void)
{
	char buf[8];
	const void *data;
	ck_fails(bide_stream_read(streams[0], buf, 1), EPERM);
	ck_fails(bide_stream_peek(streams[0], &data, 1), EPERM);
	ck_fails(bide_stream_skip(streams[0], 0), EPERM);
	ck_fails(bide_stream_write(streams[0], buf, 1, NULL), EPERM);
	ck_fails(bide_stream_flush(streams[0]), EPERM);
	ck_fails(bide_stream_close(streams[0]), EPERM);
	ck_fails(bide_stream_abort(streams[0]), EPERM);
	return 0;
}

static int make_on_plain_thread(void)
{
	bide_stream *none[2];
	ck_fails(bide_stream_pair(none, 0), EPERM);
	ck_fails_null(bide_stream_open(0), EPERM);
	return use_elsewhere();
}

/* Statement 13. */
VIRTUAL_TEST(another_thread_is_refused)
{
	open_memory(0);
	must(errno_on_plain_thread(make_on_plain_thread) == 0);
	must(errno_in_other_loop(use_elsewhere) == 0);
	drop();
}

static void use_in_a_callback(void *arg)
{
	char buf[8];
	ck_fails(bide_stream_read(streams[0], buf, 1), EPERM);
	ck_fails(bide_stream_write(streams[0], buf, 1, NULL), EPERM);
	ck_fails(bide_stream_flush(streams[0]), EPERM);
	must(bide_stream_abort(streams[0]) == 0);
	*(bool *)arg = true;
}

/* Statement 12. */
VIRTUAL_TEST(a_callback_can_abort_and_no_more)
{
	bool has_run = false;
	open_memory(0);
	must(bide_call_soon(use_in_a_callback, &has_run) == 0);
	settle();
	must(has_run);
	must(bide_stream_abort(streams[1]) == 0);
}

/* ---- reading -------------------------------------------------------------------------------------------- */

VIRTUAL_TEST(what_is_written_to_one_end_is_read_from_the_other)
{
	char buf[16];
	open_kind(_i);
	struct call call = { .stream = streams[0], .data = "hello", .size = 5 };
	bide_task *writer = start(write_all, &call);
	must(bide_join(writer, NULL) == 0 && call.done == 5);
	writer = start(flush, &call);
	stream_expect(streams[1], "hello");
	must_end_well(writer);
	call = (struct call){ .stream = streams[1] };
	stream_say(streams[1], "bye");
	writer = start(close_it, &call);
	must(bide_stream_read_exact(streams[0], buf, sizeof buf, NULL) == 3 && memcmp(buf, "bye", 3) == 0);
	must(bide_stream_read(streams[0], buf, sizeof buf) == 0);
	must(bide_stream_read(streams[0], buf, sizeof buf) == 0);
	must_end_well(writer);
	streams[1] = NULL;
	drop();
}

/* Writes text in pieces of one byte, each sent on its own. */
static void *dribble(void *arg)
{
	struct call *call = arg;
	for (const char *text = call->data; *text; text++) {
		must(bide_stream_write(call->stream, text, 1, NULL) == 1);
		must(bide_stream_flush(call->stream) == 0);
		must(bide_yield() == 0);
	}
	must(bide_stream_shutdown(call->stream) == 0);
	return NULL;
}

VIRTUAL_TEST(lines_are_found_however_they_come)
{
	char buf[8];
	open_kind(_i);
	struct call call = { .stream = streams[0], .data = "one\r\n\r\ntwo\rx\r\nrest" };
	bide_task *writer = must_spawn(dribble, &call);
	must(bide_stream_read_until(streams[1], buf, 8, "\r\n", 2) == 5 && memcmp(buf, "one\r\n", 5) == 0);
	must(bide_stream_read_until(streams[1], buf, 8, "\r\n", 2) == 2 && memcmp(buf, "\r\n", 2) == 0);
	must(bide_stream_read_until(streams[1], buf, 8, "\r\n", 2) == 7 && memcmp(buf, "two\rx\r\n", 7) == 0);
	must(bide_stream_read_until(streams[1], buf, 8, "\r\n", 2) == 4 && memcmp(buf, "rest", 4) == 0);
	must(bide_stream_read_until(streams[1], buf, 8, "\r\n", 2) == 0);
	must_end_well(writer);
	drop();
}

VIRTUAL_TEST(a_line_beyond_the_bound_stays_to_be_read)
{
	char buf[8];
	open_kind(_i);
	struct call call = { .stream = streams[0], .data = "12345\n" };
	bide_task *writer = must_spawn(dribble, &call);
	ck_fails(bide_stream_read_until(streams[1], buf, 5, "\n", 1), EMSGSIZE);
	ck_fails(bide_stream_read_until(streams[1], buf, 3, "\n", 1), EMSGSIZE);
	ck_fails(bide_stream_read_until(streams[1], buf, 1, "12", 2), EMSGSIZE);
	must(bide_stream_read_until(streams[1], buf, 6, "\n", 1) == 6 && memcmp(buf, "12345\n", 6) == 0);
	must(bide_stream_read(streams[1], buf, 8) == 0);
	must_end_well(writer);
	drop();
}

VIRTUAL_TEST(a_line_may_be_longer_than_a_buffer)
{
	enum { LENGTH = 3 * BUFFER_SIZE + 5 };
	static char line[LENGTH], got[LENGTH + 9];
	memset(line, 'x', LENGTH);
	line[LENGTH - 1] = '\n';
	line[BUFFER_SIZE - 1] = '\r'; /* nearly a delimiter */
	open_kind(_i);
	struct call call = { .stream = streams[0], .data = line, .size = LENGTH };
	bide_task *writer = start(write_all, &call);
	bide_task *closer = start(shut, &(struct call){ .stream = streams[0] });
	must(bide_stream_read_until(streams[1], got, sizeof got, "x\n", 2) == LENGTH);
	must(memcmp(got, line, LENGTH) == 0);
	must(bide_stream_read(streams[1], got, 1) == 0);
	must_end_well(writer);
	must_end_well(closer);
	drop();
}

VIRTUAL_TEST(peek_shows_and_skip_takes)
{
	const void *data = NULL;
	open_kind(_i);
	struct call call = { .stream = streams[0], .data = "abcdef" };
	bide_task *writer = must_spawn(dribble, &call);
	ssize_t count = bide_stream_peek(streams[1], &data, 3);
	must(count >= 3 && memcmp(data, "abc", 3) == 0);
	must(bide_stream_peek(streams[1], &data, 2) == count);
	ck_fails(bide_stream_skip(streams[1], (size_t)count + 1), EINVAL);
	must(bide_stream_skip(streams[1], 2) == 0);
	stream_expect(streams[1], "cd");
	must(bide_stream_peek(streams[1], &data, 99) == 2 && memcmp(data, "ef", 2) == 0);
	must(bide_stream_skip(streams[1], 2) == 0);
	must(bide_stream_peek(streams[1], &data, 1) == 0);
	must_end_well(writer);
	drop();
}

/* ---- when output is sent --------------------------------------------------------------------------------- */

VIRTUAL_TEST(output_is_collected_until_a_flush)
{
	const void *data;
	open_memory(0);
	struct iovec iov[3] = { { "b", 1 }, { NULL, 0 }, { "cd", 2 } };
	size_t done = 0;
	stream_say(streams[0], "a");
	must(bide_stream_writev(streams[0], iov, 3, &done) == 3 && done == 3);
	settle();
	struct call call = { .stream = streams[1], .size = 9 };
	bide_task *reader = start(read_one, &call);
	must(call.count == -2);
	must(bide_stream_flush(streams[0]) == 0 && bide_stream_flush(streams[0]) == 0);
	must_end_well(reader);
	must(call.count == 4 && memcmp(call.buf, "abcd", 4) == 0);
	must(bide_stream_peek(streams[1], &data, 0) == 0);
	drop();
}

/* Answers each line with its own, and never flushes. */
static void *echo_lines(void *arg)
{
	bide_stream *stream = arg;
	char line[32];
	ssize_t size;
	while ((size = bide_stream_read_until(stream, line, sizeof line, "\n", 1)) > 0)
		must(bide_stream_write(stream, line, (size_t)size, NULL) == size);
	must(size == 0);
	return NULL;
}

VIRTUAL_TEST(a_reader_that_has_to_wait_sends_the_output_first)
{
	open_kind(_i);
	bide_task *server = must_spawn(echo_lines, streams[1]);
	for (int i = 0; i < 3; i++) {
		stream_say(streams[0], "ping\n");
		stream_expect(streams[0], "ping\n"); /* which has flushed the question as well */
	}
	stream_say(streams[0], "a\nb\nc\nrest");
	must(bide_stream_shutdown(streams[0]) == 0);
	stream_expect(streams[0], "a\nb\nc\nrest"); /* also at the end of the input */
	must_end_well(server);
	drop();
}

VIRTUAL_TEST(a_write_is_sent_at_once_while_a_reader_waits)
{
	open_kind(_i);
	struct call there = { .stream = streams[0], .size = 1 }, here = { .stream = streams[1], .size = 1 };
	bide_task *one = start(read_one, &there), *other = start(read_one, &here);
	stream_say(streams[0], "x");
	stream_say(streams[1], "y");
	must_end_well(other);
	must_end_well(one);
	must(here.buf[0] == 'x' && there.buf[0] == 'y');
	drop();
}

VIRTUAL_TEST(a_full_buffer_is_sent)
{
	static char bytes[2 * BUFFER_SIZE], got[2 * BUFFER_SIZE];
	const void *data;
	pattern_fill(1, 0, bytes, sizeof bytes);
	open_memory(3 * BUFFER_SIZE);
	must(bide_stream_write(streams[0], bytes, BUFFER_SIZE - 1, NULL) == BUFFER_SIZE - 1);
	must(bide_stream_peek(streams[1], &data, 0) == 0);
	must(bide_stream_write(streams[0], bytes + BUFFER_SIZE - 1, 2, NULL) == 2);
	must(bide_stream_read_exact(streams[1], got, BUFFER_SIZE, NULL) == BUFFER_SIZE);
	must(memcmp(got, bytes, BUFFER_SIZE) == 0);
	must(bide_stream_flush(streams[0]) == 0);
	must(bide_stream_read(streams[1], got, 2) == 1 && got[0] == bytes[BUFFER_SIZE]);
	must(bide_stream_write(streams[0], bytes, sizeof bytes, NULL) == sizeof bytes); /* past the buffer */
	must(bide_stream_flush(streams[0]) == 0);
	must(bide_stream_read_exact(streams[1], got, sizeof got, NULL) == sizeof got);
	must(memcmp(got, bytes, sizeof got) == 0);
	drop();
}

/* The peer asks for more before it has taken what it got: both ends' output fills what lies between. A
 * reader that waited for input alone would wait for ever. */
VIRTUAL_TEST(a_reader_that_waits_goes_on_sending)
{
	open_memory(4);
	stream_say(streams[0], "0123456789");
	struct call call = { .stream = streams[0], .size = 1 };
	bide_task *reader = start(read_one, &call);
	must(call.count == -2);
	stream_expect(streams[1], "0123456789");
	stream_say(streams[1], "!");
	must(bide_stream_flush(streams[1]) == 0);
	must_end_well(reader);
	drop();
}

VIRTUAL_TEST(input_that_is_there_is_read_although_output_cannot_be_sent)
{
	open_memory(4);
	stream_say(streams[1], "new");
	must(bide_stream_flush(streams[1]) == 0);
	stream_say(streams[0], "0123456789");
	stream_expect(streams[0], "new");
	struct call call = { .stream = streams[0], .size = 9 };
	bide_task *reader = start(read_one, &call);
	stream_say(streams[1], "er");
	must(bide_stream_flush(streams[1]) == 0);
	must_end_well(reader);
	must(call.count > 0);
	drop();
}

/* ---- several tasks ---------------------------------------------------------------------------------------- */

VIRTUAL_TEST(readers_are_served_first_come_first_served)
{
	open_kind(_i);
	struct call first = { .name = "first", .stream = streams[1], .size = 3 };
	struct call second = { .name = "second", .stream = streams[1] };
	struct call third = { .name = "third", .stream = streams[1] };
	bide_task *tasks[] = { start(read_so_many, &first), start(read_line, &second), start(read_line, &third) };
	ck_fails(bide_stream_skip(streams[1], 0), EBUSY);
	must(bide_cancel(tasks[1], NULL) == 0);
	expect_failure(tasks[1], ECANCELED);
	tasks[1] = start(read_line, &second);
	stream_say(streams[0], "abcline\nother\n");
	must(bide_stream_flush(streams[0]) == 0);
	for (int i = 0; i < 3; i++)
		must_end_well(tasks[i]);
	must(memcmp(first.buf, "abc", 3) == 0 && memcmp(third.buf, "line\n", 5) == 0);
	must(memcmp(second.buf, "other\n", 6) == 0);
	expect_notes("second first third second");
	drop();
}

VIRTUAL_TEST(writes_are_not_mixed)
{
	enum { LENGTH = BUFFER_SIZE + 100 };
	static char a[LENGTH], b[LENGTH], got[2 * LENGTH];
	memset(a, 'a', LENGTH);
	memset(b, 'b', LENGTH);
	open_memory(64);
	struct call first = { .stream = streams[0], .data = a, .size = LENGTH };
	struct call second = { .stream = streams[0], .data = b, .size = LENGTH };
	bide_task *one = start(write_all, &first), *other = start(write_all, &second);
	bide_task *flusher = start(flush, &(struct call){ .stream = streams[0] });
	must(bide_stream_read_exact(streams[1], got, sizeof got, NULL) == sizeof got);
	must(memcmp(got, a, LENGTH) == 0 && memcmp(got + LENGTH, b, LENGTH) == 0);
	must_end_well(one);
	must_end_well(other);
	must_end_well(flusher);
	drop();
}

/* Statement 163. */
VIRTUAL_TEST(one_reads_while_another_writes)
{
	static char bytes[3 * BUFFER_SIZE], got[sizeof bytes];
	pattern_fill(2, 0, bytes, sizeof bytes);
	open_kind(_i);
	struct call read = { .stream = streams[0], .size = 4 };
	struct call write = { .stream = streams[0], .data = bytes, .size = sizeof bytes };
	bide_task *reader = start(read_so_many, &read), *writer = start(write_all, &write);
	must(read.count == -2);
	stream_say(streams[1], "four");
	must(bide_stream_flush(streams[1]) == 0);
	must_end_well(reader);
	bide_task *flusher = start(flush, &(struct call){ .stream = streams[0] });
	must(bide_stream_read_exact(streams[1], got, sizeof got, NULL) == sizeof got);
	must(memcmp(got, bytes, sizeof got) == 0);
	must_end_well(writer);
	must_end_well(flusher);
	drop();
}

/* ---- cancels and deadlines -------------------------------------------------------------------------------- */

/* Statements 39, 46. */
VIRTUAL_TEST(with_a_cancel_pending_no_call_has_an_effect)
{
	char buf[8];
	const void *data;
	size_t done = 9;
	open_kind(_i);
	bide_task *writer = start(dribble, &(struct call){ .stream = streams[1], .data = "data" });
	must(bide_stream_peek(streams[0], &data, 1) >= 1);
	must(bide_cancel(bide_self(), NULL) == 0);
	for (int i = 0; i < 2; i++) {
		ck_fails(bide_stream_read(streams[0], buf, 4), ECANCELED);
		ck_fails(bide_stream_read(streams[0], buf, 0), ECANCELED);
		ck_fails(bide_stream_read_exact(streams[0], buf, 4, &done), ECANCELED);
		must(done == 0);
		ck_fails(bide_stream_read_until(streams[0], buf, 4, "d", 1), ECANCELED);
		ck_fails(bide_stream_peek(streams[0], &data, 1), ECANCELED);
		ck_fails(bide_stream_write(streams[0], "no", 2, &done), ECANCELED);
		must(done == 0);
		ck_fails(bide_stream_flush(streams[0]), ECANCELED);
		ck_fails(bide_stream_shutdown(streams[0]), ECANCELED);
	}
	must(bide_uncancel() == 0);
	stream_expect(streams[0], "data");
	must_end_well(writer);
	stream_say(streams[0], "yes");
	struct call call = { .stream = streams[0] };
	writer = start(close_it, &call);
	streams[0] = NULL;
	must(bide_stream_read_exact(streams[1], buf, 8, NULL) == 3 && memcmp(buf, "yes", 3) == 0);
	must_end_well(writer);
	drop();
}

static bide_fn *const readers[] = { read_one, read_line, read_so_many, peek_so_many };
#define READERS 4

/* Statement 40, scenario E8: what a reader has not returned is there for the next one. */
VIRTUAL_TEST(a_reader_that_is_canceled_takes_nothing)
{
	open_kind(_i / READERS);
	struct call call = { .stream = streams[1], .size = 9 };
	bide_task *reader = start(readers[_i % READERS], &call);
	must(call.count == -2);
	if (readers[_i % READERS] != read_one) {
		stream_say(streams[0], "part");
		bide_task *flusher = start(flush, &(struct call){ .stream = streams[0] });
		settle();
		must_end_well(flusher);
		must(call.count == -2);
	}
	must(bide_cancel(reader, NULL) == 0);
	expect_failure(reader, ECANCELED);
	must(call.done <= 4 && memcmp(call.buf, "part", call.done) == 0);
	must(readers[_i % READERS] == read_so_many || call.done == 0);
	bide_task *writer = start(dribble, &(struct call){ .stream = streams[0], .data = "next" });
	if (readers[_i % READERS] != read_one)
		stream_expect(streams[1], &"part"[call.done]);
	stream_expect(streams[1], "next");
	must_end_well(writer);
	drop();
}

static void *drip(void *arg)
{
	bide_stream *stream = arg;
	while (bide_sleep(10 * BIDE_MSEC) == 0 && bide_stream_write(stream, ".", 1, NULL) == 1)
		if (bide_stream_flush(stream) < 0)
			break;
	return NULL;
}

/* Statement 73. */
VIRTUAL_TEST(a_deadline_counts_the_whole_call)
{
	char buf[64];
	size_t done = 0;
	bide_scope scope = { 0 };
	open_memory(0);
	bide_task *dripping = must_spawn(drip, streams[0]);
	must(bide_scope_enter(&scope, bide_after(205 * BIDE_MSEC), 0) == 0);
	ck_fails(bide_stream_read_exact(streams[1], buf, 64, &done), ETIMEDOUT);
	must(done == 20 && bide_now() == 205 * BIDE_MSEC);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	must(bide_scope_enter(&scope, bide_after(100 * BIDE_MSEC), 0) == 0);
	ck_fails(bide_stream_read_until(streams[1], buf, 64, "\n", 1), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	stream_expect(streams[1], ".........."); /* all that came meanwhile */
	must(bide_cancel(dripping, NULL) == 0);
	expect_failure(dripping, ECANCELED);
	drop();
}

/* Statement 162, scenario E9. */
VIRTUAL_TEST(a_write_that_fails_midway_tells_how_much_was_accepted)
{
	static char bytes[5 * BUFFER_SIZE], got[sizeof bytes];
	bide_scope scope = { 0 };
	size_t done = 0;
	pattern_fill(3, 0, bytes, sizeof bytes);
	open_memory(1000);
	stream_say(streams[0], "x");
	must(bide_scope_enter(&scope, bide_after(50 * BIDE_MSEC), 0) == 0);
	ck_fails(bide_stream_write(streams[0], bytes, sizeof bytes, &done), ETIMEDOUT);
	ck_fails(bide_stream_flush(streams[0]), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	must(done > 0 && done < sizeof bytes);
	struct call rest = { .stream = streams[0], .data = bytes + done, .size = sizeof bytes - done };
	bide_task *writer = start(write_all, &rest), *closer = start(shut, &(struct call){ .stream = streams[0] });
	stream_expect(streams[1], "x");
	must(bide_stream_read_exact(streams[1], got, sizeof got, NULL) == sizeof got);
	must(memcmp(got, bytes, sizeof got) == 0 && bide_stream_read(streams[1], got, 1) == 0);
	must_end_well(writer);
	must_end_well(closer);
	drop();
}

/* ---- ends -------------------------------------------------------------------------------------------------- */

/* Statement 175, scenario F10. */
VIRTUAL_TEST(after_a_half_close_the_other_direction_flows)
{
	char buf[8];
	open_kind(_i);
	must(bide_stream_shutdown(streams[0]) == 0);
	must(bide_stream_shutdown(streams[0]) == 0);
	ck_fails(bide_stream_write(streams[0], "x", 1, NULL), EPIPE);
	must(bide_stream_read(streams[1], buf, 8) == 0);
	bide_task *writer = start(dribble, &(struct call){ .stream = streams[1], .data = "still here" });
	stream_expect(streams[0], "still here");
	must(bide_stream_read(streams[0], buf, 8) == 0);
	must_end_well(writer);
	drop();
}

/* Statement 169. */
VIRTUAL_TEST(a_peer_that_is_gone_is_told_to_writers)
{
	char buf[8];
	open_memory(4);
	struct call call = { .stream = streams[0], .data = "0123456789", .size = 10 };
	must_end_well(start(write_all, &call));
	bide_task *flusher = start(flush, &call);
	must(call.count == -2);
	must(bide_stream_close(streams[1]) == 0);
	expect_failure(flusher, EPIPE);
	ck_fails(bide_stream_flush(streams[0]), EPIPE);
	ck_fails(bide_stream_read(streams[0], buf, 8), EPIPE); /* never "the end" with output lost */
	ck_fails(bide_stream_shutdown(streams[0]), EPIPE);
	ck_fails(bide_stream_close(streams[0]), EPIPE);
}

/* Statement 165: each call of another task ends, with EBADF, and nothing is touched afterwards. */
ORDERED_TEST(closing_wakes_all_who_wait_at_the_stream)
{
	static char bytes[5 * BUFFER_SIZE];
	open_kind(_i);
	struct call read[2] = { { .stream = streams[0], .size = 9 }, { .stream = streams[0], .size = 9 } };
	bide_task *readers_[2] = { start(read_line, &read[0]), start(read_one, &read[1]) };
	must(bide_stream_abort(streams[0]) == 0);
	turns(1);
	must(read[0].count == -1 && read[1].count == -1); /* not one after the other */
	expect_failure(readers_[0], EBADF);
	expect_failure(readers_[1], EBADF);
	must(bide_stream_abort(streams[1]) == 0);
	if (!stream_kinds[_i].is_memory)
		return; /* the kernel's buffers may take it all */
	open_kind(_i);
	struct call write[2] = { { .stream = streams[0], .data = bytes, .size = sizeof bytes },
		{ .stream = streams[0], .data = bytes, .size = 1 } };
	bide_task *writers[2] = { start(write_all, &write[0]), start(write_all, &write[1]) };
	must(write[0].count == -2);
	ck_fails(bide_stream_close(streams[0]), EBUSY);
	expect_failure(writers[0], EBADF);
	expect_failure(writers[1], EBADF);
	must(bide_stream_abort(streams[1]) == 0);
}

VIRTUAL_TEST(closing_waits_until_all_is_sent)
{
	open_memory(4);
	stream_say(streams[0], "0123456789");
	struct call call = { .stream = streams[0] };
	bide_task *closer = start(close_it, &call);
	streams[0] = NULL;
	must(call.count == -2);
	stream_expect(streams[1], "0123456789");
	must_end_well(closer);
	drop();
}

static void *close_canceled(void *arg)
{
	must(bide_cancel(bide_self(), NULL) == 0);
	return close_it(arg);
}

/* Statement 51. */
VIRTUAL_TEST(a_cancel_does_not_keep_a_stream_open)
{
	char buf[16];
	open_memory(4);
	stream_say(streams[0], "0123");
	must_end_well(start(close_canceled, &(struct call){ .stream = streams[0] })); /* it had room */
	stream_expect(streams[1], "0123");
	must(bide_stream_abort(streams[1]) == 0);
	open_memory(4);
	stream_say(streams[0], "0123456789");
	bide_task *closer = start(close_it, &(struct call){ .stream = streams[0] });
	must(bide_cancel(closer, NULL) == 0);
	expect_failure(closer, ECANCELED);
	must(bide_stream_read_exact(streams[1], buf, 16, NULL) == 4);
	must(bide_stream_abort(streams[1]) == 0);
	open_memory(4);
	stream_say(streams[0], "0123456789");
	expect_failure(start(close_canceled, &(struct call){ .stream = streams[0] }), ECANCELED);
	must(bide_stream_read_exact(streams[1], buf, 16, NULL) == 4);
	must(bide_stream_abort(streams[1]) == 0);
}

static void *read_for_ever(void *arg)
{
	char buf[8];
	ck_fails(bide_stream_read(arg, buf, 8), EDEADLK);
	must(bide_stream_abort(arg) == 0);
	return NULL;
}

static void *deadlock_main(void *arg)
{
	(void)arg;
	open_memory(0);
	bide_task *reader = must_spawn(read_for_ever, streams[0]);
	(void)bide_join(reader, NULL);
	must(bide_stream_abort(streams[1]) == 0);
	return NULL;
}

/* Statement 9. */
START_TEST(a_wait_in_memory_that_nothing_can_end_is_a_deadlock)
{
	static struct reports reports;
	bide_config config = config_with(BIDE_VIRTUAL_CLOCK, &reports);
	bide_result result;
	ck_fails(bide_run(deadlock_main, NULL, &config, &result), EDEADLK);
	must(strstr(reports.text[BIDE_REPORT_DEADLOCK], "stream"));
}
END_TEST

/* ---- functions of one's own ---------------------------------------------------------------------------------- */

/* As TLS may be: a read that first wants to write, a shutdown that takes two tries. */
struct odd {
	int reads, waits, shutdowns, closes;
	int events[8];
};

static ssize_t odd_read(void *ctx, void *buf, size_t size)
{
	struct odd *odd = ctx;
	must(size >= 1);
	if (++odd->reads < 3) {
		errno = EAGAIN;
		return -1;
	}
	*(char *)buf = 'r';
	return 1;
}

static ssize_t odd_write(void *ctx, const void *buf, size_t size)
{
	(void)ctx, (void)buf;
	return size > 2 ? 2 : 0; /* nothing counts as "not now" */
}

static int odd_wait(void *ctx, int events)
{
	struct odd *odd = ctx;
	must(odd->waits < 8);
	odd->events[odd->waits++] = events;
	return bide_yield();
}

static int odd_shutdown(void *ctx)
{
	struct odd *odd = ctx;
	errno = EAGAIN;
	return ++odd->shutdowns < 2 ? -1 : 0;
}

static int odd_close(void *ctx)
{
	struct odd *odd = ctx;
	odd->closes++;
	errno = EIO;
	return -1;
}

VIRTUAL_TEST(functions_that_would_block_are_tried_again)
{
	static const bide_stream_ops ops = { sizeof ops, odd_read, odd_write, odd_wait, odd_shutdown, odd_close };
	struct odd odd = { 0 };
	char buf[4];
	bide_stream *stream = bide_stream_open_with(&ops, &odd);
	must(stream && bide_stream_read(stream, buf, 4) == 1 && buf[0] == 'r');
	must(odd.waits == 2 && odd.events[0] == POLLIN && odd.events[1] == POLLIN);
	must(bide_stream_shutdown(stream) == 0);
	must(odd.shutdowns == 2 && odd.waits == 3 && odd.events[2] == POLLOUT);
	ck_fails(bide_stream_close(stream), EIO);
	must(odd.closes == 1);
}

VIRTUAL_TEST(a_stream_that_is_aborted_is_closed_once)
{
	static const bide_stream_ops ops = { sizeof ops, odd_read, odd_write, odd_wait, odd_shutdown, odd_close };
	struct odd odd = { 0 };
	bide_stream *stream = bide_stream_open_with(&ops, &odd);
	must(stream && bide_stream_write(stream, "lost", 4, NULL) == 4);
	ck_fails(bide_stream_abort(stream), EIO);
	must(odd.closes == 1);
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

static struct counting counting;

static void *idle_main(void *arg)
{
	bide_task *tasks[8];
	struct call calls[8];
	bide_stream *pairs[8][2];
	(void)arg;
	must(bide_stream_pair(streams, 100) == 0); /* so that the pool stays */
	stream_say(streams[0], "x");
	must(bide_stream_flush(streams[0]) == 0);
	stream_expect(streams[1], "x");
	for (int i = 0; i < 8; i++) {
		must(bide_stream_pair(pairs[i], 100) == 0);
		calls[i] = (struct call){ .stream = pairs[i][1], .size = 1 };
		tasks[i] = start(read_one, &calls[i]);
	}
	must(counting.bytes < 4 * BUFFER_SIZE + 100 * 1024); /* two for the pool, none for who waits */
	size_t before = counting.bytes;
	for (int i = 0; i < 8; i++) {
		stream_say(pairs[i][0], "yes");
		must(bide_stream_flush(pairs[i][0]) == 0);
		must_end_well(tasks[i]);
	}
	must(counting.bytes >= before + 6 * BUFFER_SIZE); /* "es" is in them */
	for (int i = 0; i < 8; i++) {
		stream_expect(pairs[i][1], "es");
		streams_abort(pairs[i]);
	}
	drop();
	must(counting.bytes < before);
	return NULL;
}

START_TEST(an_idle_stream_has_no_buffer)
{
	counting_init(&counting, false);
	run_counted(&counting, BIDE_VIRTUAL_CLOCK, idle_main, NULL);
}
END_TEST

static bool ask(bide_stream *stream)
{
	char buf[8];
	size_t done = 0;
	if (bide_stream_write(stream, "12345", 5, &done) < 0 || bide_stream_flush(stream) < 0) {
		must(errno == ENOMEM);
		return false;
	}
	return done == 5 && bide_stream_read_exact(streams[1], buf, 5, &done) == 5;
}

static void *tight_main(void *arg)
{
	bool *is_done = arg;
	*is_done = false;
	if (bide_stream_pair(streams, 8) < 0) {
		must(errno == ENOMEM);
		return NULL;
	}
	*is_done = ask(streams[0]);
	drop();
	return NULL;
}

/* Statement 35. */
START_TEST(without_memory_a_call_fails_and_loses_nothing)
{
	bool is_done = false;
	char spec[32];
	for (int at = 1; !is_done || at < 20; at++) {
		bide_config config = BIDE_CONFIG_INIT;
		bide_result result;
		counting_init(&counting, false);
		config.allocator = &counting.allocator;
		config.flags = BIDE_VIRTUAL_CLOCK;
		snprintf(spec, sizeof spec, "malloc:ENOMEM@%d", at);
		must(bide_fault(spec) == 0);
		int status = bide_run(tight_main, &is_done, &config, &result);
		must(bide_fault(NULL) == 0);
		must(status == 0 || errno == ENOMEM);
		must(counting_is_balanced(&counting) && at < 1000);
	}
}
END_TEST

static void *recover_main(void *arg)
{
	char buf[8];
	size_t done = 9;
	(void)arg;
	open_memory(0);
	must(bide_fault("malloc:ENOMEM") == 0);
	ck_fails(bide_stream_write(streams[0], "data", 4, &done), ENOMEM);
	must(done == 0 && bide_fault(NULL) == 0);
	stream_say(streams[0], "data");
	must(bide_stream_flush(streams[0]) == 0);
	stream_say(streams[0], "keeps the pool's buffer");
	must(bide_fault("malloc:ENOMEM") == 0);
	ck_fails(bide_stream_read(streams[1], buf, 4), ENOMEM);
	ck_fails(bide_stream_read_until(streams[1], buf, 8, "\n", 1), ENOMEM);
	must(bide_fault(NULL) == 0);
	stream_expect(streams[1], "data");
	drop();
	return NULL;
}

START_TEST(when_memory_is_back_the_stream_goes_on)
{
	run_virtual(recover_main, NULL);
}
END_TEST

#define EACH_KIND(test) LOOP(test, 0, STREAM_KINDS)

int main(void)
{
	return SUITE("stream", TEST(bad_input_is_refused_and_has_no_effect), TEST(functions_must_be_complete),
	    TEST(another_thread_is_refused), TEST(a_callback_can_abort_and_no_more),
	    EACH_KIND(what_is_written_to_one_end_is_read_from_the_other),
	    EACH_KIND(lines_are_found_however_they_come), EACH_KIND(a_line_beyond_the_bound_stays_to_be_read),
	    EACH_KIND(a_line_may_be_longer_than_a_buffer), EACH_KIND(peek_shows_and_skip_takes),
	    TEST(output_is_collected_until_a_flush), EACH_KIND(a_reader_that_has_to_wait_sends_the_output_first),
	    EACH_KIND(a_write_is_sent_at_once_while_a_reader_waits), TEST(a_full_buffer_is_sent),
	    TEST(a_reader_that_waits_goes_on_sending),
	    TEST(input_that_is_there_is_read_although_output_cannot_be_sent),
	    EACH_KIND(readers_are_served_first_come_first_served), TEST(writes_are_not_mixed),
	    EACH_KIND(one_reads_while_another_writes), EACH_KIND(with_a_cancel_pending_no_call_has_an_effect),
	    LOOP(a_reader_that_is_canceled_takes_nothing, 0, STREAM_KINDS * READERS),
	    TEST(a_deadline_counts_the_whole_call), TEST(a_write_that_fails_midway_tells_how_much_was_accepted),
	    EACH_KIND(after_a_half_close_the_other_direction_flows), TEST(a_peer_that_is_gone_is_told_to_writers),
	    EACH_KIND(closing_wakes_all_who_wait_at_the_stream), TEST(closing_waits_until_all_is_sent),
	    TEST(a_cancel_does_not_keep_a_stream_open),
	    TEST(a_wait_in_memory_that_nothing_can_end_is_a_deadlock),
	    TEST(functions_that_would_block_are_tried_again), TEST(a_stream_that_is_aborted_is_closed_once),
	    TEST(an_idle_stream_has_no_buffer), TEST(without_memory_a_call_fails_and_loses_nothing),
	    TEST(when_memory_is_back_the_stream_goes_on));
}
