/* SPDX-License-Identifier: MIT
 * multicore_echo: an echo server with a loop on each processor.
 *     multicore_echo [PORT [LOOPS]]    default 30005, and as many as there are processors; port 0: any
 *
 * Each loop has a listener of its own at the same port (SO_REUSEPORT): the kernel shares out the connections,
 * and a connection stays with its loop. Loops share nothing, so nothing is locked. It serves until its
 * standard input ends, and tells then how many connections each loop had. */
#include <bide.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOPS_MAX 64

/* On cache lines of their own, so that counting on one processor does not slow the others. */
static struct {
	_Alignas(64) int listener;
	int connections;
} loops[LOOPS_MAX];

static void echo(int fd, void *arg)
{
	char buf[4096];
	ssize_t size;

	loops[bide_loop_number()].connections++;
	while ((size = bide_recv(fd, buf, sizeof buf, 0)) > 0 && bide_write_all(fd, buf, (size_t)size, NULL) > 0)
		;
	(void)arg; /* bide_serve() closes fd */
}

static void *watch_input(void *arg)
{
	char scrap[256];

	while (bide_read(0, scrap, sizeof scrap) > 0)
		;
	bide_stop();
	return arg;
}

/* The main of each loop. That of the first one ends with the input, by failing with ECANCELED: which ends all
 * others. So does any failure, and SIGINT or SIGTERM. */
static void *serve(void *arg)
{
	int number = bide_loop_number();

	(void)arg;
	if (number > 0 || bide_detach(bide_spawn(watch_input, NULL)) == 0)
		bide_serve(loops[number].listener, echo, NULL, NULL);
	return bide_fail(errno);
}

/* All listeners are there before the first loop runs: none begins alone. The first one chooses the port. */
static int listen_all(char *address, size_t size, int count)
{
	bide_listen_opts opts = BIDE_LISTEN_OPTS_INIT;

	opts.flags = BIDE_LISTEN_REUSEPORT;
	for (int i = 0; i < count; i++) {
		loops[i].listener = bide_listen_with("tcp", address, &opts);
		if (loops[i].listener < 0 || bide_local_address(loops[i].listener, address, size) < 0)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : (int)sysconf(_SC_NPROCESSORS_ONLN);
	char address[BIDE_ADDRESS_MAX];

	if (count < 1 || count > LOOPS_MAX)
		return fprintf(stderr, "multicore_echo: 1 to %d loops\n", LOOPS_MAX), 2;
	snprintf(address, sizeof address, "127.0.0.1:%s", argc > 1 ? argv[1] : "30005");
	if (listen_all(address, sizeof address, count) < 0)
		return fprintf(stderr, "multicore_echo: %s: %s\n", address, strerror(errno)), 1;
	fprintf(stderr, "multicore_echo: %d loops, listening on %s\n", count, address);

	int result = bide_run_many((unsigned)count, serve, NULL, NULL, NULL), err = errno;

	for (int i = 0; i < count; i++)
		fprintf(stderr, "multicore_echo: loop %d had %d connections\n", i, loops[i].connections);
	if (result < 0 && err == ECANCELED)
		return 0; /* the end that was asked for */
	fprintf(stderr, "multicore_echo: %s\n", strerror(err));
	return 1;
}
