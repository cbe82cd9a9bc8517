/* SPDX-License-Identifier: MIT
 * Clients that never stop, for the tests of servers that are replaced: a plain blocking program.
 *
 *     hammer PORT FILE      until there is a file of that name
 *
 * Again and again it connects several times at once, so that backlogs are not empty, sends a request on each
 * connection and reads the answer to its end. One connect, request or answer that fails ends it with exit 1.
 * At the end it prints how many requests were answered, and by how many different processes. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE 12
#define PROCESSES_MAX 256

static const char request[] = "GET / HTTP/1.0\r\n\r\n", wanted[] = "HTTP/1.0 200 OK\r\n\r\nprocess ";
static int processes[PROCESSES_MAX], process_count;
static unsigned long answered;

static void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "hammer: %s after %lu answers: %s\n", what, answered, strerror(errno));
	exit(1);
}

static int ask(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((unsigned short)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(fd >= 0, "socket");
	need(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
	need(send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request), "send");
	return fd;
}

static void note(int process)
{
	for (int i = 0; i < process_count; i++)
		if (processes[i] == process)
			return;
	need(process_count < PROCESSES_MAX, "too many processes");
	processes[process_count++] = process;
}

static void take_answer(int fd)
{
	char text[256] = "";
	size_t size = 0;
	ssize_t count;

	while ((count = recv(fd, text + size, sizeof text - 1 - size, 0)) > 0)
		size += (size_t)count;
	need(count == 0, "recv");
	need(strncmp(text, wanted, strlen(wanted)) == 0 && text[size - 1] == '\n', "a wrong answer");
	note(atoi(text + strlen(wanted)));
	answered++;
	close(fd);
}

int main(int argc, char **argv)
{
	struct timespec pause = { 0, 2000000 }; /* leaves the servers their part of the machine */
	int fds[AT_ONCE];

	need(argc == 3, "usage: hammer PORT FILE");
	while (access(argv[2], F_OK) != 0) {
		for (int i = 0; i < AT_ONCE; i++)
			fds[i] = ask(atoi(argv[1]));
		for (int i = 0; i < AT_ONCE; i++)
			take_answer(fds[i]);
		nanosleep(&pause, NULL);
	}
	printf("%lu answers, %d processes\n", answered, process_count);
	return 0;
}
