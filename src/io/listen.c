/* SPDX-License-Identifier: MIT
 * Layer io: listen, and a unix socket's path that nobody listens on any more. */
#include <bide/net.h>

#include <errno.h>
#include <netinet/tcp.h>

#include <bide/io.h>

#include "base/fail.h"
#include "base/system.h"
#include "io/socket.h"

#define LISTEN_FLAGS (BIDE_LISTEN_REUSEPORT | BIDE_LISTEN_NO_REUSEADDR | BIDE_LISTEN_DELAY)

/* ---- a path that is taken ------------------------------------------------------------------------ */

/* NULL for an abstract name, and for what is no unix address. */
static const char *path_of(const struct address *address)
{
	const struct sockaddr_un *unix_address = &address->socket.path;
	bool is_path = unix_address->sun_family == AF_UNIX && unix_address->sun_path[0];
	return is_path ? unix_address->sun_path : NULL;
}

/* Asked with a datagram socket, so that a server that lives sees nothing of it: the kernel refuses it for
 * its type then, also before the server listens, and as a connection only if the path is nobody's. Who
 * may not ask, or cannot, does not know. */
static bool is_nobodys(const struct address *address)
{
	struct address question = *address;
	question.type = SOCK_DGRAM;
	int fd = socket_new(&question);
	if (fd < 0)
		return false;
	bool is_refused = system_connect(fd, &address->socket.any, address->length) < 0 && errno == ECONNREFUSED;
	bide_close(fd);
	return is_refused;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	    a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Removes what a server that died has left. Looked at twice, so that another one that starts at the same
 * time keeps its own, but for the instant between the second look and the removal: nothing removes a path
 * only if it is a certain file. 0 if the path may be free now. */
static int remove_stale(const struct address *address)
{
	struct stat before, after;
	const char *path = path_of(address);
	if (!path || system_lstat(path, &before) < 0 || !S_ISSOCK(before.st_mode) || !is_nobodys(address) ||
	    system_lstat(path, &after) < 0 || !is_same_file(&before, &after))
		return fail_with(EADDRINUSE);
	return system_unlink(path);
}

static int bind_socket(int fd, const struct address *address)
{
	int result = system_bind(fd, &address->socket.any, address->length);
	if (result < 0 && errno == EADDRINUSE && remove_stale(address) == 0)
		result = system_bind(fd, &address->socket.any, address->length);
	return result;
}

/* ---- listening ----------------------------------------------------------------------------------- */

static int set_options(int fd, const struct address *address, bool is_v6_only, unsigned flags)
{
	bool is_tcp = address_is_tcp(address);
	if (is_tcp && !(flags & BIDE_LISTEN_NO_REUSEADDR) && socket_switch_on(fd, SOL_SOCKET, SO_REUSEADDR) < 0)
		return -1;
	if (is_tcp && !(flags & BIDE_LISTEN_DELAY) && socket_switch_on(fd, IPPROTO_TCP, TCP_NODELAY) < 0)
		return -1;
	if ((flags & BIDE_LISTEN_REUSEPORT) && socket_switch_on(fd, SOL_SOCKET, SO_REUSEPORT) < 0)
		return -1;
	return is_v6_only ? socket_switch_on(fd, IPPROTO_IPV6, IPV6_V6ONLY) : 0;
}

static int listen_socket(int fd, const struct address *address, int backlog)
{
	if (address->type == SOCK_DGRAM || system_listen(fd, backlog > 0 ? backlog : INT32_MAX) == 0)
		return 0;
	int saved = errno;
	if (path_of(address))
		system_unlink(path_of(address));
	return fail_with(saved);
}

int bide_listen_with(const char *name, const char *text, const bide_listen_opts *opts)
{
	static const bide_listen_opts defaults = BIDE_LISTEN_OPTS_INIT;
	struct address addresses[ADDRESSES_MAX];
	const struct net *net = net_find(name);
	if (!net)
		return -1;
	if (!opts)
		opts = &defaults;
	if (!text || opts->size != sizeof *opts || (opts->flags & ~LISTEN_FLAGS))
		return fail_with(EINVAL);
	if (address_resolve(addresses, net, text, true) < 0)
		return -1;
	int fd = socket_new(addresses);
	if (fd < 0)
		return -1;
	if (set_options(fd, addresses, net->family == AF_INET6, opts->flags) < 0 ||
	    bind_socket(fd, addresses) < 0 || listen_socket(fd, addresses, opts->backlog) < 0)
		return socket_discard(fd);
	return fd;
}

int bide_listen(const char *net, const char *address, int backlog)
{
	bide_listen_opts opts = BIDE_LISTEN_OPTS_INIT;
	opts.backlog = backlog;
	return bide_listen_with(net, address, &opts);
}
