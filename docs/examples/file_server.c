/* SPDX-License-Identifier: MIT
 * file_server: the files of a directory, over HTTP/1.0: one request a connection, answered and closed.
 *     file_server DIRECTORY [PORT]    PORT default 30003; 0 lets the kernel choose
 * It serves until its standard input ends. */
#define _GNU_SOURCE
#include <bide.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A regular file below the directory; nothing hidden, and no way up. -1, or its descriptor. */
static int open_file(const char *path, off_t *size)
{
	struct stat status;
	bool is_allowed = path[0] == '/' && path[1] != '/' && !strstr(path, "/.");
	int file = is_allowed ? open(path[1] ? path + 1 : "index.html", O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
		*size = status.st_size;
		return file;
	}
	if (file >= 0)
		close(file);
	return -1;
}

static int answer(bide_stream *stream, const char *result, off_t size)
{
	char head[160];
	int length = snprintf(head, sizeof head, "HTTP/1.0 %s\r\nContent-Length: %lld\r\n\r\n", result, (long long)size);

	return bide_stream_write(stream, head, (size_t)length, NULL) < 0 ? -1 : bide_stream_flush(stream);
}

/* Behind what the stream has sent, the kernel sends the file. */
static void send_file(bide_stream *stream, int file, off_t size)
{
	for (ssize_t sent = 1; size > 0 && sent > 0; size -= sent)
		sent = bide_sendfile(bide_stream_fd(stream), file, NULL, (size_t)size);
}

static void serve_client(int fd, void *arg)
{
	char request[4096] = "", path[1024] = "", method[8] = "";
	bide_stream *stream = bide_stream_open(fd);
	off_t size = 0;

	(void)arg;
	BIDE_TIMEOUT(60 * BIDE_SEC) { /* for all of it: who is slower is not waited for */
		if (bide_stream_read_until(stream, request, sizeof request - 1, "\r\n\r\n", 4) <= 0)
			break;
		bool is_known = sscanf(request, "%7s %1023s HTTP/1.", method, path) == 2 &&
		                (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0);
		int file = is_known ? open_file(path, &size) : -1;
		int status = answer(stream, !is_known ? "400 Bad Request" : file < 0 ? "404 Not Found" : "200 OK", size);
		if (status == 0 && file >= 0 && strcmp(method, "GET") == 0)
			send_file(stream, file, size);
		if (file >= 0)
			close(file);
	}
	bide_stream_close(stream);
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
		bide_serve(*(int *)listener, serve_client, NULL, NULL);
	return bide_fail(errno);
}

int main(int argc, char **argv)
{
	char address[BIDE_ADDRESS_MAX];
	bide_result end = { NULL, 0 };

	if (argc < 2 || chdir(argv[1]) < 0)
		return fprintf(stderr, "file_server: %s\n", argc > 1 ? strerror(errno) : "which directory?"), 2;
	snprintf(address, sizeof address, "127.0.0.1:%s", argc > 2 ? argv[2] : "30003");
	int listener = bide_listen("tcp", address, 0);
	if (listener < 0 || bide_local_address(listener, address, sizeof address) < 0)
		return fprintf(stderr, "file_server: %s: %s\n", address, strerror(errno)), 1;
	fprintf(stderr, "file_server: listening on %s\n", address);
	bide_run(serve, &listener, NULL, &end);
	return bide_close(listener) < 0 || end.err != ECANCELED;
}
