/* SPDX-License-Identifier: MIT
 * Layer io: host names. See resolve.h. The looking up is done on a thread (host/names.c). */
#include "io/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include <bide/file.h>

#include "base/fail.h"

/* EAGAIN is not handed on: whoever reads it would think of a full socket, or of too many tasks. */
static int errno_of(int code)
{
	switch (code) {
	case EAI_SYSTEM:
		return errno == EAGAIN ? ENOMEM : errno;
	case EAI_MEMORY:
		return ENOMEM;
	case EAI_AGAIN:
		return EHOSTUNREACH;
	default:
		return ENXIO;
	}
}

/* What the resolver found, cut to `max`. */
static int take(struct address *addresses, int max, const struct addrinfo *list, in_port_t port)
{
	int count = 0;
	for (; list && count < max; list = list->ai_next) {
		struct address *address = &addresses[count];
		if (list->ai_addrlen > sizeof address->socket)
			continue;
		*address = (struct address){ .length = list->ai_addrlen };
		memcpy(&address->socket, list->ai_addr, list->ai_addrlen);
		if (address->socket.any.sa_family == AF_INET6)
			address->socket.v6.sin6_port = port;
		else if (address->socket.any.sa_family == AF_INET)
			address->socket.v4.sin_port = port;
		else
			continue;
		count++;
	}
	return count;
}

int resolve_name(struct address *addresses, int max, const struct net *net, const char *host, in_port_t port)
{
	struct addrinfo hints = { .ai_family = net->family, .ai_socktype = net->type }, *list;
	int code = bide_getaddrinfo(host, NULL, &hints, &list);
	if (code)
		return fail_with(errno_of(code));
	int count = take(addresses, max, list, port);
	freeaddrinfo(list);
	return count > 0 ? count : fail_with(ENXIO);
}
