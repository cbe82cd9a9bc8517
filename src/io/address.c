/* SPDX-License-Identifier: MIT
 * Layer io: dial and listen: addresses as text. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include <bide/io.h>
#include <bide/net.h>

#include "base/fail.h"
#include "base/system.h"
#include "io/call.h"

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un path;
	} socket;
	socklen_t length;
	bool is_v6_only; /* leaves the port to v4 listeners */
};

/* ---- parsing ------------------------------------------------------------------------------------ */

static int parse_port(const char *text, in_port_t *port)
{
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > 5 || text[digits] != '\0')
		return fail_with(EINVAL);
	long value = strtol(text, NULL, 10);
	if (value > 65535)
		return fail_with(EINVAL);
	*port = htons((in_port_t)value);
	return 0;
}

static void set_v4(struct address *address, in_addr_t host, in_port_t port)
{
	address->length = sizeof address->socket.v4;
	address->socket.v4.sin_family = AF_INET;
	address->socket.v4.sin_addr.s_addr = host;
	address->socket.v4.sin_port = port;
}

static void set_v6(struct address *address, const struct in6_addr *host, in_port_t port)
{
	address->length = sizeof address->socket.v6;
	address->socket.v6.sin6_family = AF_INET6;
	address->socket.v6.sin6_addr = *host;
	address->socket.v6.sin6_port = port;
}

/* What stands between brackets. */
static int parse_v6(struct address *address, const char *text, size_t length, in_port_t port)
{
	char host[INET6_ADDRSTRLEN];
	struct in6_addr v6;
	if (length >= sizeof host)
		return fail_with(EINVAL);
	memcpy(host, text, length);
	host[length] = '\0';
	if (inet_pton(AF_INET6, host, &v6) != 1)
		return fail_with(EINVAL);
	set_v6(address, &v6, port);
	return 0;
}

/* An empty host is every address, to listen on, or this host, to dial. */
static int parse_host(struct address *address, int family, const char *text, size_t length,
    in_port_t port, bool to_listen)
{
	char host[INET_ADDRSTRLEN];
	bool is_every = length == 0 && to_listen;
	struct in_addr v4 = { htonl(is_every ? INADDR_ANY : INADDR_LOOPBACK) };
	if (memchr(text, ':', length) || memchr(text, '[', length) || memchr(text, ']', length))
		return fail_with(EINVAL);
	if (length >= sizeof host)
		return fail_with(ENOTSUP);
	memcpy(host, text, length);
	host[length] = '\0';
	bool is_local = length == 0 || strcmp(host, "localhost") == 0;
	if (!is_local && inet_pton(AF_INET, host, &v4) != 1)
		return fail_with(ENOTSUP);
	if (is_local && family == AF_INET6)
		set_v6(address, is_every ? &in6addr_any : &in6addr_loopback, port);
	else
		set_v4(address, v4.s_addr, port);
	return 0;
}

static int parse_tcp(struct address *address, int family, const char *text, bool to_listen)
{
	const char *colon = strrchr(text, ':');
	in_port_t port = 0;
	int result;
	if (!colon)
		return fail_with(EINVAL);
	if (parse_port(colon + 1, &port) < 0)
		return -1;
	if (text[0] != '[')
		result = parse_host(address, family, text, (size_t)(colon - text), port, to_listen);
	else if (colon[-1] != ']')
		result = fail_with(EINVAL);
	else
		result = parse_v6(address, text + 1, (size_t)(colon - text) - 2, port);
	if (result < 0)
		return -1;
	bool is_of_family = family == AF_UNSPEC || address->socket.any.sa_family == family;
	return is_of_family ? 0 : fail_with(EAFNOSUPPORT);
}

static int parse_unix(struct address *address, const char *path)
{
	size_t length = strlen(path);
	if (length == 0)
		return fail_with(EINVAL);
	if (length >= sizeof address->socket.path.sun_path)
		return fail_with(ENAMETOOLONG);
	address->socket.path.sun_family = AF_UNIX;
	memcpy(address->socket.path.sun_path, path, length + 1);
	address->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
	if (path[0] == '@') {
		address->socket.path.sun_path[0] = '\0';
		address->length--; /* an abstract name has no terminator */
	}
	return 0;
}

static int parse(struct address *address, const char *net, const char *text, bool to_listen)
{
	*address = (struct address){ .length = 0 };
	if (!net || !text)
		return fail_with(EINVAL);
	if (strcmp(net, "tcp") == 0)
		return parse_tcp(address, AF_UNSPEC, text, to_listen);
	if (strcmp(net, "tcp4") == 0)
		return parse_tcp(address, AF_INET, text, to_listen);
	if (strcmp(net, "tcp6") == 0) {
		address->is_v6_only = true;
		return parse_tcp(address, AF_INET6, text, to_listen);
	}
	if (strcmp(net, "unix") == 0)
		return parse_unix(address, text);
	return fail_with(EAFNOSUPPORT);
}

/* ---- sockets ------------------------------------------------------------------------------------ */

static bool is_tcp(const struct address *address)
{
	return address->socket.any.sa_family != AF_UNIX;
}

static int open_socket(const struct address *address)
{
	int fd = system_socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && loop_current)
		descriptor_fresh(loop_current, fd, DESCRIPTOR_SOCKET, is_tcp(address));
	return fd;
}

static int close_after_failure(int fd)
{
	int saved = errno;
	bide_close(fd);
	return fail_with(saved);
}

/* What bind() made in the file system. */
static void remove_path(const struct address *address)
{
	const struct sockaddr_un *unix_address = &address->socket.path;
	if (!is_tcp(address) && unix_address->sun_path[0])
		unlink(unix_address->sun_path);
}

static int switch_on(int fd, int level, int option)
{
	int on = 1;
	return system_setsockopt(fd, level, option, &on, sizeof on);
}

int bide_dial(const char *net, const char *text)
{
	struct address address;
	if (!task_current())
		return fail_with(EPERM);
	if (parse(&address, net, text, false) < 0 || !checkpoint())
		return -1;
	int fd = open_socket(&address);
	if (fd < 0)
		return -1;
	if ((is_tcp(&address) && switch_on(fd, IPPROTO_TCP, TCP_NODELAY) < 0) ||
	    bide_connect(fd, &address.socket.any, address.length) < 0)
		return close_after_failure(fd);
	return fd;
}

int bide_listen(const char *net, const char *text, int backlog)
{
	struct address address;
	if (parse(&address, net, text, true) < 0)
		return -1;
	int fd = open_socket(&address);
	if (fd < 0)
		return -1;
	if (is_tcp(&address) && (switch_on(fd, SOL_SOCKET, SO_REUSEADDR) < 0 ||
	    switch_on(fd, IPPROTO_TCP, TCP_NODELAY) < 0))
		return close_after_failure(fd);
	if (address.is_v6_only && switch_on(fd, IPPROTO_IPV6, IPV6_V6ONLY) < 0)
		return close_after_failure(fd);
	if (system_bind(fd, &address.socket.any, address.length) < 0)
		return close_after_failure(fd);
	if (system_listen(fd, backlog > 0 ? backlog : INT32_MAX) < 0) {
		int saved = errno;
		remove_path(&address);
		errno = saved;
		return close_after_failure(fd);
	}
	return fd;
}
