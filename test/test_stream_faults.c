/* SPDX-License-Identifier: MIT
 * Every system call and every allocation failing in turn beneath streams: the bytes are right or the error
 * is told, nothing hangs, no descriptor and no memory is left. Statements 35, 173; scenario F17. */
#include <stdio.h>

#include "resources.h"
#include "runs.h"
#include "sockets.h"
#include "streams.h"

#define LINES 40
#define LONGEST 100

struct session {
	const struct fd_kind *kind;
	int error;    /* the first one that somebody was told */
	int answered; /* lines that came back right */
};

/* A stream for each direction where the kind has only one. */
struct ends {
	struct session *session;
	bide_stream *in, *out;
};

static void told(struct session *session)
{
	must(errno != EAGAIN && errno != EINTR);
	if (!session->error)
		session->error = errno;
}

static void close_ends(struct ends *ends)
{
	if (ends->in && ends->in != ends->out && bide_stream_close(ends->in) < 0)
		told(ends->session);
	if (ends->out && bide_stream_close(ends->out) < 0)
		told(ends->session);
}

static void *answers(void *arg)
{
	struct ends *ends = arg;
	char line[LONGEST];
	ssize_t size;
	while ((size = bide_stream_read_until(ends->in, line, sizeof line, "\n", 1)) > 0) {
		size = bide_stream_write(ends->out, line, (size_t)size, NULL);
		if (size < 0 || (ends->in != ends->out && bide_stream_flush(ends->out) < 0))
			break;
	}
	if (size < 0)
		told(ends->session);
	close_ends(ends);
	return NULL;
}

/* Its length and its bytes follow from its number. */
static size_t make_line(int number, char *line)
{
	size_t size = 1 + (size_t)number * 7 % (LONGEST - 1);
	memset(line, 'a' + number % 26, size);
	line[size - 1] = '\n';
	return size;
}

static bool is_answered(struct ends *ends, int number)
{
	char line[LONGEST], got[LONGEST];
	size_t size = make_line(number, line);
	ssize_t count = bide_stream_read_until(ends->in, got, sizeof got, "\n", 1);
	if (count < 0)
		told(ends->session);
	/* Whatever went wrong: no other bytes than those that were sent. */
	must(count <= 0 || ends->session->error || ((size_t)count == size && memcmp(got, line, size) == 0));
	return count == (ssize_t)size;
}

static void *asks(void *arg)
{
	struct ends *ends = arg;
	char line[LONGEST];
	for (int i = 0; i < LINES; i += 4) { /* four in one piece */
		for (int j = i; j < i + 4; j++)
			if (bide_stream_write(ends->out, line, make_line(j, line), NULL) < 0)
				told(ends->session);
		if (bide_stream_flush(ends->out) < 0)
			told(ends->session);
		for (int j = i; j < i + 4 && !ends->session->error; j++)
			ends->session->answered += is_answered(ends, j);
		if (ends->session->error)
			break;
	}
	close_ends(ends);
	return NULL;
}

static bide_stream *open_one(struct session *session, int fd)
{
	bide_stream *stream = bide_stream_open(fd);
	if (!stream) {
		told(session);
		(void)!bide_close(fd);
	}
	return stream;
}

static void run_pair(struct ends *server, struct ends *client)
{
	bool is_whole = server->in && server->out && client->in && client->out;
	bide_task *tasks[2] = { NULL, NULL };
	if (is_whole)
		tasks[0] = bide_spawn(answers, server);
	if (tasks[0])
		tasks[1] = bide_spawn(asks, client);
	if (is_whole && (!tasks[0] || !tasks[1]))
		told(server->session);
	if (!tasks[0])
		close_ends(server);
	if (!tasks[1])
		close_ends(client);
	for (int i = 0; i < 2; i++)
		if (tasks[i])
			join_within(tasks[i], LONG);
}

static void *session_main(void *arg)
{
	struct session *session = arg;
	struct ends server = { .session = session }, client = { .session = session };
	int there[2], back[2];
	session->kind->make(there);
	server.in = open_one(session, there[0]);
	client.out = open_one(session, there[1]);
	if (session->kind->traits & TWO_WAY) {
		server.out = server.in;
		client.in = client.out;
	} else {
		session->kind->make(back);
		client.in = open_one(session, back[0]);
		server.out = open_one(session, back[1]);
	}
	run_pair(&server, &client);
	return NULL;
}

static const char *const kinds[] = { "tcp", "unix", "pipe" };
#define KINDS 3

static const struct fd_kind *kind_named(const char *name)
{
	for (int i = 0; i < FD_KINDS; i++)
		if (strcmp(fd_kinds[i].name, name) == 0)
			return &fd_kinds[i];
	ck_abort_msg("no kind %s", name);
}

/* err: what somebody may be told; 0: nothing. After it the peer may be told that this end is gone. */
static void run_session(const char *kind, const char *spec, int err)
{
	struct session session = { .kind = kind_named(kind) };
	struct counting counting;
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result = { NULL, -1 };
	counting_init(&counting, false);
	config.allocator = &counting.allocator;
	int fds = count_fds();
	must(bide_fault(spec) == 0);
	int status = bide_run(session_main, &session, &config, &result);
	if (status < 0 && !session.error)
		session.error = errno;
	must(bide_fault(NULL) == 0);
	must_msg(count_fds() == fds, "%s over %s leaves descriptors", spec, kind);
	must_msg(counting_is_balanced(&counting), "%s over %s leaves memory", spec, kind);
	bool is_end = err && (session.error == EPIPE || session.error == ECONNRESET);
	must_msg(!session.error || session.error == err || is_end, "%s over %s is told as %s", spec, kind,
	    strerror(session.error));
	must_msg(session.error || session.answered == LINES, "%s over %s: %d answers", spec, kind, session.answered);
}

static const struct {
	const char *call, *error;
	int err;
} faults[] = {
	{ "close", "EINTR", 0 },
	{ "close", "EIO", EIO },
	{ "epoll_ctl", "ENOMEM", ENOMEM },
	{ "epoll_ctl", "ENOSPC", ENOSPC },
	{ "epoll_wait", "EINTR", 0 },
	{ "fcntl", "ENOMEM", ENOMEM },
	{ "fstat", "ENOMEM", ENOMEM },
	{ "getsockopt", "ENOBUFS", 0 },
	{ "poll", "EINTR", 0 },
	{ "poll", "ENOMEM", ENOMEM },
	{ "read", "EINTR", 0 },
	{ "read", "EAGAIN", 0 },
	{ "read", "EIO", EIO },
	{ "read", "short", 0 },
	{ "recv", "EINTR", 0 },
	{ "recv", "EAGAIN", 0 },
	{ "recv", "ENOMEM", ENOMEM },
	{ "recv", "ECONNRESET", ECONNRESET },
	{ "recv", "short", 0 },
	{ "send", "EINTR", 0 },
	{ "send", "EAGAIN", 0 },
	{ "send", "ENOBUFS", ENOBUFS },
	{ "send", "EPIPE", EPIPE },
	{ "send", "short", 0 },
	{ "write", "EINTR", 0 },
	{ "write", "EAGAIN", 0 },
	{ "write", "EIO", EIO },
	{ "write", "EPIPE", EPIPE },
	{ "write", "short", 0 },
	{ "malloc", "ENOMEM", ENOMEM },
};
#define FAULTS ((int)(sizeof faults / sizeof *faults))

START_TEST(a_call_that_fails_is_told_or_tried_again)
{
	const int f = _i % FAULTS, last = suite_scaled_down(16, 6);
	const char *kind = kinds[_i / FAULTS];
	char spec[64];
	for (int n = 1; n <= last; n++) {
		snprintf(spec, sizeof spec, "%s:%s@%d", faults[f].call, faults[f].error, n);
		run_session(kind, spec, faults[f].err);
	}
	for (int n = 2; n <= 5; n++) {
		snprintf(spec, sizeof spec, "%s:%s%%%d", faults[f].call, faults[f].error, n);
		run_session(kind, spec, faults[f].err);
	}
}
END_TEST

START_TEST(one_byte_at_a_time_is_slow_and_right)
{
	run_session(kinds[_i], "read:short,write:short,recv:short,send:short", 0);
}
END_TEST

START_TEST(everything_is_interrupted_now_and_then)
{
	run_session(kinds[_i], "recv:EINTR%3,send:EINTR%3,read:EINTR%3,write:EINTR%3,epoll_wait:EINTR%3,poll:EINTR%2",
	    0);
}
END_TEST

REAL_TEST(a_shutdown_that_fails_is_told_and_can_be_repeated)
{
	int fds[2];
	char buf[4];
	make_tcp(fds);
	bide_stream *streams[2] = { bide_stream_open(fds[0]), bide_stream_open(fds[1]) };
	stream_say(streams[0], "bye");
	must(bide_fault("shutdown:ENOBUFS") == 0);
	ck_fails(bide_stream_shutdown(streams[0]), ENOBUFS);
	must(bide_fault(NULL) == 0);
	stream_say(streams[0], "!"); /* it has not ended */
	must(bide_stream_shutdown(streams[0]) == 0);
	stream_expect(streams[1], "bye!");
	must(bide_stream_read(streams[1], buf, 4) == 0);
	streams_abort(streams);
}

int main(void)
{
	return SUITE("stream_faults", LOOP(a_call_that_fails_is_told_or_tried_again, 0, KINDS * FAULTS),
	    LOOP(one_byte_at_a_time_is_slow_and_right, 0, KINDS),
	    LOOP(everything_is_interrupted_now_and_then, 0, KINDS),
	    TEST(a_shutdown_that_fails_is_told_and_can_be_repeated));
}
