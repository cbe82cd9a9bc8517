/* SPDX-License-Identifier: MIT
 * Every system call and every allocation failing in turn beneath a session of the newer calls: listen with
 * options, serve, dial to a host with two addresses, messages, pieces, a file, a passed descriptor. What
 * arrives is right or the error is told, nothing hangs, no descriptor is left. Statements 35, 171, 173,
 * scenarios F17, F19. */
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "resources.h"
#include "runs.h"
#include "sockets.h"
#include "suite.h"

/* ---- a session that survives anything ---------------------------------------------------------------------- */

#define ROUNDS 3
#define MESSAGE 200

struct session {
	int file; /* MESSAGE bytes of pattern 7 */
	int listener;
	int error;  /* the first one that somebody was told */
	int rounds; /* messages that came back right */
	bool is_passed, is_sent;
};

/* -1: told. */
static int tell(struct session *session)
{
	must(errno != EAGAIN && errno != EINTR && errno != 0); /* never reach the caller */
	if (!session->error)
		session->error = errno;
	return -1;
}

static int check(struct session *session, ssize_t result)
{
	return result < 0 ? tell(session) : 0;
}

static void close_quietly(int fd)
{
	(void)!bide_close(fd); /* its own errors too are injected; it closes all the same */
}

/* Echoes by messages and pieces. */
static void handler(int fd, void *arg)
{
	struct session *session = arg;
	char a[10], b[100];
	struct iovec iov[2] = { { a, sizeof a }, { b, sizeof b } };
	struct msghdr message = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t count;
	while ((count = bide_recvmsg(fd, &message, 0)) > 0) {
		size_t size = (size_t)count, first = size < sizeof a ? size : sizeof a;
		struct iovec back[2] = { { a, first }, { b, size - first } };
		for (ssize_t sent; size > 0; size -= (size_t)sent) {
			sent = bide_writev(fd, back, 2);
			if (check(session, sent) < 0)
				return;
			size_t of_first = (size_t)sent < back[0].iov_len ? (size_t)sent : back[0].iov_len;
			back[0].iov_base = (char *)back[0].iov_base + of_first;
			back[0].iov_len -= of_first;
			back[1].iov_base = (char *)back[1].iov_base + ((size_t)sent - of_first);
			back[1].iov_len -= (size_t)sent - of_first;
		}
	}
	if (count < 0 && errno != ECANCELED) /* by the end of the server */
		tell(session);
}

static void *serve(void *arg)
{
	struct session *session = arg;
	bide_serve_opts opts = BIDE_SERVE_OPTS_INIT;
	opts.flags = BIDE_SERVE_CLOSE; /* who was not accepted is told, too */
	must(bide_serve(session->listener, handler, session, &opts) == -1);
	if (errno != ECANCELED)
		tell(session);
	return NULL;
}

static int send_message(int fd, const char *bytes, size_t size)
{
	for (ssize_t sent; size > 0; bytes += sent, size -= (size_t)sent) {
		struct mmsghdr message = { .msg_hdr = {
			.msg_iov = &(struct iovec){ (void *)(uintptr_t)bytes, size }, .msg_iovlen = 1 } };
		if (bide_sendmmsg(fd, &message, 1, 0) != 1)
			return -1;
		sent = message.msg_len;
	}
	return 0;
}

/* -1 with errno, EPIPE at the end. */
static int receive_message(int fd, char *bytes, size_t size)
{
	for (ssize_t count; size > 0; bytes += count, size -= (size_t)count) {
		struct iovec iov[2] = { { bytes, 1 }, { bytes + 1, size - 1 } };
		count = size % 2 ? bide_readv(fd, iov, 2) : bide_recvfrom(fd, bytes, size, 0, NULL, NULL);
		if (count == 0)
			errno = EPIPE;
		if (count <= 0)
			return -1;
	}
	return 0;
}

static void talk(struct session *session, int fd)
{
	char out[MESSAGE], in[MESSAGE];
	for (size_t i = 0; i < ROUNDS; i++) {
		pattern_fill(7, i * MESSAGE, out, MESSAGE);
		if (check(session, send_message(fd, out, MESSAGE)) < 0 || check(session, receive_message(fd, in, MESSAGE)) < 0)
			return;
		pattern_check(7, i * MESSAGE, in, MESSAGE);
		session->rounds++;
	}
	check(session, bide_shutdown(fd, SHUT_WR));
}

static void serve_and_dial(struct session *session)
{
	char text[BIDE_ADDRESS_MAX], local[BIDE_ADDRESS_MAX];
	bide_listen_opts opts = BIDE_LISTEN_OPTS_INIT;
	opts.flags = BIDE_LISTEN_REUSEPORT;
	session->listener = bide_listen_with("tcp", "127.0.0.1:0", &opts);
	if (check(session, session->listener) < 0)
		return;
	bide_task *server = NULL;
	if (check(session, bide_local_address(session->listener, text, sizeof text)) == 0) {
		server = bide_spawn(serve, session);
		check(session, server ? 0 : -1);
	}
	if (!server) {
		close_quietly(session->listener);
		return;
	}
	snprintf(local, sizeof local, "localhost%s", strrchr(text, ':'));
	int fd = bide_dial("tcp", local);
	if (check(session, fd) == 0) {
		talk(session, fd);
		close_quietly(fd);
	}
	bide_cancel(server, NULL);
	bide_result result = join_within(server, LONG);
	if (result.err) /* it was canceled before its first run */
		close_quietly(session->listener);
}

/* The writing end of a pipe, over a pair. */
static bool pass_descriptor(struct session *session, const int pair[2])
{
	int pipe_fds[2], got = -1;
	char in[8];
	make_pipe(pipe_fds);
	if (check(session, bide_send_fd(pair[0], pipe_fds[1])) == 0 && check(session, got = bide_recv_fd(pair[1])) == 0) {
		session->is_passed = check(session, bide_write_all(got, "through", 7, NULL)) == 0 &&
		    check(session, bide_read_exact(pipe_fds[0], in, 7, NULL)) == 0 && memcmp(in, "through", 7) == 0;
		close_quietly(got);
	}
	close_quietly(pipe_fds[0]);
	close_quietly(pipe_fds[1]);
	return got >= 0;
}

static void send_the_file(struct session *session, const int pair[2])
{
	char in[MESSAGE];
	for (off_t offset = 0; offset < MESSAGE;)
		if (check(session, bide_sendfile(pair[0], session->file, &offset, MESSAGE)) < 0)
			return;
	if (check(session, receive_message(pair[1], in, MESSAGE)) < 0)
		return;
	pattern_check(7, 0, in, MESSAGE);
	session->is_sent = true;
}

static void pass_and_send(struct session *session)
{
	int pair[2];
	if (check(session, bide_socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) < 0)
		return;
	if (pass_descriptor(session, pair)) /* else its byte may be there still */
		send_the_file(session, pair);
	close_quietly(pair[0]);
	close_quietly(pair[1]);
}

static void *session_main(void *arg)
{
	serve_and_dial(arg);
	pass_and_send(arg);
	return NULL;
}

static void ignore_report(int kind, const char *text, void *ctx)
{
	(void)text;
	(void)ctx;
	must(kind == BIDE_REPORT_LIMIT);
}

static void run_session(const char *spec, int err)
{
	char path[] = "/tmp/bide-test-XXXXXX", bytes[MESSAGE];
	struct session session = { .file = mkstemp(path) };
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result = { NULL, -1 };
	pattern_fill(7, 0, bytes, MESSAGE);
	must(session.file >= 0 && unlink(path) == 0);
	must_write(session.file, bytes, MESSAGE);
	config.flags = BIDE_VIRTUAL_CLOCK; /* a back-off takes no time */
	config.report = ignore_report;
	ck_assert_int_eq(bide_fault(spec), 0);
	int fds = count_fds();
	if (bide_run(session_main, &session, &config, &result) < 0)
		session.error = errno; /* the loop itself could not begin */
	bide_fault(NULL);
	must_msg(count_fds() == fds, "%s leaves descriptors", spec);
	close(session.file);
	bool is_due = session.error == err || (err && (session.error == EPIPE || session.error == ECONNRESET));
	must_msg(session.error == 0 || is_due, "%s is told as %s", spec, strerror(session.error));
	must_msg(session.error || (session.rounds == ROUNDS && session.is_passed && session.is_sent),
	    "%s: %d rounds, %d, %d", spec, session.rounds, session.is_passed, session.is_sent);
}

/* ---- system calls ------------------------------------------------------------------------------------------- */

static const struct {
	const char *call, *error;
	int err; /* what somebody may be told; 0: nothing at all */
} faults[] = {
	{ "accept", "EINTR", 0 }, { "accept", "EAGAIN", 0 }, { "accept", "ECONNABORTED", 0 }, { "accept", "EMFILE", 0 },
	{ "accept", "ENFILE", 0 }, { "accept", "ENOBUFS", 0 }, { "accept", "ENOMEM", 0 }, { "accept", "EPERM", EPERM },
	{ "bind", "EADDRINUSE", EADDRINUSE }, { "close", "EINTR", 0 }, { "close", "EIO", 0 }, { "connect", "EINTR", 0 },
	{ "connect", "ECONNREFUSED", ECONNREFUSED }, { "connect", "ENOBUFS", ENOBUFS }, { "epoll_ctl", "ENOMEM", ENOMEM },
	{ "epoll_ctl", "ENOSPC", ENOSPC }, { "epoll_wait", "EINTR", 0 }, { "fcntl", "ENOMEM", ENOMEM },
	{ "fstat", "ENOMEM", ENOMEM }, { "getsockname", "ENOBUFS", ENOBUFS }, { "getsockopt", "ENOBUFS", ENOBUFS },
	{ "fstatfs", "EIO", 0 }, { "listen", "EADDRINUSE", EADDRINUSE }, { "poll", "EINTR", 0 },
	{ "poll", "ENOMEM", ENOMEM }, { "read", "EAGAIN", 0 }, { "read", "EOPNOTSUPP", EOPNOTSUPP },
	{ "recv", "EINTR", 0 }, { "recv", "EAGAIN", 0 }, { "recv", "ENOMEM", ENOMEM },
	{ "recv", "ECONNRESET", ECONNRESET }, { "recv", "short", 0 }, { "send", "EINTR", 0 }, { "send", "EAGAIN", 0 },
	{ "send", "ENOBUFS", ENOBUFS }, { "send", "EPIPE", EPIPE }, { "send", "short", 0 }, { "sendfile", "EINTR", 0 },
	{ "sendfile", "EAGAIN", 0 }, { "sendfile", "EIO", EIO }, { "sendfile", "short", 0 },
	{ "setsockopt", "ENOMEM", ENOMEM }, { "shutdown", "ENOBUFS", ENOBUFS }, { "socket", "EMFILE", EMFILE },
	{ "socketpair", "EMFILE", EMFILE }, { "malloc", "ENOMEM", ENOMEM }, { "mmap", "ENOMEM", ENOMEM },
};

START_TEST(a_call_that_fails_is_told_or_tried_again)
{
	const int last = suite_scaled_down(40, 10);
	char spec[64];
	for (int n = 1; n <= last; n++) {
		snprintf(spec, sizeof spec, "%s:%s@%d", faults[_i].call, faults[_i].error, n);
		run_session(spec, faults[_i].err);
	}
	for (int n = 2; n <= 5; n++) {
		snprintf(spec, sizeof spec, "%s:%s%%%d", faults[_i].call, faults[_i].error, n);
		run_session(spec, faults[_i].err);
	}
}
END_TEST

START_TEST(everything_is_interrupted_and_short)
{
	run_session("accept:EINTR%2,connect:EINTR%2,recv:EINTR%3,send:EINTR%3,sendfile:EINTR%2,read:EINTR%3,write:EINTR%3,"
	    "epoll_wait:EINTR%3,poll:EINTR%2,close:EINTR%2", 0);
	run_session("recv:short,send:short,sendfile:short,read:short,write:short", 0);
}
END_TEST

int main(void)
{
	return SUITE("net_faults", TABLE(a_call_that_fails_is_told_or_tried_again, faults),
	    TEST(everything_is_interrupted_and_short));
}
