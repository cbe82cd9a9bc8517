/* SPDX-License-Identifier: MIT
 * httpd: HTTP/1.1 with keep-alive and pipelining, parsed by llhttp or http-parser, whichever is installed.
 *     httpd [PORT]    default 30004; 0 lets the kernel choose. Try it: curl -i localhost:30004
 * It serves until its standard input ends. */
#include <bide.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#if __has_include(<llhttp.h>)
#include <llhttp.h>
#else
#include <http_parser.h>
#define llhttp_t http_parser
#define llhttp_settings_t http_parser_settings
#define llhttp_should_keep_alive http_should_keep_alive
#define llhttp_init(parser, type, settings) http_parser_init(parser, type)
#define llhttp_execute(parser, data, size) (http_parser_execute(parser, &settings, data, size) != (size))
#endif

struct connection {
	llhttp_t parser;
	bide_stream *stream;
	bool has_ended; /* by its own wish; no more requests are answered */
};

static int answer(struct connection *connection, const char *status, const char *body)
{
	char text[256];
	int length = snprintf(text, sizeof text,
	    "HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: %s\r\n\r\n%s", status,
	    strlen(body), connection->has_ended ? "close" : "keep-alive",
	    connection->parser.method == HTTP_HEAD ? "" : body);

	return bide_stream_write(connection->stream, text, (size_t)length, NULL) < 0 ? -1 : 0;
}

/* The parser's callback may wait for room in the stream, as any function of a task may. */
static int answer_request(llhttp_t *parser)
{
	struct connection *connection = parser->data;

	if (connection->has_ended)
		return -1;
	connection->has_ended = !llhttp_should_keep_alive(parser);
	return answer(connection, "200 OK", "Hello, world!\n");
}

static llhttp_settings_t settings = { .on_message_complete = answer_request };

/* Answers to requests that came together leave together: before the wait for the next ones. */
static void serve_client(int fd, void *arg)
{
	struct connection connection = { .stream = bide_stream_open(fd) };
	const void *data = arg;
	ssize_t size = 1;
	llhttp_init(&connection.parser, HTTP_REQUEST, &settings);
	connection.parser.data = &connection;
	while (size > 0 && !connection.has_ended) {
		size = -1;
		BIDE_TIMEOUT(60 * BIDE_SEC)
			size = bide_stream_peek(connection.stream, &data, 1);
		if (size > 0 && llhttp_execute(&connection.parser, data, (size_t)size) != 0 && !connection.has_ended) {
			connection.has_ended = true;
			answer(&connection, "400 Bad Request", "");
		}
		bide_stream_skip(connection.stream, size > 0 ? (size_t)size : 0);
	}
	bide_stream_close(connection.stream);
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

	snprintf(address, sizeof address, "127.0.0.1:%s", argc > 1 ? argv[1] : "30004");
	int listener = bide_listen("tcp", address, 0);
	if (listener < 0 || bide_local_address(listener, address, sizeof address) < 0)
		return fprintf(stderr, "httpd: %s: %s\n", address, strerror(errno)), 1;
	fprintf(stderr, "httpd: listening on %s\n", address);
	bide_run(serve, &listener, NULL, &end);
	return bide_close(listener) < 0 || end.err != ECANCELED;
}
