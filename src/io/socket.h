/* SPDX-License-Identifier: MIT
 * Layer io: sockets as dial and listen make them. */
#ifndef IO_SOCKET_H
#define IO_SOCKET_H

#include "io/address.h"

static inline bool address_is_tcp(const struct address *address)
{
	return address->type == SOCK_STREAM && address->socket.any.sa_family != AF_UNIX;
}

/* A socket of the address's kind, non-blocking and close-on-exec, known to the loop. -1 with errno. */
int socket_new(const struct address *address);
/* Sets an option to 1. */
int socket_switch_on(int fd, int level, int option);
/* Closes it, after a failure. Returns -1, errno is kept. */
int socket_discard(int fd);

#endif
