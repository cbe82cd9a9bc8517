/* SPDX-License-Identifier: MIT
 * Layer io: addresses and their text. See address.h. */
#include "io/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bide/net.h>

#include "base/fail.h"
#include "base/system.h"
#include "io/resolve.h"

static const struct net nets[] = {
	{ "tcp", AF_UNSPEC, SOCK_STREAM }, { "tcp4", AF_INET, SOCK_STREAM }, { "tcp6", AF_INET6, SOCK_STREAM },
	{ "udp", AF_UNSPEC, SOCK_DGRAM }, { "udp4", AF_INET, SOCK_DGRAM }, { "udp6", AF_INET6, SOCK_DGRAM },
	{ "unix", AF_UNIX, SOCK_STREAM },
};

const struct net *net_find(const char *name)
{
	for (size_t i = 0; name && i < sizeof nets / sizeof *nets; i++)
		if (strcmp(nets[i].name, name) == 0)
			return &nets[i];
	errno = name ? EAFNOSUPPORT : EINVAL;
	return NULL;
}

/* ---- from text ---------------------------------------------------------------------------------- */

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

void address_set_v4(struct address *address, in_addr_t host, in_port_t port)
{
	address->length = sizeof address->socket.v4;
	address->socket.v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port, .sin_addr = { host } };
}

void address_set_v6(struct address *address, const struct in6_addr *host, in_port_t port)
{
	address->length = sizeof address->socket.v6;
	address->socket.v6 =
	    (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = *host };
}

/* "eth0" or "2": which of the interfaces an address of one link is on (RFC 4007). 0 with errno. */
static uint32_t parse_zone(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && *end == '\0') {
		errno = ENODEV; /* of 0, too */
		return number <= INT32_MAX ? (uint32_t)number : 0;
	}
	int saved = errno;
	errno = 0;
	unsigned index = system_if_nametoindex(text);
	if (index > 0)
		errno = saved;
	else if (errno == 0 || errno == ENXIO)
		errno = ENODEV;
	return index;
}

/* What stands between brackets. */
static int parse_v6(struct address *address, const char *text, size_t length, in_port_t port)
{
	char host[INET6_ADDRSTRLEN + IF_NAMESIZE];
	struct in6_addr v6;
	if (length >= sizeof host)
		return fail_with(EINVAL);
	memcpy(host, text, length);
	host[length] = '\0';
	char *zone = strchr(host, '%');
	if (zone)
		*zone++ = '\0';
	if (inet_pton(AF_INET6, host, &v6) != 1 || (zone && !*zone))
		return fail_with(EINVAL);
	address_set_v6(address, &v6, port);
	if (zone)
		address->socket.v6.sin6_scope_id = parse_zone(zone);
	return zone && !address->socket.v6.sin6_scope_id ? -1 : 1;
}

/* Every address, or this host. */
static int set_local(struct address *addresses, const struct net *net, in_port_t port, bool is_every)
{
	const struct in6_addr *v6 = is_every ? &in6addr_any : &in6addr_loopback;
	if (net->family == AF_INET6) {
		address_set_v6(&addresses[0], v6, port);
		return 1;
	}
	address_set_v4(&addresses[0], htonl(is_every ? INADDR_ANY : INADDR_LOOPBACK), port);
	return 1;
}

/* To dial: it has both families, v6 first (RFC 6724). But for datagrams, where nothing tells that the
 * other one is meant. */
static int set_this_host(struct address *addresses, const struct net *net, in_port_t port)
{
	if (net->family != AF_UNSPEC || net->type == SOCK_DGRAM)
		return set_local(addresses, net, port, false);
	address_set_v6(&addresses[0], &in6addr_loopback, port);
	address_set_v4(&addresses[1], htonl(INADDR_LOOPBACK), port);
	return 2;
}

#define NAME_MAX_LENGTH 253 /* RFC 1035, as text */

static int parse_host(struct address *addresses, const struct net *net, const char *text, size_t length,
    in_port_t port, bool to_listen)
{
	char host[NAME_MAX_LENGTH + 1];
	struct in_addr v4;
	if (memchr(text, ':', length) || memchr(text, '[', length) || memchr(text, ']', length))
		return fail_with(EINVAL);
	if (length > NAME_MAX_LENGTH)
		return fail_with(ENAMETOOLONG);
	memcpy(host, text, length);
	host[length] = '\0';
	bool is_local = length == 0 || strcmp(host, "localhost") == 0;
	if (is_local && to_listen)
		return set_local(addresses, net, port, length == 0);
	if (is_local)
		return set_this_host(addresses, net, port);
	if (inet_pton(AF_INET, host, &v4) == 1) {
		address_set_v4(addresses, v4.s_addr, port);
		return 1;
	}
	return to_listen ? fail_with(ENOTSUP) : resolve_name(addresses, ADDRESSES_MAX, net, host, port);
}

static int parse_internet(struct address *addresses, const struct net *net, const char *text, bool to_listen)
{
	const char *colon = strrchr(text, ':');
	in_port_t port = 0;
	int count;
	if (!colon)
		return fail_with(EINVAL);
	if (parse_port(colon + 1, &port) < 0)
		return -1;
	if (text[0] != '[')
		count = parse_host(addresses, net, text, (size_t)(colon - text), port, to_listen);
	else if (colon[-1] != ']')
		count = fail_with(EINVAL);
	else
		count = parse_v6(addresses, text + 1, (size_t)(colon - text) - 2, port);
	if (count > 0 && net->family != AF_UNSPEC && addresses->socket.any.sa_family != net->family)
		return fail_with(EAFNOSUPPORT);
	return count;
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
	return 1;
}

int address_resolve(struct address *addresses, const struct net *net, const char *text, bool to_listen)
{
	int count = net->family == AF_UNIX ? parse_unix(addresses, text)
	                                   : parse_internet(addresses, net, text, to_listen);
	for (int i = 0; i < count; i++)
		addresses[i].type = net->type;
	return count;
}

/* ---- to text ------------------------------------------------------------------------------------ */

/* 0 if all of it is there. */
static int check_room(int length, size_t size)
{
	return length >= 0 && (size_t)length < size ? 0 : fail_with(ENOSPC);
}

static int text_of_v4(const struct sockaddr_in *address, char *text, size_t size)
{
	char name[INET_ADDRSTRLEN];
	inet_ntop(AF_INET, &address->sin_addr, name, sizeof name);
	return check_room(snprintf(text, size, "%s:%d", name, ntohs(address->sin_port)), size);
}

/* A zone by its number, which needs no asking and cannot fail. */
static int text_of_v6(const struct sockaddr_in6 *address, char *text, size_t size)
{
	char name[INET6_ADDRSTRLEN], zone[16] = "";
	inet_ntop(AF_INET6, &address->sin6_addr, name, sizeof name);
	if (address->sin6_scope_id)
		snprintf(zone, sizeof zone, "%%%u", address->sin6_scope_id);
	return check_room(snprintf(text, size, "[%s%s]:%d", name, zone, ntohs(address->sin6_port)), size);
}

/* An abstract name begins with a NUL, which stands as '@'. A socket may have no name. */
static int text_of_unix(const struct sockaddr_un *address, socklen_t length, char *text, size_t size)
{
	size_t offset = offsetof(struct sockaddr_un, sun_path);
	size_t room = length > offset ? length - offset : 0;
	bool is_abstract = room > 0 && !address->sun_path[0];
	int count = (int)(is_abstract ? room - 1 : strnlen(address->sun_path, room));
	return check_room(snprintf(text, size, "%s%.*s", is_abstract ? "@" : "", count,
	    address->sun_path + is_abstract), size);
}

int bide_address_text(const struct sockaddr *address, socklen_t length, char *text, size_t size)
{
	const struct address *any = (const void *)address;
	if (!address || length < sizeof address->sa_family || (!text && size > 0))
		return fail_with(EINVAL);
	if (address->sa_family == AF_UNIX)
		return text_of_unix(&any->socket.path, length, text, size);
	if (address->sa_family == AF_INET && length >= sizeof any->socket.v4)
		return text_of_v4(&any->socket.v4, text, size);
	if (address->sa_family == AF_INET6 && length >= sizeof any->socket.v6)
		return text_of_v6(&any->socket.v6, text, size);
	return fail_with(EAFNOSUPPORT);
}
