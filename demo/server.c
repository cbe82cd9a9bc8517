/* SPDX-License-Identifier: MIT
 * Demo: what both servers need and what is not about waiting. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process.h"
#include "protocol.h"
#include "server.h"

void server_ready(int control, int listener)
{
	struct sockaddr_in address = { 0 };
	socklen_t length = sizeof(address);
	struct report report = { .kind = REPORT_DONE };

	getsockname(listener, (struct sockaddr *)&address, &length);
	report.count = ntohs(address.sin_port);
	report_send(control, &report);
}

void server_refuse(int fd, int err)
{
	char line[LINE_SIZE_MAX];
	int size = snprintf(line, sizeof(line), FULL "%s\n", strerror(err));

	if (send(fd, line, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		errno = err; /* it has gone: then it need not be told */
	close(fd);
}
