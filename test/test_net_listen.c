/* SPDX-License-Identifier: MIT
 * bide_listen_with(): options, datagrams, and unix paths that an earlier server has left. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resources.h"
#include "runs.h"
#include "sockets.h"
#include "suite.h"

static int listen_with(const char *net, const char *address, unsigned flags)
{
	bide_listen_opts opts = BIDE_LISTEN_OPTS_INIT;
	opts.flags = flags;
	return bide_listen_with(net, address, &opts);
}

/* ---- options ---------------------------------------------------------------------------------------------- */

static const struct options {
	const char *net;
	unsigned flags;
	int reuse_address, reuse_port, no_delay; /* -1: there is no such thing */
} options[] = {
	{ "tcp", 0, 1, 0, 1 },
	{ "tcp", BIDE_LISTEN_NO_REUSEADDR, 0, 0, 1 },
	{ "tcp", BIDE_LISTEN_REUSEPORT, 1, 1, 1 },
	{ "tcp4", BIDE_LISTEN_DELAY, 1, 0, 0 },
	{ "tcp4", BIDE_LISTEN_DELAY | BIDE_LISTEN_REUSEPORT | BIDE_LISTEN_NO_REUSEADDR, 0, 1, 0 },
	{ "udp", 0, 0, 0, -1 },
	{ "udp", BIDE_LISTEN_REUSEPORT, 0, 1, -1 },
};

START_TEST(a_listener_has_the_options_that_were_asked_for)
{
	const struct options *o = &options[_i];
	int fd = listen_with(o->net, "127.0.0.1:0", o->flags);
	ck_assert_int_ge(fd, 0);
	ck_assert(is_nonblocking(fd) && is_cloexec(fd));
	ck_assert_int_eq(socket_option(fd, SOL_SOCKET, SO_REUSEADDR), o->reuse_address);
	ck_assert_int_eq(socket_option(fd, SOL_SOCKET, SO_REUSEPORT), o->reuse_port);
	if (o->no_delay >= 0)
		ck_assert_int_eq(socket_option(fd, IPPROTO_TCP, TCP_NODELAY), o->no_delay);
	ck_assert_int_eq(bide_close(fd), 0);
}
END_TEST

START_TEST(two_listeners_share_a_port_if_both_ask_for_it)
{
	static const char *const nets[] = { "tcp", "udp" };
	char text[32];
	int first = listen_with(nets[_i], "127.0.0.1:0", BIDE_LISTEN_REUSEPORT);
	address_text(first, text);
	ck_fails(bide_listen(nets[_i], text, 0), EADDRINUSE);
	int second = listen_with(nets[_i], text, BIDE_LISTEN_REUSEPORT);
	ck_assert_int_ge(second, 0);
	ck_assert_int_eq(bide_close(first), 0);
	ck_assert_int_eq(bide_close(second), 0);
}
END_TEST

START_TEST(bad_options_are_refused)
{
	bide_listen_opts opts = BIDE_LISTEN_OPTS_INIT;
	opts.flags = 8;
	ck_fails(bide_listen_with("tcp", "127.0.0.1:0", &opts), EINVAL);
	opts.flags = ~0u;
	ck_fails(bide_listen_with("tcp", "127.0.0.1:0", &opts), EINVAL);
	opts.flags = 0;
	for (size_t size = 0; size < sizeof opts; size += sizeof opts - 1) {
		opts.size = size;
		ck_fails(bide_listen_with("tcp", "127.0.0.1:0", &opts), EINVAL);
	}
	opts.size = sizeof opts + 1;
	ck_fails(bide_listen_with("tcp", "127.0.0.1:0", &opts), EINVAL);
	ck_fails(bide_listen_with(NULL, "127.0.0.1:0", NULL), EINVAL);
	ck_fails(bide_listen_with("tcp", NULL, NULL), EINVAL);
	int fd = bide_listen_with("tcp", "127.0.0.1:0", NULL);
	ck_assert(fd >= 0 && bide_close(fd) == 0);
}
END_TEST

START_TEST(a_system_call_that_fails_is_told_and_leaves_nothing)
{
	static const struct {
		const char *fault;
		int err;
	} faults[] = { { "socket:EMFILE@1", EMFILE }, { "setsockopt:ENOBUFS@1", ENOBUFS },
		{ "setsockopt:ENOMEM@2", ENOMEM }, { "setsockopt:ENOMEM@3", ENOMEM }, { "bind:EACCES@1", EACCES },
		{ "listen:EADDRINUSE@1", EADDRINUSE } };
	ck_assert_int_eq(bide_fault(faults[_i].fault), 0);
	int before = count_fds();
	ck_fails(listen_with("tcp", "127.0.0.1:0", BIDE_LISTEN_REUSEPORT), faults[_i].err);
	ck_assert_int_eq(bide_fault(NULL), 0);
	ck_assert_int_eq(count_fds(), before);
}
END_TEST

/* ---- datagrams ---------------------------------------------------------------------------------------------- */

static void *datagrams(void *arg)
{
	static const char *const nets[][2] = { { "udp", "127.0.0.1:0" }, { "udp4", "127.0.0.1:0" }, { "udp6", "[::1]:0" } };
	const char *const *net = nets[*(int *)arg];
	char text[BIDE_ADDRESS_MAX], buf[8];
	struct sockaddr_storage from;
	socklen_t length = sizeof from;
	int server = bide_listen(net[0], net[1], 0);
	must(server >= 0 && bide_local_address(server, text, sizeof text) == 0);
	int client = bide_dial(net[0], text);
	must(client >= 0 && is_nonblocking(client) && is_cloexec(client));
	must(bide_send(client, "ping", 4, 0) == 4);
	must(bide_recvfrom(server, buf, 8, 0, (void *)&from, &length) == 4);
	must(bide_sendto(server, "pong!", 5, 0, (void *)&from, length) == 5 && bide_recv(client, buf, 8, 0) == 5);
	must(bide_close(client) == 0 && bide_close(server) == 0);
	return NULL;
}

START_TEST(datagrams_go_there_and_back)
{
	run_real(datagrams, &_i);
}
END_TEST

static void *local_datagrams(void *arg)
{
	char text[BIDE_ADDRESS_MAX], local[32], buf[4];
	(void)arg;
	int server = bide_listen("udp", ":0", 0);
	must(server >= 0 && bide_local_address(server, text, sizeof text) == 0);
	snprintf(local, sizeof local, "localhost%s", strrchr(text, ':'));
	int client = bide_dial("udp", local); /* nothing would tell that [::1] does not answer */
	must(client >= 0 && bide_send(client, "x", 1, 0) == 1 && bide_recv(server, buf, 4, 0) == 1);
	must(bide_close(client) == 0 && bide_close(server) == 0);
	return NULL;
}

START_TEST(datagrams_to_localhost_meet_a_server_of_every_address)
{
	run_real(local_datagrams, NULL);
}
END_TEST

/* ---- unix paths ------------------------------------------------------------------------------------------------ */

struct spot {
	char directory[32], path[48];
};

static void make_place(struct spot *spot)
{
	strcpy(spot->directory, "/tmp/bide-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(spot->directory));
	snprintf(spot->path, sizeof spot->path, "%s/socket", spot->directory);
}

static void remove_place(const struct spot *spot)
{
	unlink(spot->path);
	ck_assert_int_eq(rmdir(spot->directory), 0);
}

static void bind_unix(int fd, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	strcpy(address.sun_path, path);
	must(bind(fd, (void *)&address, sizeof address) == 0);
}

START_TEST(a_path_that_a_dead_server_left_is_taken_over)
{
	struct spot spot;
	int status;
	make_place(&spot);
	pid_t child = fork();
	if (child == 0) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		bind_unix(fd, spot.path);
		if (listen(fd, 1) == 0)
			raise(SIGKILL); /* no exit status, of which memcheck would have its own idea */
		_exit(1);
	}
	ck_assert(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	ck_assert_int_eq(access(spot.path, F_OK), 0);
	for (int i = 0; i < 3; i++) {
		int fd = bide_listen("unix", spot.path, 1);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(bide_close(fd), 0); /* which leaves the path */
	}
	remove_place(&spot);
}
END_TEST

enum { LISTENS, BOUND, DATAGRAM, FILE_THERE, DIRECTORY, LINK_TO_NOTHING, OWNERS };

static int occupy(const struct spot *spot, int who)
{
	int fd = -1;
	if (who == LISTENS || who == BOUND || who == DATAGRAM) {
		fd = socket(AF_UNIX, who == DATAGRAM ? SOCK_DGRAM : SOCK_STREAM, 0);
		bind_unix(fd, spot->path);
		if (who == LISTENS)
			must(listen(fd, 1) == 0);
	} else if (who == FILE_THERE) {
		fd = open(spot->path, O_CREAT | O_RDWR, 0600);
	} else {
		must((who == DIRECTORY ? mkdir(spot->path, 0700) : symlink("nowhere", spot->path)) == 0);
	}
	return fd;
}

/* Only what is certainly nobody's goes: not a server's, not a file's. */
START_TEST(a_path_that_is_in_use_is_left_alone)
{
	struct spot spot;
	struct stat before, after;
	make_place(&spot);
	int fd = occupy(&spot, _i);
	ck_assert_int_eq(lstat(spot.path, &before), 0);
	int fds = count_fds();
	ck_fails(bide_listen("unix", spot.path, 1), EADDRINUSE);
	ck_assert_int_eq(lstat(spot.path, &after), 0);
	ck_assert(before.st_ino == after.st_ino && count_fds() == fds);
	if (_i == LISTENS) { /* and nothing of the question is seen there */
		set_nonblocking(fd, true);
		ck_assert(accept(fd, NULL, NULL) < 0 && errno == EAGAIN);
	}
	if (fd >= 0)
		close(fd);
	rmdir(spot.path);
	remove_place(&spot);
}
END_TEST

/* Who cannot ask does not remove. */
START_TEST(a_question_that_fails_leaves_the_path)
{
	static const char *const faults[] = { "lstat:EIO@1", "lstat:EIO@2", "socket:EMFILE@2", "connect:EACCES@1",
		"connect:EINTR@1", "bind:EADDRINUSE@1,unlink:EACCES@1" };
	struct spot spot;
	make_place(&spot);
	int fd = bide_listen("unix", spot.path, 1);
	ck_assert(fd >= 0 && bide_close(fd) == 0);
	int fds = count_fds();
	ck_assert_int_eq(bide_fault(faults[_i]), 0);
	ck_fails(bide_listen("unix", spot.path, 1), _i == 5 ? EACCES : EADDRINUSE);
	ck_assert_int_eq(bide_fault(NULL), 0);
	ck_assert(access(spot.path, F_OK) == 0 && count_fds() == fds);
	fd = bide_listen("unix", spot.path, 1);
	ck_assert(fd >= 0 && bide_close(fd) == 0);
	remove_place(&spot);
}
END_TEST

START_TEST(an_abstract_name_in_use_is_told)
{
	char text[64];
	int fd = bide_listen("unix", abstract_text("twice", text), 1);
	ck_fails(bide_listen("unix", text, 1), EADDRINUSE);
	ck_assert_int_eq(bide_close(fd), 0);
	fd = bide_listen("unix", text, 1);
	ck_assert(fd >= 0 && bide_close(fd) == 0);
}
END_TEST

int main(void)
{
	return SUITE("net_listen", TABLE(a_listener_has_the_options_that_were_asked_for, options),
	    LOOP(two_listeners_share_a_port_if_both_ask_for_it, 0, 2), TEST(bad_options_are_refused),
	    LOOP(a_system_call_that_fails_is_told_and_leaves_nothing, 0, 6), LOOP(datagrams_go_there_and_back, 0, 3),
	    TEST(datagrams_to_localhost_meet_a_server_of_every_address), TEST(a_path_that_a_dead_server_left_is_taken_over),
	    LOOP(a_path_that_is_in_use_is_left_alone, 0, OWNERS), LOOP(a_question_that_fails_leaves_the_path, 0, 6),
	    TEST(an_abstract_name_in_use_is_told));
}
