/* SPDX-License-Identifier: MIT
 * Part of bide: sockets. What bide/io.h says of descriptors holds here too. */
#ifndef BIDE_NET_H
#define BIDE_NET_H

#include <sys/socket.h>
#include <sys/types.h>

#include <bide/api.h>

BIDE_BEGIN

/* As recv(2) and send(2). MSG_DONTWAIT is allowed and then EAGAIN reaches the caller; MSG_NOSIGNAL
 * is always added. MSG_WAITALL is not supported: EINVAL; use bide_read_exact(). [S] */
BIDE_API ssize_t bide_recv(int fd, void *buf, size_t size, int flags);
BIDE_API ssize_t bide_send(int fd, const void *buf, size_t size, int flags);

/* As accept4(2): the new socket is non-blocking and close-on-exec. A connection that was aborted
 * before it was accepted is skipped. At the descriptor limit it fails with EMFILE or ENFILE, and the
 * connection stays in the backlog. The listener is made non-blocking if it is not. [S] */
BIDE_API int bide_accept(int fd, struct sockaddr *address, socklen_t *length);

/* As connect(2). The socket is non-blocking during the call and has its own flags again after it.
 * After ECANCELED the attempt may still go on inside the kernel: close the socket. [S] */
BIDE_API int bide_connect(int fd, const struct sockaddr *address, socklen_t length);

/* Makes a socket and connects it to `address`, or binds it there and listens; both return the
 * descriptor, non-blocking and close-on-exec, to be closed with bide_close().
 *     net "tcp" "tcp4" "tcp6"   "127.0.0.1:80", "[::1]:80", ":80" (listen: every IPv4 address, with "tcp6"
 *                               every address; dial:
 *                               this host), "localhost:80"; port 0 lets the kernel choose.
 *                               TCP_NODELAY is set, also for the sockets that a listener accepts;
 *                               listeners have SO_REUSEADDR
 *     net "unix"                a path, or "@name" for Linux's abstract names
 * Host names other than localhost need a resolver and are refused for now: ENOTSUP.
 * backlog: at most so many connections wait to be accepted; <= 0: the system's greatest.
 * Errors: EINVAL NULL, or a malformed address; EAFNOSUPPORT unknown net, or an address of the wrong
 * family; ENAMETOOLONG a unix path too long; those of socket(2), connect(2), bind(2), listen(2).
 * bide_dial is [S]; bide_listen never suspends and may be called anywhere. */
BIDE_API int bide_dial(const char *net, const char *address);
BIDE_API int bide_listen(const char *net, const char *address, int backlog);

BIDE_END

#endif
