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
};

static int fail_with(int err)
{
	errno = err;
	return -1;
}

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

/* "host:port" or "[host]:port" in two; host is cut out into a buffer. */
static int split(const char *text, char host[INET6_ADDRSTRLEN], const char **port, bool *is_bracketed)
{
	const char *end = strrchr(text, ':');
	if (!end)
		return fail_with(EINVAL);
	*port = end + 1;
	*is_bracketed = text[0] == '[';
	if (*is_bracketed) {
		text++;
		if (end == text || end[-1] != ']')
			return fail_with(EINVAL);
		end--;
	}
	size_t length = (size_t)(end - text);
	if (length >= INET6_ADDRSTRLEN)
		return fail_with(ENOTSUP);
	memcpy(host, text, length);
	host[length] = '\0';
	return !*is_bracketed && strchr(host, ':') ? fail_with(EINVAL) : 0;
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

/* An empty host is every address, to listen on, or this host, to dial. */
static int set_host(struct address *address, int family, const char *host, in_port_t port, bool to_listen)
{
	struct in6_addr v6 = IN6ADDR_LOOPBACK_INIT;
	struct in_addr v4 = { htonl(INADDR_LOOPBACK) };
	bool is_every = !*host && to_listen;
	if (!*host || strcmp(host, "localhost") == 0) {
		if (family == AF_INET6)
			set_v6(address, is_every ? &in6addr_any : &v6, port);
		else
			set_v4(address, is_every ? htonl(INADDR_ANY) : v4.s_addr, port);
		return 0;
	}
	if (inet_pton(AF_INET, host, &v4) == 1) {
		set_v4(address, v4.s_addr, port);
		return family == AF_INET6 ? fail_with(EAFNOSUPPORT) : 0;
	}
	if (inet_pton(AF_INET6, host, &v6) == 1) {
		set_v6(address, &v6, port);
		return family == AF_INET ? fail_with(EAFNOSUPPORT) : 0;
	}
	return fail_with(ENOTSUP);
}

static int parse_tcp(struct address *address, int family, const char *text, bool to_listen)
{
	char host[INET6_ADDRSTRLEN];
	const char *port_text;
	in_port_t port = 0;
	bool is_bracketed;
	if (split(text, host, &port_text, &is_bracketed) < 0 || parse_port(port_text, &port) < 0)
		return -1;
	if (is_bracketed && !strchr(host, ':'))
		return fail_with(EINVAL);
	return set_host(address, family, host, port, to_listen);
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
	if (strcmp(net, "tcp6") == 0)
		return parse_tcp(address, AF_INET6, text, to_listen);
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
	if (fd >= 0 && loop_current &&
	    !descriptor_fresh(loop_current, fd, DESCRIPTOR_SOCKET, is_tcp(address))) {
		close(fd);
		return fail_with(ENOMEM);
	}
	return fd;
}

static int close_after_failure(int fd)
{
	int saved = errno;
	bide_close(fd);
	return fail_with(saved);
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
	if (system_bind(fd, &address.socket.any, address.length) < 0 ||
	    system_listen(fd, backlog > 0 ? backlog : INT32_MAX) < 0)
		return close_after_failure(fd);
	return fd;
}
