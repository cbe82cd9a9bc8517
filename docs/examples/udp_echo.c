/* SPDX-License-Identifier: MIT
 * udp_echo: datagrams. A server that answers whoever has sent it something, and clients that ask again when
 * no answer comes, since datagrams may get lost: this server drops every third one, to show it.
 *     udp_echo            the server and two clients
 *     udp_echo ADDRESS    the server alone, at 127.0.0.1:30000 say. Try it: nc -u 127.0.0.1 30000 */
#include <bide.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static int server_fd;
static char server_address[BIDE_ADDRESS_MAX];

/* One task serves all: nothing is kept for a client, and one datagram is one request. */
static void *serve(void *arg)
{
	char text[512];
	struct sockaddr_storage from;
	unsigned received = 0;

	(void)arg;
	for (;;) {
		socklen_t length = sizeof from;
		ssize_t size = bide_recvfrom(server_fd, text, sizeof text, 0, (struct sockaddr *)&from, &length);
		if (size < 0)
			return bide_fail(errno); /* ECANCELED, normally */
		if (++received % 3 == 0)
			continue; /* lost */
		/* That one client cannot be reached is nothing to end the server for. */
		if (bide_sendto(server_fd, text, (size_t)size, 0, (struct sockaddr *)&from, length) < 0 && errno == ECANCELED)
			return bide_fail(errno);
	}
}

/* The answer to `text`, asked for up to five times. An answer that came too late for an earlier question is not
 * taken for it. */
static ssize_t ask(int fd, const char *text, char *answer, size_t size)
{
	ssize_t count = -1;

	for (int tries = 0; tries < 5; tries++) {
		if (bide_send(fd, text, strlen(text), 0) < 0)
			return -1;
		BIDE_TIMEOUT(200 * BIDE_MSEC) {
			do
				count = bide_recv(fd, answer, size, 0);
			while (count >= 0 && (count != (ssize_t)strlen(text) || memcmp(answer, text, strlen(text)) != 0));
		}
		if (count >= 0 || errno != ETIMEDOUT)
			break;
	}
	return count;
}

static void *client(void *arg)
{
	const char *name = arg;
	char question[64], answer[64];
	int fd = bide_dial("udp", server_address);

	if (fd < 0)
		return bide_fail(errno);
	for (int i = 1; i <= 3; i++) {
		snprintf(question, sizeof question, "%s %d", name, i);
		ssize_t count = ask(fd, question, answer, sizeof answer);
		if (count < 0)
			printf("%s: no answer: %s\n", question, strerror(errno));
		else
			printf("%s: answered with \"%.*s\"\n", question, (int)count, answer);
	}
	bide_close(fd);
	return NULL;
}

static void *demonstrate(void *arg)
{
	bide_task *server = bide_spawn(serve, NULL);

	if (client("ann") == NULL) /* just a call: it suspends inside, and the server runs */
		client("bob");
	bide_cancel(server, "done");
	bide_join(server, NULL);
	return arg;
}

int main(int argc, char **argv)
{
	server_fd = bide_listen("udp", argc > 1 ? argv[1] : "127.0.0.1:0", 0);
	if (server_fd < 0 || bide_local_address(server_fd, server_address, sizeof server_address) < 0 ||
	    bide_run(argc > 1 ? serve : demonstrate, NULL, NULL, NULL) < 0) {
		perror("udp_echo");
		return 1;
	}
	return bide_close(server_fd);
}
