/* SPDX-License-Identifier: MIT
 * restart: a server on several loops that its next version replaces without losing a connection.
 *     restart [PORT [LOOPS]]    default 30006, 2 loops; port 0: any. Try it: curl localhost:30006
 * It answers requests with the number of its process. SIGHUP starts the program anew, which gets the listening
 * sockets themselves: what waits in their backlogs stays there. When that one says that it serves, this one
 * drains, as on SIGTERM; if it never does, this one goes on. docs/operations.md tells what goes wrong else. */
#define _GNU_SOURCE /* kill, sigset_t */
#include <bide.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LISTENERS_MAX = 32 };
static int listeners[LISTENERS_MAX], count; /* one for each loop */
static char text[64], count_text[12], script[] = "export LISTEN_PID=$$ LISTEN_FDS=$0; exec \"$@\"";
static char *command[8] = { "sh", "-c", script, count_text }; /* and argv */

static void answer(int fd, void *text)
{
	char request[4096];
	bide_stream *stream = bide_stream_open(fd);

	BIDE_TIMEOUT(5 * BIDE_SEC)
		if (bide_stream_read_until(stream, request, sizeof request, "\r\n\r\n", 4) > 0)
			bide_stream_write(stream, text, strlen(text), NULL);
	bide_stream_close(stream);
}

/* True when the next one has said that it serves. The end of its output says that it never will. */
static bool start_next(void)
{
	bide_proc_opts opts = BIDE_PROC_OPTS_INIT;
	bide_proc next;
	char line[16];

	opts.file = command[0];
	opts.argv = command;
	opts.fds = listeners; /* from 3 on in the next one */
	opts.fd_count = count;
	opts.out = BIDE_PROC_PIPE;
	if (bide_proc_spawn(&opts, &next) < 0)
		return false;
	bool serves = bide_read(next.out, line, sizeof line) > 0 || bide_proc_wait(next.pid, NULL) < 0;
	bide_close(next.out);
	return serves;
}

/* Says that this one serves when no signal can be missed any more. */
static void *hand_over(void *arg)
{
	sigset_t set;
	int hangups;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	if ((hangups = bide_signal_open(&set)) >= 0 && puts("serving") >= 0)
		fflush(stdout);
	while (bide_signal_wait(hangups, NULL) > 0 && !start_next())
		fprintf(stderr, "restart: the next one does not serve: going on\n");
	kill(getpid(), SIGTERM); /* cancels the main of each loop */
	return arg;
}

/* The main of each loop: returns when it was canceled and its handlers have ended. */
static void *serve(void *arg)
{
	bide_serve_opts opts = BIDE_SERVE_OPTS_INIT;

	opts.drain = 10 * BIDE_SEC;
	if (bide_loop_number() == 0 && bide_detach(bide_spawn(hand_over, NULL)) < 0)
		return bide_fail(errno);
	bide_serve(listeners[bide_loop_number()], answer, text, &opts);
	return errno == ECANCELED ? arg : bide_fail(errno);
}

int main(int argc, char **argv)
{
	int loops = argc > 2 ? atoi(argv[2]) : 2, passed = bide_listen_fds();
	char address[BIDE_ADDRESS_MAX];
	bide_listen_opts opts = BIDE_LISTEN_OPTS_INIT;

	if (argc > 3 || loops < 1 || loops > LISTENERS_MAX || passed < 0 || passed > LISTENERS_MAX)
		return fprintf(stderr, "usage: restart [PORT [LOOPS]]\n"), 2;
	memcpy(command + 4, argv, (size_t)argc * sizeof *argv);
	opts.flags = BIDE_LISTEN_REUSEPORT;
	snprintf(address, sizeof address, "127.0.0.1:%s", argc > 1 ? argv[1] : "30006");
	for (count = 0; count < passed || count < loops; count++) { /* never fewer than were passed */
		listeners[count] = count < passed ? BIDE_LISTEN_FDS_FIRST + count : bide_listen_with("tcp", address, &opts);
		if (listeners[count] < 0 || bide_local_address(listeners[count], address, sizeof address) < 0)
			return fprintf(stderr, "restart: %s: %s\n", address, strerror(errno)), 1;
	}
	snprintf(count_text, sizeof count_text, "%d", count);
	snprintf(text, sizeof text, "HTTP/1.0 200 OK\r\n\r\nprocess %d\n", (int)getpid());
	fprintf(stderr, "restart: %d listening on %s\n", (int)getpid(), address);
	return bide_run_many((unsigned)count, serve, &count, NULL, NULL) < 0;
}
