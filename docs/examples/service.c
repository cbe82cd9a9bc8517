/* SPDX-License-Identifier: MIT
 * service: what a service manager, a load balancer and a monitor want of a server; see docs/operations.md.
 *     service [PORT [OPS_PORT [LAME_MS]]]    default 30007, 30008 and 0; port 0: any
 * Both sockets may be passed in. PORT answers with the number of its process, OPS_PORT has /healthz and /metrics.
 * SIGTERM: not healthy any more; LAME_MS later, when balancers know it, nothing is accepted; requests may end
 * within 10 s; exit 0. A second SIGTERM ends it at once. */
#define _GNU_SOURCE /* open_memstream */
#include <bide.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int listeners[2]; /* for requests, for operators */
static bool is_healthy;
static unsigned long requests;

static int write_answer(char **text, size_t *size, const char *request, bool for_operator)
{
	FILE *out = open_memstream(text, size); /* memory does not block */

	if (out == NULL)
		return -1;
	if (!for_operator) {
		fprintf(out, "HTTP/1.0 200 OK\r\n\r\nprocess %d\n", (int)getpid());
		requests++;
	} else if (strncmp(request, "GET /healthz ", 13) == 0) {
		fprintf(out, "HTTP/1.0 %s\r\n\r\n", is_healthy ? "200 OK" : "503 Draining");
	} else if (strncmp(request, "GET /metrics ", 13) == 0) {
		fprintf(out, "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n"
		    "# TYPE service_requests_total counter\nservice_requests_total %lu\n", requests);
		bide_stats_write(out, NULL, 0); /* this loop's tasks, turns, stacks, how late its timers are ... */
	} else {
		fputs("HTTP/1.0 404 Not Found\r\n\r\n", out);
	}
	return fclose(out);
}

static void answer(int fd, void *is_operator)
{
	char request[2048] = "", *text = NULL;
	size_t size = 0;
	bide_stream *stream = bide_stream_open(fd);

	BIDE_TIMEOUT(30 * BIDE_SEC)
		if (bide_stream_read_until(stream, request, sizeof request - 1, "\r\n\r\n", 4) > 0 &&
		    write_answer(&text, &size, request, is_operator != NULL) == 0)
			bide_stream_write(stream, text, size, NULL);
	bide_stream_close(stream);
	free(text);
}

static void *serve(void *listener)
{
	bide_serve_opts opts = BIDE_SERVE_OPTS_INIT;

	opts.flags = BIDE_SERVE_CLOSE; /* if it was passed in, it stays open where it came from */
	opts.drain = 10 * BIDE_SEC;
	bide_serve(*(int *)listener, answer, listener == &listeners[1] ? listener : NULL, &opts);
	return bide_fail(errno);
}

/* Operators are served to the end. */
static void *run(void *lame)
{
	bide_task *operators = bide_spawn(serve, &listeners[1]), *service = bide_spawn(serve, &listeners[0]);
	bide_scope shield = { { 0 } };
	bide_result end = { NULL, ENOMEM };

	is_healthy = true;
	bide_notify("READY=1");
	if (!operators || bide_join(service, &end) == 0 || errno != ECANCELED)
		return bide_fail(end.err);
	is_healthy = false;
	bide_notify("STOPPING=1");
	bide_scope_enter(&shield, BIDE_NEVER, BIDE_SHIELD);
	bide_sleep(*(bide_time *)lame);
	bide_cancel(service, "drain");
	bide_join(service, &end);
	bide_scope_leave(&shield);
	return lame;
}

int main(int argc, char **argv)
{
	int passed = bide_listen_fds();
	bide_time lame = argc > 3 ? atoi(argv[3]) * BIDE_MSEC : 0;

	for (int i = 1; i >= 0; i--) {
		char address[BIDE_ADDRESS_MAX];
		snprintf(address, sizeof address, "127.0.0.1:%s", argc > i + 1 ? argv[i + 1] : i ? "30008" : "30007");
		listeners[i] = i < passed ? BIDE_LISTEN_FDS_FIRST + i : bide_listen("tcp", address, 0);
		if (passed < 0 || listeners[i] < 0 || bide_local_address(listeners[i], address, sizeof address) < 0)
			return fprintf(stderr, "service: %s: %s\n", address, strerror(errno)), 1;
		fprintf(stderr, "service: %s on %s\n", i ? "operators" : "listening", address);
	}
	return bide_run(run, &lame, NULL, NULL) < 0;
}
