/* SPDX-License-Identifier: MIT
 * Layer io: dial. See dial.h. One address is tried by the caller's task. Of several each has a task of its
 * own in a race: the next one starts after the stagger, or as soon as the one before has failed. */
#include "io/dial.h"

#include <errno.h>
#include <netinet/tcp.h>

#include <bide/combine.h>
#include <bide/io.h>
#include <bide/net.h>

#include "base/fail.h"
#include "base/system.h"
#include "io/call.h"
#include "io/socket.h"

static int dial_one(const struct address *address)
{
	int fd = socket_new(address);
	if (fd < 0)
		return -1;
	if ((address_is_tcp(address) && socket_switch_on(fd, IPPROTO_TCP, TCP_NODELAY) < 0) ||
	    bide_connect(fd, &address->socket.any, address->length) < 0)
		return socket_discard(fd);
	return fd;
}

/* ---- several addresses -------------------------------------------------------------------------- */

struct attempt {
	const struct address *address;
	int fd; /* -1: not connected */
};

static void *try_one(void *arg)
{
	struct attempt *attempt = arg;
	attempt->fd = dial_one(attempt->address);
	return attempt->fd < 0 ? bide_fail(errno) : NULL;
}

/* Who has connected too, in the turn in which another one won, or the race was canceled. */
static void close_losers(struct attempt *attempts, int count, int winner)
{
	int saved = errno;
	for (int i = 0; i < count; i++)
		if (i != winner && attempts[i].fd >= 0)
			bide_close(attempts[i].fd);
	errno = saved;
}

static int race(const struct address *addresses, int count)
{
	struct attempt attempts[ADDRESSES_MAX];
	void *(*fns[ADDRESSES_MAX])(void *) = { NULL };
	void *args[ADDRESSES_MAX] = { NULL };
	for (int i = 0; i < count; i++) {
		attempts[i] = (struct attempt){ &addresses[i], -1 };
		fns[i] = try_one;
		args[i] = &attempts[i];
	}
	int winner = bide_race(fns, args, count, DIAL_STAGGER, NULL);
	close_losers(attempts, count, winner);
	return winner < 0 ? -1 : attempts[winner].fd;
}

static int try_in_turn(const struct address *addresses, int count)
{
	int fd = -1;
	for (int i = 0; i < count && fd < 0; i++)
		fd = dial_one(&addresses[i]);
	return fd;
}

/* The first one of the other family comes next, as long as there is one; else the order is kept. */
static void let_families_take_turns(struct address *addresses, int count)
{
	for (int i = 1; i < count; i++) {
		int other = i;
		while (other < count &&
		    addresses[other].socket.any.sa_family == addresses[i - 1].socket.any.sa_family)
			other++;
		if (other == count)
			return;
		struct address moved = addresses[other];
		for (; other > i; other--)
			addresses[other] = addresses[other - 1];
		addresses[i] = moved;
	}
}

int dial_any(struct address *addresses, int count)
{
	if (count == 1)
		return dial_one(addresses);
	let_families_take_turns(addresses, count);
	int fd = race(addresses, count);
	if (fd < 0 && errno == EAGAIN) /* the loop has no task left for an attempt */
		fd = try_in_turn(addresses, count);
	return fd;
}

int bide_dial(const char *name, const char *text)
{
	struct address addresses[ADDRESSES_MAX];
	if (!task_current())
		return fail_with(EPERM);
	const struct net *net = net_find(name);
	if (!net)
		return -1;
	if (!text)
		return fail_with(EINVAL);
	int count = address_resolve(addresses, net, text, false);
	return count < 0 || !checkpoint() ? -1 : dial_any(addresses, count);
}
