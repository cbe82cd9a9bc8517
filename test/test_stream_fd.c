/* SPDX-License-Identifier: MIT
 * Streams over descriptors: of every kind, with the system calls counted, and peers that reset, stall and
 * half-close. Statements 160 to 163, 165, 169, 175; scenarios E9, F10. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "counted_calls.h"
#include "io/buffer.h"
#include "resources.h"
#include "runs.h"
#include "sockets.h"
#include "streams.h"

static bide_stream *must_open(int fd)
{
	bide_stream *stream = bide_stream_open(fd);
	must_msg(stream, "bide_stream_open: %s", strerror(errno));
	must(bide_stream_fd(stream) == fd);
	return stream;
}

/* ---- kinds ---------------------------------------------------------------------------------------------- */

struct writing {
	bide_stream *stream;
	const void *bytes;
	size_t size;
};

static void *write_and_close(void *arg)
{
	struct writing *writing = arg;
	ssize_t count = bide_stream_write(writing->stream, writing->bytes, writing->size, NULL);
	int err = count < 0 ? errno : 0;
	if (bide_stream_close(writing->stream) < 0 && !err)
		err = errno;
	return err ? bide_fail(err) : NULL;
}

/* Blocking and not, whatever the descriptor is: the loop is never held up. */
static void *any_kind(void *arg)
{
	static char bytes[3 * BUFFER_SIZE], got[sizeof bytes];
	const struct fd_kind *kind = arg;
	pattern_fill(4, 0, bytes, sizeof bytes);
	for (int i = 0; i < 2; i++) {
		int fds[2];
		kind->make(fds);
		set_nonblocking(fds[0], i);
		set_nonblocking(fds[1], i);
		struct writing writing = { must_open(fds[1]), bytes, sizeof bytes };
		bide_stream *stream = must_open(fds[0]);
		bide_task *writer = must_spawn(write_and_close, &writing);
		must(bide_stream_read_until(stream, got, 1, bytes, 1) == 1);
		must(bide_stream_read_exact(stream, got + 1, sizeof got - 1, NULL) == sizeof got - 1);
		must(memcmp(got, bytes, sizeof got) == 0 && bide_stream_read(stream, got, 1) == 0);
		must_end_well(writer);
		must(is_nonblocking(fds[0]) == i);
		must(bide_stream_close(stream) == 0);
		must(!is_open(fds[0]) && !is_open(fds[1]));
	}
	return NULL;
}

START_TEST(any_descriptor_is_a_stream)
{
	run_real(any_kind, (void *)(uintptr_t)kind_with(STREAM, _i));
}
END_TEST

static int temporary_file(const char *text)
{
	char path[] = "/tmp/bide-stream-XXXXXX";
	int fd = mkstemp(path);
	must(fd >= 0 && unlink(path) == 0);
	must_write(fd, text, strlen(text));
	must(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

REAL_TEST(a_file_is_read_and_written_in_lines)
{
	char line[16];
	int fd = temporary_file("one\ntwo\n"), other = dup(fd);
	bide_stream *stream = must_open(fd);
	must(bide_stream_read_until(stream, line, 16, "\n", 1) == 4 && memcmp(line, "one\n", 4) == 0);
	must(bide_stream_read_until(stream, line, 16, "\n", 1) == 4 && memcmp(line, "two\n", 4) == 0);
	must(bide_stream_read_until(stream, line, 16, "\n", 1) == 0);
	stream_say(stream, "three\n");
	ck_fails(bide_stream_shutdown(stream), ENOTSOCK);
	must(bide_stream_close(stream) == 0);
	must(pread(other, line, 16, 8) == 6 && memcmp(line, "three\n", 6) == 0);
	close(other);
	stream = must_open(open("/dev/null", O_RDWR | O_CLOEXEC));
	stream_say(stream, "nobody reads this");
	must(bide_stream_read(stream, line, 16) == 0);
	must(bide_stream_close(stream) == 0);
}

REAL_TEST(a_descriptor_is_the_callers_until_the_stream_has_it)
{
	int fds[2];
	make_unix(fds);
	for (int at = 1; at < 10; at++) {
		char spec[32];
		snprintf(spec, sizeof spec, "malloc:ENOMEM@%d", at);
		must(bide_fault(spec) == 0);
		bide_stream *stream = bide_stream_open(fds[0]);
		int err = errno;
		must(bide_fault(NULL) == 0);
		if (stream) {
			must(at == 3 && bide_stream_close(stream) == 0 && !is_open(fds[0])); /* the pool, the stream */
			break;
		}
		must(err == ENOMEM && is_open(fds[0]));
	}
	must(bide_fault("fstat:ENOMEM") == 0);
	ck_fails_null(bide_stream_open(fds[1]), ENOMEM);
	must(bide_fault(NULL) == 0);
	close(fds[1]);
}

/* An accepted socket is known as one; then its number is a pipe's, and nobody has told the loop. */
REAL_TEST(a_number_that_was_a_sockets_can_be_a_pipes)
{
	struct sockaddr_in address;
	int listener = plain_listener(4, &address), client = plain_connection(&address), fds[2];
	char buf[4];
	int accepted = bide_accept(listener, NULL, NULL);
	must_write(client, "x", 1);
	must(bide_recv(accepted, buf, 4, 0) == 1);
	make_pipe(fds);
	must(dup2(fds[0], accepted) == accepted); /* which closes the socket */
	bide_stream *stream = must_open(accepted);
	must_write(fds[1], "pipe", 4);
	stream_expect(stream, "pipe");
	must(bide_stream_close(stream) == 0);
	close_pair(fds);
	close(client);
	close(listener);
}

REAL_TEST(what_only_reads_cannot_be_written)
{
	int fds[2];
	char buf[4];
	make_pipe(fds);
	bide_stream *in = must_open(fds[0]), *out = must_open(fds[1]);
	stream_say(in, "x");
	ck_fails(bide_stream_flush(in), EBADF);
	ck_fails(bide_stream_read(out, buf, 4), EBADF);
	ck_fails(bide_stream_close(in), EBADF); /* output was lost */
	must(!is_open(fds[0]));
	stream_say(out, "x");
	ck_fails(bide_stream_flush(out), EPIPE); /* statement 169; and no SIGPIPE */
	ck_fails(bide_stream_close(out), EPIPE);
}

/* ---- system calls ---------------------------------------------------------------------------------------- */

#define LINE "a line of an ordinary length\n"

/* Answers each line with its own. */
static void *answer_lines(void *arg)
{
	bide_stream *stream = arg;
	char line[64];
	ssize_t size;
	while ((size = bide_stream_read_until(stream, line, sizeof line, "\n", 1)) > 0)
		must(bide_stream_write(stream, line, (size_t)size, NULL) == size);
	must(size == 0);
	return NULL;
}

/* From outside the library: `lines` lines in one go, and their answers. */
static void ask_plainly(int fd, int lines)
{
	char text[32 * sizeof LINE] = "", got[sizeof text];
	size_t size = 0, done = 0;
	for (int i = 0; i < lines; i++, size += strlen(LINE))
		memcpy(text + size, LINE, strlen(LINE));
	must_write(fd, text, size);
	while (done < size) {
		must(bide_fd_wait(fd, POLLIN) > 0);
		ssize_t count = read(fd, got + done, size - done);
		must(count > 0);
		done += (size_t)count;
	}
	must(memcmp(got, text, size) == 0);
}

static const int pipelines[] = { 1, 16 };

/* Statement 160, and the bar of 2.0 calls a round: however many questions came together, one call takes
 * them and one sends the answers. */
REAL_TEST(a_round_takes_one_recv_and_one_send)
{
	int fds[2];
	make_tcp(fds);
	bide_fault(NULL); /* calls are counted */
	bide_stream *stream = must_open(fds[0]);
	bide_task *server = must_spawn(answer_lines, stream);
	for (int i = 0; i < 2; i++) /* the second one finds the server parked */
		ask_plainly(fds[1], pipelines[_i]);
	struct counted before = counted;
	for (int i = 0; i < 50; i++)
		ask_plainly(fds[1], pipelines[_i]);
	must(counted.send - before.send == 50);
	int received = counted.recv - before.recv; /* a wait that is doubted may end early, and try in vain */
	must_msg(received >= 50 && received <= 55, "%d", received);
	must(counted.epoll_add == before.epoll_add);
	close(fds[1]);
	must_end_well(server);
	must(bide_stream_close(stream) == 0);
}

/* ---- peers ---------------------------------------------------------------------------------------------- */

REAL_TEST(a_reset_is_told_to_the_reader_although_sending_met_it_first)
{
	int fds[2];
	char buf[8];
	make_tcp(fds);
	bide_stream *stream = must_open(fds[0]);
	must_write(fds[1], "last words\n", 11);
	stream_expect(stream, "last ");
	stream_say(stream, "an answer");
	reset_connection(fds[1]);
	close(fds[1]);
	must(bide_stream_read(stream, buf, 5) == 5 && memcmp(buf, "words", 5) == 0); /* it is here already */
	must(bide_stream_read(stream, buf, 5) == 1);
	ck_fails(bide_stream_read(stream, buf, 8), ECONNRESET);
	ck_fails(bide_stream_flush(stream), EPIPE);
	ck_fails(bide_stream_close(stream), EPIPE);
}

REAL_TEST(output_that_is_lost_is_never_a_clean_end)
{
	int fds[2];
	char buf[8];
	make_unix(fds);
	bide_stream *stream = must_open(fds[0]);
	stream_say(stream, "nobody reads this");
	close(fds[1]);
	ck_fails(bide_stream_read(stream, buf, 8), EPIPE);
	ck_fails(bide_stream_close(stream), EPIPE);
}

static void *slow_reader(void *arg)
{
	int fd = *(int *)arg;
	static char buf[16 * 1024];
	size_t total = 0;
	ssize_t count;
	while ((count = bide_read(fd, buf, sizeof buf)) > 0) {
		pattern_check(5, total, buf, (size_t)count);
		total += (size_t)count;
		if (total % (1024 * 1024) < sizeof buf)
			must(bide_sleep(BIDE_MSEC) == 0);
	}
	must(count == 0);
	return (void *)total;
}

/* Statement 175, scenarios E9 and F10: the peer has half-closed and reads slowly; a deadline strikes, and
 * the rest goes out later. */
REAL_TEST(a_large_answer_reaches_a_slow_half_closed_peer)
{
	enum { SIZE = 4 * 1024 * 1024 };
	int fds[2];
	size_t done = 0, more = 0;
	bide_scope scope = { 0 };
	char *bytes = malloc(SIZE), buf[4];
	must(bytes);
	pattern_fill(5, 0, bytes, SIZE);
	make_tcp(fds);
	shrink_buffers(fds[0]);
	shutdown(fds[1], SHUT_WR);
	bide_stream *stream = must_open(fds[0]);
	must(bide_stream_read(stream, buf, 4) == 0);
	must(bide_scope_enter(&scope, bide_after(20 * BIDE_MSEC), 0) == 0);
	ck_fails(bide_stream_write(stream, bytes, SIZE, &done), ETIMEDOUT);
	ck_fails(bide_scope_leave(&scope), ETIMEDOUT);
	must(done < SIZE);
	bide_task *reader = must_spawn(slow_reader, &fds[1]);
	must(bide_stream_write(stream, bytes + done, SIZE - done, &more) == (ssize_t)(SIZE - done));
	must(bide_stream_close(stream) == 0);
	must((size_t)must_end_well(reader) == SIZE);
	free(bytes);
	close(fds[1]);
}

/* The answer does not fit, and the peer sends more before it reads: the reader sends while it waits. */
REAL_TEST(a_reader_sends_what_is_left_as_there_is_room)
{
	static char bytes[BUFFER_SIZE - 1];
	int fds[2];
	make_unix(fds);
	shrink_buffers(fds[0]);
	bide_stream *stream = must_open(fds[0]);
	pattern_fill(6, 0, bytes, sizeof bytes);
	must(bide_stream_write(stream, bytes, sizeof bytes, NULL) == sizeof bytes);
	bide_task *server = must_spawn(answer_lines, stream);
	settle();
	for (size_t total = 0; total < sizeof bytes;) {
		char got[4096];
		must(bide_fd_wait(fds[1], POLLIN) > 0);
		ssize_t count = read(fds[1], got, sizeof got);
		must(count > 0);
		pattern_check(6, total, got, (size_t)count);
		total += (size_t)count;
	}
	ask_plainly(fds[1], 1);
	close(fds[1]);
	must_end_well(server);
	must(bide_stream_close(stream) == 0);
}

static void *read_it(void *arg)
{
	char buf[8];
	return bide_stream_read(arg, buf, 8) < 0 ? bide_fail(errno) : NULL;
}

/* Statement 165: also when somebody closes the descriptor itself. */
REAL_TEST(a_reader_wakes_when_the_descriptor_is_closed)
{
	int fds[2];
	make_tcp(fds);
	bide_stream *stream = must_open(fds[0]);
	bide_task *reader = must_spawn(read_it, stream);
	settle();
	must(bide_close(fds[0]) == 0);
	must(must_join(reader).err == EBADF);
	ck_fails(bide_stream_close(stream), EBADF);
	close(fds[1]);
}

/* Statement 161. */
REAL_TEST(a_peer_that_does_not_read_delays_nobody)
{
	static char bytes[64 * BUFFER_SIZE];
	int fds[2];
	struct heartbeat heartbeat;
	make_unix(fds);
	struct writing writing = { must_open(fds[0]), bytes, sizeof bytes };
	bide_task *writer = must_spawn(write_and_close, &writing);
	heartbeat_start(&heartbeat, BIDE_MSEC);
	bide_time limit = bide_after(LONG);
	while (heartbeat.beats < 5 && bide_now() < limit)
		pass(BIDE_MSEC);
	heartbeat_stop(&heartbeat);
	must(heartbeat.beats >= 5);
	must(bide_cancel(writer, NULL) == 0);
	must(must_join(writer).err == ECANCELED);
	must(!is_open(fds[0]));
	close(fds[1]);
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static struct counting counting;

#define CROWD 64

static void *crowd_main(void *arg)
{
	int fds[CROWD][2];
	bide_stream *crowd[CROWD];
	bide_task *tasks[CROWD];
	(void)arg;
	for (int i = 0; i < CROWD; i++) {
		make_unix(fds[i]);
		crowd[i] = must_open(fds[i][0]);
		tasks[i] = must_spawn(answer_lines, crowd[i]);
	}
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < CROWD; i++)
			ask_plainly(fds[i][1], 3);
	must_msg(counting.bytes < 8 * BUFFER_SIZE || suite_is_hostile(), /* where who lets others run keeps its buffer */
	    "%zu bytes", counting.bytes);
	for (int i = 0; i < CROWD; i++) {
		close(fds[i][1]);
		must_end_well(tasks[i]);
		must(bide_stream_close(crowd[i]) == 0);
	}
	return NULL;
}

START_TEST(connections_that_are_idle_share_a_few_buffers)
{
	counting_init(&counting, false);
	run_counted(&counting, 0, crowd_main, NULL);
}
END_TEST

int main(void)
{
	return SUITE("stream_fd", LOOP(any_descriptor_is_a_stream, 0, 5), TEST(a_file_is_read_and_written_in_lines),
	    TEST(a_descriptor_is_the_callers_until_the_stream_has_it), TEST(a_number_that_was_a_sockets_can_be_a_pipes),
	    TEST(what_only_reads_cannot_be_written),
	    TABLE(a_round_takes_one_recv_and_one_send, pipelines),
	    TEST(a_reset_is_told_to_the_reader_although_sending_met_it_first),
	    TEST(output_that_is_lost_is_never_a_clean_end),
	    TEST(a_large_answer_reaches_a_slow_half_closed_peer),
	    TEST(a_reader_sends_what_is_left_as_there_is_room),
	    TEST(a_reader_wakes_when_the_descriptor_is_closed), TEST(a_peer_that_does_not_read_delays_nobody),
	    TEST(connections_that_are_idle_share_a_few_buffers));
}
