/* SPDX-License-Identifier: MIT
 * Layer io: host names. */
#ifndef IO_RESOLVE_H
#define IO_RESOLVE_H

#include "io/address.h"

/* Looks up `host`, which is a name and no numeric address, for `net`. Fills addresses[0 .. max-1], with
 * the port, which is in network order, in the order in which they are to be tried. How many (at least
 * 1), or -1 with errno. [S] */
int resolve_name(struct address *addresses, int max, const struct net *net, const char *host, in_port_t port);

#endif
