/* SPDX-License-Identifier: MIT
 * Layer io: addresses, and the text that stands for them. */
#ifndef IO_ADDRESS_H
#define IO_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un path;
	} socket;
	socklen_t length;
	int type; /* SOCK_STREAM or SOCK_DGRAM */
};

/* What the first argument of bide_dial() says. */
struct net {
	const char *name;
	int family; /* AF_UNSPEC: any of the internet's */
	int type;
};

#define ADDRESSES_MAX 16 /* of one name; more are not tried */

/* NULL with EINVAL: name is NULL; or EAFNOSUPPORT. */
const struct net *net_find(const char *name);

void address_set_v4(struct address *address, in_addr_t host, in_port_t port);
void address_set_v6(struct address *address, const struct in6_addr *host, in_port_t port);

/* What `text` means on `net`: addresses[0 .. ADDRESSES_MAX-1], in the order in which they are to be
 * tried. How many, or -1 with errno. [S] only to dial, and only for names that must be looked up. */
int address_resolve(struct address *addresses, const struct net *net, const char *text, bool to_listen);

#endif
