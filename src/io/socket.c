/* SPDX-License-Identifier: MIT
 * Layer io: sockets that are made, half closed and asked about themselves. Nothing here suspends. */
#include <bide/net.h>

#include <errno.h>

#include <bide/io.h>

#include "base/fail.h"
#include "base/system.h"
#include "io/call.h"
#include "io/socket.h"

int socket_new(const struct address *address)
{
	int fd = system_socket(address->socket.any.sa_family, address->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && loop_current)
		descriptor_fresh(loop_current, fd, DESCRIPTOR_SOCKET, address_is_tcp(address));
	return fd;
}

int socket_switch_on(int fd, int level, int option)
{
	int on = 1;
	return system_setsockopt(fd, level, option, &on, sizeof on);
}

int socket_discard(int fd)
{
	int saved = errno;
	bide_close(fd);
	return fail_with(saved);
}

int bide_socketpair(int domain, int type, int protocol, int fds[2])
{
	int pair[2];
	if (!fds)
		return fail_with(EINVAL);
	if (system_socketpair(domain, type, protocol, pair) < 0) /* which may have written there */
		return -1;
	for (int i = 0; i < 2; i++) {
		fds[i] = pair[i];
		if (loop_current)
			descriptor_fresh(loop_current, pair[i], DESCRIPTOR_SOCKET, 0);
	}
	return 0;
}

int bide_shutdown(int fd, int how)
{
	return system_shutdown(fd, how);
}

int bide_peer_credentials(int fd, pid_t *pid, uid_t *uid, gid_t *gid)
{
	struct ucred peer = { .pid = 0 };
	socklen_t length = sizeof peer;
	if (system_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
		return -1;
	if (peer.uid == (uid_t)-1) /* not a connected unix socket: the kernel has nothing to tell, and succeeds */
		return fail_with(ENOTCONN);
	if (pid)
		*pid = peer.pid;
	if (uid)
		*uid = peer.uid;
	if (gid)
		*gid = peer.gid;
	return 0;
}

/* ---- addresses ---------------------------------------------------------------------------------- */

typedef int name_fn(int fd, struct sockaddr *address, socklen_t *length);

static int address_of(int fd, name_fn *name, char *text, size_t size)
{
	struct address address;
	address.length = sizeof address.socket;
	if (!text && size > 0)
		return fail_with(EINVAL);
	if (name(fd, &address.socket.any, &address.length) < 0)
		return -1;
	return bide_address_text(&address.socket.any, address.length, text, size);
}

int bide_local_address(int fd, char *text, size_t size)
{
	return address_of(fd, system_getsockname, text, size);
}

int bide_peer_address(int fd, char *text, size_t size)
{
	return address_of(fd, system_getpeername, text, size);
}
