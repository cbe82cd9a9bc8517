/* SPDX-License-Identifier: MIT
 * bide_socketpair(), bide_shutdown() and the text of addresses. Statement 175, scenario F10. */
#include <arpa/inet.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#include "counted_calls.h"
#include "resources.h"
#include "runs.h"
#include "sockets.h"
#include "suite.h"

/* ---- pairs ---------------------------------------------------------------------------------------------- */

static void *pair(void *arg)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	int fds[2];
	char buf[4];
	(void)arg;
	for (int i = 0; i < 3; i++) {
		must(bide_socketpair(AF_UNIX, types[i], 0, fds) == 0);
		for (int end = 0; end < 2; end++) {
			must(is_nonblocking(fds[end]) && is_cloexec(fds[end]));
			must(bide_send(fds[end], "ab", 2, 0) == 2 && bide_recv(fds[1 - end], buf, 4, 0) == 2);
		}
		struct io io = { .fd = fds[0] };
		bide_task *reader = io_start(io_recv, &io);
		must_write(fds[1], "xyz", 3);
		must(join_within(reader, LONG).err == 0 && io.count == 3);
		close_pair(fds);
	}
	return NULL;
}

START_TEST(a_pair_is_nonblocking_and_close_on_exec)
{
	counted.modify_is_mute = true;
	run_real(pair, NULL);
}
END_TEST

START_TEST(a_pair_that_cannot_be_made_is_told)
{
	int fds[2] = { 77, 78 };
	ck_fails(bide_socketpair(AF_UNIX, SOCK_STREAM, 0, NULL), EINVAL);
	ck_fails(bide_socketpair(AF_INET, SOCK_STREAM, 0, fds), EOPNOTSUPP);
	ck_fails(bide_socketpair(-1, SOCK_STREAM, 0, fds), EAFNOSUPPORT);
	ck_assert_int_eq(bide_fault("socketpair:EMFILE@1"), 0);
	ck_fails(bide_socketpair(AF_UNIX, SOCK_STREAM, 0, fds), EMFILE);
	ck_assert_int_eq(bide_fault(NULL), 0);
	ck_assert(fds[0] == 77 && fds[1] == 78);
	ck_assert_int_eq(bide_socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0); /* without a loop, too */
	close_pair(fds);
}
END_TEST

/* ---- shutdown ---------------------------------------------------------------------------------------------- */

static void *half_close(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	char buf[8];
	kind->make(fds);
	struct io io = { .fd = fds[1] };
	bide_task *reader = io_start(io_recv, &io);
	must(bide_shutdown(fds[0], SHUT_WR) == 0);
	must(join_within(reader, LONG).err == 0 && io.count == 0);
	for (int i = 0; i < 3; i++)
		must(bide_send(fds[1], "more", 4, 0) == 4 && bide_recv(fds[0], buf, 8, 0) == 4);
	ck_fails(bide_send(fds[0], "x", 1, 0), EPIPE);
	close_pair(fds);
	return NULL;
}

/* Statement 175, scenario F10. */
START_TEST(after_a_half_close_the_other_direction_flows)
{
	counted.modify_is_mute = true;
	run_real(half_close, (void *)(uintptr_t)kind_with(TWO_WAY | STREAM, _i));
}
END_TEST

static void *own_waiters(void *arg)
{
	const struct fd_kind *kind = arg;
	int fds[2];
	kind->make(fds);
	fill(fds[0]);
	static char bytes[16 << 20]; /* more than any acknowledgement that comes late makes room for */
	struct io reads = { .fd = fds[0] }, writes = { .fd = fds[0], .data = bytes, .size = sizeof bytes };
	bide_task *reader = io_start(io_recv, &reads), *writer = io_start(io_write_all, &writes);
	must(reads.count == -2 && writes.count == -2);
	must(bide_shutdown(fds[0], SHUT_RD) == 0);
	must(join_within(reader, LONG).err == 0 && reads.count == 0 && writes.count == -2);
	must(bide_shutdown(fds[0], SHUT_WR) == 0);
	must(join_within(writer, LONG).err == EPIPE);
	close_pair(fds);
	return NULL;
}

START_TEST(ones_own_waiters_are_woken_by_a_shutdown)
{
	counted.modify_is_mute = true;
	run_real(own_waiters, (void *)(uintptr_t)kind_with(TWO_WAY | STREAM, _i));
}
END_TEST

START_TEST(a_shutdown_that_makes_no_sense_is_told)
{
	int fds[2], pipe_fds[2], fd = socket(AF_INET, SOCK_STREAM, 0);
	make_unix(fds);
	make_pipe(pipe_fds);
	ck_fails(bide_shutdown(-1, SHUT_WR), EBADF);
	ck_fails(bide_shutdown(fds[0], 7), EINVAL);
	ck_fails(bide_shutdown(fd, SHUT_WR), ENOTCONN);
	ck_fails(bide_shutdown(pipe_fds[0], SHUT_RD), ENOTSOCK);
	ck_assert_int_eq(bide_fault("shutdown:ENOBUFS@1"), 0);
	ck_fails(bide_shutdown(fds[0], SHUT_WR), ENOBUFS);
	ck_assert_int_eq(bide_fault(NULL), 0);
	close_pair(fds);
	close_pair(pipe_fds);
	close(fd);
}
END_TEST

/* ---- addresses as text --------------------------------------------------------------------------------------- */

static struct sockaddr_in v4(const char *host, int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	must(inet_pton(AF_INET, host, &address.sin_addr) == 1);
	return address;
}

static struct sockaddr_in6 v6(const char *host, int port)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	must(inet_pton(AF_INET6, host, &address.sin6_addr) == 1);
	return address;
}

#define LONGEST_V6 "1111:2222:3333:4444:5555:6666:7777:8888"

START_TEST(an_address_has_the_text_that_dial_takes)
{
	char text[BIDE_ADDRESS_MAX];
	struct sockaddr_in four = v4("255.255.255.255", 65535);
	struct sockaddr_in6 six = v6(LONGEST_V6, 65535), any = v6("::", 0);
	ck_assert_int_eq(bide_address_text((void *)&four, sizeof four, text, sizeof text), 0);
	ck_assert_str_eq(text, "255.255.255.255:65535");
	ck_assert_int_eq(bide_address_text((void *)&six, sizeof six, text, sizeof text), 0);
	ck_assert_str_eq(text, "[" LONGEST_V6 "]:65535");
	ck_assert_int_eq(bide_address_text((void *)&any, sizeof any, text, sizeof text), 0);
	ck_assert_str_eq(text, "[::]:0");
	struct sockaddr_un path = { .sun_family = AF_UNIX };
	socklen_t length = offsetof(struct sockaddr_un, sun_path);
	ck_assert_int_eq(bide_address_text((void *)&path, length, text, sizeof text), 0);
	ck_assert_str_eq(text, "");
	memset(path.sun_path, 'p', sizeof path.sun_path); /* the kernel takes one without an end */
	ck_assert_int_eq(bide_address_text((void *)&path, sizeof path, text, sizeof text), 0);
	ck_assert_uint_eq(strlen(text), sizeof path.sun_path);
	path.sun_path[3] = '\0';
	ck_assert_int_eq(bide_address_text((void *)&path, sizeof path, text, sizeof text), 0);
	ck_assert_str_eq(text, "ppp");
	path.sun_path[0] = '\0';
	path.sun_path[3] = 'p';
	ck_assert_int_eq(bide_address_text((void *)&path, sizeof path, text, sizeof text), 0);
	ck_assert(text[0] == '@' && strlen(text) == sizeof path.sun_path);
	ck_assert_int_eq(bide_address_text((void *)&path, length + 4, text, sizeof text), 0);
	ck_assert_str_eq(text, "@ppp");
}
END_TEST

START_TEST(a_text_without_room_is_told_and_cut)
{
	char text[16] = "xxxxxxxxxxxxxxx";
	struct sockaddr_in four = v4("127.0.0.1", 80);
	ck_fails(bide_address_text((void *)&four, sizeof four, text, 12), ENOSPC);
	ck_assert_str_eq(text, "127.0.0.1:8");
	ck_assert(text[12] == 'x');
	ck_fails(bide_address_text((void *)&four, sizeof four, NULL, 0), ENOSPC);
	ck_fails(bide_address_text((void *)&four, sizeof four, NULL, 5), EINVAL);
	ck_fails(bide_address_text(NULL, sizeof four, text, 16), EINVAL);
	ck_fails(bide_address_text((void *)&four, 1, text, 16), EINVAL);
	ck_fails(bide_address_text((void *)&four, sizeof four - 1, text, 16), EAFNOSUPPORT);
	four.sin_family = AF_NETLINK;
	ck_fails(bide_address_text((void *)&four, sizeof four, text, 16), EAFNOSUPPORT);
}
END_TEST

static void *both_ends(void *arg)
{
	char name[64], local[BIDE_ADDRESS_MAX], peer[BIDE_ADDRESS_MAX], listens[BIDE_ADDRESS_MAX];
	const char *const nets[][2] = { { "tcp", "127.0.0.1:0" }, { "tcp6", "[::1]:0" },
		{ "unix", abstract_text("text", name) } };
	(void)arg;
	for (int i = 0; i < 3; i++) {
		int listener = bide_listen(nets[i][0], nets[i][1], 1);
		must(listener >= 0 && bide_local_address(listener, listens, sizeof listens) == 0);
		int client = bide_dial(nets[i][0], listens);
		must(client >= 0 && bide_peer_address(client, peer, sizeof peer) == 0 && strcmp(peer, listens) == 0);
		int accepted = bide_accept(listener, NULL, NULL);
		must(bide_local_address(accepted, local, sizeof local) == 0 && strcmp(local, listens) == 0);
		must(bide_peer_address(accepted, peer, sizeof peer) == 0);
		must(bide_local_address(client, local, sizeof local) == 0 && strcmp(local, peer) == 0);
		must((strcmp(local, "") == 0) == (i == 2));
		ck_fails(bide_peer_address(listener, peer, sizeof peer), ENOTCONN);
		must(bide_close(client) == 0 && bide_close(accepted) == 0 && bide_close(listener) == 0);
	}
	return NULL;
}

START_TEST(both_ends_know_their_own_address_and_the_others)
{
	run_real(both_ends, NULL);
}
END_TEST

START_TEST(who_has_no_address_is_told)
{
	char text[BIDE_ADDRESS_MAX];
	int pipe_fds[2];
	make_pipe(pipe_fds);
	ck_fails(bide_local_address(-1, text, sizeof text), EBADF);
	ck_fails(bide_local_address(pipe_fds[0], text, sizeof text), ENOTSOCK);
	ck_fails(bide_peer_address(pipe_fds[0], text, sizeof text), ENOTSOCK);
	ck_fails(bide_local_address(pipe_fds[0], NULL, 1), EINVAL);
	ck_assert_int_eq(bide_fault("getsockname:ENOBUFS@1,getpeername:ENOMEM@1"), 0);
	ck_fails(bide_local_address(pipe_fds[0], text, sizeof text), ENOBUFS);
	ck_fails(bide_peer_address(pipe_fds[0], text, sizeof text), ENOMEM);
	ck_assert_int_eq(bide_fault(NULL), 0);
	close_pair(pipe_fds);
}
END_TEST

int main(void)
{
	return SUITE("net_socket", TEST(a_pair_is_nonblocking_and_close_on_exec), TEST(a_pair_that_cannot_be_made_is_told),
	    LOOP(after_a_half_close_the_other_direction_flows, 0, 3), LOOP(ones_own_waiters_are_woken_by_a_shutdown, 0, 3),
	    TEST(a_shutdown_that_makes_no_sense_is_told), TEST(an_address_has_the_text_that_dial_takes),
	    TEST(a_text_without_room_is_told_and_cut), TEST(both_ends_know_their_own_address_and_the_others),
	    TEST(who_has_no_address_is_told));
}
