/* SPDX-License-Identifier: MIT
 * proxy: passes connections on to another address. Each direction is a task and ends on its own: when one
 * side says that it will send no more, the other is told so, and its answer still comes through.
 *     proxy TO [PORT]    TO as of bide_dial(): 127.0.0.1:80; PORT default 30002, 0 lets the kernel choose
 * It serves until its standard input ends. */
#include <bide.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static char *target;

struct direction {
	bide_stream *from, *to;
};

/* What `to` does not take is not read from `from`: a slow reader slows the writer, and nothing piles up. */
static void *pass_on(void *arg)
{
	struct direction *direction = arg;
	const void *data;
	ssize_t size;

	while ((size = bide_stream_peek(direction->from, &data, 1)) > 0)
		if (bide_stream_write(direction->to, data, (size_t)size, NULL) < 0 ||
		    bide_stream_flush(direction->to) < 0 || bide_stream_skip(direction->from, (size_t)size) < 0)
			return bide_fail(errno);
	return size < 0 || bide_stream_shutdown(direction->to) < 0 ? bide_fail(errno) : NULL;
}

/* When one direction fails, the group cancels the other. */
static int pass_both_ways(bide_stream *client, bide_stream *server)
{
	struct direction there = { client, server }, back = { server, client };
	bide_group group = { { 0 } };

	if (bide_group_enter(&group, 0, 0) < 0)
		return -1;
	if (!bide_group_spawn(&group, pass_on, &there, NULL) || !bide_group_spawn(&group, pass_on, &back, NULL))
		bide_group_cancel(&group, "no memory");
	return bide_group_leave(&group);
}

static void serve_client(int fd, void *address)
{
	int other = bide_dial("tcp", address);
	bide_stream *server = other < 0 ? NULL : bide_stream_open(other);
	bide_stream *client = server ? bide_stream_open(fd) : NULL;

	if ((!client || pass_both_ways(client, server) < 0) && errno != ECANCELED)
		fprintf(stderr, "proxy: lost a connection: %s\n", strerror(errno));
	if (client)
		bide_stream_abort(client);
	if (server)
		bide_stream_abort(server);
	else if (other >= 0)
		bide_close(other);
}

static void *watch_input(void *arg)
{
	while (bide_read(0, (char[64]){ 0 }, 64) > 0)
		;
	bide_stop(); /* cancels serve() */
	return arg;
}

static void *serve(void *listener)
{
	if (bide_detach(bide_spawn(watch_input, NULL)) == 0)
		bide_serve(*(int *)listener, serve_client, target, NULL);
	return bide_fail(errno);
}

int main(int argc, char **argv)
{
	char address[BIDE_ADDRESS_MAX];
	bide_result end = { NULL, 0 };

	if (argc < 2)
		return fprintf(stderr, "usage: proxy TO [PORT]\n"), 2;
	target = argv[1];
	snprintf(address, sizeof address, "127.0.0.1:%s", argc > 2 ? argv[2] : "30002");
	int listener = bide_listen("tcp", address, 0);
	if (listener < 0 || bide_local_address(listener, address, sizeof address) < 0)
		return fprintf(stderr, "proxy: %s: %s\n", address, strerror(errno)), 1;
	fprintf(stderr, "proxy: listening on %s\n", address);
	bide_run(serve, &listener, NULL, &end);
	return bide_close(listener) < 0 || end.err != ECANCELED;
}
