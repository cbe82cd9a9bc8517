/* SPDX-License-Identifier: MIT
 * Layer io: host names. See resolve.h. There is no resolver yet. */
#include "io/resolve.h"

#include <errno.h>

int resolve_name(struct address *addresses, int max, const struct net *net, const char *host, in_port_t port)
{
	(void)addresses;
	(void)max;
	(void)net;
	(void)host;
	(void)port;
	errno = ENOTSUP;
	return -1;
}
