/* SPDX-License-Identifier: MIT
 * Every system call and every allocation failing in turn, beneath echo sessions: the bytes are right or
 * the error is told, nothing hangs, no descriptor is left. Statements 35, 171, 173, scenarios F17, F19. */
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "counted_calls.h"
#include "resources.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

/* ---- an echo session that survives anything ------------------------------------------------------------- */

#define MESSAGE 3000
#define ROUNDS 3

struct session {
	const char *net;  /* of bide_dial(), or NULL: two pipes */
	size_t message;   /* the asker writes it before it reads, so the buffers must hold it */
	int error;        /* the first one that somebody was told */
	int rounds;       /* messages that came back right */
};

static void told(struct session *session, int err)
{
	must(err != EAGAIN && err != EINTR); /* never reach the caller */
	if (!session->error)
		session->error = err;
}

struct end {
	struct session *session;
	int in, out;
};

static void close_end(const struct end *end)
{
	(void)!bide_close(end->in); /* its own errors too are injected; it closes all the same */
	if (end->out != end->in)
		(void)!bide_close(end->out);
}

static void *echoes(void *arg)
{
	struct end *end = arg;
	char buf[512];
	ssize_t count;
	while ((count = bide_read(end->in, buf, sizeof buf)) > 0) {
		count = bide_write_all(end->out, buf, (size_t)count, NULL);
		if (count < 0)
			break;
	}
	if (count < 0)
		told(end->session, errno);
	close_end(end);
	return NULL;
}

static void *asks(void *arg)
{
	struct end *end = arg;
	char out[MESSAGE], in[MESSAGE];
	size_t size = end->session->message;
	for (size_t i = 0; i < ROUNDS; i++) {
		size_t done = 0, back = 0;
		pattern_fill(7, i * size, out, size);
		if (bide_write_all(end->out, out, size, &done) < 0) {
			told(end->session, errno);
			break;
		}
		must(done == size);
		ssize_t count = bide_read_exact(end->in, in, size, &back);
		pattern_check(7, i * size, in, back);
		if (count != (ssize_t)size) {
			told(end->session, count < 0 ? errno : EPIPE);
			break;
		}
		end->session->rounds++;
	}
	close_end(end);
	return NULL;
}

static bool run_ends(struct session *session, struct end *server, struct end *client)
{
	bide_task *tasks[2] = { bide_spawn(echoes, server), NULL };
	if (tasks[0])
		tasks[1] = bide_spawn(asks, client);
	if (!tasks[0] || !tasks[1])
		told(session, errno);
	if (!tasks[0])
		close_end(server); /* scenario F19 */
	if (!tasks[1])
		close_end(client);
	for (int i = 0; i < 2; i++)
		if (tasks[i])
			join_within(tasks[i], LONG);
	return tasks[0] && tasks[1];
}

static void dial_session(struct session *session)
{
	struct end server = { session, -1, -1 }, client = server;
	char text[64];
	bool is_unix = strcmp(session->net, "unix") == 0;
	int listener = bide_listen(session->net, is_unix ? abstract_text("faults", text) : "127.0.0.1:0", 4);
	if (listener < 0) {
		told(session, errno);
		return;
	}
	if (!is_unix)
		address_text(listener, text);
	client.in = client.out = bide_dial(session->net, text);
	if (client.in < 0)
		told(session, errno);
	else
		server.in = server.out = bide_accept(listener, NULL, NULL);
	if (client.in >= 0 && server.in < 0) {
		told(session, errno);
		close_end(&client);
	}
	if (server.in >= 0)
		run_ends(session, &server, &client);
	(void)!bide_close(listener);
}

static void pipe_session(struct session *session)
{
	int there[2], back[2];
	make_pipe(there);
	make_pipe(back);
	struct end server = { session, there[0], back[1] }, client = { session, back[0], there[1] };
	run_ends(session, &server, &client);
}

static void *session_main(void *arg)
{
	struct session *session = arg;
	if (session->net)
		dial_session(session);
	else
		pipe_session(session);
	return NULL;
}

static char *const nets[] = { "tcp", "unix", NULL };

/* ---- system calls ---------------------------------------------------------------------------------------- */

static const struct {
	const char *call, *error;
	int err; /* what the caller may be told; 0: nothing at all */
} faults[] = {
	{ "accept", "EINTR", 0 },
	{ "accept", "EAGAIN", 0 },
	{ "accept", "ECONNABORTED", 0 },
	{ "accept", "EPROTO", 0 },
	{ "accept", "EMFILE", EMFILE },
	{ "accept", "ENFILE", ENFILE },
	{ "accept", "ENOBUFS", ENOBUFS },
	{ "accept", "ENOMEM", ENOMEM },
	{ "bind", "EADDRINUSE", EADDRINUSE },
	{ "bind", "EACCES", EACCES },
	{ "close", "EINTR", 0 },
	{ "close", "EIO", 0 },
	{ "connect", "EINTR", 0 },
	{ "connect", "ECONNREFUSED", ECONNREFUSED },
	{ "connect", "ETIMEDOUT", ETIMEDOUT },
	{ "connect", "ENOBUFS", ENOBUFS },
	{ "epoll_ctl", "ENOMEM", ENOMEM },
	{ "epoll_ctl", "ENOSPC", ENOSPC },
	{ "epoll_wait", "EINTR", 0 },
	{ "fcntl", "ENOMEM", ENOMEM },
	{ "fstat", "ENOMEM", ENOMEM },
	{ "fstat", "EINTR", 0 },
	{ "getsockopt", "ENOBUFS", ENOBUFS },
	{ "listen", "EADDRINUSE", EADDRINUSE },
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
	{ "setsockopt", "ENOMEM", ENOMEM },
	{ "socket", "EMFILE", EMFILE },
	{ "socket", "ENFILE", ENFILE },
	{ "socket", "ENOBUFS", ENOBUFS },
	{ "write", "EINTR", 0 },
	{ "write", "EAGAIN", 0 },
	{ "write", "EIO", EIO },
	{ "write", "ENOSPC", ENOSPC },
	{ "write", "EPIPE", EPIPE },
	{ "write", "short", 0 },
};
#define FAULTS ((int)(sizeof faults / sizeof *faults))

static void run_session(const char *net, const char *spec, int err)
{
	/* A byte a message fills the buffers of a unix socket with less. */
	struct session session = { .net = net, .message = strstr(spec, "short") ? MESSAGE / 20 : MESSAGE };
	bide_config config = BIDE_CONFIG_INIT;
	bide_result result = { NULL, -1 };
	ck_assert_int_eq(bide_fault(spec), 0);
	int fds = count_fds();
	int status = bide_run(session_main, &session, &config, &result);
	int run_err = status < 0 ? errno : 0;
	bide_fault(NULL);
	must_msg(count_fds() == fds, "%s over %s leaves descriptors", spec, net ? net : "pipes");
	if (run_err)
		session.error = run_err; /* the loop itself could not begin */
	must_msg(session.error == 0 || session.error == err || (err && session.error == EPIPE),
	    "%s over %s is told as %s", spec, net ? net : "pipes", strerror(session.error));
	must_msg(session.error || session.rounds == ROUNDS, "%s over %s: %d messages came back", spec,
	    net ? net : "pipes", session.rounds);
}

START_TEST(a_call_that_fails_once_is_told_or_tried_again)
{
	const char *net = nets[_i / FAULTS];
	const int f = _i % FAULTS, last = suite_scaled_down(25, 8);
	char spec[64];
	for (int n = 1; n <= last; n++) {
		snprintf(spec, sizeof spec, "%s:%s@%d", faults[f].call, faults[f].error, n);
		run_session(net, spec, faults[f].err);
	}
	for (int n = 2; n <= 5; n++) {
		snprintf(spec, sizeof spec, "%s:%s%%%d", faults[f].call, faults[f].error, n);
		run_session(net, spec, faults[f].err);
	}
}
END_TEST

START_TEST(one_byte_at_a_time_is_slow_and_right)
{
	run_session(nets[_i], "read:short,write:short,recv:short,send:short", 0);
}
END_TEST

START_TEST(everything_is_interrupted_now_and_then)
{
	run_session(nets[_i], "accept:EINTR%2,connect:EINTR%2,recv:EINTR%3,send:EINTR%3,read:EINTR%3,"
	    "write:EINTR%3,epoll_wait:EINTR%3,poll:EINTR%2,close:EINTR%2", 0);
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------------------ */

START_TEST(any_allocation_may_fail)
{
	for (size_t at = 1, seen = at; at <= seen; at++) {
		struct counting counting;
		struct session session = { .net = nets[_i], .message = MESSAGE };
		bide_config config = BIDE_CONFIG_INIT;
		bide_result result = { NULL, -1 };
		counting_init(&counting, false);
		counting.fail_at = at;
		config.allocator = &counting.allocator;
		int fds = count_fds();
		int status = bide_run(session_main, &session, &config, &result);
		if (status < 0)
			session.error = errno;
		must_msg(session.error == 0 || session.error == ENOMEM || session.error == EPIPE,
		    "allocation %zu is told as %s", at, strerror(session.error));
		must(session.error || session.rounds == ROUNDS);
		must(counting_is_balanced(&counting) && count_fds() == fds);
		seen = counting.allocs;
	}
}
END_TEST

START_TEST(any_allocation_behind_the_hooks_may_fail)
{
	char spec[64];
	for (int n = 1; n <= 40; n++) {
		snprintf(spec, sizeof spec, "malloc:ENOMEM@%d", n);
		run_session(nets[_i], spec, ENOMEM);
	}
}
END_TEST

/* ---- the descriptor limit ------------------------------------------------------------------------------------ */

struct crowded {
	int listener;
	int accepted, refused; /* by EMFILE */
};

static void *echo_all(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	ssize_t count;
	while ((count = bide_recv(fd, buf, sizeof buf, 0)) > 0)
		if (bide_send(fd, buf, (size_t)count, 0) < 0)
			break;
	must(bide_close(fd) == 0);
	return NULL;
}

static void *serve(void *arg)
{
	struct crowded *crowded = arg;
	for (;;) {
		int fd = bide_accept(crowded->listener, NULL, NULL);
		if (fd >= 0) {
			crowded->accepted++;
			must(bide_detach(must_spawn(echo_all, (void *)(intptr_t)fd)) == 0);
			continue;
		}
		if (errno == ECANCELED)
			return NULL;
		must(errno == EMFILE);
		crowded->refused++;
		if (bide_sleep(5 * BIDE_MSEC) < 0)
			return NULL;
	}
}

static void *at_the_limit(void *arg)
{
	enum { CLIENTS = 30 };
	struct sockaddr_in address;
	struct rlimit limit, low;
	int clients[CLIENTS];
	char byte = 'x';
	(void)arg;
	struct crowded crowded = { .listener = plain_listener(64, &address) };
	bide_task *server = must_spawn(serve, &crowded);
	must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = plain_connection(&address);
	low = limit;
	low.rlim_cur = (rlim_t)clients[CLIENTS - 1] + 1 + 10; /* room for ten of them */
	must(setrlimit(RLIMIT_NOFILE, &low) == 0);
	while (crowded.refused < 3)
		must(bide_sleep(BIDE_MSEC) == 0);
	int served = crowded.accepted;
	must(served >= 5 && served < CLIENTS);
	/* Those that are connected go on. */
	for (int i = 0; i < served; i++) {
		must_write(clients[i], &byte, 1);
		must(bide_recv(clients[i], &byte, 1, 0) == 1);
	}
	/* As some leave, the others are served, by themselves. */
	for (int i = 0; i < CLIENTS; i++) {
		struct io io = { .fd = clients[i], .size = 1 };
		must_write(clients[i], &byte, 1);
		must(join_within(io_start(io_recv, &io), LONG).err == 0 && io.count == 1);
		must(bide_close(clients[i]) == 0);
	}
	must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	must(crowded.accepted == CLIENTS);
	must(bide_cancel(server, NULL) == 0);
	must_join(server);
	must(bide_close(crowded.listener) == 0);
	return NULL;
}

/* Scenario F17. */
START_TEST(a_server_at_the_descriptor_limit_recovers_by_itself)
{
	if (suite_is_under("valgrind")) /* it enforces the limit itself, by closing what was accepted */
		return;
	run_real(at_the_limit, NULL);
}
END_TEST

START_TEST(a_loop_that_gets_no_descriptors_says_so)
{
	struct rlimit limit, low;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int room = 0; room < 2; room++) {
		int next = dup(0);
		close(next);
		low = limit;
		low.rlim_cur = (rlim_t)(next + room);
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
		ck_fails(bide_run(nothing, NULL, NULL, NULL), EMFILE);
		ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
	run_real(nothing, NULL);
}
END_TEST

int main(void)
{
	return SUITE("io_faults", LOOP(a_call_that_fails_once_is_told_or_tried_again, 0, 3 * FAULTS),
	    LOOP(one_byte_at_a_time_is_slow_and_right, 0, 3),
	    LOOP(everything_is_interrupted_now_and_then, 0, 3), LOOP(any_allocation_may_fail, 0, 3),
	    LOOP(any_allocation_behind_the_hooks_may_fail, 0, 3),
	    TEST(a_server_at_the_descriptor_limit_recovers_by_itself),
	    TEST(a_loop_that_gets_no_descriptors_says_so));
}
