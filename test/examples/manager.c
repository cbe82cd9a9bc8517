/* SPDX-License-Identifier: MIT
 * A service manager for the tests of services: does for one what systemd does for a socket unit and a service of
 * Type=notify, by the protocols of sd_listen_fds(3) and sd_notify(3).
 *
 *     manager DIRECTORY COUNT COMMAND...
 *
 * It listens on COUNT sockets, whose ports it writes to DIRECTORY/ports. When a connection comes to the first one it
 * starts the command, writes its number to DIRECTORY/pid and what it is told to DIRECTORY/told. When the service
 * ends with status 0 the next connection starts it anew, unless there is a file DIRECTORY/stop. Else it exits, as
 * the service did, or with 128 and the number of the signal. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOCKETS_MAX 8
#define TICK 20 /* ms: how often it looks whether the service has ended */

static const char *directory;
static int listeners[SOCKETS_MAX], count, telling;

static void need(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "manager: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *path_of(const char *name)
{
	static char path[sizeof((struct sockaddr_un *)0)->sun_path];

	need(snprintf(path, sizeof path, "%s/%s", directory, name) < (int)sizeof path, "a long path");
	return path;
}

static int listen_anywhere(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 128) == 0, "listen");
	return fd;
}

static int port_of(int fd)
{
	struct sockaddr_in address;
	socklen_t length = sizeof address;

	need(getsockname(fd, (struct sockaddr *)&address, &length) == 0, "getsockname");
	return ntohs(address.sin_port);
}

static void listen_all(void)
{
	FILE *ports = fopen(path_of("ports.new"), "w");
	char name[256];

	need(ports != NULL, "ports");
	for (int i = 0; i < count; i++) {
		listeners[i] = listen_anywhere();
		fprintf(ports, "%d\n", port_of(listeners[i]));
	}
	fclose(ports);
	snprintf(name, sizeof name, "%s", path_of("ports.new"));
	need(rename(name, path_of("ports")) == 0, "ports");
}

static void listen_to_the_service(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	strcpy(address.sun_path, path_of("notify"));
	telling = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	need(bind(telling, (struct sockaddr *)&address, sizeof address) == 0, "notify");
	need(setenv("NOTIFY_SOCKET", address.sun_path, 1) == 0, "setenv");
}

static void set_number(const char *name, int number)
{
	char text[16];

	snprintf(text, sizeof text, "%d", number);
	need(setenv(name, text, 1) == 0, name);
}

/* In the child, whose number only now is known. dup2() leaves the copy open over the exec. */
static void be_the_service(char **command)
{
	set_number("LISTEN_PID", getpid());
	set_number("LISTEN_FDS", count);
	for (int i = 0; i < count; i++)
		need((listeners[i] = fcntl(listeners[i], F_DUPFD_CLOEXEC, 3 + count)) >= 0, "fcntl");
	for (int i = 0; i < count; i++)
		need(dup2(listeners[i], 3 + i) >= 0, "dup2");
	execvp(command[0], command);
	need(0, command[0]);
}

static pid_t start(char **command)
{
	FILE *file;
	char name[256];
	pid_t pid = fork();

	need(pid >= 0, "fork");
	if (pid == 0)
		be_the_service(command);
	snprintf(name, sizeof name, "%s", path_of("pid.new"));
	need((file = fopen(name, "w")) != NULL && fprintf(file, "%d\n", (int)pid) > 0 && fclose(file) == 0 &&
	    rename(name, path_of("pid")) == 0, "pid");
	return pid;
}

static void hear(void)
{
	char text[512];
	ssize_t size = recv(telling, text, sizeof text, MSG_DONTWAIT);
	FILE *file = size > 0 ? fopen(path_of("told"), "a") : NULL;

	if (file == NULL)
		return;
	fprintf(file, "%.*s\n", (int)size, text);
	fclose(file);
}

static int outcome_of(pid_t pid)
{
	struct pollfd told = { .fd = telling, .events = POLLIN };
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0)
		if (poll(&told, 1, TICK) > 0)
			hear();
	hear();
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int status = 0;

	need(argc > 3 && (count = atoi(argv[2])) > 0 && count <= SOCKETS_MAX, "usage: manager DIRECTORY COUNT COMMAND...");
	directory = argv[1];
	listen_to_the_service();
	listen_all();
	while (status == 0 && access(path_of("stop"), F_OK) != 0) {
		struct pollfd wanted = { .fd = listeners[0], .events = POLLIN };

		if (poll(&wanted, 1, TICK) > 0)
			status = outcome_of(start(argv + 3));
	}
	return status;
}
