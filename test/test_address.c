/* SPDX-License-Identifier: MIT
 * Addresses as text, as bide_dial() and bide_listen() take them. */
#include <arpa/inet.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/address.h"
#include "resources.h"
#include "runs.h"
#include "sockets.h"
#include "suite.h"

#define LONG_NAME "a-host-name-that-is-longer-than-any-numeric-address-could-ever-be.example"

/* ---- good ones: where a listener ends up ---- */

static const struct {
	const char *net, *text, *host;
	int port; /* 0: the kernel chose it */
} good[] = {
	{ "tcp", "127.0.0.1:0", "127.0.0.1", 0 },
	{ "tcp4", "127.0.0.1:0", "127.0.0.1", 0 },
	{ "tcp", "127.1.2.3:0", "127.1.2.3", 0 },
	{ "tcp", "0.0.0.0:0", "0.0.0.0", 0 },
	{ "tcp", "localhost:0", "127.0.0.1", 0 },
	{ "tcp4", "localhost:0", "127.0.0.1", 0 },
	{ "tcp4", ":0", "0.0.0.0", 0 },
	{ "tcp", "[::1]:0", "::1", 0 },
	{ "tcp6", "[::1]:0", "::1", 0 },
	{ "tcp6", "[::]:0", "::", 0 },
	{ "tcp6", ":0", "::", 0 },
	{ "tcp6", "localhost:0", "::1", 0 },
	{ "tcp6", "[0:0:0:0:0:0:0:1]:0", "::1", 0 },
	{ "tcp", "[::ffff:127.0.0.1]:0", "::ffff:127.0.0.1", 0 },
	{ "tcp6", "[0000:0000:0000:0000:0000:0000:0000:0001]:0", "::1", 0 },
	{ "tcp", "[::1%lo]:0", "::1", 0 },
	{ "tcp6", "[::1%1]:0", "::1", 0 },
	{ "tcp", "127.0.0.1:00080", NULL, 0 },
	{ "tcp", "[fe80::1%lo]:0", NULL, 0 },
};

static void check_bound(int fd, const char *host, int port)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof address;
	char text[64];
	ck_assert_int_eq(getsockname(fd, (void *)&address, &length), 0);
	const struct sockaddr_in *v4 = (void *)&address;
	const struct sockaddr_in6 *v6 = (void *)&address;
	bool is_v6 = address.ss_family == AF_INET6;
	inet_ntop(address.ss_family, is_v6 ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr, text,
	    sizeof text);
	ck_assert_str_eq(text, host);
	int bound = ntohs(is_v6 ? v6->sin6_port : v4->sin_port);
	ck_assert(port ? bound == port : bound != 0);
}

/* On a loopback address of this process's own, so that runs beside each other do not meet. */
START_TEST(a_port_is_bound_as_written)
{
	char host[32], text[48];
	int id = (int)getpid();
	snprintf(host, sizeof host, "127.%d.%d.1", 64 + (id >> 8) % 128, id & 255);
	snprintf(text, sizeof text, "%s:47811", host);
	int fd = bide_listen("tcp", text, 1);
	ck_assert_msg(fd >= 0, "%s: %s", text, strerror(errno));
	check_bound(fd, host, 47811);
	ck_assert_int_eq(bide_close(fd), 0);
}
END_TEST

START_TEST(a_good_address_is_bound_as_written)
{
	int fd = bide_listen(good[_i].net, good[_i].text, 1);
	if (!good[_i].host) { /* right in form; whether it can be bound is the system's business */
		ck_assert(fd >= 0 || (errno != ENOTSUP && errno != EAFNOSUPPORT));
	} else {
		ck_assert_msg(fd >= 0, "%s %s: %s", good[_i].net, good[_i].text, strerror(errno));
		check_bound(fd, good[_i].host, good[_i].port);
	}
	if (fd >= 0)
		ck_assert_int_eq(bide_close(fd), 0);
}
END_TEST

/* ---- bad ones ---- */

static const struct bad {
	const char *net, *text;
	int err;
} bad[] = {
	{ NULL, "127.0.0.1:0", EINVAL },
	{ "tcp", NULL, EINVAL },
	{ NULL, NULL, EINVAL },
	{ "unix", NULL, EINVAL },

	{ "", "127.0.0.1:0", EAFNOSUPPORT },
	{ "TCP", "127.0.0.1:0", EAFNOSUPPORT },
	{ "tcp ", "127.0.0.1:0", EAFNOSUPPORT },
	{ "tcp5", "127.0.0.1:0", EAFNOSUPPORT },
	{ "sctp", "127.0.0.1:0", EAFNOSUPPORT },
	{ "tcp4", "[::1]:0", EAFNOSUPPORT },
	{ "tcp6", "127.0.0.1:0", EAFNOSUPPORT },

	{ "tcp", "", EINVAL },
	{ "tcp", ":", EINVAL },
	{ "tcp", "127.0.0.1", EINVAL },
	{ "tcp", "127.0.0.1:", EINVAL },
	{ "tcp", "127.0.0.1:x", EINVAL },
	{ "tcp", "127.0.0.1:80x", EINVAL },
	{ "tcp", "127.0.0.1: 80", EINVAL },
	{ "tcp", "127.0.0.1:80 ", EINVAL },
	{ "tcp", "127.0.0.1:+80", EINVAL },
	{ "tcp", "127.0.0.1:-1", EINVAL },
	{ "tcp", "127.0.0.1:0x50", EINVAL },
	{ "tcp", "127.0.0.1:65536", EINVAL },
	{ "tcp", "127.0.0.1:99999", EINVAL },
	{ "tcp", "127.0.0.1:100000", EINVAL },
	{ "tcp", "127.0.0.1:000080", EINVAL },
	{ "tcp", "127.0.0.1:4294967376", EINVAL },
	{ "tcp", "127.0.0.1:http", EINVAL },
	{ "tcp", "::1:80", EINVAL },
	{ "tcp", "::", EINVAL },
	{ "tcp", "a:b:80", EINVAL },
	{ "tcp", "[::1]", EINVAL },
	{ "tcp", "[::1]80", EINVAL },
	{ "tcp", "[::1:80", EINVAL },
	{ "tcp", "::1]:80", EINVAL },
	{ "tcp", "[]:80", EINVAL },
	{ "tcp", "[:80", EINVAL },
	{ "tcp", "]:80", EINVAL },
	{ "tcp", "[127.0.0.1]:80", EINVAL },
	{ "tcp", "[localhost]:80", EINVAL },
	{ "tcp", "[:::]:80", EINVAL },
	{ "tcp", "[::1::]:80", EINVAL },
	{ "tcp", "[::g]:80", EINVAL },
	{ "tcp", "[1:2:3:4:5:6:7:8:9]:80", EINVAL },
	{ "tcp", "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:80", EINVAL },
	{ "tcp", "x[::1]:80", EINVAL },

	{ "tcp", "[::1%]:80", EINVAL },
	{ "tcp", "[%lo]:80", EINVAL },
	{ "tcp", "[::1%no-such-one]:80", ENODEV },
	{ "tcp", "[::1%lo%lo]:80", ENODEV },
	{ "tcp", "[::1%0]:80", ENODEV },
	{ "tcp", "[::1%4294967297]:80", ENODEV },
	{ "tcp", "[::1%a-name-that-no-interface-can-have]:80", ENODEV },
	{ "tcp", "[::1%a-name-that-is-longer-than-any-address-and-its-interface-could-ever-be]:80", EINVAL },

	{ "tcp", LONG_NAME ":x", EINVAL },
	{ "tcp", LONG_NAME, EINVAL },

	{ "unix", "", EINVAL },
};

START_TEST(a_bad_address_is_refused_by_listen)
{
	ck_fails(bide_listen(bad[_i].net, bad[_i].text, 1), bad[_i].err);
}
END_TEST

/* The kernel looks at the zone of an address of one link only; here at what it would get. */
START_TEST(a_zone_is_an_interface_by_name_or_number)
{
	static const char *const texts[] = { "[fe80::1%lo]:80", "[fe80::1%1]:80" };
	struct address addresses[ADDRESSES_MAX];
	char text[BIDE_ADDRESS_MAX];
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(address_resolve(addresses, net_find("tcp"), texts[i], false), 1);
		ck_assert_uint_eq(addresses->socket.v6.sin6_scope_id, if_nametoindex("lo"));
		ck_assert_int_eq(bide_address_text(&addresses->socket.any, addresses->length, text, sizeof text), 0);
		ck_assert_str_eq(text, texts[1]);
	}
	ck_assert_int_eq(bide_fault("socket:EMFILE"), 0);
	ck_fails(address_resolve(addresses, net_find("tcp"), texts[0], false), EMFILE);
	ck_assert_int_eq(bide_fault(NULL), 0);
}
END_TEST

/* What bide_dial() makes of names is in test_resolve. */
START_TEST(names_are_not_listened_on)
{
	ck_fails(bide_listen("tcp", "example.org:80", 1), ENOTSUP);
	ck_fails(bide_listen("tcp4", "example.org:80", 1), ENOTSUP);
	ck_fails(bide_listen("tcp6", "example.org:80", 1), ENOTSUP);
	ck_fails(bide_listen("tcp", "Localhost.:80", 1), ENOTSUP);
	ck_fails(bide_listen("tcp", LONG_NAME ":80", 1), ENOTSUP);
}
END_TEST

static void *dial_bad(void *arg)
{
	const struct bad *entry = arg;
	ck_fails(bide_dial(entry->net, entry->text), entry->err);
	return NULL;
}

START_TEST(a_bad_address_is_refused_by_dial)
{
	run_virtual(dial_bad, (void *)(uintptr_t)&bad[_i]);
}
END_TEST

/* ---- dialing ---- */

static void *dial_localhost(void *arg)
{
	static const char *const hosts[] = { "", "localhost", "127.0.0.1" };
	char text[64];
	(void)arg;
	int listener = bide_listen("tcp", ":0", 4);
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof text, "%s:%d", hosts[i], ntohs(local_address(listener).sin_port));
		int fd = bide_dial("tcp", text);
		must_msg(fd >= 0, "%s: %s", text, strerror(errno));
		check_bound(fd, "127.0.0.1", 0);
		must(bide_close(fd) == 0);
	}
	must(bide_close(listener) == 0);
	return NULL;
}

START_TEST(an_empty_host_is_this_host_to_dial)
{
	run_real(dial_localhost, NULL);
}
END_TEST

/* ":80" of tcp6 leaves the v4 port alone, and the other way round. Of many ports one is free for both. */
START_TEST(tcp4_and_tcp6_listeners_share_a_port_number)
{
	bool is_shared = false;
	for (int i = 0; i < 50 && !is_shared; i++) {
		char text[32];
		int v4 = bide_listen("tcp4", ":0", 1);
		ck_assert_int_ge(v4, 0);
		snprintf(text, sizeof text, ":%d", ntohs(local_address(v4).sin_port));
		int v6 = bide_listen("tcp6", text, 1);
		is_shared = v6 >= 0;
		ck_assert(is_shared || errno == EADDRINUSE);
		if (is_shared)
			ck_assert_int_eq(bide_close(v6), 0);
		ck_assert_int_eq(bide_close(v4), 0);
	}
	ck_assert(is_shared);
}
END_TEST

/* ---- unix ---- */

#define ROOM (sizeof((struct sockaddr_un *)0)->sun_path)

START_TEST(a_unix_name_may_be_as_long_as_the_kernel_takes)
{
	char name[ROOM + 2];
	memset(name, 'n', sizeof name);
	abstract_text("", name);
	name[strlen(name)] = 'n';
	name[ROOM] = '\0';
	ck_fails(bide_listen("unix", name, 1), ENAMETOOLONG);
	name[ROOM - 1] = '\0';
	int fd = bide_listen("unix", name, 1);
	ck_assert_int_ge(fd, 0);
	struct sockaddr_un address;
	socklen_t length = sizeof address;
	ck_assert_int_eq(getsockname(fd, (void *)&address, &length), 0);
	ck_assert_uint_eq(length, offsetof(struct sockaddr_un, sun_path) + ROOM - 1);
	ck_assert(address.sun_path[0] == '\0' && address.sun_path[1] == 'b');
	ck_assert_int_eq(bide_close(fd), 0);
}
END_TEST

START_TEST(a_unix_path_too_long_is_told_and_not_cut)
{
	char directory[] = "/tmp/bide-test-XXXXXX", path[ROOM + 2];
	ck_assert_ptr_nonnull(mkdtemp(directory));
	memset(path, 'p', sizeof path);
	memcpy(path, directory, strlen(directory));
	path[strlen(directory)] = '/';
	path[ROOM] = '\0';
	ck_fails(bide_listen("unix", path, 1), ENAMETOOLONG);
	path[ROOM - 1] = '\0';
	int fd = bide_listen("unix", path, 1);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_int_eq(bide_close(fd), 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

int main(void)
{
	return SUITE("address", TEST(a_port_is_bound_as_written), TABLE(a_good_address_is_bound_as_written, good),
	    TABLE(a_bad_address_is_refused_by_listen, bad), TEST(a_zone_is_an_interface_by_name_or_number), TABLE(a_bad_address_is_refused_by_dial, bad),
	    TEST(names_are_not_listened_on),
	    TEST(an_empty_host_is_this_host_to_dial), TEST(tcp4_and_tcp6_listeners_share_a_port_number),
	    TEST(a_unix_name_may_be_as_long_as_the_kernel_takes),
	    TEST(a_unix_path_too_long_is_told_and_not_cut));
}
