/* SPDX-License-Identifier: MIT
 * Part of bide: sockets. What bide/io.h says of descriptors holds here too. */
#ifndef BIDE_NET_H
#define BIDE_NET_H

#include <sys/socket.h>
#include <sys/types.h>

#include <bide/api.h>
#include <bide/time.h>

BIDE_BEGIN

/* MESSAGES. As recv(2), send(2) and their relatives, with their flags, but:
 * MSG_DONTWAIT is allowed and then EAGAIN reaches the caller. MSG_NOSIGNAL is always added.
 * MSG_WAITALL is not supported: EINVAL; use bide_read_exact().
 * Errors of all: EINVAL NULL where there must be something (memory with a size, a message, the length of
 * an address). [S] */
BIDE_API ssize_t bide_recv(int fd, void *buf, size_t size, int flags);
BIDE_API ssize_t bide_send(int fd, const void *buf, size_t size, int flags);

/* As recvfrom(2) and sendto(2); address may be NULL. */
BIDE_API ssize_t bide_recvfrom(int fd, void *buf, size_t size, int flags, struct sockaddr *address,
    socklen_t *length);
BIDE_API ssize_t bide_sendto(int fd, const void *buf, size_t size, int flags, const struct sockaddr *address,
    socklen_t length);

/* As recvmsg(2) and sendmsg(2). Descriptors that come with a message are close-on-exec; they are the
 * caller's, also when MSG_CTRUNC tells that there were more. */
BIDE_API ssize_t bide_recvmsg(int fd, struct msghdr *message, int flags);
BIDE_API ssize_t bide_sendmsg(int fd, const struct msghdr *message, int flags);

/* As recvmmsg(2) and sendmmsg(2): up to `count` messages in one system call. They wait for the first one
 * only: returned is how many there were, or how many there was room for. `struct mmsghdr` needs
 * _GNU_SOURCE. */
struct mmsghdr;
BIDE_API int bide_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
BIDE_API int bide_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);

/* PASSING DESCRIPTORS over a unix socket. send_fd sends fd with one byte; the sender's own descriptor stays
 * open, and may be closed at once. recv_fd takes what send_fd has sent, and returns a new descriptor,
 * close-on-exec, to be closed with bide_close(); its file status flags are those of the sender's, which it
 * shares. Descriptors that come beside the first one are closed.
 * 0, and the descriptor. Errors, besides those of sendmsg(2) and recvmsg(2): EBADF fd is not open;
 * EPIPE the peer has closed; ENOMSG a byte came without a descriptor, and is gone; EMFILE one came,
 * and is gone, since this process may have no more. [S] */
BIDE_API int bide_send_fd(int socket, int fd);
BIDE_API int bide_recv_fd(int socket);

/* As accept4(2): the new socket is non-blocking and close-on-exec. A connection that was aborted
 * before it was accepted is skipped. At the descriptor limit it fails with EMFILE or ENFILE, and the
 * connection stays in the backlog. The listener is made non-blocking if it is not. [S] */
BIDE_API int bide_accept(int fd, struct sockaddr *address, socklen_t *length);

/* As connect(2). The socket is non-blocking during the call and has its own flags again after it.
 * After ECANCELED the attempt may still go on inside the kernel: close the socket. [S] */
BIDE_API int bide_connect(int fd, const struct sockaddr *address, socklen_t length);

/* As socketpair(2); both are non-blocking and close-on-exec. Errors: EINVAL fds is NULL; those of
 * socketpair(2). Never suspends, may be called anywhere. */
BIDE_API int bide_socketpair(int domain, int type, int protocol, int fds[2]);

/* As shutdown(2): SHUT_WR tells the peer that no more will come, while it may still send. Tasks that
 * wait in the direction that ends are woken. Never suspends, may be called anywhere. */
BIDE_API int bide_shutdown(int fd, int how);

/* Who made the other end of a unix stream connection: as it was when that connected, listened or made the
 * pair. Each of the three may be NULL. Errors: ENOTCONN no unix connection; those of getsockopt(2).
 * Never suspends, may be called anywhere. */
BIDE_API int bide_peer_credentials(int fd, pid_t *pid, uid_t *uid, gid_t *gid);

/* ADDRESSES as text: net and address, as bide_dial() and bide_listen() take them.
 *     net "tcp" "tcp4" "tcp6"   "127.0.0.1:80", "[::1]:80", "localhost:80"; ":80" is this host to dial, and to
 *         "udp" "udp4" "udp6"   listen every IPv4 address, every IPv6 address with "tcp6" and "udp6".
 *                               To listen, port 0 lets the kernel choose. "[fe80::1%eth0]:80", or
 *                               "%2" by number: an address of one link; as text it has the number
 *     net "unix"                a path, or "@name" for Linux's abstract names
 * Other host names are looked up, to dial, on a thread (bide_getaddrinfo() in bide/file.h): ENXIO there is no
 * such name, or it has no address for this net; EHOSTUNREACH the resolver does not answer; ENOMEM.
 * To listen they are refused: ENOTSUP. */

/* Makes a socket and connects it; returns it, non-blocking and close-on-exec, to be closed with
 * bide_close(). With "tcp" TCP_NODELAY is set. With "udp" the address is the one that bide_send() sends
 * to and bide_recv() hears from.
 * A host with several addresses ("localhost" has [::1] and 127.0.0.1) is tried at all of them, IPv6 and IPv4 in
 * turn: the next one after 250 ms, or when one fails, and the first that connects wins (RFC 8305). The
 * others' sockets are closed. It fails with the errno of the last one to fail. Not so for "udp", where
 * nothing tells that an address does not answer: the first one is taken.
 * Errors: EINVAL NULL, or a malformed address; ENODEV no such interface; EAFNOSUPPORT unknown net, or an
 * address of the wrong family; ENAMETOOLONG a unix path or a name too long; those of socket(2) and connect(2). [S] */
BIDE_API int bide_dial(const char *net, const char *address);

/* Makes a socket, binds it and listens, or for "udp" binds it; returns it as bide_dial() does. backlog: at
 * most so many connections wait to be accepted; <= 0: the system's greatest. Listeners of "tcp" have
 * SO_REUSEADDR, and they and the sockets they accept TCP_NODELAY.
 * A unix path that is taken is removed first if it is a socket that no process has any more, since its
 * server has died; else EADDRINUSE. A server that lives notices nothing. (Of two
 * that find one dead path in the same instant the second may take it from the first.) Closing the socket
 * leaves the path.
 * Errors: as bide_dial(); those of bind(2) and listen(2). Never suspends, may be called anywhere. */
BIDE_API int bide_listen(const char *net, const char *address, int backlog);

/* bide_listen_opts.flags */
#define BIDE_LISTEN_REUSEPORT 0x1u    /* several sockets, of threads or processes, share the port: the kernel
                                         spreads connections, or datagrams, over them */
#define BIDE_LISTEN_NO_REUSEADDR 0x2u /* not while connections of an earlier server linger on the port */
#define BIDE_LISTEN_DELAY 0x4u        /* without TCP_NODELAY */

typedef struct bide_listen_opts {
	size_t size;    /* sizeof(bide_listen_opts) */
	int backlog;    /* as of bide_listen() */
	unsigned flags; /* BIDE_LISTEN_ ... */
} bide_listen_opts;

#define BIDE_LISTEN_OPTS_INIT { sizeof(bide_listen_opts), 0, 0 }

/* The same with options; opts may be NULL. Errors also: EINVAL a wrong size, unknown flags. */
BIDE_API int bide_listen_with(const char *net, const char *address, const bide_listen_opts *opts);

#define BIDE_ADDRESS_MAX 128 /* enough for the text of any address */

/* The text of the socket's own address, of its peer's, and of any address, in the form above. A unix socket
 * without a name has "". 0, or -1. Errors: ENOSPC it does not fit into `size` bytes, and is cut;
 * EAFNOSUPPORT neither internet nor unix; EINVAL NULL; those of getsockname(2) and getpeername(2).
 * They never suspend, and may be called anywhere. */
BIDE_API int bide_local_address(int fd, char *text, size_t size);
BIDE_API int bide_peer_address(int fd, char *text, size_t size);
BIDE_API int bide_address_text(const struct sockaddr *address, socklen_t length, char *text, size_t size);

/* SERVING. Accepts connections and runs handler(fd, arg) for each, as a task of its own, until the
 * calling task is canceled, or a deadline passes, or bide_close(listener) ends it.
 * fd is closed when the handler has ended, whichever way, after its deferred calls; unless it has closed
 * it itself with bide_close(), or keeps it, with bide_fd_forget().
 * When it is to end, no more is accepted; then the handlers have `drain` to end by themselves, then they
 * are canceled, and waited for. Connections in the backlog are left there.
 * Without a descriptor or a buffer for a connection (EMFILE, ENFILE, ENOBUFS, ENOMEM) it tries again when a handler
 * ends, or after a second; and so it does at bide_config.max_tasks, where connections wait in the backlog.
 * Without memory for its handler a connection is closed. Each is a BIDE_REPORT_LIMIT, once a second at most.
 * At most 16 connections are accepted before others run.
 * Returns -1, always, with the errno that ended it: ECANCELED, ETIMEDOUT, EBADF, or those of accept(2).
 * Errors, at once: EINVAL handler is NULL, opts has a wrong size, unknown flags, drain < 0, fd does not
 * listen; ENOTSOCK; EPERM. [S] */
typedef struct bide_serve_opts {
	size_t size;        /* sizeof(bide_serve_opts) */
	unsigned max_conns; /* at most so many handlers at once; others wait in the backlog. 0: no limit */
	unsigned flags;     /* BIDE_SERVE_CLOSE */
	bide_time drain;    /* 0: handlers are canceled at once */
} bide_serve_opts;

#define BIDE_SERVE_OPTS_INIT { sizeof(bide_serve_opts), 0, 0, 0 }
#define BIDE_SERVE_CLOSE 0x1u /* close the listener before the drain, so that who connects is refused */

/* opts may be NULL. */
BIDE_API int bide_serve(int listener, void (*handler)(int fd, void *arg), void *arg,
    const bide_serve_opts *opts);

/* SERVICE MANAGERS, that is systemd, or who does as it does (docs/operations.md). These two never suspend, and
 * may be called anywhere while nobody changes the environment.
 *
 * The listening sockets that who started this program has passed to it, a socket unit or an earlier instance that
 * hands over: the descriptors from BIDE_LISTEN_FDS_FIRST on. Returns how many LISTEN_FDS names, if
 * LISTEN_PID is this process, and makes them close-on-exec; 0: none, or they are for another process. Both
 * variables stay as they are, so it may be asked again, until one of them is closed.
 * Errors: EINVAL a variable is no number, or too great; EBADF one of the descriptors is not open. */
#define BIDE_LISTEN_FDS_FIRST 3
BIDE_API int bide_listen_fds(void);

/* Tells the manager about this process, as sd_notify(3): "READY=1" when it serves, "STOPPING=1" when it begins
 * to drain, "STATUS=..." and others, with newlines between them. Returns 1; 0 if nobody wants to know, since
 * NOTIFY_SOCKET is not set. Errors: EINVAL NULL; EAFNOSUPPORT NOTIFY_SOCKET is neither a path nor an
 * abstract name; EAGAIN the manager does not read; those of socket(2) and sendto(2). */
BIDE_API int bide_notify(const char *state);

BIDE_END

#endif
