/* SPDX-License-Identifier: MIT
 * echo_server: one task per connection, straight-line code; each line comes back with a prefix.
 *     echo_server [PORT]    default 30000; 0 lets the kernel choose. Try it: nc localhost 30000
 * It serves until its standard input ends (Ctrl-D in a terminal), then closes every connection. */
#include <bide.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static const char prefix[] = "you said: ";

/* Puts the prefix before each line. Lines come in pieces: *fresh if the next byte begins one. */
static size_t add_prefix(char *out, const char *text, size_t size, bool *fresh)
{
	char *end = out;

	for (size_t i = 0; i < size; i++) {
		if (*fresh)
			end = (char *)memcpy(end, prefix, strlen(prefix)) + strlen(prefix);
		*fresh = (*end++ = text[i]) == '\n';
	}
	return (size_t)(end - out);
}

static void close_client(void *fd)
{
	bide_close((int)(intptr_t)fd);
}

/* Owns the descriptor, and closes it whoever ends the connection: the peer, an error, or the end of
 * the server, which cancels this task. A peer that does not read its replies parks only this task. */
static void *serve_client(void *arg)
{
	char text[1024], out[sizeof text * sizeof prefix];
	int fd = (int)(intptr_t)arg;
	bool fresh = true;
	ssize_t size;

	while ((size = bide_recv(fd, text, sizeof text, 0)) > 0 &&
	       bide_write_all(fd, out, add_prefix(out, text, (size_t)size, &fresh), NULL) > 0)
		;
	if (size != 0 && errno != ECANCELED)
		fprintf(stderr, "echo_server: lost a client: %s\n", strerror(errno));
	close_client(arg);
	return NULL;
}

static void *watch_input(void *arg)
{
	char scrap[256];

	while (bide_read(0, scrap, sizeof scrap) > 0)
		;
	bide_stop(); /* cancels serve(): its bide_accept() or bide_sleep() fails */
	return arg;
}

static void *serve(void *listener)
{
	bide_task_attr attr = { .size = sizeof attr, .flags = BIDE_DETACHED, .drop = close_client };
	bide_task *watcher = bide_spawn(watch_input, NULL);
	int fd;

	if (watcher == NULL || bide_detach(watcher) != 0)
		return bide_fail(errno);
	do {
		while ((fd = bide_accept(*(int *)listener, NULL, NULL)) >= 0 &&
		       bide_spawn_with(serve_client, (void *)(intptr_t)fd, &attr) != NULL)
			; /* the descriptor is the new task's now; attr.drop if it is canceled unstarted */
		if (fd < 0 && errno != EMFILE && errno != ENFILE)
			break;
		fprintf(stderr, "echo_server: %s: waiting a second\n", strerror(errno));
		if (fd >= 0)
			bide_close(fd);
	} while (bide_sleep(BIDE_SEC) == 0);
	return bide_fail(errno);
}

int main(int argc, char **argv)
{
	struct sockaddr_in bound;
	socklen_t length = sizeof bound;
	bide_result end;
	char address[32];
	int listener;

	snprintf(address, sizeof address, "127.0.0.1:%s", argc > 1 ? argv[1] : "30000");
	listener = bide_listen("tcp", address, 0);
	if (listener < 0 || getsockname(listener, (struct sockaddr *)&bound, &length) != 0) {
		fprintf(stderr, "echo_server: %s: %s\n", address, strerror(errno));
		return 1;
	}
	fprintf(stderr, "echo_server: listening on port %d\n", ntohs(bound.sin_port));
	if (bide_run(serve, &listener, NULL, &end) == 0 && end.err == ECANCELED)
		return bide_close(listener); /* 0: the end that watch_input() asks for */
	fprintf(stderr, "echo_server: %s\n", strerror(end.err));
	return 1;
}
