/* SPDX-License-Identifier: MIT
 * bide_accept() and bide_listen(). Statement 171, scenarios C5, F17, F19. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "counted_calls.h"
#include "resources.h"
#include "runs.h"
#include "sched/loop.h"
#include "sockets.h"
#include "suite.h"

/* ---- what it returns --------------------------------------------------------------------------------- */

static void *accepts(void *arg)
{
	const bool *blocks = arg;
	struct sockaddr_in address, client_address, told;
	socklen_t length = sizeof told;
	int listener = plain_listener(4, &address);
	set_nonblocking(listener, !*blocks);
	int client = plain_connection(&address);
	client_address = local_address(client);
	int peer = bide_accept(listener, (void *)&told, &length);
	must(peer >= 0 && length == sizeof told);
	must(told.sin_port == client_address.sin_port && told.sin_family == AF_INET);
	must(is_nonblocking(peer) && is_cloexec(peer));
	must(is_nonblocking(listener)); /* "made non-blocking if it is not" */
	struct io io = { .fd = listener };
	bide_task *task = io_start(io_accept, &io);
	must(io.count == -2);
	int late = plain_connection(&address);
	must(join_within(task, LONG).err == 0);
	must(is_nonblocking((int)io.count) && is_cloexec((int)io.count));
	must(bide_close((int)io.count) == 0 && bide_close(peer) == 0 && bide_close(listener) == 0);
	close(client);
	close(late);
	return NULL;
}

START_TEST(an_accepted_socket_is_nonblocking_and_close_on_exec)
{
	bool blocks = _i;
	counted.modify_is_mute = true;
	run_real(accepts, &blocks);
}
END_TEST

/* A peer's first bytes are rarely there when it is accepted: a try then would be a call for nothing. */
static void *first_read(void *arg)
{
	struct sockaddr_in address;
	char buf[8];
	(void)arg;
	must(bide_fault(NULL) == 0); /* calls are counted */
	int listener = plain_listener(4, &address);
	for (int is_early = 0; is_early < 2; is_early++) {
		int client = plain_connection(&address);
		if (is_early)
			must_write(client, "x", 1);
		int peer = bide_accept(listener, NULL, NULL);
		int before = counted.recv;
		if (is_early)
			must(bide_recv(peer, buf, sizeof buf, 0) == 1 && buf[0] == 'x');
		struct io io = { .fd = peer };
		bide_task *reader = io_start(io_recv, &io);
		must(io.count == -2 && counted.recv - before == is_early);
		must_write(client, "y", 1);
		must(join_within(reader, LONG).err == 0);
		must(io.count == 1 && io.buf[0] == 'y' && counted.recv - before == is_early + 1);
		must(bide_close(peer) == 0);
		close(client);
	}
	must(bide_close(listener) == 0);
	return NULL;
}

START_TEST(the_first_read_of_a_new_connection_waits_before_it_tries)
{
	run_real(first_read, NULL);
}
END_TEST

static void *cut_address(void *arg)
{
	struct sockaddr_in address;
	char cut[4] = { 0 };
	socklen_t length = 4;
	(void)arg;
	int listener = plain_listener(4, &address);
	int client = plain_connection(&address);
	int peer = bide_accept(listener, (void *)cut, &length);
	must(peer >= 0 && length == sizeof address);
	must(bide_close(peer) == 0 && bide_close(listener) == 0);
	close(client);
	return NULL;
}

START_TEST(an_address_too_long_for_the_buffer_is_cut_and_its_length_told)
{
	run_virtual(cut_address, NULL);
}
END_TEST

/* ---- errors ------------------------------------------------------------------------------------------- */

static void *aborted(void *arg)
{
	struct sockaddr_in address;
	struct io io = { 0 };
	(void)arg;
	int listener = io.fd = plain_listener(4, &address);
	/* Already there; and to be waited for after the abort. */
	for (int waits = 0; waits < 2; waits++) {
		int client = waits ? -1 : plain_connection(&address);
		must(bide_fault(waits ? "accept:EPROTO@2" : "accept:ECONNABORTED@1") == 0);
		bide_task *task = io_start(io_accept, &io);
		if (waits) {
			must(io.count == -2);
			client = plain_connection(&address);
		}
		must(join_within(task, LONG).err == 0 && io.count >= 0);
		must(bide_fault(NULL) == 0);
		must(bide_close((int)io.count) == 0);
		close(client);
	}
	must(bide_close(listener) == 0);
	return NULL;
}

/* Statement 171. */
START_TEST(an_aborted_connection_is_skipped)
{
	counted.modify_is_mute = true;
	run_real(aborted, NULL);
}
END_TEST

static void *always_aborted(void *arg)
{
	struct sockaddr_in address;
	struct heartbeat heartbeat;
	(void)arg;
	int listener = plain_listener(4, &address);
	struct io io = { .fd = listener };
	must(bide_fault("accept:ECONNABORTED") == 0);
	heartbeat_start(&heartbeat, BIDE_MSEC);
	bide_task *task = io_start(io_accept, &io);
	while (heartbeat.beats < 5)
		must(bide_sleep(BIDE_MSEC) == 0);
	must(bide_cancel(task, NULL) == 0);
	must(must_join(task).err == ECANCELED);
	heartbeat_stop(&heartbeat);
	must(bide_fault(NULL) == 0);
	must(bide_close(listener) == 0);
	return NULL;
}

START_TEST(a_flood_of_aborted_connections_stops_nobody_else)
{
	run_real(always_aborted, NULL);
}
END_TEST

static void *at_the_limit(void *arg)
{
	static int taken[256];
	struct sockaddr_in address;
	struct rlimit limit, low;
	int count = 0, fd;
	char buf[4];
	(void)arg;
	int listener = plain_listener(8, &address);
	int old_client = plain_connection(&address);
	int old = bide_accept(listener, NULL, NULL);
	int clients[3];
	for (int i = 0; i < 3; i++)
		clients[i] = plain_connection(&address);
	must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	low = limit;
	low.rlim_cur = 200;
	must(setrlimit(RLIMIT_NOFILE, &low) == 0);
	while ((fd = dup(listener)) >= 0)
		taken[count++] = fd;
	for (int i = 0; i < 3; i++)
		ck_fails(bide_accept(listener, NULL, NULL), EMFILE); /* each time, and at once */
	ck_fails(bide_dial("tcp", "127.0.0.1:1"), EMFILE);
	ck_fails(bide_listen("tcp", "127.0.0.1:0", 1), EMFILE);
	/* Who is connected goes on. */
	must_write(old_client, "ping", 4);
	must(bide_recv(old, buf, 4, 0) == 4 && bide_send(old, buf, 4, 0) == 4);
	must(read(old_client, buf, 4) == 4);
	close(taken[--count]);
	int accepted = bide_accept(listener, NULL, NULL);
	must(accepted >= 0);
	must_write(clients[0], "next", 4); /* the backlog kept its order */
	must(bide_recv(accepted, buf, 4, 0) == 4 && memcmp(buf, "next", 4) == 0);
	ck_fails(bide_accept(listener, NULL, NULL), EMFILE);
	while (count > 0)
		close(taken[--count]);
	for (int i = 1; i < 3; i++) {
		fd = bide_accept(listener, NULL, NULL);
		must(fd >= 0 && bide_close(fd) == 0);
	}
	must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (int i = 0; i < 3; i++)
		close(clients[i]);
	close(old_client);
	must(bide_close(old) == 0 && bide_close(accepted) == 0 && bide_close(listener) == 0);
	return NULL;
}

/* Statement 171, scenario F17: EMFILE goes to the caller, the connection stays in the backlog. */
START_TEST(at_the_descriptor_limit_the_caller_is_told_and_nothing_is_lost)
{
	if (suite_is_under("valgrind")) /* it enforces the limit itself, by closing what was accepted */
		return;
	run_real(at_the_limit, NULL);
}
END_TEST

static void *limit_for_waiters(void *arg)
{
	struct sockaddr_in address;
	struct io io[2] = { { 0 } };
	bide_task *tasks[2];
	(void)arg;
	int listener = plain_listener(8, &address);
	for (int i = 0; i < 2; i++) {
		io[i].fd = listener;
		tasks[i] = io_start(io_accept, &io[i]);
	}
	must(bide_fault("accept:EMFILE@1") == 0);
	int client = plain_connection(&address);
	must(join_within(tasks[0], LONG).err == EMFILE);
	must(join_within(tasks[1], LONG).err == 0); /* the connection went to the next in line */
	must(bide_fault(NULL) == 0);
	must(bide_close((int)io[1].count) == 0 && bide_close(listener) == 0);
	close(client);
	return NULL;
}

START_TEST(a_failed_accept_passes_the_connection_on)
{
	counted.modify_is_mute = true;
	run_real(limit_for_waiters, NULL);
}
END_TEST

static void *no_memory_for_the_record(void *arg)
{
	struct sockaddr_in address;
	char buf[4];
	(void)arg;
	int listener = plain_listener(8, &address);
	int client = plain_connection(&address), other = plain_connection(&address);
	must(bide_fd_wait(listener, POLLIN) == POLLIN);
	/* A number beyond every page of records there is. */
	int low[300], count = 0;
	do
		low[count] = dup(client);
	while (low[count++] < 200);
	must(bide_fault("malloc:ENOMEM") == 0);
	int accepted = bide_accept(listener, NULL, NULL);
	must(accepted > 200); /* it was not thrown away */
	must_write(client, "ping", 4);
	ck_fails(bide_recv(accepted, buf, 4, 0), ENOMEM);
	must(bide_fault(NULL) == 0);
	must(bide_recv(accepted, buf, 4, 0) == 4);
	while (count > 0)
		close(low[--count]);
	must(bide_close(accepted) == 0);
	accepted = bide_accept(listener, NULL, NULL);
	must(bide_close(accepted) == 0 && bide_close(listener) == 0);
	close(client);
	close(other);
	return NULL;
}

START_TEST(without_memory_for_its_record_a_connection_is_accepted_all_the_same)
{
	run_real(no_memory_for_the_record, NULL);
}
END_TEST

/* ---- flood ------------------------------------------------------------------------------------------- */

struct flood {
	struct sockaddr_in address;
	atomic_bool is_over;
	atomic_int connected;
};

static void *flooder(void *arg)
{
	struct flood *flood = arg;
	while (!flood->is_over) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		if (fd >= 0 && connect(fd, (void *)&flood->address, sizeof flood->address) == 0)
			flood->connected++;
		if (fd >= 0) {
			reset_connection(fd);
			close(fd);
		}
	}
	return NULL;
}

static void *accept_all(void *arg)
{
	int listener = *(int *)arg;
	for (;;) {
		int fd = bide_accept(listener, NULL, NULL);
		if (fd < 0 && errno == ECANCELED)
			return NULL;
		if (fd >= 0)
			must(bide_close(fd) == 0);
	}
}

static void *echo_beside(void *arg)
{
	struct flood flood = { .is_over = false };
	pthread_t threads[2];
	char byte = 'x';
	int rounds = 0, listener = plain_listener(128, &flood.address), fds[2];
	bide_time longest = 0;
	(void)arg;
	make_tcp(fds);
	for (int i = 0; i < 2; i++)
		must(pthread_create(&threads[i], NULL, flooder, &flood) == 0);
	bide_task *acceptor = must_spawn(accept_all, &listener);
	bide_time end = bide_after(BIDE_SEC / 2);
	for (; bide_now() < end; rounds++) {
		bide_time start = clock_monotonic();
		must(bide_send(fds[1], &byte, 1, 0) == 1);
		must(bide_recv(fds[0], &byte, 1, 0) == 1);
		must(bide_send(fds[0], &byte, 1, 0) == 1);
		must(bide_recv(fds[1], &byte, 1, 0) == 1);
		bide_time took = clock_monotonic() - start;
		longest = took > longest ? took : longest;
	}
	flood.is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	must(bide_cancel(acceptor, NULL) == 0);
	must_join(acceptor);
	/* Under a flood that leaves the loop no pause it echoes on: starved it would not come to ten. */
	must_msg(rounds >= 10, "%d rounds beside %d connections", rounds, (int)flood.connected);
	must(bide_close(listener) == 0);
	close_pair(fds);
	return NULL;
}

/* Scenario C5. */
START_TEST(a_flood_of_connections_does_not_starve_one_that_is_there)
{
	run_real(echo_beside, NULL);
}
END_TEST

/* ---- listen -------------------------------------------------------------------------------------------- */

static void check_listener(const char *net, const char *text, bool is_tcp)
{
	int fd = bide_listen(net, text, 5);
	must_msg(fd >= 0, "listen on %s: %s", text, strerror(errno));
	must(is_nonblocking(fd) && is_cloexec(fd));
	must(socket_option(fd, SOL_SOCKET, SO_ACCEPTCONN) == 1);
	if (is_tcp) {
		must(socket_option(fd, SOL_SOCKET, SO_REUSEADDR) == 1);
		must(socket_option(fd, IPPROTO_TCP, TCP_NODELAY) == 1);
		must(local_address(fd).sin_port != 0); /* the kernel chose one */
	}
	must(bide_close(fd) == 0);
}

START_TEST(a_listener_has_the_promised_properties)
{
	check_listener("tcp", "127.0.0.1:0", true);
	check_listener("tcp4", ":0", true);
	check_listener("tcp", "localhost:0", true);
	check_listener("tcp6", "[::1]:0", true);
	check_listener("tcp6", ":0", true);
	char text[64];
	check_listener("unix", abstract_text("listener", text), false);
}
END_TEST

static void *dial_and_accept(void *arg)
{
	const char *net = arg;
	bool is_unix = strcmp(net, "unix") == 0;
	char text[64], byte = 'x';
	int listener = bide_listen(net, is_unix ? abstract_text("dial", text) : ":0", 0);
	must(listener >= 0);
	if (!is_unix)
		snprintf(text, sizeof text, ":%d", ntohs(local_address(listener).sin_port));
	for (int i = 0; i < 2; i++) {
		int client = bide_dial(net, text);
		must_msg(client >= 0, "dial %s %s: %s", net, text, strerror(errno));
		int peer = bide_accept(listener, NULL, NULL);
		must(peer >= 0);
		for (int k = 0; k < 2; k++) {
			int fd = k ? peer : client;
			must(is_nonblocking(fd) && is_cloexec(fd));
			must(is_unix || socket_option(fd, IPPROTO_TCP, TCP_NODELAY) == 1);
		}
		must(bide_send(client, &byte, 1, 0) == 1 && bide_recv(peer, &byte, 1, 0) == 1);
		must(bide_close(client) == 0 && bide_close(peer) == 0);
	}
	/* Its port is free at once, although connections of it are in TIME_WAIT. */
	must(bide_close(listener) == 0);
	listener = bide_listen(net, text, 0);
	must(listener >= 0);
	ck_fails(bide_listen(net, text, 0), EADDRINUSE);
	must(bide_close(listener) == 0);
	return NULL;
}

START_TEST(both_ends_of_a_connection_have_the_promised_properties)
{
	static char *const nets[] = { "tcp", "tcp4", "tcp6", "unix" };
	run_real(dial_and_accept, nets[_i]);
}
END_TEST

static void *unix_path(void *arg)
{
	char directory[] = "/tmp/bide-test-XXXXXX", path[64], byte = 'x';
	(void)arg;
	must(mkdtemp(directory) != NULL);
	snprintf(path, sizeof path, "%s/socket", directory);
	int listener = bide_listen("unix", path, 0);
	must(listener >= 0);
	ck_fails(bide_listen("unix", path, 0), EADDRINUSE);
	int client = bide_dial("unix", path);
	int peer = bide_accept(listener, NULL, NULL);
	must(bide_send(client, &byte, 1, 0) == 1 && bide_recv(peer, &byte, 1, 0) == 1);
	must(bide_close(client) == 0 && bide_close(peer) == 0 && bide_close(listener) == 0);
	ck_fails(bide_dial("unix", path), ECONNREFUSED);
	must(unlink(path) == 0);
	ck_fails(bide_dial("unix", path), ENOENT);
	/* A listen that fails leaves no path behind. */
	must(bide_fault("listen:EADDRINUSE@1") == 0);
	ck_fails(bide_listen("unix", path, 0), EADDRINUSE);
	must(access(path, F_OK) < 0);
	must(rmdir(directory) == 0);
	return NULL;
}

START_TEST(a_unix_path_is_listened_on_and_dialed)
{
	run_real(unix_path, NULL);
}
END_TEST

/* "backlog: at most so many connections wait to be accepted" */
START_TEST(the_backlog_is_what_was_asked_for)
{
	char text[64];
	struct sockaddr_un address;
	socklen_t length = abstract_address("backlog", &address);
	int listener = bide_listen("unix", abstract_text("backlog", text), 2), clients[8], count = 0;
	ck_assert_int_ge(listener, 0);
	for (; count < 8; count++) {
		clients[count] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(clients[count], (void *)&address, length) < 0)
			break;
	}
	ck_assert_int_le(count, 3); /* Linux adds one */
	ck_assert_int_ge(count, 2);
	for (int i = 0; i <= count; i++)
		close(clients[i]);
	ck_assert_int_eq(bide_close(listener), 0);
}
END_TEST

/* ---- bad input ------------------------------------------------------------------------------------------ */

static void *bad_input(void *arg)
{
	struct sockaddr_in address;
	socklen_t length = sizeof address, negative = (socklen_t)-1;
	int pipe_fds[2], unix_fds[2], udp_fds[2];
	(void)arg;
	make_pipe(pipe_fds);
	make_unix(unix_fds);
	make_udp(udp_fds);
	int file = open("/dev/null", O_RDONLY);
	int fresh = socket(AF_INET, SOCK_STREAM, 0);
	int listener = plain_listener(1, &address);
	int client = plain_connection(&address);
	ck_fails(bide_accept(listener, (void *)&address, NULL), EINVAL);
	ck_fails(bide_accept(listener, (void *)&address, &negative), EINVAL);
	ck_fails(bide_accept(-1, NULL, NULL), EBADF);
	ck_fails(bide_accept(9999, NULL, NULL), EBADF);
	ck_fails(bide_accept(INT32_MAX, (void *)&address, &length), EBADF);
	ck_fails(bide_accept(pipe_fds[0], NULL, NULL), ENOTSOCK);
	ck_fails(bide_accept(file, NULL, NULL), ENOTSOCK);
	ck_fails(bide_accept(unix_fds[0], NULL, NULL), EINVAL);
	ck_fails(bide_accept(udp_fds[0], NULL, NULL), EOPNOTSUPP);
	ck_fails(bide_accept(fresh, NULL, NULL), EINVAL);
	/* No effect: nobody's flags were changed. */
	must(!is_nonblocking(pipe_fds[0]) && !is_nonblocking(unix_fds[0]) && !is_nonblocking(fresh));
	must(!is_nonblocking(file) && !is_nonblocking(udp_fds[0]));
	/* And the connection is still there. */
	int accepted = bide_accept(listener, NULL, NULL);
	must(accepted >= 0);
	must(bide_cancel(bide_self(), NULL) == 0);
	int late = plain_connection(&address);
	ck_fails(bide_accept(listener, NULL, NULL), ECANCELED);
	must(bide_uncancel() == 0);
	must(bide_close(accepted) == 0);
	accepted = bide_accept(listener, NULL, NULL);
	must(bide_close(accepted) == 0 && bide_close(listener) == 0);
	ck_fails(bide_accept(listener, NULL, NULL), EBADF);
	close_pair(pipe_fds);
	close_pair(unix_fds);
	close_pair(udp_fds);
	close(file);
	close(fresh);
	close(client);
	close(late);
	return NULL;
}

START_TEST(bad_input_is_answered_and_changes_nothing)
{
	run_real(bad_input, NULL);
}
END_TEST

START_TEST(outside_a_task_it_is_eperm)
{
	struct sockaddr_in address;
	int listener = plain_listener(1, &address);
	ck_fails(bide_accept(listener, NULL, NULL), EPERM);
	ck_assert(!is_nonblocking(listener));
	close(listener);
}
END_TEST

int main(void)
{
	return SUITE("net_accept", LOOP(an_accepted_socket_is_nonblocking_and_close_on_exec, 0, 2),
	    TEST(an_address_too_long_for_the_buffer_is_cut_and_its_length_told),
	    TEST(an_aborted_connection_is_skipped), TEST(a_flood_of_aborted_connections_stops_nobody_else),
	    TEST(at_the_descriptor_limit_the_caller_is_told_and_nothing_is_lost),
	    TEST(a_failed_accept_passes_the_connection_on),
	    TEST(without_memory_for_its_record_a_connection_is_accepted_all_the_same),
	    TEST(a_flood_of_connections_does_not_starve_one_that_is_there),
	    TEST(a_listener_has_the_promised_properties),
	    TEST(the_first_read_of_a_new_connection_waits_before_it_tries),
	    LOOP(both_ends_of_a_connection_have_the_promised_properties, 0, 4),
	    TEST(a_unix_path_is_listened_on_and_dialed), TEST(the_backlog_is_what_was_asked_for),
	    TEST(bad_input_is_answered_and_changes_nothing), TEST(outside_a_task_it_is_eperm));
}
